"""Figure 3: MNIST, k in {1, 4, 8}, against iterations and estimated runtime."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from onepass.paper.claims import Measured, Quantity, across, exact, ratio
from onepass.paper.grid import (
    EXPONENTS,
    RANK_LIMIT,
    HeldOut,
    Training,
    choose,
    weighted_pca,
)
from onepass.paper.mnist import Scaling, split
from onepass.paper.part import Curve, Part, Scope, draw_panels
from onepass.paper.readings import MNIST
from onepass.paper.runs import Arrays, Run, seed_of
from onepass.paper.trajectory import AVERAGED, WIDER, checkpoints, run_weights
from onepass.report.page import Table
from onepass.schedules import Constant
from onepass.threads import one_thread

KS, HIGH_KS = (1, 4, 8), (4, 8)  # the text says more about the latter
PAPER = ("MSG", "Capped MSG", "Incremental", "Warmuth-Kuzmin", "Grassmannian SGD")
COSTED = ("MSG", "Capped MSG", "Incremental", "Warmuth-Kuzmin")  # whose runtimes are compared
ALGORITHMS = (*PAPER, WIDER, "Capped MSG" + AVERAGED, "Oja", "ERM")
ROW_SECONDS = 3e-3  # of all algorithms, k and steps together

Measure = Callable[[str, int], NDArray[np.float64]]  # of an algorithm for k, on each split


def one_split(
    images: NDArray[np.uint8],
    data: str,
    seed: int,
    reading: str,
    train_rows: int,
    marks_count: int,
) -> Arrays:
    """Run everything on one random split of the images, which `data` identifies.

    Returns
    -------
    dict
        `marks` (s,) and, under "algorithm/k/what": `suboptimality` on the test rows, relative to
        the optimum, and `cost`, each (s,), `limited`, and where there is a step `c` and `grid`
        (18,), the average suboptimality on validation rows.
    """
    train, validation_images, test_images = split(images, seed)
    scaled = Scaling.of(images, reading)
    result: Arrays = {}
    with one_thread():
        rows = scaled(train[:train_rows])
        number = np.arange(1.0, len(rows) + 1)
        result["marks"] = marks = checkpoints(10, len(rows), marks_count)
        validation, test = (
            HeldOut.of(scaled.second_moment(part)) for part in (validation_images, test_images)
        )
        small_steps = weighted_pca(rows, marks, number**-0.5, max(KS))
        training = Training(rows, marks, validation, small_steps, seed)
        erm = weighted_pca(rows, marks, np.ones(len(rows)), max(KS)).run
        for k, name in itertools.product(KS, ALGORITHMS):
            key = f"{name}/{k}"
            if name == "ERM":
                run = erm
            elif name == "Incremental":  # it has no step
                run = list(training.run(name, k, Constant(1.0)))
            else:
                chosen = choose(name, k, training)
                run = chosen.run
                result[f"{key}/c"] = np.array(chosen.c)
                result[f"{key}/grid"] = np.array([chosen.averages[e] for e in EXPONENTS])
            result[f"{key}/suboptimality"] = np.array([test.suboptimality(at, k) for at in run])
            result[f"{key}/cost"] = np.array([at.cost for at in run])
            result[f"{key}/limited"] = np.array(run[-1].limited)
    return result


def make_runs(scope: Scope) -> list[Run]:
    """Return a run per split and reading; the splits are the same for all readings."""
    assert scope.images is not None
    data = hashlib.sha256(scope.images.tobytes()).hexdigest()
    runs = []
    for i, reading in itertools.product(range(scope.splits), MNIST):
        settings = {
            "seed": seed_of(scope.seed, "figure 3", i),
            "reading": reading.key,
            "train_rows": scope.train_rows,
            "marks_count": scope.marks,
            "data": data,
        }
        name, seconds = f"figure3-{reading.key}-{i}", scope.train_rows * ROW_SECONDS
        runs.append(Run(name, one_split, settings, {"images": scope.images}, seconds))
    return runs


class Splits:
    """All splits under one reading; every measure is an array of one number per split (n,)."""

    def __init__(self, splits: Sequence[Arrays]) -> None:
        self.splits, self.marks = splits, splits[0]["marks"]

    def curves(self, name: str, k: int, what: str) -> NDArray[np.float64]:
        """Return "suboptimality" or "cost" at the marks, shape (n, s)."""
        return np.array([split[f"{name}/{k}/{what}"] for split in self.splits])

    def average(self, name: str, k: int) -> NDArray[np.float64]:
        """Return the average suboptimality over the run."""
        return self.curves(name, k, "suboptimality") @ run_weights(self.marks)

    def cost(self, name: str, k: int) -> NDArray[np.float64]:
        """Return the estimated runtime of a pass, per row: the mean square of k_t'."""
        return self.curves(name, k, "cost")[:, -1] / self.marks[-1]

    def rank(self, name: str, k: int) -> NDArray[np.float64]:
        """Return the root mean square of k_t'."""
        return np.sqrt(self.cost(name, k))

    def at_equal_cost(self, name: str, k: int) -> NDArray[np.float64]:
        """Return the suboptimality after an estimated runtime of T k^2."""
        costs, curves = self.curves(name, k, "cost"), self.curves(name, k, "suboptimality")
        pairs = zip(costs, curves, strict=True)
        return np.array([np.interp(self.marks[-1] * k**2, *pair) for pair in pairs])

    def lines(self) -> list[list[str]]:
        """Return the rows of a table: for every k the algorithms, best first."""
        found = []
        for k in KS:
            for name in sorted(ALGORITHMS, key=lambda name: self.average(name, k).mean()):
                key = f"{name}/{k}"
                steps = [np.log2(split[f"{key}/c"]) for split in self.splits if f"{key}/c" in split]
                cut = sum(bool(split[f"{key}/limited"]) for split in self.splits)
                found.append(
                    [
                        str(k),
                        name,
                        across(self.average(name, k)).text(".3g"),
                        f"{self.curves(name, k, 'suboptimality')[:, -1].mean():.3g}",
                        f"{self.rank(name, k).mean():.1f}" + f", cut in {cut}" * bool(cut),
                        f"2^{min(steps):.0f} .. 2^{max(steps):.0f}" if steps else "-",
                    ]
                )
        return found


