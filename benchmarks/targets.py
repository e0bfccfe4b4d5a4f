"""What the project promises about speed, measured: target, measured, met.

Ratios are of median CPU times on one thread, both solvers taking turns in one run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import memory
from benchmarks.dataset import Dataset, Size
from benchmarks.growth import CURVES, exponent, grow
from benchmarks.runner import Measurement, measure
from benchmarks.solver import Solver
from benchmarks.tables import number, table
from onepass import MEG, MSG, CappedMSG


@dataclass(frozen=True)
class Target:
    """A promise and what was measured.

    Attributes
    ----------
    what : str
        In words.
    limit, measured : float
        What was promised and what was found.
    unit : str
        Of both.
    at_least : bool
        Whether `measured` should be at least the limit, or at most.
    """

    what: str
    limit: float
    measured: float
    unit: str = "x"
    at_least: bool = True

    @property
    def met(self) -> bool:
        """Whether the promise is kept."""
        return self.measured >= self.limit if self.at_least else self.measured <= self.limit

    def row(self) -> list[str]:
        """Return the cells of its row in the table."""
        sign = ">=" if self.at_least else "<="
        found = f"{number(self.measured)}{self.unit}"
        return [self.what, f"{sign} {self.limit:g}{self.unit}", found, "yes" if self.met else "NO"]


@dataclass(frozen=True)
class Bench:
    """Solvers, data sets and how to time them."""

    solvers: dict[str, Solver]
    datasets: dict[str, Dataset]
    folder: Path | None
    repeat: int
    budget: float

    def run(
        self, dataset: str, size: Size, *names: str | Solver, longer: float = 1.0
    ) -> dict[str, Measurement]:
        """Time solvers, those that there are, on one problem, with `longer` times the budget."""
        problem = self.datasets[dataset].load(size, self.folder)
        chosen = [self.solvers.get(name) if isinstance(name, str) else name for name in names]
        solvers = [solver for solver in chosen if solver is not None]
        budget = longer * self.budget
        found = measure(problem, solvers, repeat=self.repeat, budget=budget, judged=False)
        return {measurement.solver: measurement for measurement in found}


INCREMENTAL = "sklearn-incremental-100"


def _times_faster(found: dict[str, Measurement], ours: str, peer: str) -> float:
    """Return how many times faster ours is."""
    return found[peer].seconds / found[ours].seconds


def _one_size(
    bench: Bench, size: Size, incremental: float, randomized: float | None, pca: float | None
) -> Iterator[Target]:
    """Yield the targets of Capped MSG row by row at one size."""
    names = ["capped-msg", "capped-msg-float32", "pca", INCREMENTAL, "floor"]
    found = bench.run(
        "synthetic", size, *names, *(["sklearn-pca-randomized"] if randomized else [])
    )
    at = f"({size.columns:,}, {size.k})"
    times = _times_faster(found, "capped-msg", INCREMENTAL)
    yield Target(f"CappedMSG against IncrementalPCA 100 rows, {at}", incremental, times)
    floors = 1 / _times_faster(found, "capped-msg", "floor")
    yield Target(f"CappedMSG over the floor X @ U', {at}", 4.5, floors, at_least=False)
    times = _times_faster(found, "capped-msg-float32", "capped-msg")
    yield Target(f"CappedMSG float32 against float64, {at}", 1.4, times)
    if randomized:
        times = _times_faster(found, "capped-msg", "sklearn-pca-randomized")
        yield Target(f"CappedMSG against PCA randomized in memory, {at}", randomized, times)
    if pca and "pca" in found:
        times = _times_faster(found, "pca", INCREMENTAL)
        yield Target(f"onepass.PCA against IncrementalPCA 100 rows, {at}", pca, times)


def narrow(bench: Bench) -> Iterator[Target]:
    yield from _one_size(bench, Size(8, 784), 12, 5, 4)


def wide(bench: Bench) -> Iterator[Target]:
    yield from _one_size(bench, Size(10, 10_000), 18, 8, 5)


def widest(bench: Bench) -> Iterator[Target]:
    yield from _one_size(bench, Size(8, 50_000), 40, None, None)


def by_hand(bench: Bench) -> Iterator[Target]:
    names = ["capped-msg", "naive", "capped-msg-one-row", "sklearn-incremental-1"]
    found = bench.run("synthetic", Size(8, 784), *names)
    times = _times_faster(found, "capped-msg", "naive")
    yield Target("CappedMSG against the naive row-by-row NumPy reference, (784, 8)", 12, times)
    times = _times_faster(found, "capped-msg-one-row", "sklearn-incremental-1")
    yield Target("one-row partial_fit calls against IncrementalPCA's, (784, 8)", 10, times)


def many(bench: Bench) -> Iterator[Target]:
    names = ["capped-msg-batches", "pca", INCREMENTAL]
    found = bench.run("synthetic", Size(40, 784), *names)
    times = _times_faster(found, "capped-msg-batches", INCREMENTAL)
    yield Target("CappedMSG, mini-batch + average, against IncrementalPCA, (784, 40)", 4, times)
    if "pca" in found:
        times = _times_faster(found, "pca", INCREMENTAL)
        yield Target("onepass.PCA against IncrementalPCA, (784, 40)", 2, times)


def sparse(bench: Bench) -> Iterator[Target]:
    for k in (8, 40):
        names = ["capped-msg", "capped-msg-batches", "sklearn-truncated-svd", "gensim-lsi"]
        found = bench.run("20news", Size(k), *names, longer=4.0)
        best = min(names[:2], key=lambda name: found[name].seconds)
        for peer, limit in (("sklearn-truncated-svd", 1.0), ("gensim-lsi", 6.0)):
            if peer in found:
                what = f"20 newsgroups, k={k}: {best} against {peer}"
                yield Target(what, limit, _times_faster(found, best, peer))


def growth_d(bench: Bench) -> Iterator[Target]:
    found = grow(
        CURVES["d"], [bench.solvers["capped-msg"]], repeat=bench.repeat, budget=bench.budget
    )
    slope = exponent([m.d for m in found], [m.seconds for m in found])
    yield Target("growth in d, exponent over 1e3..1e5", 1.0, slope, "", at_least=False)


def growth_k(bench: Bench) -> Iterator[Target]:
    solvers = [bench.solvers[name] for name in ("capped-msg", "capped-msg-batches")]
    found = grow(CURVES["k"], solvers, repeat=bench.repeat, budget=bench.budget)
    best: dict[int, float] = {}
    for m in found:
        best[m.k] = min(m.seconds, best.get(m.k, m.seconds))
    slope = exponent(best, best.values())
    what = "growth in k, exponent over 2..128, best of row by row and mini-batch"
    yield Target(what, 1.2, slope, "", at_least=False)


def peak_memory(bench: Bench) -> Iterator[Target]:
    peak = memory.of("capped-msg", "synthetic", Size(8, 50_000), None)
    yield Target("peak memory above the data, (50,000, 8)", 40, peak / 1e6, " MB", at_least=False)


def same_rank(bench: Bench) -> Iterator[Target]:
    size = Size(8, 784, 6000)
    X = bench.datasets["synthetic"].load(size, None).X
    ranks = {name: type_(8).fit(X).subspace_.rank for name, type_ in (("msg", MSG), ("meg", MEG))}
    ranks |= {"incremental": 9, "oja": 9, "grouse": 9}
    capped = {rank: Solver(f"capped-msg-rank-{rank}", _capped(rank)) for rank in ranks.values()}
    found = bench.run("synthetic", size, *ranks, *capped.values())
    for name, rank in ranks.items():
        slower = 1 / _times_faster(found, name, capped[rank].name)
        what = f"{name}, time over that of CappedMSG at rank {rank}, (784, 8)"
        yield Target(what, 2, slower, at_least=False)


def _capped(rank: int) -> Callable[[Any, int], Any]:
    """Return Capped MSG with a bound on its rank."""
    return lambda X, k: CappedMSG(k, max_rank=rank, average=False, center=False).fit(X).components_


GROUPS: dict[str, Callable[[Bench], Iterator[Target]]] = {
    "784x8": narrow,
    "10000x10": wide,
    "50000x8": widest,
    "784x40": many,
    "by-hand": by_hand,
    "20news": sparse,
    "growth-d": growth_d,
    "growth-k": growth_k,
    "memory": peak_memory,
    "same-rank": same_rank,
}


def of_targets(targets: list[Target]) -> str:
    """Return the table."""
    return table(["what", "target", "measured", "met"], [target.row() for target in targets])
