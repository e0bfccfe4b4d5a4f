"""Arrays, lists and sparse matrices -> float rows, by scikit-learn's check."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_array

from onepass.sources.base import canonical, unmasked

# What NumPy and scikit-learn say of objects that are no numbers.
NOT_CONVERTED = re.compile(r"could not convert string|must be a string or a real number")
KINDS = "biufcO"  # NumPy's letters for types of which scikit-learn's check takes or refuses entries


def converted(X: Any, name: str, convert: Callable[..., Any] = check_array) -> Any:
    """Return X as a C-contiguous float array or canonical CSR array, by a check of scikit-learn.

    float32 stays float32, float16 becomes float32, and all other numbers float64.
    """
    X = unmasked(X)
    dtype = getattr(X, "dtype", None)
    if isinstance(X, np.ndarray) and X.dtype.kind not in KINDS:
        raise ValueError(f"{name} holds values of type {dtype}, not numbers")
    if dtype == np.float16:
        X = X.astype(np.float32)
    try:
        rows = convert(
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
            message = (
                f"{name} contains {what} ({str(value)[:20]!r}) at row {row}, column {column}; "
                "choose columns of numbers"
            )
            if isinstance(error, TypeError):  # scikit-learn asks for this type and its words
                raise TypeError(f"{message} ({error})") from None
            raise ValueError(message) from None


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
            for axis, (index, size) in enumerate(zip(X.coords, X.shape, strict=True)):
                if len(index) != len(X.data):
                    raise ValueError("coordinates and data have different lengths")
                if len(index) and not 0 <= index.min() <= index.max() < size:
                    raise ValueError(f"a coordinate of axis {axis} is outside of 0 to {size - 1}")
    except (ValueError, IndexError, TypeError) as error:
        raise ValueError(f"X is not a valid {X.format} matrix: {error}") from error
    return X
