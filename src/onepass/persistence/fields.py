"""State that is declared once: copied, faded, saved, restored and checked by its fields.

In a file, entries have dotted names, such as ``solver.basis``: arrays are members of the archive,
numbers and texts are in the JSON header. Each is compared with its field before it is used.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf, isnan, nan
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

# Entries of rows are at most 1e100 and weights 1e50, so that sums over all rows stay below these
# limits; larger ones would overflow when the model goes on.
MOST_ENTRY, MOST_WEIGHT, MOST_SUM = 1e101, 1e70, 1e280
MOST_ROWS = 2**62  # of a stream: sums of two such numbers still fit 64 bits
ORTHONORMAL = 1e-3  # deviation from orthonormal rows that no saved model has

Sizes = dict[str, int]  # lengths that a file has chosen, by the names of `Size`


@dataclass(frozen=True)
class Size:
    """A length that the file chooses: the same wherever its name stands, and limited."""

    name: str
    most: int
    least: int = 0


@dataclass(frozen=True)
class Number:
    """A number between two limits, or a bool; where a limit is infinite, the number may be, too.

    `fades` is the power of the factor by which earlier rows count less: 0 for what does not fade.
    With `gaps` it may be NaN, which is null in JSON.
    """

    kind: type[Any] = float
    least: float = 0.0
    most: float = MOST_SUM
    fades: int = 0
    gaps: bool = False

    def check(self, value: Any, sizes: Sizes | None = None) -> Any:
        """Return the number, or refuse it."""
        if self.gaps and value is None:
            return nan
        number = float(value) if self.kind is float else value
        if type(number) is not self.kind:
            raise ValueError(f"is {number!r}, not of type {self.kind.__name__}")
        if not self.least <= number <= self.most:
            raise ValueError(f"is {number:g}, outside of {self.least:g} to {self.most:g}")
        return number

    def stored(self, value: Any) -> Any:
        """Return the number for the file, or the limit that it is beyond; JSON has no infinity."""
        if self.gaps and isnan(value):
            return None
        limited = min(max(value, self.least), self.most)  # NaN stays, and is refused
        return "inf" if limited == inf else self.kind(limited)


@dataclass(frozen=True)
class String:
    """A text of limited length."""

    most: int = 1000

    def check(self, value: Any, sizes: Sizes | None = None) -> str:
        """Return the text, or refuse it."""
        if not isinstance(value, str) or len(value) > self.most:
            raise ValueError(f"is {value!r:.40}, not a text of at most {self.most} letters")
        return value

    def stored(self, value: Any) -> Any:
        """Return the text for the file."""
        return value


@dataclass(frozen=True)
class Array:
    """An array whose entries are between two limits."""

    shape: tuple[int | Size, ...]
    types: tuple[str, ...] = ("float64",)  # that are allowed, by NumPy's names
    least: float = -MOST_SUM
    most: float = MOST_SUM
    fades: int | tuple[int, ...] = 0  # as of a number; a tuple is along the last axis
    descending: bool = False  # entries must not increase
    orthonormal: bool = False  # rows must be orthonormal, to a thousandth
    gaps: bool = False  # entries may be missing
    optional: bool = False  # may be None, which is an array without entries in a file

    def check(self, array: NDArray[Any], sizes: Sizes) -> NDArray[Any]:
        """Return the array, or refuse it; `sizes` remembers the lengths that the file chose."""
        if self.optional and array.shape == (0,):
            return array
        if array.dtype.name not in self.types:
            raise ValueError(f"is of type {array.dtype}, not {' or '.join(self.types)}")
        if array.ndim != len(self.shape):
            raise ValueError(f"has {array.ndim} dimensions, not {len(self.shape)}")
        for length, wanted in zip(array.shape, self.shape, strict=True):
            if isinstance(wanted, Size):
                if not wanted.least <= length <= wanted.most:
                    limits = f"{wanted.least} to {wanted.most}"
                    raise ValueError(f"has a length of {length}, outside of {limits}")
                wanted = sizes.setdefault(wanted.name, length)
            if length != wanted:
                raise ValueError(f"has a length of {length}, not {wanted}")
        if not self._is_within(array):
            raise ValueError(f"has entries outside of {self.least:g} to {self.most:g}")
        if self.descending and (np.diff(array) > 0.0).any():
            raise ValueError("is not in descending order")
        if self.orthonormal and len(array):
            gram = array.astype(np.float64) @ array.T
            if not np.abs(gram - np.eye(len(array))).max() < ORTHONORMAL:
                raise ValueError("has rows that are not orthonormal")
        return array

    def stored(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return the array for the file, with entries beyond a limit replaced by it."""
        array = np.zeros(0) if self.optional and array is None else np.ascontiguousarray(array)
        with np.errstate(over="ignore"):  # limits of float64 are infinite in float32
            return array if self._is_within(array) else array.clip(self.least, self.most)

    def loaded(self, array: NDArray[Any]) -> NDArray[Any] | None:
        """Return the array of a checked one from a file."""
        return None if self.optional and not array.size else array

    def _is_within(self, array: NDArray[Any]) -> bool:
        """Return whether all entries are within the limits, and none is NaN."""
        if self.gaps:
            array = array[~np.isnan(array)]
        if not array.size:
            return True
        return float(array.min()) >= self.least and float(array.max()) <= self.most


