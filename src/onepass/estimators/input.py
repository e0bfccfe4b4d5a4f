"""The one check of what comes in; errors say what is wrong and where."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_array, validate_data

from onepass.estimators.containers import Columns
from onepass.sources.base import (
    LARGEST,
    LARGEST_SINGLE,
    EntryError,
    canonical,
    check_width,
    first_beyond,
    unmasked,
)
from onepass.stream import Stream

LEAST_WEIGHT = 1e-50  # and its inverse the largest: products of weights and squares stay in range
# What NumPy and scikit-learn say of objects that are no numbers.
NOT_CONVERTED = re.compile(r"could not convert string|must be a string or a real number")
# What is wrong with arrays whose kind, in NumPy's letters, is not one of numbers.
OTHER_KINDS = {
    "V": "is a structured array: write fit(numpy.lib.recfunctions.structured_to_unstructured(X))",
    "Mm": "holds dates or times ({}), not numbers: subtract a date and divide by a unit, such as "
    "numpy.timedelta64(1, 's')",
    "UST": "holds text ({}), not numbers: convert it to float first",
}


def is_plain(X: Any, stream: Stream | None = None) -> bool:
    """Return whether X is an array of rows that need no conversion, of the kind of a stream."""
    return (
        type(X) is np.ndarray
        and X.ndim == 2
        and len(X) > 0
        and X.flags.c_contiguous
        and (
            X.dtype in (np.float64, np.float32)
            if stream is None
            else X.dtype == stream.dtype and X.shape[1] == stream.d and not stream.is_sparse
        )
    )


def check_rows(
    estimator: Any, X: Any, *, reset: bool, dtype: np.dtype | None = None
) -> tuple[Any, bool]:
    """Return X as a float array or CSR array of shape (n, d), and whether entries are missing.

    The estimator remembers the number and names of the columns where `reset` is set, and compares
    them where it is not. Rows are going to have the type `dtype`, by default their own.
    """
    known = None if reset else estimator.n_features_in_
    if isinstance(X, Columns):
        ours = getattr(estimator, "feature_names_in_", None)
        if not reset and ours is not None:
            X = X.reordered(ours)
        columns = X.names
        if X.table is None:
            rows = _converted(X.rows, "X", check_array)
            check_names(estimator, X.names, reset=reset)
        else:
            validate_data(estimator, X.table, reset=reset, skip_check_array=True)
            rows = _converted(X.rows, "X", check_array)
        if reset:
            estimator.n_features_in_ = rows.shape[1]
            estimator._origin = replace(estimator._origin, names_are_made=X.are_made)
    else:
        columns = getattr(estimator, "feature_names_in_", None)
        if not reset and estimator._origin.names_are_made:  # arrays need not have such names
            rows = _converted(X, "X", check_array)
        else:
            rows = _converted(X, "X", partial(validate_data, estimator, reset=reset))
    if known is not None and rows.shape[1] != known:
        raise ValueError(f"X has {rows.shape[1]} features, expected n_features={known}")
    return rows, check_finite(rows, columns, dtype=dtype)


def check_names(estimator: Any, names: Any, *, reset: bool) -> None:
    """Remember the names of columns where `reset` is set, else compare them if both have some."""
    if reset:
        estimator.__dict__.pop("feature_names_in_", None)
        if names is not None:
            estimator.feature_names_in_ = np.asarray(names, dtype=object)
        return
    ours = getattr(estimator, "feature_names_in_", None)
    if ours is not None and names is not None and list(ours) != list(names):
        raise ValueError(
            f"X has the columns {list(names)}, the estimator was fitted with {list(ours)}"
        )


def check_block(
    X: Any, n_features: int | None, name: str, dtype: np.dtype | None = None
) -> tuple[Any, bool]:
    """Return a block of a source as a float array or CSR array, and whether entries are missing.

    It is going to have the type `dtype`, by default its own.
    """
    if not is_plain(X):
        X = _converted(X, name, check_array)
    if n_features is not None and X.shape[1] != n_features:
        raise ValueError(f"{name} has {X.shape[1]} features, expected n_features={n_features}")
    return X, check_finite(X, name=name, dtype=dtype)


def _converted(X: Any, name: str, convert: Callable[..., Any]) -> Any:
    """Return X as a float array or canonical CSR array, by one of scikit-learn's checks."""
    _check_numbers(X, name)
    X = unmasked(X)
    if getattr(X, "dtype", None) == np.float16:
        X = X.astype(np.float32)
    try:
        rows = convert(
            _check_sparse(X),
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            order="C",
            ensure_all_finite=False,
        )
    except (ValueError, TypeError, OverflowError) as error:
        if isinstance(error, OverflowError) or NOT_CONVERTED.search(str(error)):
            _locate_text(X, name, error)
        raise
    check_width(rows.shape[1])
    return canonical(rows) if sparse.issparse(rows) else rows


