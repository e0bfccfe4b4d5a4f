"""How the time of a row grows with the columns, the directions and the rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from benchmarks.dataset import Size
from benchmarks.datasets import synthetic
from benchmarks.runner import Measurement, measure
from benchmarks.solver import Solver
from benchmarks.tables import number, table


@dataclass(frozen=True)
class Curve:
    """Sizes that differ in one number.

    Attributes
    ----------
    name : str
        What grows.
    sizes : tuple of Size
        From small to large.
    """

    name: str
    sizes: tuple[Size, ...]

    def value(self, measurement: Measurement) -> int:
        """Return the number that grows."""
        return {"d": measurement.d, "k": measurement.k, "rows": measurement.n}[self.name]


CURVES = {
    "d": Curve("d", tuple(Size(8, d) for d in (1000, 3000, 10_000, 30_000, 100_000))),
    "k": Curve("k", tuple(Size(k, 784) for k in (2, 4, 8, 16, 32, 64, 128))),
    "rows": Curve("rows", tuple(Size(8, 784, n) for n in (1000, 4000, 16_000, 64_000))),
}


def grow(
    curve: Curve, solvers: Iterable[Solver], *, repeat: int, budget: float, threads: int = 1
) -> list[Measurement]:
    """Time solvers at all sizes of a curve."""
    found = []
    # A shorter stream would hide how the time grows with its length.
    budget = np.inf if curve.name == "rows" else budget
    for size in curve.sizes:
        problem = synthetic.load(size, None)
        found += measure(
            problem, solvers, repeat=repeat, threads=threads, budget=budget, judged=False
        )
    return found


def exponent(sizes: Iterable[float], times: Iterable[float]) -> float:
    """Return the slope of log time against log size, by least squares.

    Examples
    --------
    >>> round(exponent([1, 10, 100], [3, 30, 300]), 12)
    1.0
    """
    return float(np.polyfit(np.log(list(sizes)), np.log(list(times)), 1)[0])


def by_solver(results: Iterable[Measurement]) -> dict[str, list[Measurement]]:
    """Return measurements by solver."""
    found: dict[str, list[Measurement]] = {}
    for result in results:
        found.setdefault(result.solver, []).append(result)
    return found


def of_curve(curve: Curve, results: list[Measurement]) -> str:
    """Return the table of a curve: CPU microseconds per row, and the fitted exponent."""
    points = sorted({curve.value(m) for m in results})
    rows = []
    for solver, measured in by_solver(results).items():
        times = {curve.value(m): m.seconds for m in measured}
        cells = [number(1e6 * times[point]) if point in times else "-" for point in points]
        slope = f"{exponent(times, times.values()):.2f}" if len(times) > 1 else "-"
        rows.append([solver, *cells, slope])
    return table(["solver", *(f"{curve.name}={point}" for point in points), "exponent"], rows)