def report(results: Mapping[str, Arrays], scope: Scope, out: Path) -> Part:
    """Draw the figure and measure what Section 6 says about it."""
    assert scope.images is not None
    found, measured, lines = {}, {}, []
    for reading in MNIST:
        parts = [results[f"figure3-{reading.key}-{i}"] for i in range(scope.splits)]
        found[reading.key] = splits = Splits(parts)
        second, fourth = Scaling.of(scope.images, reading.key).norm_moments(scope.images)
        norms = {"unit norm": [exact(second)], "fourth moment": [exact(fourth)]}
        measured[reading.name] = {**norms, **measure(splits)}
        lines += [[reading.name, *line] for line in splits.lines()]
    draw(found, out)
    columns = ["Average suboptimality", "At the end", "RMS rank", "c chosen"]
    table = Table(["Reading", "k", "Algorithm", *columns], lines)
    rows = int(splits.marks[-1])
    facts = {"rows": rows, "count": scope.splits, "rank_limit": RANK_LIMIT}
    return Part("figure3", measured, facts, [table])


def measure(found: Splits) -> Measured:
    """Return what the claims about the curves are about."""

    def ratios(what: Measure, over: str, under: str, ks: Sequence[int] = KS) -> list[Quantity]:
        return [ratio(what(over, k), what(under, k), f"k={k}") for k in ks]

    def over_best(what: Measure, names: Sequence[str]) -> list[Quantity]:
        others = [name for name in names if name != "Incremental"]
        best = {k: np.min([what(name, k) for name in others], axis=0) for k in KS}
        return [ratio(what("Incremental", k), best[k], f"k={k}") for k in KS]

    def grassmann(ks: Sequence[int]) -> list[Quantity]:
        worse = {
            k: np.max([found.average(name, k) for name in ("MSG", "Capped MSG")], axis=0)
            for k in ks
        }
        return [ratio(found.average("Grassmannian SGD", k), worse[k], f"k={k}") for k in ks]

    entropy = {k: found.average("Warmuth-Kuzmin", k) / found.average("MSG", k) for k in KS}
    return {
        "incremental progress": over_best(found.average, PAPER),
        "incremental fastest": over_best(found.at_equal_cost, COSTED),
        "comparable": ratios(found.average, "MSG", "Incremental"),
        "representation": [across(found.rank("MSG", k) / k, f"k={k}") for k in KS],
        "capped faster": ratios(found.cost, "MSG", "Capped MSG"),
        "almost as fast": ratios(found.at_equal_cost, "Capped MSG", "Incremental"),
        "entropy k=1": [ratio(entropy[1], np.ones(1), "k=1")],
        "entropy drops": [ratio(entropy[k], entropy[1], f"k={k}") for k in HIGH_KS],
        "entropy rank": ratios(found.rank, "Warmuth-Kuzmin", "MSG", HIGH_KS),
        "grassmann entropy": ratios(found.average, "Grassmannian SGD", "Warmuth-Kuzmin", HIGH_KS),
        "grassmann much worse": grassmann(HIGH_KS),
        "grassmann k=1": grassmann([1]),
    }


def draw(found: Mapping[str, Splits], out: Path) -> None:
    """Draw the mean over splits against iterations and against estimated runtime."""

    def by_row(reading: str, k: int, name: str) -> Curve:
        splits = found[reading]
        return splits.marks, splits.curves(name, k, "suboptimality").mean(axis=0)

    def by_cost(reading: str, k: int, name: str) -> Curve:
        cost = found[reading].curves(name, k, "cost").mean(axis=0)
        return cost, by_row(reading, k, name)[1]

    up = "Relative suboptimality"
    draw_panels(out / "figure3", MNIST, KS, (*PAPER, "ERM"), by_row, "Iterations", up)
    draw_panels(out / "figure3-runtime", MNIST, KS, COSTED, by_cost, "Estimated runtime", up)