@dataclass(frozen=True)
class Triangle(Array):
    """A symmetric matrix (d, d) of which the lower triangle is kept, in Fortran order.

    The file holds the columns of that triangle, one after the other.
    """

    d: int = 0

    def stored(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return the columns of the triangle of a matrix (d, d)."""
        columns = [array[column:, column] for column in range(self.d)]
        return super().stored(np.concatenate(columns) if columns else np.zeros(0))

    def loaded(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return the matrix (d, d) of a stored triangle; its upper part is zero."""
        matrix = np.zeros((self.d, self.d), order="F")
        start = 0
        for column in range(self.d):
            matrix[column:, column] = array[start : start + self.d - column]
            start += self.d - column
        return matrix


@dataclass(frozen=True)
class Part:
    """Another `State`, which learns with this one."""


@dataclass(frozen=True)
class Parts:
    """A list of states, of a length that the file chooses between two limits."""

    make: Callable[[], State]
    least: int
    most: int

    @property
    def count(self) -> Number:
        """The field of its length."""
        return Number(int, self.least, self.most)


@dataclass(frozen=True)
class Maybe(Parts):
    """Another state, or None; in a file, a list of one or none."""

    least: int = 0
    most: int = 1


Entry = Number | String | Array
Field = Entry | Part | Parts


def whole(least: int = 0, most: int = MOST_ROWS) -> Number:
    """Return the field of a whole number."""
    return Number(int, least, most)


def weight(fades: int = 1) -> Number:
    """Return the field of a sum of weights."""
    return Number(float, 0.0, MOST_WEIGHT, fades)


def point(d: int) -> Array:
    """Return the field of a point (d,) in the space of the rows."""
    return Array((d,), least=-MOST_ENTRY, most=MOST_ENTRY)


def triangle(d: int) -> Triangle:
    """Return the field of a symmetric matrix (d, d) that is a sum over rows."""
    return Triangle((d * (d + 1) // 2,), fades=1, d=d)


def directions(count: int | Size, d: int, types: tuple[str, ...] = ("float64",)) -> Array:
    """Return the field of unit rows (count, d)."""
    return Array((count, d), types, -2.0, 2.0)


class State(ABC):
    """What has been learned from rows: copied, faded, saved and restored by its fields.

    Arrays are replaced, never changed in place: copies share them.
    """

    @abstractmethod
    def fields(self) -> dict[str, Field]:
        """Return the field of each attribute that is learned."""

    def copy(self, shared: tuple[str, ...] = ()) -> Self:
        """Return a copy that goes on by itself, but for attributes that it shares with this one."""
        twin = copy.copy(self)
        for name, value in vars(self).items():
            if name in shared:
                continue
            if isinstance(value, State):
                setattr(twin, name, value.copy())
            elif isinstance(value, list):
                parts = value[:]
                for number, part in enumerate(parts):
                    parts[number] = part.copy() if isinstance(part, State) else part
                setattr(twin, name, parts)
        return twin

    def fade(self, factor: float) -> None:
        """Let everything so far count less."""
        for name, field in self.fields().items():
            value = getattr(self, name)
            if isinstance(field, Part | Parts):
                for part in _listed(value):
                    part.fade(factor)
            elif isinstance(field, Number) and field.fades:
                setattr(self, name, value * factor**field.fades)
            elif isinstance(field, Array) and field.fades:
                setattr(self, name, value * factor ** np.asarray(field.fades, dtype=np.float64))

    def saved(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return numbers and arrays by their dotted names.

        What is beyond a limit is stored as the limit, and what a file cannot hold is refused: what
        is saved can be loaded.
        """
        held: dict[str, Any] = {}
        self._save(held, "", {})
        arrays = {name: value for name, value in held.items() if isinstance(value, np.ndarray)}
        return {name: value for name, value in held.items() if name not in arrays}, arrays

    def _save(self, held: dict[str, Any], prefix: str, sizes: Sizes) -> None:
        """Put everything into what a file is to hold.

        Sizes are shared by all fields, but for those in lists of states: each of these has its own.
        """
        for name, field in self.fields().items():
            value, path = getattr(self, name), prefix + name
            if isinstance(field, Part):
                value._save(held, f"{path}.", sizes)
            elif isinstance(field, Parts):
                parts = _listed(value)
                held[f"{path}.count"] = len(parts)
                _check(f"{path}.count", field.count, len(parts), sizes)
                for number, part in enumerate(parts):
                    part._save(held, f"{path}.{number}.", {})
            else:
                held[path] = field.stored(value)
                _check(path, field, held[path], sizes)

    def restore(self, numbers: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take over what a file holds, or say what is wrong with it."""
        held = {**numbers, **arrays}
        self._restore(held, "", {})
        if held:
            raise ValueError(f"{min(held)} does not belong to it")

    def _restore(self, held: dict[str, Any], prefix: str, sizes: Sizes) -> None:
        """Take the entries below a prefix out of what a file holds."""

        def entry(path: str, field: Entry) -> Any:
            if path not in held:
                raise ValueError(f"{path} is missing")
            value = _check(path, field, held.pop(path), sizes)
            return field.loaded(value) if isinstance(field, Array) else value

        content: dict[str, Any] = {}
        for name, field in self.fields().items():
            path = prefix + name
            if isinstance(field, Part):
                getattr(self, name)._restore(held, f"{path}.", sizes)
            elif isinstance(field, Parts):
                parts = [field.make() for _ in range(entry(f"{path}.count", field.count))]
                for number, part in enumerate(parts):
                    part._restore(held, f"{path}.{number}.", {})
                content[name] = next(iter(parts), None) if isinstance(field, Maybe) else parts
            else:
                content[name] = entry(path, field)
        self.take(content)

    def take(self, content: dict[str, Any]) -> None:
        """Take over checked values, by the names of their fields."""
        vars(self).update(content)


def _listed(value: Any) -> list[State]:
    """Return the states of an attribute, which is one, a list of them, or None."""
    return value if isinstance(value, list) else [] if value is None else [value]


def _check(path: str, field: Entry, value: Any, sizes: Sizes) -> Any:
    """Return the value of a field, or say what is wrong with it."""
    try:
        return field.check(value, sizes)
    except (ValueError, TypeError, AttributeError) as error:
        raise ValueError(f"{path} {error}") from None
