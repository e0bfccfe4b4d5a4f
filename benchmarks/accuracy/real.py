"""Real data: learned from one half of the rows, measured on the other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.accuracy.study import EXACT, Case, Cases, Study, excess, promise
from benchmarks.data import rows_of, standardised
from benchmarks.losses import covariance_of

MOST_ROWS = 100_000  # of a half of covtype and KDD: more add time and change nothing
NATURAL = {"covtype": (2, 5, 10), "gas-drift": (3, 10), "los-speed": (3, 10)}
RAW = {"kdd99": (1, 3, 8), "covtype": (2, 5), "gas-drift": (3, 10), "indian-pines": (3, 10)}


def halves(names: dict[str, tuple[int, ...]], *kinds: str, shuffled: bool = True) -> Cases:
    """Return data sets, raw or standardised, for some k each."""

    def cases(seed: int, folder: Path | None) -> Iterator[Case]:
        for name, ks in names.items():
            raw = rows_of(name, folder)
            order = np.random.default_rng([seed, len(raw)]).permutation(len(raw))
            size = min(len(raw) // 2, MOST_ROWS)
            learned, held_out = order[:size], order[size : 2 * size]
            if not shuffled:
                learned = np.sort(learned)
            for kind in kinds:
                rows = standardised(raw) if kind == "standardised" else raw
                covariance = covariance_of(rows[held_out])
                for k in ks:
                    yield Case(f"{name} {kind} k={k}", rows[learned], k, covariance)

    return cases


def scaled_mnist(k: int) -> Cases:
    """Return the paper's setting: pixels of mean zero and equal variance, 40% of the images."""

    def cases(seed: int, folder: Path | None) -> Iterator[Case]:
        rows = standardised(rows_of("mnist", folder)) / 28.0
        order = np.random.default_rng(seed).permutation(len(rows))
        covariance = covariance_of(rows[order[42_000:]])
        yield Case(f"k={k}", rows[order[:28_000]], k, covariance)

    return cases


STUDIES = [
    Study(
        "natural",
        "covtype, gas, traffic, raw and standardised, in natural order",
        excess(halves(NATURAL, "raw", "standardised", shuffled=False)),
        2,
        promise(EXACT, EXACT),
    ),
    Study(
        "raw",
        "KDD, covtype, gas, indian-pines, raw, shuffled",
        excess(halves(RAW, "raw")),
        4,
        promise(EXACT, EXACT),
    ),
    *(
        Study(
            f"mnist-{k}",
            f"MNIST as in the paper, k = {k}, `robust=True`",
            excess(scaled_mnist(k), robust=True),
            5,
            promise(),
        )
        for k in (8, 40)
    ),
]
