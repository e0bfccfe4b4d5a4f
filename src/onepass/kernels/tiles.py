"""Products of a few long rows, by tiles of results that stay in registers.

BLAS is made for large matrices: it copies what it multiplies into a layout of its own, which is not
worth it for a dozen rows, and cannot leave out half of a symmetric product. A tile here is a loop
over columns, of which a register takes as many as it can, in single or double precision.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba.core import cgutils
from numpy.typing import NDArray

from onepass.kernels.compiling import jit
from onepass.kernels.emitter import REGISTER, Emitter, emitted

CACHE_LINE = 64  # bytes
SIDE = 4  # rows and columns of a tile
PANEL, SHORT_PANEL = 512, 128  # columns of all rows, and of rows that change, in the cache


def aligned(rows: int, columns: int, dtype: np.dtype) -> NDArray[np.floating]:
    """Return an array that begins with a cache line: reading across two of them takes twice."""
    size = rows * columns * dtype.itemsize
    memory = np.empty(size + CACHE_LINE, np.uint8)
    first = -memory.ctypes.data % CACHE_LINE
    return memory[first : first + size].view(dtype).reshape(rows, columns)


def _from(first: Any, count: int, builder: Any) -> list[Any]:
    """Emit `count` integers from a first one on."""
    return [builder.add(first, first.type(i)) for i in range(count)]


def _columns(e: Emitter, start: Any, stop: Any) -> Any:
    """Emit a loop over some columns, a register at a time; the context gives where each begins."""
    length = e.builder.sub(stop, start)
    return cgutils.for_range_slice(e.builder, length.type(0), length, length.type(e.lanes))


def _make_products(height: int, width: int) -> Callable[..., None]:
    """Return a function for the inner products of `height` rows with `width` rows."""

    def add_products(
        left: Any,
        i: int,
        right: Any,
        j: int,
        start: int,
        stop: int,
        out: Any,
        row: int,
        column: int,
    ) -> None:
        """Add ``left[i:, start:stop] @ right[j:, start:stop].T`` to ``out[row:, column:]``."""
        part = left[i : i + height, start:stop] @ right[j : j + width, start:stop].T
        out[row : row + height, column : column + width] += part

    def emit(e: Emitter, kinds: Any, *arguments: Any) -> None:
        left, i, right, j, start, stop, out, row, column = arguments
        builder = e.builder
        sums = [[e.variable(e.constant(0.0)) for _ in range(width)] for _ in range(height)]
        above = [e.address(kinds[0], left, r, start) for r in _from(i, height, builder)]
        beside = [e.address(kinds[2], right, r, start) for r in _from(j, width, builder)]
        with _columns(e, start, stop) as (at, _):
            others = [e.load(builder.gep(address, [at])) for address in beside]
            for address, row_sums in zip(above, sums, strict=True):
                part = e.load(builder.gep(address, [at]))
                for other, place in zip(others, row_sums, strict=True):
                    e.add_product(place, part, other)
        for r, row_sums in zip(_from(row, height, builder), sums, strict=True):
            for c, place in zip(_from(column, width, builder), row_sums, strict=True):
                entry = e.address(kinds[6], out, r, c)
                part = e.total(builder.load(place))
                builder.store(builder.fadd(builder.load(entry), part), entry)

    return emitted(add_products, emit)


def _make_combinations(height: int, width: int) -> Callable[..., None]:
    """Return a function for `height` combinations of `width` rows."""

    def add_combinations(
        coefficients: Any, i: int, first: int, rows: Any, j: int, start: int, stop: int, out: Any
    ) -> None:
        """Add ``coefficients[i:, first + j:] @ rows[j:]`` to `out`, from row i on, in columns."""
        part = coefficients[i : i + height, first + j : first + j + width]
        out[i : i + height, start:stop] += part @ rows[j : j + width, start:stop]

    def emit(e: Emitter, kinds: Any, *arguments: Any) -> None:
        coefficients, i, first, rows, j, start, stop, out = arguments
        builder = e.builder
        numbers = _from(i, height, builder), _from(builder.add(first, j), width, builder)
        places = [e.address(kinds[7], out, r, start) for r in numbers[0]]
        sources = [e.address(kinds[3], rows, r, start) for r in _from(j, width, builder)]
        factors = [
            [e.spread(builder.load(e.address(kinds[0], coefficients, r, c))) for c in numbers[1]]
            for r in numbers[0]
        ]
        with _columns(e, start, stop) as (at, _):
            parts = [e.load(builder.gep(source, [at])) for source in sources]
            for place, row_factors in zip(places, factors, strict=True):
                here = builder.gep(place, [at])
                value = e.load(here)
                for factor, part in zip(row_factors, parts, strict=True):
                    value = e.fma(factor, part, value)
                e.store(value, here)

    return emitted(add_combinations, emit)


_products_1, _products_2, _products_3, _products_4 = (
    _make_products(SIDE, width) for width in range(1, SIDE + 1)
)
_product = _make_products(1, 1)
_combinations_44, _combinations_41, _combinations_14, _combination = (
    _make_combinations(height, width) for height in (SIDE, 1) for width in (SIDE, 1)
)


@jit
def _add_strip(
    rows: NDArray[np.floating],
    i: int,
    others: NDArray[np.floating],
    count: int,
    start: int,
    stop: int,
    gram: NDArray[np.float64],
    row: int,
    column: int,
) -> None:
    """Add the products of four rows with `count` others."""
    fours = count - count % SIDE
    for j in range(0, fours, SIDE):
        _products_4(rows, i, others, j, start, stop, gram, row, column + j)
    if count - fours == 1:
        _products_1(rows, i, others, fours, start, stop, gram, row, column + fours)
    elif count - fours == 2:
        _products_2(rows, i, others, fours, start, stop, gram, row, column + fours)
    elif count - fours == 3:
        _products_3(rows, i, others, fours, start, stop, gram, row, column + fours)


@jit
def add_gram(
    basis: NDArray[np.floating], m: int, rows: NDArray[np.floating], gram: NDArray[np.float64]
) -> None:
    """Add the inner products of rows with a basis and with each other to their Gram matrix.

    Parameters
    ----------
    basis : ndarray of shape (>= m, d)
        Its first m rows count.
    rows : ndarray of shape (b, d)
    gram : ndarray of shape (m + b, m + b)
        Of [basis; rows]. Added to are the last b rows up to the diagonal, and a little beyond.
    """
    b, d = rows.shape
    fours = b - b % SIDE
    for start in range(0, d, PANEL):
        stop = min(start + PANEL, d)
        whole = stop - (stop - start) % (REGISTER // rows.itemsize)
        for i in range(0, fours, SIDE):
            _add_strip(rows, i, basis, m, start, whole, gram, m + i, 0)
            _add_strip(rows, i, rows, i + SIDE, start, whole, gram, m + i, m)
        for i in range(fours, b):
            for j in range(m):
                _product(rows, i, basis, j, start, whole, gram, m + i, j)
            for j in range(i + 1):
                _product(rows, i, rows, j, start, whole, gram, m + i, m + j)
        for i in range(b):
            for c in range(whole, stop):
                for j in range(m):
                    gram[m + i, j] += rows[i, c] * basis[j, c]
                for j in range(i + 1):
                    gram[m + i, m + j] += rows[i, c] * rows[j, c]


@jit
def _add_combinations(
    coefficients: NDArray[np.floating],
    first: int,
    rows: NDArray[np.floating],
    count: int,
    start: int,
    stop: int,
    out: NDArray[np.floating],
) -> None:
    """Add combinations of `count` rows to some columns."""
    k = len(coefficients)
    high, wide = k - k % SIDE, count - count % SIDE
    for i in range(0, high, SIDE):
        for j in range(0, wide, SIDE):
            _combinations_44(coefficients, i, first, rows, j, start, stop, out)
        for j in range(wide, count):
            _combinations_41(coefficients, i, first, rows, j, start, stop, out)
    for i in range(high, k):
        for j in range(0, wide, SIDE):
            _combinations_14(coefficients, i, first, rows, j, start, stop, out)
        for j in range(wide, count):
            _combination(coefficients, i, first, rows, j, start, stop, out)


@jit
def combine(
    coefficients: NDArray[np.floating],
    basis: NDArray[np.floating],
    m: int,
    rows: NDArray[np.floating],
    out: NDArray[np.floating],
) -> None:
    """Write ``coefficients @ [basis; rows]`` into the first rows of `out`.

    Parameters
    ----------
    coefficients : ndarray of shape (k, m + b)
        Of the dtype of the rows, as everything here.
    basis : ndarray of shape (>= m, d)
        Its first m rows count.
    rows : ndarray of shape (b, d)
    out : ndarray of shape (>= k, d)
    """
    k, b, d = len(coefficients), len(rows), rows.shape[1]
    whole = d - d % (REGISTER // rows.itemsize)
    out[:k] = 0.0
    for start in range(0, whole, SHORT_PANEL):
        stop = min(start + SHORT_PANEL, whole)
        _add_combinations(coefficients, 0, basis, m, start, stop, out)
        _add_combinations(coefficients, m, rows, b, start, stop, out)
    for i in range(k):
        for c in range(whole, d):
            for j in range(m):
                out[i, c] += coefficients[i, j] * basis[j, c]
            for j in range(b):
                out[i, c] += coefficients[i, m + j] * rows[j, c]
