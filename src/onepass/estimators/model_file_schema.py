"""What a model file holds: for each estimator the names, types, shapes and ranges of its state.

A state is a nested dict of numbers and arrays. In the file its entries have dotted names, such as
``solver.basis``: arrays are members of the archive, numbers are in the JSON header. Everything is
compared with the schema before any of it is used, and arrays are as large as the file says only
after the sizes were compared with d, k and each other. CONTRIBUTING.md says what to do when
something here changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf, isnan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onepass.learning import candidates
from onepass.learning.learner import EXACT_COLUMNS
from onepass.learning.row_errors import INFINITE_BIN, LARGEST_ROWS, MOST_DIRECTIONS, SAMPLE_ROWS
from onepass.learning.stream import Stream

MOST_ROWS = 2**62
# Entries are at most 1e100 and weights 1e50, so that sums of squares over all rows stay below;
# larger ones would overflow when the model goes on.
MOST_SUM = 1e280
MOST_COLUMNS = 2**31 - 1


@dataclass(frozen=True)
class Number:
    """A float between two limits, infinity included where a limit is infinite."""

    least: float = 0.0
    most: float = MOST_SUM

    def check(self, value: Any) -> float:
        """Return the number, or refuse it."""
        number = float(value)
        if isnan(number) or not self.least <= number <= self.most:
            raise ValueError(f"is {number:g}, outside of {self.least:g} to {self.most:g}")
        return number


@dataclass(frozen=True)
class Whole:
    """A whole number between two limits."""

    least: int = 0
    most: int = MOST_ROWS

    def check(self, value: Any) -> int:
        """Return the number, or refuse it."""
        if type(value) is not int or not self.least <= value <= self.most:
            raise ValueError(f"is {value!r}, not a whole number from {self.least} to {self.most}")
        return value


@dataclass(frozen=True)
class Flag:
    """True or False."""

    def check(self, value: Any) -> bool:
        """Return the flag, or refuse it."""
        if type(value) is not bool:
            raise ValueError(f"is {value!r}, neither true nor false")
        return value


@dataclass(frozen=True)
class Size:
    """A length that the file chooses: the same wherever the name stands, and limited."""

    name: str
    most: int


@dataclass(frozen=True)
class Array:
    """An array.

    Attributes
    ----------
    shape : tuple of int or Size
    types : tuple of str
        NumPy's names of the types allowed.
    least, most : float
        Limits of all entries; NaN is never allowed.
    descending : bool
        Whether the entries must not increase.
    orthonormal : bool
        Whether its rows must be orthonormal, to a thousandth.
    """

    shape: tuple[int | Size, ...]
    types: tuple[str, ...] = ("float64",)
    least: float = -MOST_SUM
    most: float = MOST_SUM
    descending: bool = False
    orthonormal: bool = False

    def check(self, array: NDArray[Any], sizes: dict[str, int]) -> NDArray[Any]:
        """Return the array, or refuse it; `sizes` remembers the lengths that the file chose."""
        if array.dtype.name not in self.types:
            raise ValueError(f"is of type {array.dtype}, not {' or '.join(self.types)}")
        if array.ndim != len(self.shape):
            raise ValueError(f"has {array.ndim} dimensions, not {len(self.shape)}")
        for length, wanted in zip(array.shape, self.shape, strict=True):
            if isinstance(wanted, Size):
                if length > wanted.most:
                    raise ValueError(f"has a length of {length}, more than {wanted.most}")
                wanted = sizes.setdefault(wanted.name, length)
            if length != wanted:
                raise ValueError(f"has a length of {length}, not {wanted}")
        limits = (float(array.min()), float(array.max())) if array.size else (self.least, self.most)
        if not (limits[0] >= self.least and limits[1] <= self.most):
            raise ValueError(f"has entries outside of {self.least:g} to {self.most:g}")
        if self.descending and (np.diff(array) > 0.0).any():
            raise ValueError("is not in descending order")
        if self.orthonormal and len(array):
            gram = array.astype(np.float64) @ array.T
            if not np.abs(gram - np.eye(len(array))).max() < 1e-3:
                raise ValueError("has rows that are not orthonormal")
        return array


Field = Number | Whole | Flag | Array
Record = dict[str, Any]  # of fields and records, by name


def check_state(
    schema: Record, numbers: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> dict[str, Any]:
    """Return the state that a file holds, nested as the schema, or say what is wrong with it."""
    unused = {*numbers, *arrays}
    sizes: dict[str, int] = {}

    def read(record: Record, prefix: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, field in record.items():
            path = prefix + name
            if isinstance(field, dict):
                found[name] = read(field, path + ".")
                continue
            held: Mapping[str, Any] = arrays if isinstance(field, Array) else numbers
            if path not in held:
                raise ValueError(f"{path} is missing")
            unused.discard(path)
            try:
                if isinstance(field, Array):
                    found[name] = field.check(held[path], sizes)
                else:
                    found[name] = field.check(held[path])
            except (ValueError, TypeError) as error:
                raise ValueError(f"{path} {error}") from None
        return found

    state = read(schema, "")
    if unused:
        raise ValueError(f"{sorted(unused)[0]} does not belong to it")
    return state


def flatten(state: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the numbers and the arrays of a nested state by their dotted names."""
    numbers: dict[str, Any] = {}
    arrays: dict[str, NDArray[Any]] = {}

    def write(part: Mapping[str, Any], prefix: str) -> None:
        for name, value in part.items():
            if isinstance(value, Mapping):
                write(value, f"{prefix}{name}.")
            elif isinstance(value, np.ndarray):
                arrays[prefix + name] = np.ascontiguousarray(value)
            elif isinstance(value, float):
                # JSON has no infinity, which is the dual of a weight of one.
                numbers[prefix + name] = float(value) if abs(value) < inf else str(value)
            else:
                numbers[prefix + name] = value

    write(state, "")
    return numbers, arrays


