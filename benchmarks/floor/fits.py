"""Dense rows: a fit over a single product, two threads over one, short streams, files, memory."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA as BatchPCA
from threadpoolctl import threadpool_limits

from benchmarks.floor.target import Effort, Target
from benchmarks.rows import gaussian, spiked
from benchmarks.timing import medians, ratio
from onepass import PCA, open_source

K = 8
ROWS = {784: 60_000, 384: 100_000, 2000: 20_000, 100: 200_000, 50: 200_000, 3072: 20_000}
# Columns, type, `robust`, and the target.
FLOORS = (
    (784, "float64", False, 1.25),
    (784, "float64", True, 3.25),
    (784, "float32", False, 1.4),
    (784, "float32", True, 3.4),
    (384, "float32", False, 1.8),
    (2000, "float64", False, 1.25),
    (2000, "float32", False, 2.0),
    (100, "float64", False, 1.9),
    (50, "float64", False, 2.8),
    (50, "float64", True, 4.8),
    (3072, "float32", False, 2.5),
)


def rows_of(n: int, d: int, type_: str, seed: int) -> NDArray[np.floating]:
    """Return normal rows: eight spikes over noise."""
    return gaussian(n, spiked(d, K, 5.0, 2.5), np.random.default_rng(seed)).astype(type_)


def over_product(d: int, type_: str, robust: bool) -> Callable[[Effort], float]:
    """Return the measure of a whole fit over X.T @ X."""

    def measure(effort: Effort) -> float:
        X = rows_of(effort.rows(ROWS[d]), d, type_, effort.seed)
        model = PCA(K, robust=robust)
        return ratio(lambda: model.fit(X).components_, lambda: X.T @ X, turns=effort.turns)

    return measure


def two_threads(d: int) -> Callable[[Effort], float]:
    """Return the measure of how many times faster two threads are; 0 where a bit differs."""

    def measure(effort: Effort) -> float:
        X = rows_of(effort.rows(ROWS[d]), d, "float64", effort.seed)
        components = {}

        def fit(threads: int) -> None:
            with threadpool_limits(limits=threads):
                components[threads] = PCA(K).fit(X).components_

        one, two = medians(
            lambda: fit(1), lambda: fit(2), turns=effort.turns, clock=time.perf_counter
        )
        return one / two if (components[1] == components[2]).all() else 0.0

    return measure


def beside_reader(effort: Effort) -> float:
    """Measure `partial_fit` beside a thread that calls `transform` all the time, over it alone."""
    X = rows_of(2 * effort.rows(ROWS[100]), 100, "float64", effort.seed)

    def learn(stop: threading.Event | None) -> None:
        model = PCA(K).partial_fit(X[:2000])

        def read(stop: threading.Event) -> None:
            while not stop.is_set():
                model.transform(X[:1])

        reader = threading.Thread(target=read, args=(stop,)) if stop else None
        if reader:
            reader.start()
        model.partial_fit(X)
        if stop and reader:
            stop.set()
            reader.join()

    return ratio(
        lambda: learn(threading.Event()),
        lambda: learn(None),
        turns=effort.turns,
        clock=time.perf_counter,
    )


def short_stream(effort: Effort) -> float:
    """Measure 2,000 x 100 over scikit-learn's covariance_eigh."""
    X = rows_of(2000, 100, "float64", effort.seed)
    return ratio(
        lambda: PCA(K).fit(X).components_,
        lambda: BatchPCA(K, svd_solver="covariance_eigh").fit(X),
        turns=10 * effort.turns,
    )


def gaps(effort: Effort) -> float:
    """Measure the microseconds of a row of 50 columns, of which 1% of the entries are missing."""
    rng = np.random.default_rng(effort.seed)
    X = rows_of(effort.rows(50_000), 50, "float64", effort.seed)
    X[rng.random(X.shape) < 0.01] = np.nan
    (seconds,) = medians(lambda: PCA(K).fit(X).components_, turns=effort.turns)
    return 1e6 * seconds / len(X)


def over_reading(suffix: str) -> Callable[[Effort], float]:
    """Return the measure of a fit from a file of 50 columns over only reading it."""

    def measure(effort: Effort) -> float:
        import pyarrow as pa
        import pyarrow.csv
        import pyarrow.parquet

        X = rows_of(effort.rows(400_000), 50, "float64", effort.seed)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"rows.{suffix}"
            table = pa.table(list(X.round(6).T.copy()), names=[f"c{j}" for j in range(X.shape[1])])
            if suffix == "csv":
                pyarrow.csv.write_csv(table, path)
            else:
                pyarrow.parquet.write_table(table, path, row_group_size=100_000)
            return ratio(
                lambda: PCA(K).fit(open_source(path)).components_,
                lambda: [None for _ in open_source(path)],
                turns=effort.turns,
            )

    return measure


def far_mean(type_: str, mean: float) -> Callable[[Effort], float]:
    """Return the measure of the error of the first variance where the mean is far from zero."""

    def measure(effort: Effort) -> float:
        rng = np.random.default_rng(effort.seed)
        X = (mean + rng.normal(size=(effort.rows(10_000), 20))).astype(type_)
        exact = np.linalg.eigvalsh(np.cov(X.astype(np.float64) - mean, rowvar=False))[-1]
        return float(abs(PCA(2).fit(X).explained_variance_[0] / exact - 1.0))

    return measure


TARGETS = [
    *(
        Target(
            f"floor-{d}-{type_}" + ("-robust" if robust else ""),
            f"fit over X.T @ X: {ROWS[d]:,} x {d:,} {type_}"
            + (", `robust=True`" if robust else ""),
            over_product(d, type_, robust),
            target,
        )
        for d, type_, robust, target in FLOORS
    ),
    *(
        Target(
            f"threads-{d}",
            f"two threads against one, wall time, the same bits: {ROWS[d]:,} x {d:,}",
            two_threads(d),
            target,
            at_least=True,
        )
        for d, target in ((784, 1.7), (2000, 1.7), (100, 1.4))
    ),
    Target(
        "beside-reader",
        "`partial_fit` of 400,000 x 100 beside a loop of `transform`, over it alone, wall time",
        beside_reader,
        2.0,
    ),
    Target("short", "2,000 x 100, over `covariance_eigh`", short_stream, 2.5),
    Target("gaps", "microseconds of a row of 50 columns, 1% missing, k = 8", gaps, 6.0),
    *(
        Target(
            f"files-{suffix}",
            f"fit over only reading: 400,000 x 50, {suffix}",
            over_reading(suffix),
            target,
        )
        for suffix, target in (("csv", 1.5), ("parquet", 2.5))
    ),
    *(
        Target(
            f"mean-{type_}",
            f"error of the first variance, {type_}, mean {mean:.0e}, variance 1",
            far_mean(type_, mean),
            0.01,
            "share",
        )
        for type_, mean in (("float64", 1e8), ("float32", 1e4))
    ),
]
