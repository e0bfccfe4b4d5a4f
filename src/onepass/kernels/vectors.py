"""Four numbers at once, for kernels whose loops the compiler does not vectorise well by itself.

It cannot know that rows of one buffer do not overlap, so it looks, again and again, and keeps sums
in memory. A vector stays in a register: it comes from `load`, has + - * and / with another one or
with a number, and goes to `store` or `total`. Without the compiler it is an array of four.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.datamodel.models import PrimitiveModel
from numba.core.typing.templates import ConcreteTemplate, infer_global, signature
from numba.extending import lower_builtin, register_model
from numpy.typing import NDArray

from onepass.kernels.compiling import jit

LANES = 4
Vector = Any  # NDArray[np.float64] of shape (LANES,), or a register


@jit
def whole_vectors(count: int) -> int:
    """Return the least multiple of `LANES` that is not below a count."""
    return (count + LANES - 1) // LANES * LANES


def load(array: NDArray[np.float64], row: int, column: int) -> Vector:
    """Return the numbers of an array from a place on."""
    return array[row, column : column + LANES].copy()


def store(array: NDArray[np.float64], row: int, column: int, value: Vector) -> None:
    """Write numbers into an array from a place on."""
    array[row, column : column + LANES] = value


def spread(number: float) -> Vector:
    """Return a vector of equal numbers."""
    return np.full(LANES, number)


def fma(left: Vector, right: Vector, summand: Vector) -> Vector:
    """Return ``left * right + summand``, rounded once where it is compiled."""
    return left * right + summand


def root(value: Vector) -> Vector:
    """Return the square roots."""
    return np.sqrt(value)


def smaller(left: Vector, right: Vector) -> Vector:
    """Return the smaller number in each place; `right` if one is NaN."""
    return np.where(left < right, left, right)


def larger(left: Vector, right: Vector) -> Vector:
    """Return the larger number in each place; `right` if one is NaN."""
    return np.where(left > right, left, right)


def choose(test: Vector, yes: Vector, no: Vector) -> Vector:
    """Return `yes` in the places where `test` is positive, and `no` in the others."""
    return np.where(test > 0.0, yes, no)


def replace_zeros(value: Vector, number: float) -> Vector:
    """Return a vector with another number in the place of zeros."""
    return np.where(value == 0.0, number, value)


def total(value: Vector) -> float:
    """Return the sum of the numbers."""
    return float((value[0] + value[2]) + (value[1] + value[3]))


def all_within(value: Vector, limit: float) -> bool:
    """Return whether no number is above a limit, or NaN."""
    return bool(np.all(value <= limit))


class _VectorType(types.Type):
    """What the compiler calls a vector."""


_vector = _VectorType("Vector")
_NUMBERS = ir.VectorType(ir.DoubleType(), LANES)
_INDEX = ir.IntType(32)
_ROWS = types.Array(types.float64, 2, "C")


@register_model(_VectorType)
class _Model(PrimitiveModel):
    """A register."""

    def __init__(self, manager: Any, kind: types.Type) -> None:
        super().__init__(manager, kind, _NUMBERS)


def _spread(builder: Any, number: Any) -> Any:
    """Emit what puts a number into every place of a vector."""
    nothing = ir.Constant(_NUMBERS, ir.Undefined)
    first = builder.insert_element(nothing, number, _INDEX(0))
    everywhere = ir.Constant(ir.VectorType(_INDEX, LANES), [0] * LANES)
    return builder.shuffle_vector(first, nothing, everywhere)


def _place(context: Any, builder: Any, kind: types.Type, array: Any, row: Any, column: Any) -> Any:
    """Emit the address of a vector in an array."""
    opened = context.make_array(kind)(context, builder, value=array)
    address = cgutils.get_item_pointer(context, builder, kind, opened, [row, column])
    return builder.bitcast(address, _NUMBERS.as_pointer())


def _known(what: Callable[..., Any], *cases: Any) -> Callable[..., Any]:
    """Let the compiler know the types of a function, and return a decorator for what emits it."""

    infer_global(what)(type("Cases", (ConcreteTemplate,), {"cases": list(cases)}))

    def decorate(emit: Callable[..., Any]) -> Callable[..., Any]:
        for case in cases:
            lower_builtin(what, *case.args)(emit)
        return emit

    return decorate


def _on_vectors(
    what: Callable[..., Any], count: int, result: Any, emit: Callable[..., Any]
) -> None:
    """Let the compiler know a function of vectors; numbers may take the place of some of them."""
    kinds = itertools.product((_vector, types.float64), repeat=count)
    cases = [signature(result, *each) for each in kinds if _vector in each]

    @_known(what, *cases)
    def _(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        pairs = zip(sig.args, args, strict=True)
        return emit(builder, *(v if t == _vector else _spread(builder, v) for t, v in pairs))


_OPERATIONS = {"add": "fadd", "sub": "fsub", "mul": "fmul", "truediv": "fdiv"}
for _name, _instruction in _OPERATIONS.items():
    for _operator in (getattr(operator, _name), getattr(operator, f"i{_name}")):
        _on_vectors(_operator, 2, _vector, getattr(ir.IRBuilder, _instruction))


@_known(load, signature(_vector, _ROWS, types.intp, types.intp))
def _emit_load(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return builder.load(_place(context, builder, sig.args[0], *args), align=8)


@_known(store, signature(types.none, _ROWS, types.intp, types.intp, _vector))
def _emit_store(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    builder.store(args[3], _place(context, builder, sig.args[0], *args[:3]), align=8)
    return context.get_dummy_value()


@_known(spread, signature(_vector, types.float64))
def _emit_spread(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return _spread(builder, args[0])


def _emit_choice(sign: str) -> Callable[..., Any]:
    """Return what emits the choice between two vectors by comparing them."""
    return lambda builder, a, b: builder.select(builder.fcmp_ordered(sign, a, b), a, b)


def _emit_total(builder: Any, value: Any) -> Any:
    a, b, c, d = (builder.extract_element(value, _INDEX(i)) for i in range(LANES))
    return builder.fadd(builder.fadd(a, c), builder.fadd(b, d))


def _emit_choose(builder: Any, test: Any, yes: Any, no: Any) -> Any:
    positive = builder.fcmp_ordered(">", test, ir.Constant(_NUMBERS, [0.0] * LANES))
    return builder.select(positive, yes, no)


def _emit_replace_zeros(builder: Any, value: Any, number: Any) -> Any:
    zeros = builder.fcmp_ordered("==", value, ir.Constant(_NUMBERS, [0.0] * LANES))
    return builder.select(zeros, number, value)


def _emit_all_within(builder: Any, value: Any, limit: Any) -> Any:
    bits = ir.IntType(LANES)
    within = builder.bitcast(builder.fcmp_ordered("<=", value, limit), bits)
    return builder.icmp_unsigned("==", within, ir.Constant(bits, 2**LANES - 1))


def _emit_call(name: str) -> Callable[..., Any]:
    """Return what emits a call of one of LLVM's own functions of vectors."""

    def emit(builder: Any, *vectors: Any) -> Any:
        kind = ir.FunctionType(_NUMBERS, [_NUMBERS] * len(vectors))
        function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.{name}.v{LANES}f64")
        return builder.call(function, vectors)

    return emit


_on_vectors(fma, 3, _vector, _emit_call("fma"))
_on_vectors(root, 1, _vector, _emit_call("sqrt"))
_on_vectors(smaller, 2, _vector, _emit_choice("<"))
_on_vectors(larger, 2, _vector, _emit_choice(">"))
_on_vectors(choose, 3, _vector, _emit_choose)
_on_vectors(replace_zeros, 2, _vector, _emit_replace_zeros)
_on_vectors(total, 1, types.float64, _emit_total)
_on_vectors(all_within, 2, types.boolean, _emit_all_within)
