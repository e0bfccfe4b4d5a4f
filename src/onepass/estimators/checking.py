"""The door: what comes in is checked here, once, and errors say what is wrong and where."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_array, validate_data

from onepass.sources import Source
from onepass.sources.finite import LARGEST, first_masked

LARGEST_SINGLE = 1e30  # of numbers in single precision, weighted
MOST_ENERGY = 1e307  # of rows that come at once: a few times as much can be added up
LEAST_WEIGHT = 1e-300  # of rows that count at all
SMALLEST = 1e-303  # energy of a row on average from which on steps stay in range


def is_source(X: Any) -> bool:
    """Whether X gives blocks of rows rather than being one."""
    if isinstance(X, Source | Iterator):
        return True
    if isinstance(X, list | tuple):
        return len(X) > 0 and len(getattr(X[0], "shape", ())) == 2
    held = ("shape", "__array__", "__array_interface__", "__dataframe__")
    return (
        isinstance(X, Iterable)
        and not isinstance(X, str)
        and not any(hasattr(X, name) for name in held)
    )


def is_table(X: Any) -> bool:
    """Whether a block has names for its columns."""
    if _is_lazy(X):
        return False
    return hasattr(X, "columns") or hasattr(X, "column_names") or hasattr(X, "__dataframe__")


def check_rows(estimator: Any, X: Any, *, reset: bool, finite: bool = True) -> Any:
    """Return X as a float array or CSR array of shape (n, d); remember its columns.

    Where `finite` is False, it is left to the caller to look at the entries.
    """
    _check_present(X, "X")
    options: dict[str, Any] = {"accept_sparse": "csr", "ensure_all_finite": False}
    X = validate_data(
        estimator, X, reset=reset, dtype=[np.float64, np.float32], order="C", **options
    )
    X = _as_csr(X)
    return check_finite(X, 0, estimator) if finite else X


def is_plain(X: Any) -> bool:
    """Whether X is rows of numbers with which there is nothing to be done."""
    return (
        type(X) is np.ndarray
        and X.ndim == 2
        and len(X) > 0
        and X.dtype in (np.float64, np.float32)
        and X.flags.c_contiguous
    )


def check_block(X: Any, n_features: int | None, *, finite: bool = True) -> Any:
    """Return a block of a source as a float array or CSR array.

    Where `finite` is False, it is left to the caller to look at the entries.
    """
    if not is_plain(X):
        _check_present(X, "A block")
        X = check_array(
            X,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            order="C",
            ensure_all_finite=False,
        )
    if n_features is not None and X.shape[1] != n_features:
        raise ValueError(f"A block has {X.shape[1]} features, expected n_features={n_features}")
    X = _as_csr(X)
    return check_finite(X, 0, name="A block") if finite else X


def _is_lazy(X: Any) -> bool:
    """Whether X is a query, such as polars' LazyFrame, rather than its result."""
    return callable(getattr(type(X), "collect", None))


def _check_present(X: Any, name: str) -> None:
    """Refuse what holds no rows yet, and entries that are there but do not count."""
    for given in X[:1] if isinstance(X, list | tuple) else [X]:
        if _is_lazy(given):
            raise ValueError(
                f"{name} is a {type(given).__name__}, which holds no rows yet: collect it first, "
                "with its method collect()"
            )
    where = first_masked(X)
    if where is not None:
        raise ValueError(
            f"{name} is masked at row {where[0]}, column {where[1]}: leave such rows out or fill "
            "the gaps first"
        )


def _as_csr(X: Any) -> Any:
    """Return a sparse matrix as a CSR array without repeated entries."""
    if sparse.issparse(X):
        X = sparse.csr_array(X)
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
    return X


def check_finite(
    X: Any, first: int, estimator: Any = None, name: str = "X", *, together: bool = False
) -> Any:
    """Return X, or say at which row and column it is not finite; `first` is its first row.

    Where they are to be learned from `together`, the squares of all entries have to be finite, too.
    """
    entries = X.data if sparse.issparse(X) else X
    flat = entries.reshape(-1)
    with np.errstate(over="ignore", invalid="ignore"):
        if float(flat @ flat) <= LARGEST**2:  # the quickest look at every entry
            return X
        bad = ~np.isfinite(entries)
        if entries.dtype == np.float64:
            bad |= np.abs(entries) > LARGEST
        wide = flat.astype(np.float64, copy=False)
        energy = float(wide @ wide)
    if bad.any():
        if sparse.issparse(X):
            coordinates = X.tocoo()
            where = int(np.flatnonzero(bad)[0])
            row, column = int(coordinates.row[where]), int(coordinates.col[where])
            value = coordinates.data[where]
        else:
            row, column = (int(index) for index in np.argwhere(bad)[0])
            value = X[row, column]
        what = "NaN" if np.isnan(value) else "inf" if np.isinf(value) else f"{value:g}"
        columns = getattr(estimator, "feature_names_in_", None)
        label = f" ({columns[column]!r})" if columns is not None else ""
        raise ValueError(
            f"{name} contains {what} at row {first + row}, column {column}{label}; all entries "
            f"must be finite and at most {LARGEST:g}, so that their squares add up: leave such "
            "rows out or fill the gaps first"
        )
    if together and not energy <= MOST_ENERGY:
        raise ValueError(
            f"{name} is too large: the squares of {X.shape[0]} rows from row {first} on add up to "
            f"more than {MOST_ENERGY:g}; divide it by a large number"
        )
    return X


def check_spread(energy: float, weight: float, rows: Any, center: bool) -> None:
    """Refuse rows that differ, from each other or from zero, by so little that squares are lost.

    `energy` is the scatter of all rows of some weight so far, `rows` are the last of them.
    """
    if energy >= SMALLEST * weight:
        return
    spread = rows.max(axis=0) - rows.min(axis=0) if center else abs(rows)
    if spread.max() > 0.0:
        raise ValueError(
            f"the rows of X differ by less than {np.sqrt(SMALLEST):.0g}, and the squares of such "
            "numbers are out of range: multiply X by a large number"
        )


def check_weighted(X: Any, weights: NDArray[np.float64]) -> None:
    """Refuse rows (n, d) that are too large when they count as often as their weights say."""
    largest = abs(X).max(axis=1)
    largest = np.asarray(largest.toarray() if sparse.issparse(largest) else largest).ravel()
    limit = LARGEST if X.dtype == np.float64 else LARGEST_SINGLE
    bad = np.sqrt(weights) * largest > limit
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise ValueError(
            f"X is too large at row {row} for its sample_weight, {weights[row]:g}: entries times "
            f"the root of the weight must be at most {limit:g}"
        )


def check_weights(sample_weight: Any, n: int) -> NDArray[np.float64] | None:
    """Return the weights of n rows, or say which one is wrong."""
    if sample_weight is None:
        return None
    weights = np.asarray(sample_weight)
    if weights.ndim == 0:
        weights = np.full(n, weights)
    try:
        weights = weights.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"sample_weight must be numbers: {error}") from None
    if weights.shape != (n,):
        raise ValueError(
            f"sample_weight has shape {weights.shape}, expected ({n},): one weight per row"
        )
    bad = ~(np.isfinite(weights) & ((weights >= LEAST_WEIGHT) | (weights == 0.0)))
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise ValueError(
            f"sample_weight is {weights[row]} at row {row}; weights must be finite and not "
            f"negative, and at least {LEAST_WEIGHT:g} where they are not zero"
        )
    return weights
