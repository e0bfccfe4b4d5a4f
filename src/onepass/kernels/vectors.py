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
from numba.core import types
from numba.core.datamodel.models import PrimitiveModel
from numba.core.typing.templates import ConcreteTemplate, infer_global, signature
from numba.extending import lower_builtin, register_model
from numpy.typing import NDArray

from onepass.kernels.compiling import jit
from onepass.kernels.emitter import Emitter

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
    """Return ``left * right + summand``, rounded once where the machine can."""
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
_ROWS = types.Array(types.float64, 2, "C")


@register_model(_VectorType)
class _Model(PrimitiveModel):
    """A register."""

    def __init__(self, manager: Any, kind: types.Type) -> None:
        super().__init__(manager, kind, ir.VectorType(ir.DoubleType(), LANES))


def _known(
    what: Callable[..., Any], result: types.Type, *cases: tuple[types.Type, ...]
) -> Callable[..., Any]:
    """Let the compiler know a function of such types, and return a decorator for what emits it.

    That gets an `Emitter`, the types of the arguments and the arguments.
    """
    signatures = [signature(result, *kinds) for kinds in cases]
    infer_global(what)(type("Cases", (ConcreteTemplate,), {"cases": signatures}))

    def decorate(emit: Callable[..., Any]) -> Callable[..., Any]:
        def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            value = emit(Emitter(context, builder, types.float64, LANES), sig.args, *args)
            return context.get_dummy_value() if value is None else value

        for kinds in cases:
            lower_builtin(what, *kinds)(lower)
        return emit

    return decorate


def _of_vectors(
    what: Callable[..., Any], count: int, result: types.Type = _vector
) -> Callable[..., Any]:
    """Do the same for a function of vectors; numbers may take the place of some of them."""
    cases = [
        kinds
        for kinds in itertools.product((_vector, types.float64), repeat=count)
        if _vector in kinds
    ]

    def decorate(emit: Callable[..., Any]) -> Callable[..., Any]:
        @_known(what, result, *cases)
        def _(e: Emitter, kinds: Any, *args: Any) -> Any:
            pairs = zip(kinds, args, strict=True)
            return emit(
                e, *(value if kind == _vector else e.spread(value) for kind, value in pairs)
            )

        return emit

    return decorate


def _instruction(name: str) -> Callable[..., Any]:
    """Return what emits one of LLVM's instructions."""
    return lambda e, *vectors: getattr(e.builder, name)(*vectors)


_OPERATIONS = {"add": "fadd", "sub": "fsub", "mul": "fmul", "truediv": "fdiv"}
for _name, _emitted in _OPERATIONS.items():
    _of_vectors(getattr(operator, _name), 2)(_instruction(_emitted))
    _of_vectors(getattr(operator, f"i{_name}"), 2)(_instruction(_emitted))


@_known(load, _vector, (_ROWS, types.intp, types.intp))
def _(e: Emitter, kinds: Any, array: Any, row: Any, column: Any) -> Any:
    return e.load(e.address(kinds[0], array, row, column))


@_known(store, types.none, (_ROWS, types.intp, types.intp, _vector))
def _(e: Emitter, kinds: Any, array: Any, row: Any, column: Any, value: Any) -> None:
    e.store(value, e.address(kinds[0], array, row, column))


@_known(spread, _vector, (types.float64,))
def _(e: Emitter, kinds: Any, number: Any) -> Any:
    return e.spread(number)


@_of_vectors(fma, 3)
def _(e: Emitter, left: Any, right: Any, summand: Any) -> Any:
    return e.fma(left, right, summand)


@_of_vectors(root, 1)
def _(e: Emitter, value: Any) -> Any:
    return e.call("sqrt", value)


@_of_vectors(smaller, 2)
def _(e: Emitter, left: Any, right: Any) -> Any:
    return e.builder.select(e.builder.fcmp_ordered("<", left, right), left, right)


@_of_vectors(larger, 2)
def _(e: Emitter, left: Any, right: Any) -> Any:
    return e.builder.select(e.builder.fcmp_ordered(">", left, right), left, right)


@_of_vectors(choose, 3)
def _(e: Emitter, test: Any, yes: Any, no: Any) -> Any:
    return e.builder.select(e.builder.fcmp_ordered(">", test, e.constant(0.0)), yes, no)


@_of_vectors(replace_zeros, 2)
def _(e: Emitter, value: Any, number: Any) -> Any:
    return e.builder.select(e.builder.fcmp_ordered("==", value, e.constant(0.0)), number, value)


@_of_vectors(total, 1, types.float64)
def _(e: Emitter, value: Any) -> Any:
    return e.total(value)


@_of_vectors(all_within, 2, types.boolean)
def _(e: Emitter, value: Any, limit: Any) -> Any:
    bits = ir.IntType(LANES)
    within = e.builder.bitcast(e.builder.fcmp_ordered("<=", value, limit), bits)
    return e.builder.icmp_unsigned("==", within, ir.Constant(bits, 2**LANES - 1))
