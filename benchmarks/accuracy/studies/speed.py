"""How many times faster than scikit-learn `PCA` is, in CPU time on one thread."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.decomposition import IncrementalPCA, TruncatedSVD
from threadpoolctl import threadpool_limits

from benchmarks.accuracy.methods import Method
from benchmarks.accuracy.rows import gaussian, power
from benchmarks.accuracy.study import OURS, Limit, Measure, Study
from benchmarks.dataset import folder_of
from onepass import PCA

# Rows, columns, directions, and how many times faster than IncrementalPCA is promised.
FLOORS = (
    (6000, 784, 8, 1.5),
    (64_000, 784, 8, 4.0),
    (4000, 784, 40, 1.2),
    (600, 10_000, 10, 1.5),
    (3000, 10_000, 10, 2.0),
    (2000, 100, 8, 0.7),
    (400_000, 50, 5, 12.0),
)


def seconds(work: Callable[[], Any], clock: Callable[[], float]) -> float:
    """Return how long a call takes."""
    start = clock()
    work()
    return clock() - start


def against_incremental(n: int, d: int, k: int) -> Measure:
    """Return the measure of one size; every seed is a turn of both."""

    def measure(
        methods: list[Method], seed: int, folder: Path | None
    ) -> Iterator[tuple[str, str, float]]:
        rows = gaussian(n, power(d, 1.0), np.random.default_rng(seed))
        PCA(k).fit(rows[:600])  # imports and first calls
        ours = seconds(lambda: PCA(k).fit(rows).components_, time.process_time)
        peer = IncrementalPCA(k, batch_size=100)
        yield OURS, "", seconds(lambda: peer.fit(rows), time.process_time) / ours

    return measure


def against_truncated_svd(k: int) -> Measure:
    """Return the measure of PCA's time over that of TruncatedSVD, on 20 newsgroups."""

    def measure(
        methods: list[Method], seed: int, folder: Path | None
    ) -> Iterator[tuple[str, str, float]]:
        with np.load(folder_of("20news", folder) / "20news_counts.npz") as arrays:
            parts = (arrays["data"].astype(np.float64), arrays["indices"], arrays["indptr"])
            rows = sparse.csr_array(parts, shape=tuple(arrays["shape"]))
        rows = rows[np.random.default_rng(seed).permutation(rows.shape[0])]
        PCA(k).fit(rows[:600])
        ours = seconds(lambda: PCA(k).fit(rows).components_, time.process_time)
        peer = TruncatedSVD(k, random_state=0)
        yield OURS, "", ours / seconds(lambda: peer.fit(rows), time.process_time)

    return measure


def two_cores(
    methods: list[Method], seed: int, folder: Path | None
) -> Iterator[tuple[str, str, float]]:
    """Yield how many times faster two cores are, by the wall clock; 0 where a bit differs."""
    rows = gaussian(50_000, power(784, 1.0), np.random.default_rng(seed))
    PCA(8).fit(rows[:2000])
    models, times = [PCA(8), PCA(8)], []
    for threads, model in enumerate(models, start=1):
        with threadpool_limits(limits=threads):
            times.append(seconds(lambda fit=model.fit: fit(rows).components_, time.perf_counter))
    same = (models[0].components_ == models[1].components_).all()
    yield OURS, "", times[0] / times[1] if same else 0.0


def _study(name: str, title: str, measure: Measure, limit: float, *, least: bool = True) -> Study:
    """Return a study whose median over some turns is promised."""
    return Study(name, title, measure, (Limit("median", limit, least),), seeds=5, over_batch=False)


STUDIES = [
    *(
        _study(
            f"speed-{n}x{d}x{k}",
            f"{n:,} x {d:,}, k={k}: times faster than IncrementalPCA, 100 rows",
            against_incremental(n, d, k),
            floor,
        )
        for n, d, k, floor in FLOORS
    ),
    *(
        _study(
            f"speed-20news-{k}",
            f"20 newsgroups, k={k}: time over TruncatedSVD's",
            against_truncated_svd(k),
            limit,
            least=False,
        )
        for k, limit in ((8, 4.0), (40, 6.0))
    ),
    _study(
        "speed-two-cores",
        "50,000 x 784, k=8: two cores over one, the same bits",
        two_cores,
        1.5,
    ),
]
