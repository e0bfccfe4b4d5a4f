"""How often `captured_`, mean +- 1.96 standard errors, holds the share that a model captures.

The share is that of the distribution which the rows come from. Runs without a number are counted:
`captured_` gives a reason instead where its error would be above ten points.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.results import Results, Row, chosen, parser
from benchmarks.rows import Numbers, gaussian, power, spiked, student
from onepass import PCA, merge

Draw = Callable[[int, Numbers, np.random.Generator], Numbers]

K = 5
NORMAL = 1.96  # standard errors of 95%
MOST_WITHOUT = 0.05  # share of the runs that may give no number


@dataclass(frozen=True)
class Coverage:
    """A row of the table: rows of a distribution, and how much coverage is promised."""

    name: str
    title: str
    draw: Draw
    spectrum: Numbers
    rows: int
    promised: tuple[float, float]
    parts: int = 1
    runs: int = 300

    def measure(self, first_seed: int, *, quick: bool) -> Row:
        """Return the coverage, the median width of the interval, and runs without a number."""
        runs = 2 if quick else self.runs
        found = np.array([self.once(seed) for seed in range(first_seed, first_seed + runs)])
        held, width = found[~np.isnan(found[:, 1])].T
        low, high = self.promised
        without = (runs - len(held)) / runs
        coverage = float(held.mean()) if len(held) else None
        return {
            "name": self.name,
            "title": self.title,
            "promised": list(self.promised),
            "coverage": coverage,
            "width": float(np.median(width)) if len(held) else None,
            "without": without,
            "runs": runs,
            "met": coverage is not None and low <= coverage <= high and without <= MOST_WITHOUT,
        }

    def once(self, seed: int) -> tuple[float, float]:
        """Return whether the interval of one run holds the truth, and its width."""
        rng = np.random.default_rng([seed, self.rows, self.parts])
        rows = self.draw(self.rows, self.spectrum, rng)
        models = [PCA(K).fit(part) for part in np.array_split(rows, self.parts)]
        model = merge(*models) if self.parts > 1 else models[0]
        truth = np.sum(model.components_**2 @ self.spectrum) / self.spectrum.sum()
        share, error = model.captured_.mean, model.captured_.standard_error
        return float(abs(share - truth) <= NORMAL * error), 2.0 * NORMAL * error


def _t5(n: int, spectrum: Numbers, rng: np.random.Generator) -> Numbers:
    """Return Student t5 rows."""
    return student(n, spectrum, 5.0, rng)


KINDS: list[tuple[str, str, Draw, Numbers, tuple[float, float]]] = [
    ("decay", "i^-1", gaussian, power(50, 1.0), (0.9, 0.99)),
    ("t5", "Student t5, i^-1", _t5, power(50, 1.0), (0.9, 0.99)),
    ("weak-spikes", "weak spikes", gaussian, spiked(100, 5, 2.0, 1.5), (0.9, 1.0)),
]
ROWS = [
    *(
        Coverage(f"{name}-{n}", f"{title}, {n:,} rows", draw, spectrum, n, promised)
        for name, title, draw, spectrum, promised in KINDS
        for n in (600, 3000, 20_000)
    ),
    *(
        Coverage(
            f"{name}-merged",
            f"{title}, 40 parts of 500 rows, merged",
            draw,
            spectrum,
            20_000,
            promised,
            parts=40,
            runs=100,
        )
        for name, title, draw, spectrum, promised in KINDS
    ),
]


def main(arguments: list[str] | None = None) -> None:
    """Measure the rows one by one."""
    args = parser("captured", __doc__).parse_args(arguments)
    rows = chosen(ROWS, args)
    results = Results("captured", args)
    with threadpool_limits(limits=1):
        for row in rows:
            results.add(row.measure(results.seed, quick=args.quick))


if __name__ == "__main__":
    main()
