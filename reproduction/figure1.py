"""Figure 1: rank and spectrum of MSG's iterates on the orthogonal distribution.

The rows are unit vectors e_i, so every iterate is diagonal and every direction is an axis. How long
a direction stays can be measured exactly.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from onepass.report import charts
from onepass.schedules import AdaGradNorm
from reproduction.algorithms import RULES, checkpoints, trajectory
from reproduction.claims import Measured, Part, Reading, across, exact
from reproduction.distributions import Orthogonal
from reproduction.drawing import legend_below, save
from reproduction.runs import Arrays, Run, Scope, repetitions, seed_of

D, TAU, K = 32, 1.1, 4
SMALL = 0.05  # a "very small" eigenvalue
ROW_SECONDS = 6e-5

# Section 4 draws e_i "with probability sqrt(Sigma_ii)", which does not sum to one. Normalised, it
# is proportional to tau^(-i/2). A later file of the first author draws with tau^-i, which gives the
# rank of about 15 that the text reports.
STEEP = Reading("steep", "p ~ tau^-i", r"$p_i \propto \tau^{-i}$ (main reading)")
FLAT = Reading("flat", "p ~ tau^(-i/2)", r"$p_i \propto \tau^{-i/2}$ (the text)")
ORTHOGONAL = (STEEP, FLAT)


def orthogonal(key: str) -> Orthogonal:
    """Return the orthogonal distribution of Section 4 under a reading.

    Examples
    --------
    >>> steep, flat = orthogonal("steep").probabilities, orthogonal("flat").probabilities
    >>> round(float(steep[0] / steep[1]), 3), round(float(flat[0] / flat[1]), 3)
    (1.1, 1.049)
    """
    return Orthogonal(D, TAU, signed=key == STEEP.key)


def follow(seed: int, reading: str, rows: int) -> Arrays:
    """Run MSG row by row.

    Return `ranks` (T,): k_t' after every row; `shown` (s,) and `spectrum` (s, d): all eigenvalues
    after some rows, descending; `stays` (v,): rows from entering to leaving of all that left.
    """
    sample = orthogonal(reading).sample(rows, np.random.default_rng(seed))
    shown = checkpoints(1, rows, 600)
    ranks, held = np.empty(rows, np.int64), np.zeros((rows, D), dtype=bool)
    spectrum = np.zeros((len(shown), D))
    run = trajectory(RULES["MSG"](K, D, 0), sample, AdaGradNorm(), range(1, rows + 1))
    for t, at in enumerate(run):
        ranks[t] = at.iterate.rank
        held[t, np.abs(at.iterate.basis).argmax(axis=1)] = True
        spectrum[shown == t + 1, : at.iterate.rank] = at.iterate.weights
    # A direction enters and leaves by turns: every other difference is a stay.
    changes = np.diff(held.T, prepend=False)
    stays = np.concatenate([np.diff(np.flatnonzero(axis))[::2] for axis in changes])
    return {"ranks": ranks, "shown": shown, "spectrum": spectrum, "stays": stays}


def make_runs(scope: Scope) -> Iterator[Run]:
    """Give the runs of both readings."""
    rows = scope.figure1_rows
    for reading, i in itertools.product(ORTHOGONAL, range(scope.figure1_sequences)):
        seed = seed_of(scope.seed, "figure 1", i)
        settings = {"seed": seed, "reading": reading.key, "rows": rows}
        yield Run(f"figure1-{reading.key}-{i}", follow, settings, rows * ROW_SECONDS)


def report(results: Mapping[str, Arrays], scope: Scope, out: Path) -> Part:
    """Draw the figure and measure what Section 4 says about it."""
    found = {reading: repetitions(results, f"figure1-{reading.key}") for reading in ORTHOGONAL}
    draw({reading: runs[0] for reading, runs in found.items()}, out)
    count = min(map(len, found.values()))
    facts = {"d": D, "tau": TAU, "rows": scope.figure1_rows, "count": count}
    return Part("figure1", {r.name: measure(runs) for r, runs in found.items()}, facts)


def measure(runs: list[Arrays]) -> Measured:
    """Measure the claims; the trace is full long before the rows whose ranks count."""
    medians = np.array([np.median(run["ranks"][len(run["ranks"]) // 10 :]) for run in runs])
    extras = [run["spectrum"][len(run["spectrum"]) // 2 :, K:] for run in runs]
    return {
        "rank 15": [across(medians)],
        "low rank": [across(medians / D)],
        "increase": [exact(max(np.diff(run["ranks"], prepend=0).max() for run in runs))],
        "small": [across([(values[values > 0] < SMALL).mean() for values in extras])],
        "handful": [across([np.median(run["stays"]) for run in runs])],
    }


def draw(runs: Mapping[Reading, Arrays], out: Path) -> None:
    """Draw the ranks of one run per reading, and its eigenvalues below."""
    with charts.figure(2, 2, 11, 7.5, sharex=True, sharey="row") as (drawing, axes):
        for (top, bottom), (reading, run) in zip(axes.T, runs.items(), strict=True):
            top.plot(run["shown"], run["ranks"][run["shown"] - 1], color=charts.BLUE, lw=1)
            for rank, label, color, dash in (
                (15, "15, as in the text", charts.BLACK, "--"),
                (2 * K + 2, "$K=2k+2$", charts.PINK, ":"),
                (K + 1, "$K=k+1$", charts.GREEN, ":"),
            ):
                top.axhline(rank, color=color, linestyle=dash, lw=1.5, label=label)
            top.set(title=reading.label, ylim=(0, D))
            for i, eigenvalues in enumerate(run["spectrum"].T):
                named = {0: f"the $k={K}$ largest", K: "the other eigenvalues"}.get(i)
                color = charts.RED if i < K else charts.ORANGE
                bottom.plot(run["shown"], eigenvalues, color=color, label=named, lw=0.7)
            bottom.set(xlabel="Iterations", xscale="log", ylim=(0, 1.02))
        axes[0, 0].set_ylabel("Rank $k_t'$")
        axes[1, 0].set_ylabel("Eigenvalues")
        legend_below(drawing, axes, 5)
        save(drawing, out / "figure1")
