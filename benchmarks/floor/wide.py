"""Wide dense rows: what is lost against exact PCA, and where only a sketch is kept."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator, eigsh
from sklearn.decomposition import PCA as BatchPCA

from benchmarks.floor.target import Effort, Target
from benchmarks.losses import leading, loss
from benchmarks.rows import Numbers, gaussian, power, spiked
from benchmarks.timing import medians, ratio
from onepass import PCA, open_source

SPIKES = 5
BLOCK = 1000  # rows that are drawn at once
K = 10
FEW = ((500, 10_000), (1500, 10_000), (3000, 10_000), (500, 100_000))
WIDE = tuple((n, d) for d in (5000, 10_000) for n in (20_000, 40_000))


def captured(X: Numbers, directions: Any) -> float:
    """Return what directions (k, d) capture of rows."""
    return float(np.sum(((X - X.mean(axis=0)) @ directions.T) ** 2))


def lost(n: int, d: int, spectrum: Numbers) -> Callable[[Effort], float]:
    """Return the measure of the share of exact PCA's variance that is lost."""

    def measure(effort: Effort) -> float:
        X = gaussian(effort.rows(n), spectrum, np.random.default_rng(effort.seed))
        exact = captured(X, leading(X - X.mean(axis=0), K))
        return max(1.0 - captured(X, PCA(K).fit(X).components_) / exact, 0.0)

    return measure


def few_rows(n: int, d: int) -> Callable[[Effort], float]:
    """Return the measure of a fit of few rows of many columns over scikit-learn's full SVD."""

    def measure(effort: Effort) -> float:
        X = gaussian(effort.rows(n), power(d, 1.0), np.random.default_rng(effort.seed))
        return ratio(
            lambda: PCA(K).fit(X).components_,
            lambda: BatchPCA(K, svd_solver="full").fit(X),
            turns=1,
        )

    return measure


def waiting_rows(effort: Effort) -> float:
    """Measure the microseconds of a row of 4,095 columns while rows are fewer than columns."""
    n, d = effort.rows(2000), 4095
    X = gaussian(n, power(d, 1.0), np.random.default_rng(effort.seed)).astype(np.float32)
    (seconds,) = medians(lambda: PCA(K).fit(X).components_, turns=effort.turns)
    return 1e6 * seconds / n


def weak_spikes(n: int, d: int, effort: Effort) -> tuple[np.ndarray, Numbers]:
    """Return float32 rows (n, d) of five weak spikes over noise, and their spectrum (d,)."""
    rng = np.random.default_rng([effort.seed, n, d])
    spectrum = spiked(d, SPIKES, 2.5, 2.5)
    rows = np.empty((effort.rows(n), d), np.float32)
    for start in range(0, len(rows), BLOCK):
        part = rows[start : start + BLOCK]
        part[:] = gaussian(len(part), spectrum, rng)
    return rows, spectrum


def excess(n: int, d: int) -> Callable[[Effort], float]:
    """Return the measure of the excess over batch PCA on weak spikes, on the population."""

    def measure(effort: Effort) -> float:
        rows, spectrum = weak_spikes(n, d, effort)
        ours = loss(PCA(SPIKES).fit(rows).components_, spectrum, SPIKES)
        return ours / loss(batch_of_float32(rows, SPIKES), spectrum, SPIKES)

    return measure


def excess_of_file(n: int, d: int) -> Callable[[Effort], float]:
    """Return the same measure for a list column of a parquet file, read four times."""

    def measure(effort: Effort) -> float:
        import pyarrow as pa
        import pyarrow.parquet

        rows, spectrum = weak_spikes(n, d, effort)
        lists = pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), d)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "rows.parquet"
            table = pa.table({"rows": lists})
            pyarrow.parquet.write_table(table, path, row_group_size=2000, compression="none")
            model = PCA(SPIKES, passes=4).fit(open_source(path))
        ours = loss(model.components_, spectrum, SPIKES)
        return ours / loss(batch_of_float32(rows, SPIKES), spectrum, SPIKES)

    return measure


def over_arpack(n: int, d: int) -> Callable[[Effort], float]:
    """Return the measure of a fit of weak spikes in memory over scikit-learn's arpack."""

    def measure(effort: Effort) -> float:
        rows, _ = weak_spikes(n, d, effort)
        return ratio(
            lambda: PCA(SPIKES).fit(rows).components_,
            lambda: BatchPCA(SPIKES, svd_solver="arpack").fit(rows),
            turns=1,
        )

    return measure


def batch_of_float32(X: np.ndarray, k: int) -> Numbers:
    """Return the k leading directions of rows about zero without their d x d second moment."""
    d = X.shape[1]
    moment = LinearOperator((d, d), matvec=lambda v: X.T @ (X @ v.astype(np.float32)), dtype="f4")
    start = np.zeros(d, np.float32)
    start[:k] = 1.0
    vectors = eigsh(moment, k, v0=start, tol=1e-5)[1]
    return np.linalg.qr(vectors.astype(np.float64))[0].T


TARGETS = [
    *(
        Target(
            f"lost-{d}",
            f"lost, 10,000 x {d:,}, k = {K}",
            lost(10_000, d, power(d, 1.0)),
            1e-6,
            "share",
        )
        for d in (3072, 4096)
    ),
    *(
        Target(
            f"few-{n}x{d}",
            f'{n:,} rows of {d:,} columns, over `PCA(svd_solver="full")`',
            few_rows(n, d),
            1.0,
        )
        for n, d in FEW
    ),
    *(
        Target(
            f"lost-few-{n}x{d}",
            f"lost, {n:,} rows of {d:,} columns of noise, k = {K}",
            lost(n, d, np.ones(d)),
            1e-9,
            "share",
        )
        for n, d in FEW
    ),
    Target(
        "waiting",
        "microseconds of a row, 2,000 float32 rows of 4,095 columns",
        waiting_rows,
        250.0,
    ),
    *(
        Target(
            f"spikes-{n}x{d}",
            f"excess over batch PCA, five weak spikes, {n:,} x {d:,}, in memory",
            excess(n, d),
            1.01,
        )
        for n, d in WIDE
    ),
    *(
        Target(
            f"spikes-file-{n}x{d}",
            f"the same, {n:,} x {d:,}, from parquet with `passes=4`",
            excess_of_file(n, d),
            1.02,
        )
        for n, d in WIDE
    ),
    *(
        Target(
            f"spikes-time-{n}x{d}",
            f'five weak spikes, {n:,} x {d:,}, in memory, over `PCA(svd_solver="arpack")`',
            over_arpack(n, d),
            1.7,
        )
        for n, d in WIDE
    ),
]