# -- the records of which states consist ---------------------------------------------------------


def _common(stream: Stream) -> Record:
    """Return what all learners keep: the number of rows, their mean, and those that wait."""
    d, dtype = stream.d, (stream.dtype.name,)
    waiting, stored = Size("waiting", 2**24), Size("stored", 2**40)
    sampled = Size("sampled", SAMPLE_ROWS + LARGEST_ROWS)
    sample_directions = Size("sample directions", MOST_DIRECTIONS)
    buffer: Record = {"weights": Array((waiting,), least=1e-300)}
    if stream.is_sparse:
        integers = ("int32", "int64")
        buffer["data"] = Array((stored,), dtype, -1e151, 1e151)
        buffer["indices"] = Array((stored,), integers, 0, d - 1)
        buffer["indptr"] = Array((Size("waiting + 1", 2**24),), integers, 0, 2**40)
    else:
        buffer["rows"] = Array((waiting, d), dtype, -1e151, 1e151)
    return {
        "rows_seen": Whole(),
        "mean": {"weight": Number(), "vector": Array((d,))},
        "errors": {
            "low": Whole(0, INFINITE_BIN),
            "counts": Array((2, Size("bins", INFINITE_BIN)), least=0.0),
            "weight": Number(),
            "next_window": Number(),
        },
        "sample": {
            "rows": Whole(),
            "directions": Array((sample_directions, d)),
            "point": Array((d,)),
            "numbers": Array((sampled,), ("int64",), 0, MOST_ROWS),
            "priorities": Array((sampled,)),
            "errors": Array((sampled,), least=0.0),
            "coordinates": Array((sampled, sample_directions)),
        },
        "buffer": buffer,
    }


def _score() -> Record:
    return {
        "unit": Number(),
        "segment_rows": Whole(1),
        "segments": Array((Size("segments", 4096), 6), least=0.0),
    }


