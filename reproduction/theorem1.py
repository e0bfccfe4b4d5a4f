"""Theorem 1: the excess of MSG's averaged iterate against sqrt(k/T).

The proof adds two terms of sqrt(k/T)/2, which gives an expected excess of at most sqrt(k/T). The
theorem prints half of that. Everything here is as in the theorem: tr M = k, the constant step
sqrt(k/T), M(0) = 0, and the average of M(1) .. M(T). Rounding changes no expectation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from onepass import _core
from onepass.report import charts
from reproduction.claims import Part, expectation
from reproduction.drawing import legend_below, save
from reproduction.figure1 import FLAT, STEEP, orthogonal
from reproduction.runs import Arrays, Run, Scope, seed_of

EXHIBIT, EXHIBIT_T = "exhibit", 36
EXHIBIT_HORIZONS = (4, 9, 16, 25, 36, 64, 100, 400, 1600)
SOURCES = {  # k, name and label
    EXHIBIT: (1, EXHIBIT, "the exhibit, $d=50$, $k=1$"),
    STEEP.key: (4, STEEP.name, r"$p_i \propto \tau^{-i}$, $d=32$, $k=4$"),
    FLAT.key: (4, FLAT.name, r"$p_i \propto \tau^{-i/2}$, $d=32$, $k=4$"),
}
AS_STATED = "tr M = k, M(1) .. M(T) averaged"  # the reading
ROW_SECONDS = 2e-5


def probabilities(source: str) -> NDArray[np.float64]:
    """Return how often each axis is drawn, shape (d,), descending."""
    if source == EXHIBIT:
        return np.concatenate([[0.6, 0.4], np.zeros(48)])
    return orthogonal(source).probabilities


def excess(rows: NDArray[np.float64], k: int, p: NDArray[np.float64]) -> float:
    """Return E x'(M* - M)x for the average M of M(1) .. M(T), in units of sqrt(k/T).

    `rows` has shape (T + 1, d), and the population has the second moment diag(p). The core sums
    the iterates held before each row; M(0) = 0 adds nothing, and the last row changes nothing.
    """
    T, d = len(rows) - 1, rows.shape[1]
    rule = _core.Rule("msg", k, max_rank=d, exact_trace=True)
    steps = np.full(T + 1, np.sqrt(k / T))
    done = _core.advance(rule, np.zeros((0, d)), np.zeros(0), 0.0, rows, steps, sums=True)
    diagonal = (np.asarray(done.sums) ** 2).sum(axis=0) + done.rests
    return float(p[:k].sum() - diagonal @ p / T) / np.sqrt(k / T)


def excesses(seed: int, source: str, horizons: list[int], sequences: int) -> Arrays:
    """Return the excess on independent sequences, shape (sequences, number of horizons)."""
    k, p = SOURCES[source][0], probabilities(source)
    found = np.empty((sequences, len(horizons)))
    for i in range(sequences):
        for j, T in enumerate(horizons):
            rng = np.random.default_rng([seed, i, j])
            found[i, j] = excess(np.eye(len(p))[rng.choice(len(p), size=T + 1, p=p)], k, p)
    return {"excess": found, "horizons": np.array(horizons)}


def make_runs(scope: Scope) -> Iterator[Run]:
    """Give a run per source."""
    for source in SOURCES:
        horizons, sequences = list(scope.horizons), scope.excess_sequences
        if source == EXHIBIT:
            horizons, sequences = list(EXHIBIT_HORIZONS), scope.exhibit_sequences
        seed = seed_of(scope.seed, "theorem 1", source)
        settings = {"seed": seed, "source": source, "horizons": horizons, "sequences": sequences}
        seconds = sequences * sum(horizons) * ROW_SECONDS
        yield Run(f"theorem1-{source}", excesses, settings, seconds)


def report(results: Mapping[str, Arrays], scope: Scope, out: Path) -> Part:
    """Draw the excess; measure it for the exhibit at T=36, elsewhere at the longest horizon."""
    runs = {source: results[f"theorem1-{source}"] for source in SOURCES}
    draw(runs, out)
    found = []
    for source, run in runs.items():
        horizons = list(run["horizons"])
        at = horizons.index(EXHIBIT_T) if source == EXHIBIT else -1
        name = f"{SOURCES[source][1]}, T={horizons[at]}"
        found.append(expectation(run["excess"][:, at], name))
    facts = {"exhibit_count": scope.exhibit_sequences, "count": scope.excess_sequences}
    return Part("theorem1", {AS_STATED: {"bound": found, "proof's bound": found}}, facts)


def draw(runs: Mapping[str, Arrays], out: Path) -> None:
    """Draw the mean excess for each horizon, and both bounds."""
    colors = (charts.RED, charts.BLUE, charts.GREEN)
    with charts.figure(1, 1, 9, 5.5) as (drawing, axes):
        axis = axes[0, 0]
        for (source, (_, _, label)), color in zip(SOURCES.items(), colors, strict=True):
            points = [expectation(values) for values in runs[source]["excess"].T]
            axis.errorbar(
                runs[source]["horizons"],
                [point.value for point in points],
                [point.high - point.value for point in points],
                label=label,
                color=color,
                marker="o",
                markersize=4,
                capsize=3,
            )
        for bound, dash, label in ((0.5, "--", "as printed"), (1.0, ":", "of the proof")):
            name = f"the bound, {label}"
            axis.axhline(bound, color=charts.BLACK, linestyle=dash, label=name)
        axis.set(xlabel="Iterations $T$", ylabel=r"Excess / $\sqrt{k/T}$", ylim=(0, 1.08))
        charts.logarithmic(axis, "x")
        legend_below(drawing, axes, 3)
        save(drawing, out / "theorem1")
