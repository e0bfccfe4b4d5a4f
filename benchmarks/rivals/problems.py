"""The rows that solvers learn from, and what their directions are measured on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.decomposition import PCA

from benchmarks.floor.sparse_rows import counts
from benchmarks.floor.target import Effort
from benchmarks.losses import batch_pca
from benchmarks.rivals.worker import WARM_UP
from benchmarks.rows import gaussian, power, spiked

GROUP = 5000  # rows of a row group of a parquet file


@dataclass(frozen=True)
class Problem:
    """A row of the table.

    Attributes
    ----------
    name, title : str
        On the command line, and in the table.
    n, d, k : int
        Rows, columns, directions.
    type_ : str
        Of the numbers.
    kind : str
        "dense": variances 1/i about a mean of 3; "counts": sparse counts of the genes with
        the largest ones; "mean": about a far mean.
    from_file : bool
        Whether the time from a file is measured, or that from rows in memory.
    threads : int
        How many cores the process may use.
    """

    name: str
    title: str
    n: int
    d: int
    k: int
    type_: str = "float64"
    kind: str = "dense"
    from_file: bool = False
    threads: int = 1

    @property
    def sparse(self) -> bool:
        """Whether rows are sparse."""
        return self.kind == "counts"

    def rows(self, effort: Effort) -> Any:
        """Return the rows in memory."""
        rng = np.random.default_rng(effort.seed)
        n = effort.rows(self.n)
        if self.kind == "counts":
            X = counts(effort)
            largest = np.sort(np.argsort(-np.asarray(X.sum(axis=0)))[: self.d])
            return sparse.csr_matrix(X[:, largest].astype(self.type_))
        if self.kind == "mean":
            mean = 1e8 if self.type_ == "float64" else 1e4
            return (mean + gaussian(n, spiked(self.d, self.k, 4.0, 2.0), rng)).astype(self.type_)
        return (3.0 + gaussian(n, power(self.d, 1.0), rng)).astype(self.type_)

    def write(self, X: Any, folder: Path) -> tuple[Path, Path]:
        """Write all rows, and a few to warm up with; return both files."""
        few = folder / f"few{self.suffix}", X[: max(WARM_UP, 2 * self.k)]
        for path, rows in ((folder / f"rows{self.suffix}", X), few):
            _write(path, rows)
        return folder / f"rows{self.suffix}", few[0]

    @property
    def suffix(self) -> str:
        """The format of the file."""
        if self.from_file:
            return ".h5ad" if self.sparse else ".parquet"
        return ".npz" if self.sparse else ".npy"


def _write(path: Path, X: Any) -> None:
    """Write rows in the format of the suffix."""
    if path.suffix == ".npy":
        np.save(path, X)
    elif path.suffix == ".npz":
        sparse.save_npz(path, X, compressed=False)
    elif path.suffix == ".h5ad":
        from anndata import AnnData

        AnnData(X).write_h5ad(path)
    else:
        import pyarrow as pa
        import pyarrow.parquet

        table = pa.table(list(X.T.copy()), names=[f"c{j}" for j in range(X.shape[1])])
        pyarrow.parquet.write_table(table, path, row_group_size=GROUP)


class Exact:
    """What exact PCA finds in rows."""

    def __init__(self, X: Any, k: int) -> None:
        if sparse.issparse(X):
            self.X, self.mean = X.astype(np.float64), np.asarray(X.mean(axis=0)).ravel()
            model = PCA(k, svd_solver="arpack", random_state=0).fit(self.X)
            self.first = float(model.explained_variance_[0])
            self.captured = self.variances(model.components_).sum()
            return
        origin = X[0].astype(np.float64)  # so that a far mean costs no digits
        self.X = X - origin
        self.mean = self.X.mean(axis=0)
        best = self.variances(batch_pca(self.X, k))
        self.first, self.captured = float(best[0]), best.sum()

    def variances(self, directions: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return the variances of the rows along directions (k, d)."""
        inner = np.asarray(self.X @ directions.T) - self.mean @ directions.T
        return (inner**2).sum(axis=0) / (len(inner) - 1)

    def lost(self, directions: NDArray[np.floating]) -> float:
        """Return the share of what exact PCA captures that other directions lose."""
        orthonormal = np.linalg.qr(directions.T.astype(np.float64))[0].T
        return float(1.0 - self.variances(orthonormal).sum() / self.captured)


def _dense(n: int, d: int, k: int, *which: tuple[str, int, bool]) -> list[Problem]:
    """Return a size in some types, with one or two cores, in memory or from a file."""
    return [
        Problem(
            f"{d}-{type_}-{threads}" + ("-file" if from_file else ""),
            f"{n:,} x {d:,} {type_}, k = {k}, "
            + ("from parquet, " if from_file else "")
            + ("one core" if threads == 1 else "two cores"),
            *(n, d, k, type_),
            from_file=from_file,
            threads=threads,
        )
        for type_, threads, from_file in which
    ]


PROBLEMS = [
    *_dense(
        *(20_000, 784, 8),
        *((type_, threads, False) for type_ in ("float64", "float32") for threads in (1, 2)),
        *(("float64", 1, True), ("float32", 1, True)),
    ),
    *_dense(
        *(40_000, 384, 50),
        *(("float64", 1, False), ("float32", 2, False), ("float32", 1, True)),
    ),
    *(
        Problem(
            f"counts-{threads}" + ("-file" if from_file else ""),
            "20,000 x 2,000 counts of genes, k = 50, "
            + ("from h5ad, " if from_file else "")
            + ("one core" if threads == 1 else "two cores"),
            *(20_000, 2000, 50, "float32", "counts"),
            from_file=from_file,
            threads=threads,
        )
        for from_file, threads in ((False, 1), (False, 2), (True, 1))
    ),
    *(
        Problem(
            f"mean-{type_}",
            f"10,000 x 20 {type_}, mean {mean}, variance 1, two directions of 4 and 2",
            *(10_000, 20, 2, type_, "mean"),
        )
        for type_, mean in (("float64", "1e8"), ("float32", "1e4"))
    ),
]