def _exact(d: int) -> Record:
    return {"triangle": Array((d * (d + 1) // 2,))}


def _directional(directions: Size) -> Record:
    return {
        "energy": Number(),
        "weight": Number(),
        "next_window": Number(),
        "sums": Array((2, directions, directions)),
        "energies": Array((2,), least=0.0),
    }


def _solver(stream: Stream, estimator: Any) -> Record:
    """Return the state of the solver of one of the paper's algorithms."""
    d, k, dtype = stream.d, estimator.n_components, (stream.dtype.name,)
    rank: int | Size = k if estimator.fixed_rank else Size("rank", d)
    largest = estimator.largest_weight * (1.0 + 1e-6)
    record: Record = {
        "basis": Array((rank, d), dtype, -2, 2, orthonormal=True),
        "weights": Array((rank,), least=0.0, most=largest, descending=True),
        "rest": Number(0.0, inf),
        "steps_taken": Whole(),
        "gradients": Number(),
        "trusted_rows": Whole(),
        "memory": {},
    }
    if getattr(estimator, "max_rank", None) == "auto":
        record["memory"] = {
            "max_rank": Whole(1, d),
            "deficient": Flag(),
            "step": Whole(),
            "next_test": Whole(1),
        }
    if getattr(estimator, "average", False):
        record["average"] = {
            "count": Number(),
            "rest": Number(),
            "factor": Array((Size("average", min(d, 2 * k + 16)), d), dtype),
            "pending": Array((Size("pending", 4 * d + 4 * k + 64), d), dtype),
        }
    return record


def iterative(stream: Stream, estimator: Any) -> Record:
    """Return the state of one of the paper's algorithms."""
    moment = _exact(stream.d)
    if stream.d > EXACT_COLUMNS:
        k = estimator.n_components
        if estimator.fixed_rank:
            moment = _directional(Size("directions", k))
        elif getattr(estimator, "average", False):
            moment = _directional(Size("averaged", k))
        else:
            moment = _directional(Size("rank", stream.d))
    return {
        **_common(stream),
        "solver": _solver(stream, estimator),
        "moment": moment,
        "score": _score(),
        "seed": Whole(0, 2**31),
    }


def erm(stream: Stream, n_components: int) -> Record:
    """Return the state of `ERM`."""
    return {
        **_common(stream),
        "moment": _exact(stream.d),
        "score": _score(),
        "scorers": Array((Size("scorers", n_components), stream.d), least=-2, most=2),
        "searched": Number(),
    }


def _sketch(d: int, rank: int, name: str) -> Record:
    directions = Size(f"{name} rank", rank)
    return {
        "weight": Number(),
        "level": Number(),
        "sum_of_squares": Number(-MOST_SUM),
        "mean": Array((d,)),
        "columns": Array((d,), least=0.0),
        "basis": Array((directions, d), least=-2, most=2, orthonormal=True),
        "values": Array((directions,), least=0.0, descending=True),
    }


def pca(stream: Stream, n_components: int | float | None) -> Record:
    """Return the state of `PCA`."""
    d = stream.d
    record: Record = {
        "typical": {
            "centre": Array((d,)),
            "centre_weight": Number(),
            "unit": Number(),
            "sums": Array((4,), least=0.0),
        },
        "has_begun": Flag(),
    }
    if d <= candidates.EXACT_COLUMNS:
        sums = Size("sums", 5)
        record["origin"] = Array((d,))
        record["weights"] = Array((sums,), least=0.0)
        record["totals"] = Array((sums, d))
        record["triangles"] = Array((sums, d * (d + 1) // 2))
    else:
        rank = candidates.rank_for(stream, n_components)
        record["plain"] = _sketch(d, rank, "plain")
        record["bounded"] = _sketch(d, rank, "bounded")
    return {
        **_common(stream),
        "candidates": record,
        "asked": Array((Size("asked", 3), Size("asked components", d), d), least=-2, most=2),
        "evidence": Array((3, 3, 3, 2)),
        "evidence_rows": Array((3,), least=0.0),
        "foresight": {
            "unit": Number(),
            "periods": Array((Size("periods", 16), 5)),
            "squares": Array((4,), least=0.0),
            "inside": Number(-MOST_SUM),
        },
        "drift": {
            "point": Array((d,)),
            "mean": Array((d,), least=-2, most=2),
            "last": Array((d,), least=-2, most=2),
            "rows": Number(),
            "sums": Array((2,)),
        },
        "rows_learned": Whole(),
        "rows": Number(),
        "rows_since": Number(),
        "rows_asked": Number(),
        "scored": Whole(0, 2),
    }
