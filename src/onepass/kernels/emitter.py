"""Machine code for vectors of numbers, which compiled functions are made of where that pays.

`kernels.vectors` offers vectors of four to functions that are written in Python, `kernels.tiles`
puts whole loops together. Both are LLVM's instructions, and so is everything that Numba compiles.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from llvmlite import binding, ir
from numba.core import cgutils, types
from numba.core.typing.templates import signature
from numba.extending import intrinsic

_FEATURES = binding.get_host_cpu_features()
# Bytes of the longest vectors that this machine has registers for, or nearly so.
REGISTER = 64 if _FEATURES.get("avx512f") else 32
# Without an instruction for it, a product and a sum rounded once is a hundred times as slow.
_FMA = bool(_FEATURES.get("fma")) or not binding.get_default_triple().startswith(("x86", "i"))
NUMBERS = {types.float64: ir.DoubleType(), types.float32: ir.FloatType()}
_INDEX = ir.IntType(32)


class Emitter:
    """Emits instructions for vectors of one kind, where the builder stands.

    Parameters
    ----------
    context, builder
        Numba's target and LLVM's builder, as a function that Numba lowers gets them.
    precision : types.Type
        Of the numbers.
    lanes : int
        How many there are in a vector, a power of two.
    """

    def __init__(self, context: Any, builder: Any, precision: types.Type, lanes: int) -> None:
        self.context, self.builder, self.lanes = context, builder, lanes
        self.number = NUMBERS[precision]
        self.vector = ir.VectorType(self.number, lanes)
        self._bytes = 8 if precision == types.float64 else 4

    def address(self, kind: types.Array, array: Any, row: Any, column: Any) -> Any:
        """Emit the address of an entry of a matrix."""
        opened = self.context.make_array(kind)(self.context, self.builder, value=array)
        return cgutils.get_item_pointer(self.context, self.builder, kind, opened, [row, column])

    def load(self, address: Any) -> Any:
        """Emit the reading of a vector."""
        place = self.builder.bitcast(address, self.vector.as_pointer())
        return self.builder.load(place, align=self._bytes)

    def store(self, value: Any, address: Any) -> None:
        """Emit the writing of a vector."""
        place = self.builder.bitcast(address, self.vector.as_pointer())
        self.builder.store(value, place, align=self._bytes)

    def constant(self, number: float) -> Any:
        """Return a vector of equal numbers that are known already."""
        return ir.Constant(self.vector, [number] * self.lanes)

    def spread(self, number: Any) -> Any:
        """Emit a vector of equal numbers."""
        nothing = ir.Constant(self.vector, ir.Undefined)
        first = self.builder.insert_element(nothing, number, _INDEX(0))
        everywhere = ir.Constant(ir.VectorType(_INDEX, self.lanes), [0] * self.lanes)
        return self.builder.shuffle_vector(first, nothing, everywhere)

    def call(self, name: str, *vectors: Any) -> Any:
        """Emit the call of one of LLVM's own functions of vectors."""
        kind = ir.FunctionType(self.vector, [self.vector] * len(vectors))
        full_name = f"llvm.{name}.v{self.lanes}f{8 * self._bytes}"
        function = cgutils.get_or_insert_function(self.builder.module, kind, full_name)
        return self.builder.call(function, vectors)

    def fma(self, left: Any, right: Any, summand: Any) -> Any:
        """Emit left * right + summand."""
        if _FMA:
            return self.call("fma", left, right, summand)
        return self.builder.fadd(self.builder.fmul(left, right), summand)

    def total(self, value: Any) -> Any:
        """Emit the sum of the numbers of a vector, halves first, in double precision."""
        lanes = self.lanes
        while lanes > 1:
            lanes //= 2
            nothing, places = ir.Constant(value.type, ir.Undefined), ir.VectorType(_INDEX, lanes)
            low = ir.Constant(places, list(range(lanes)))
            high = ir.Constant(places, list(range(lanes, 2 * lanes)))
            value = self.builder.fadd(
                self.builder.shuffle_vector(value, nothing, low),
                self.builder.shuffle_vector(value, nothing, high),
            )
        number = self.builder.extract_element(value, _INDEX(0))
        single = self.number == ir.FloatType()
        return self.builder.fpext(number, ir.DoubleType()) if single else number

    def variable(self, value: Any) -> Any:
        """Emit a variable, which becomes a register."""
        place = cgutils.alloca_once(self.builder, self.vector)
        self.builder.store(value, place)
        return place

    def add_product(self, place: Any, left: Any, right: Any) -> None:
        """Emit the addition of a product to a variable."""
        moved = self.fma(left, right, self.builder.load(place))
        self.builder.store(moved, place)


def emitted(what: Callable[..., None], emit: Callable[..., None]) -> Callable[..., None]:
    """Return a function of arrays and integers that the compiler emits; as it is without it.

    Parameters
    ----------
    what : callable
        What it does, in NumPy. The numbers of its first argument, an array, are those of vectors.
    emit : callable
        ``emit(emitter, types, *values)`` emits it.
    """
    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        return what

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        precision = sig.args[0].dtype
        lanes = REGISTER // np.dtype(str(precision)).itemsize
        emit(Emitter(context, builder, precision, lanes), sig.args, *args)
        return context.get_dummy_value()

    def typed(typing: Any, *kinds: types.Type) -> Any:
        if any(isinstance(kind, types.Array) and kind.layout != "C" for kind in kinds):
            return None  # the columns of a row have to lie side by side
        plain = [kind if isinstance(kind, types.Array) else types.intp for kind in kinds]
        return signature(types.none, *plain), lower

    first = inspect.Parameter("typing", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(what).parameters.values()
    typed.__signature__ = inspect.Signature([first, *parameters])  # type: ignore[attr-defined]
    return intrinsic(typed)
