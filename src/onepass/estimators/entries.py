"""The one check of rows, blocks and weights; errors say what is wrong and where."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from onepass.sources import Position, Source
from onepass.sources.base import (
    LARGEST,
    LARGEST_SINGLE,
    EntryError,
    as_block,
    canonical,
    first_beyond,
    unmasked,
)

ONE_THREAD = 10_000  # entries from which on BLAS may add up squares on several threads
LEAST_WEIGHT = 1e-50  # and its inverse the largest: products of weights and squares stay in range
# What NumPy and scikit-learn say of objects that are no numbers.
NOT_CONVERTED = re.compile(r"could not convert string|must be a string or a real number")


def is_plain(X: Any) -> bool:
    """Return whether X is an array of rows that needs no conversion."""
    return (
        type(X) is np.ndarray
        and X.ndim == 2
        and X.dtype in (np.float64, np.float32)
        and len(X) > 0
        and X.flags.c_contiguous
    )


def converted(X: Any, name: str, convert: Callable[..., Any] | None = None) -> Any:
    """Return X as a C-contiguous float array or canonical CSR array, by a check of scikit-learn.

    float32 stays float32, float16 becomes float32, and all other numbers float64.
    """
    from sklearn.utils.validation import check_array  # takes long, and reading files needs none

    X = unmasked(X)
    if isinstance(X, np.ndarray) and X.dtype.kind not in "biufcO":
        raise ValueError(f"{name} holds values of type {X.dtype}, not numbers")
    if getattr(X, "dtype", None) == np.float16:
        X = X.astype(np.float32)
    try:
        rows = (convert or check_array)(
            _valid(X) if sparse.issparse(X) else X,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            order="C",
            ensure_all_finite=False,
        )
    except (ValueError, TypeError, OverflowError) as error:
        if isinstance(error, OverflowError) or NOT_CONVERTED.search(str(error)):
            _name_entry(X, name, error)
        raise
    return canonical(rows) if sparse.issparse(rows) else rows


def _name_entry(X: Any, name: str, error: Exception) -> None:
    """Say where an entry is that cannot become a float, if there is one."""
    for (row, column), value in np.ndenumerate(np.atleast_2d(np.asarray(X, dtype=object))):
        try:
            float(value)
        except (ValueError, TypeError, OverflowError):
            what = "text" if isinstance(value, str | bytes) else type(value).__name__
            kind = TypeError if isinstance(error, TypeError) else ValueError  # as scikit-learn's
            raise kind(
                f"{name} contains {what} ({str(value)[:20]!r}) at row {row}, column {column}; "
                f"choose columns of numbers ({error})"
            ) from None


def _valid(X: Any) -> Any:
    """Return a sparse matrix with valid indices and entries: compiled code follows them."""
    try:
        if X.dtype.kind not in "biufc":
            raise ValueError(f"it contains values of type {X.dtype}, not numbers")
        if X.format in ("csr", "csc", "bsr"):
            if not {X.indices.dtype.kind, X.indptr.dtype.kind} <= {"i", "u"}:
                raise ValueError("its indices are not whole numbers")
            X = X.copy()  # checking may sort out unused space in place
            X.check_format(full_check=True)
        elif X.format == "coo":
            X = sparse.coo_array((X.data, X.coords), shape=X.shape)  # which checks them
    except (ValueError, IndexError, TypeError) as error:
        raise ValueError(f"X is not a valid {X.format} matrix: {error}") from error
    return X


def checked_blocks(
    source: Source,
    names: Sequence[Any] | None = None,
    n_features: int | None = None,
    dtype: np.dtype | None = None,
    start: Position | None = None,
) -> Iterator[tuple[Position, Any, bool]]:
    """Yield position, rows as a float array or CSR, and whether entries are missing, by blocks.

    Names, number and type of the columns are those of a model; None if learning begins.
    """
    before = 0
    for end, block in source.blocks(start):
        if not before:
            check_names(names, source.feature_names)
        rows = block if is_plain(block) else as_block(block)
        name = f"The block after {before:,} rows" if before else "The first block"
        if rows.shape[1] != (n_features or rows.shape[1]):
            raise ValueError(f"{name} has {rows.shape[1]} features, expected {n_features=}")
        with source.naming_places(end, rows):
            has_gaps = has_missing(rows, name=name, dtype=dtype)
        if n_features is None:  # learning begins
            n_features, dtype = rows.shape[1], rows.dtype
        before += rows.shape[0]
        yield end, rows, has_gaps
    if not before and start is None:
        raise ValueError("The source has no rows; an iterator can be read only once")


def check_names(ours: Sequence[Any] | None, theirs: Sequence[Any] | None) -> None:
    """Refuse columns with other names than those of a model, if both have names."""
    if ours is not None and theirs is not None and list(ours) != list(theirs):
        raise ValueError(
            f"X has the feature names {list(theirs)}, the estimator was fitted with {list(ours)}"
        )


@np.errstate(over="ignore", invalid="ignore", under="ignore")
def _sum_of_squares(flat: NDArray[np.floating]) -> float:
    """Return the sum of squares (n,), the fastest way to read all entries on one thread.

    For many entries BLAS starts threads, which then wait for more work on cores that rows are
    learned on.
    """
    return float(flat.dot(flat) if len(flat) < ONE_THREAD else np.einsum("i,i->", flat, flat))


def has_missing(
    X: Any, columns: Any = None, name: str = "X", dtype: np.dtype | None = None
) -> bool:
    """Return whether entries of X are missing; refuse those that are infinite or out of range.

    The range is that of `dtype`, by default the type of X.
    """
    flat = (X.data if sparse.issparse(X) else X).ravel("K")  # no copy, whichever order it has
    limit = LARGEST if (dtype or flat.dtype) == np.float64 else LARGEST_SINGLE
    if _sum_of_squares(flat) <= limit**2:  # which NaN is not
        return False
    if found := first_beyond(X, limit):
        row, column, value = found
        remedy = "divide by a large number"
        if limit == LARGEST_SINGLE:
            remedy += ", or pass float64 rows"
        if not np.isfinite(value):
            remedy = "leave such rows out, or write NaN for entries that are missing"
        label = f" ({columns[column]!r})" if columns is not None else ""
        rule = (
            f"all entries must be finite and at most {limit:g}, so that sums of squares stay finite"
        )
        raise EntryError(
            f"{name} contains {value:g} at row {row}, column {column}{label}; {rule}: {remedy}",
            f"{value:g}; {rule}: {remedy}",
            row,
            column,
        )
    return bool(np.isnan(flat).any())


def check_weights(sample_weight: Any, rows: Any, *, whole: bool) -> NDArray[np.float64] | None:
    """Return the weights of rows (n, d), or say which one is wrong.

    The rows of a `whole` stream cannot all have weight 0.
    """
    if sample_weight is None:
        return None
    n = rows.shape[0]
    try:
        weights = np.asarray(unmasked(sample_weight), dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"sample_weight must be numbers: {error}") from None
    weights = np.full(n, weights) if weights.ndim == 0 else weights.copy()
    if weights.shape != (n,):
        raise ValueError(
            f"sample_weight has shape {weights.shape}, expected ({n},): one weight per row"
        )
    bad = ~((weights >= LEAST_WEIGHT) & (weights <= 1.0 / LEAST_WEIGHT) | (weights == 0.0))
    if bad.any():
        row = int(bad.argmax())
        raise ValueError(
            f"sample_weight is {weights[row]} at row {row}; weights must be finite and not "
            f"negative, and between {LEAST_WEIGHT:g} and {1 / LEAST_WEIGHT:g} where not zero"
        )
    if rows.dtype == np.float32 and weights.max(initial=0.0) > 1.0:
        largest = abs(rows).max(axis=1)
        largest = largest.toarray().ravel() if sparse.issparse(rows) else largest
        if (np.sqrt(weights) * largest).max() > LARGEST_SINGLE:
            raise ValueError(
                "rows times the roots of their sample_weight are too large for single precision: "
                f"at most {LARGEST_SINGLE:g}; pass float64 rows or smaller weights"
            )
    if whole and not weights.any():
        raise ValueError("sample_weight is zero for all rows: there is nothing to learn from")
    return weights
