"""The sum of the squares of rows, while other threads go on."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba.extending import get_cython_function_address
from numpy.typing import NDArray


@cache
def _dsyrk() -> Callable[..., None]:
    """Return the function of BLAS that scipy has. By scipy's own way, all threads would wait."""
    address = get_cython_function_address("scipy.linalg.cython_blas", "dsyrk")
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 10)(address)


def add_squares(rows: NDArray[np.float64], matrix: NDArray[np.float64]) -> None:
    """Add ``rows.T @ rows`` to the upper triangle of a matrix.

    Parameters
    ----------
    rows : ndarray of shape (b, d)
        C-contiguous.
    matrix : ndarray of shape (d, d)
        In Fortran order.
    """
    b, d = rows.shape
    assert rows.flags.c_contiguous
    assert matrix.flags.f_contiguous
    assert rows.dtype == matrix.dtype == np.float64
    assert matrix.shape == (d, d)
    if b and d:
        given: list[Any] = [
            *(ctypes.c_char(letter) for letter in (b"U", b"N")),
            *(ctypes.c_int(size) for size in (d, b)),
            ctypes.c_double(1.0),
            rows.ctypes,
            ctypes.c_int(d),
            ctypes.c_double(1.0),
            matrix.ctypes,
            ctypes.c_int(d),
        ]
        places = [
            value.data if hasattr(value, "data") else ctypes.addressof(value) for value in given
        ]
        _dsyrk()(*places)
