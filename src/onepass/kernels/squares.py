"""The sum of the squares of rows, by BLAS, for compiled functions too."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import get_cython_function_address
from numpy.typing import NDArray

from onepass.kernels.compiling import jit
from onepass.kernels.emitter import Emitter, emitted


@cache
def dsyrk() -> int:
    """Return where the function of BLAS is that scipy has: another place in every process."""
    return get_cython_function_address("scipy.linalg.cython_blas", "dsyrk")


def _call(rows: Any, b: int, d: int, matrix: Any, function: int) -> None:
    """Add ``rows[:b].T @ rows[:b]`` to the lower triangle of a matrix, both of d columns."""
    matrix += np.tril(rows[:b].T @ rows[:b])


def _emit(e: Emitter, kinds: Any, rows: Any, b: Any, d: Any, matrix: Any, function: Any) -> None:
    """Emit the call of the function, which takes the addresses of everything.

    It reads rows as columns: of a matrix in C order the upper triangle is the lower one.
    """
    assert kinds[0].dtype == kinds[3].dtype == types.float64
    builder, byte, size = e.builder, ir.IntType(8), ir.IntType(32)

    def put(value: Any) -> Any:
        return builder.bitcast(cgutils.alloca_once_value(builder, value), byte.as_pointer())

    def entries(kind: Any, array: Any) -> Any:
        return builder.bitcast(e.address(kind, array, d.type(0), d.type(0)), byte.as_pointer())

    upper, plain = put(byte(ord("U"))), put(byte(ord("N")))
    columns, count, one = put(builder.trunc(d, size)), put(builder.trunc(b, size)), put(e.number(1))
    given = [upper, plain, columns, count, one, entries(kinds[0], rows), columns, one]
    given += [entries(kinds[3], matrix), columns]
    kind = ir.FunctionType(ir.VoidType(), [byte.as_pointer()] * len(given))
    builder.call(builder.inttoptr(function, kind.as_pointer()), given)


_add = emitted(_call, _emit)


@jit
def add_squares(rows: NDArray[np.float64], matrix: NDArray[np.float64], function: int) -> None:
    """Add ``rows.T @ rows`` to the lower triangle of a matrix.

    Parameters
    ----------
    rows : ndarray of shape (b, d)
        In C order and double precision, as the matrix.
    matrix : ndarray of shape (d, d)
    function : int
        `dsyrk()`. Compiled functions are kept on disk, and must not know it.
    """
    b, d = rows.shape
    if matrix.shape != (d, d):  # what is called does not look
        raise ValueError("the matrix has another number of columns than the rows")
    if b > 0 and d > 0:
        _add(rows, b, d, matrix, function)