def _check_numbers(X: Any, name: str) -> None:
    """Refuse what holds no rows, and an array of dates, times or text."""
    if X is None or (isinstance(X, list | tuple) and not X):
        what = "None" if X is None else "empty"
        raise ValueError(f"{name} is {what}: pass rows, or an iterable of blocks of rows")
    if isinstance(X, np.ndarray) and X.ndim > 2:
        write = "X.reshape(len(X), -1)"
        if name != "X":
            write = "fit(x.reshape(len(x), -1) for x in X), or for x, y in X"
        raise ValueError(
            f"{name} has shape {X.shape} (dim {X.ndim}), and a row has one dimension: write {write}"
        )
    kind = getattr(getattr(X, "dtype", None), "kind", "f")
    for kinds, what in OTHER_KINDS.items():
        if kind in kinds:
            raise ValueError(f"{name} {what.format(X.dtype)}")


def _locate_text(X: Any, name: str, error: Exception) -> None:
    """Say where an entry is that cannot become a number, if there is one."""
    for (row, column), value in np.ndenumerate(np.atleast_2d(np.asarray(X, dtype=object))):
        try:
            float(value)
        except OverflowError:
            raise EntryError(
                f"{name} contains a number of more than 300 digits at row {row}, column {column}; "
                f"entries must be at most {LARGEST:g}",
                f"a number of more than 300 digits; entries must be at most {LARGEST:g}",
                row,
                column,
            ) from None
        except (ValueError, TypeError):
            place = f"({str(value)[:20]!r}) at row {row}, column {column}"
            if hasattr(value, "year"):
                raise ValueError(
                    f"{name} contains dates or times {place}: leave the column out, or "
                    "subtract a date and divide by a unit, such as timedelta(seconds=1)"
                ) from None
            what = "text" if isinstance(value, str | bytes) else type(value).__name__
            message = f"{name} contains {what} {place}; choose columns of numbers"
            if isinstance(error, TypeError):  # scikit-learn asks for this type and its words
                raise TypeError(f"{message} ({error})") from None
            raise ValueError(message) from None


def _check_sparse(X: Any) -> Any:
    """Refuse a sparse matrix with invalid indices or entries, before compiled code reads it."""
    if not sparse.issparse(X):
        return X
    try:
        if X.dtype.kind not in "biufc":
            raise ValueError(f"it contains values of type {X.dtype}, not numbers")
        if X.format in ("csr", "csc", "bsr"):
            if not {X.indices.dtype.kind, X.indptr.dtype.kind} <= {"i", "u"}:
                raise ValueError("its indices are not whole numbers")
            X = X.copy()  # checking may sort out unused space in place
            X.check_format(full_check=True)
        elif X.format == "coo":
            for axis, (index, size) in enumerate(zip(X.coords, X.shape, strict=True)):
                if len(index) != len(X.data):
                    raise ValueError("coordinates and data have different lengths")
                if len(index) and not 0 <= index.min() <= index.max() < size:
                    raise ValueError(f"a coordinate of axis {axis} is outside of 0 to {size - 1}")
    except (ValueError, IndexError, TypeError) as error:
        raise ValueError(f"X is not a valid {X.format} matrix: {error}") from error
    return X


def check_finite(
    X: Any, columns: Any = None, name: str = "X", dtype: np.dtype | None = None
) -> bool:
    """Return whether entries of X are missing; refuse those that are infinite or out of range.

    The range is that of `dtype`, by default the type of X.
    """
    flat = (X.data if sparse.issparse(X) else X).ravel("K")  # no copy, whichever order it has
    limit = LARGEST if (dtype or flat.dtype) == np.float64 else LARGEST_SINGLE
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        # The fastest way to read every entry on one thread. Those of BLAS would wait for more work
        # for a while, and keep the cores busy that rows are learned on.
        energy = float(np.einsum("i,i->", flat, flat))
    if energy <= limit**2:  # which NaN is not
        return False
    if found := first_beyond(X, limit):
        row, column, value = found
        remedy = "divide by a large number"
        if limit == LARGEST_SINGLE:
            remedy += ", or pass float64 rows"
        if not np.isfinite(value):
            remedy = "leave such rows out, or write NaN for entries that are missing"
        label = f" ({columns[column]!r})" if columns is not None else ""
        rule = f"all entries must be finite and at most {limit:g}, so that their squares add up"
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
    if np.ma.is_masked(sample_weight):
        row = int(np.flatnonzero(np.ma.getmaskarray(sample_weight).ravel())[0])
        raise ValueError(
            f"sample_weight is masked at row {row}: a weight cannot be missing; rows of weight 0 "
            "are left out"
        )
    n, weights = rows.shape[0], np.asarray(sample_weight)
    if weights.ndim == 0:
        weights = np.full(n, weights)
    try:
        weights = weights.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"sample_weight must be numbers: {error}") from None
    if weights.shape != (n,):
        raise ValueError(
            f"sample_weight has shape {weights.shape}, expected ({n},): one weight per row"
        )
    positive = (weights >= LEAST_WEIGHT) & (weights <= 1.0 / LEAST_WEIGHT)
    bad = ~(positive | (weights == 0.0))
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
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
