"""What the files of the corpus hold: rows, tables and sparse counts, the same in every run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse
from numpy.typing import NDArray


def values(n: int = 150, d: int = 5, *, missing: float = 0.0) -> NDArray[np.float64]:
    """Return normal rows (n, d), of which a share is NaN."""
    rng = np.random.default_rng([n, d])
    rows = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-3, 4, size=d)
    rows[rng.random(rows.shape) < missing] = np.nan
    return rows


def table(n: int = 150, d: int = 5, *, missing: float = 0.0) -> pd.DataFrame:
    """Return the same as a table with names."""
    return pd.DataFrame(values(n, d, missing=missing), columns=[f"x{j}" for j in range(d)])


def counts(n: int = 150, d: int = 30, share: float = 0.1, *, dtype: Any = np.float32) -> Any:
    """Return a CSR array of counts."""
    rng = np.random.default_rng([n, d])
    full = scipy.sparse.random_array((n, d), density=share, rng=rng, format="csr")
    full.data = rng.integers(1, 20, size=full.nnz).astype(dtype)
    return full.astype(dtype)


def mostly_zeros(n: int = 200_000, d: int = 20) -> pd.DataFrame:
    """Return a table in which one value in a thousand is not zero."""
    return pd.DataFrame(counts(n, d, 0.001, dtype=np.float64).toarray()).rename(
        columns="x{}".format
    )


def mixed(n: int = 150) -> pd.DataFrame:
    """Return a table with numbers, truth values, text, dates and categories."""
    rng = np.random.default_rng(n)
    return pd.DataFrame(
        {
            "id": [f"row {i}" for i in range(n)],
            "a": rng.normal(size=n),
            "count": rng.integers(0, 100, size=n),
            "flag": rng.random(n) < 0.5,
            "when": pd.date_range("2024-01-01", periods=n, freq="h"),
            "kind": pd.Categorical(rng.choice(["red", "green", "blue"], size=n)),
            "b": rng.normal(size=n),
        }
    )


def embeddings(n: int = 400, width: int = 64, dtype: Any = np.float32) -> NDArray[Any]:
    """Return rows (n, width), whole numbers from -100 to 100 for integers."""
    rng = np.random.default_rng([n, width])
    if np.issubdtype(dtype, np.integer):
        return rng.integers(-100, 100, size=(n, width)).astype(dtype)
    return rng.normal(size=(n, width)).astype(dtype)
