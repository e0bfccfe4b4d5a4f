"""What a model file holds: for each estimator the names, types, shapes and ranges of its state.

A state is a nested dict of numbers and arrays. In the file its entries have dotted names, such as
``solver.basis``: arrays are members of the archive, numbers are in the JSON header. Everything is
compared with the schema before any of it is used: types, limits, and lengths with d, k and each
other. CONTRIBUTING.md says what to do when something here changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onepass.learning import candidates
from onepass.learning.learner import EXACT_COLUMNS
from onepass.learning.row_errors import INFINITE_BIN, LARGEST_ROWS, MOST_DIRECTIONS, SAMPLE_ROWS
from onepass.learning.stream import Stream
from onepass.sources.base import LARGEST

MOST_ROWS = 2**62
MOST_COLUMNS = 2**31 - 1
# Entries are at most 1e100 and weights 1e50, so that sums over all rows stay below these limits;
# larger ones would overflow when the model goes on.
MOST_ENTRY, MOST_WEIGHT, MOST_SUM = 1e101, 1e70, 1e280


@dataclass(frozen=True)
class Scalar:
    """A number between two limits, or a bool; where a limit is infinite, the number may be, too."""

    kind: type[Any] = float
    least: float = 0.0
    most: float = MOST_SUM

    def check(self, value: Any) -> Any:
        """Return the number, or refuse it."""
        number = float(value) if self.kind is float else value
        if type(number) is not self.kind:
            raise ValueError(f"is {number!r}, not of type {self.kind.__name__}")
        if not self.least <= number <= self.most:
            raise ValueError(f"is {number:g}, outside of {self.least:g} to {self.most:g}")
        return number

    def limited(self, value: Any) -> Any:
        """Return the number, or the limit that it is beyond."""
        limited = min(max(value, self.least), self.most)  # NaN stays, and is refused
        return float(limited) if self.kind is float else limited


@dataclass(frozen=True)
class Size:
    """A length that the file chooses: the same wherever the name stands, and limited."""

    name: str
    most: int


@dataclass(frozen=True)
class Array:
    """An array whose entries are between two limits; NaN is never allowed."""

    shape: tuple[int | Size, ...]
    types: tuple[str, ...] = ("float64",)  # that are allowed, by NumPy's names
    least: float = -MOST_SUM
    most: float = MOST_SUM
    descending: bool = False  # whether the entries must not increase
    orthonormal: bool = False  # whether the rows must be, to a thousandth

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
        if not self._is_within(array):
            raise ValueError(f"has entries outside of {self.least:g} to {self.most:g}")
        if self.descending and (np.diff(array) > 0.0).any():
            raise ValueError("is not in descending order")
        if self.orthonormal and len(array):
            gram = array.astype(np.float64) @ array.T
            if not np.abs(gram - np.eye(len(array))).max() < 1e-3:
                raise ValueError("has rows that are not orthonormal")
        return array

    def limited(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return the array, with entries that are beyond a limit replaced by it."""
        array = np.ascontiguousarray(array)
        with np.errstate(over="ignore"):  # limits of float64 are infinite in float32
            return array if self._is_within(array) else array.clip(self.least, self.most)

    def _is_within(self, array: NDArray[Any]) -> bool:
        """Return whether all entries are within the limits, and none is NaN."""
        if not array.size:
            return True
        return float(array.min()) >= self.least and float(array.max()) <= self.most


Record = dict[str, Any]  # of scalars, arrays and records, by name


def check_state(
    schema: Record, numbers: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> dict[str, Any]:
    """Return the state that a file holds, nested as the schema, or say what is wrong with it."""
    fields, sizes = dict(_by_path(schema)), dict[str, int]()
    state: dict[str, Any] = {}
    for path, field in fields.items():
        held: Mapping[str, Any] = arrays if isinstance(field, Array) else numbers
        if path not in held:
            raise ValueError(f"{path} is missing")
        *parts, name = path.split(".")
        part = state
        for outer in parts:
            part = part.setdefault(outer, {})
        try:
            given = (held[path], sizes) if isinstance(field, Array) else (held[path],)
            part[name] = field.check(*given)
        except (ValueError, TypeError) as error:
            raise ValueError(f"{path} {error}") from None
    unknown = {*numbers, *arrays} - {*fields}
    if unknown:
        raise ValueError(f"{min(unknown)} does not belong to it")
    return state


def flatten(
    schema: Record, state: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the numbers and the arrays of a nested state by their dotted names.

    What is beyond a limit is stored as the limit, and what a file cannot hold is refused: what is
    saved can be loaded.
    """
    fields, numbers, arrays = dict(_by_path(schema)), dict[str, Any](), dict[str, NDArray[Any]]()
    for path, value in _by_path(state):
        limited = fields[path].limited(value)
        if isinstance(fields[path], Array):
            arrays[path] = limited
        else:  # JSON has no infinity, which is the dual of a weight of one
            numbers[path] = "inf" if limited == inf else limited
    check_state(schema, numbers, arrays)
    return numbers, arrays


def _by_path(record: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the entries of nested dicts by their dotted names."""
    for name, entry in record.items():
        if isinstance(entry, dict):
            yield from _by_path(entry, f"{prefix}{name}.")
        else:
            yield prefix + name, entry


# -- the records of which states consist ---------------------------------------------------------


WHOLE, WEIGHT = Scalar(int, 0, MOST_ROWS), Scalar(float, 0.0, MOST_WEIGHT)
SCORE = {
    "unit": Scalar(),
    "segment_rows": Scalar(int, 1, MOST_ROWS),
    "segments": Array((Size("segments", 4096), 6), least=0.0),
}


def _entries(d: int) -> Array:
    """Return the field of a point in the space of the rows."""
    return Array((d,), least=-MOST_ENTRY, most=MOST_ENTRY)


def _common(stream: Stream) -> Record:
    """Return what all learners keep: the number of rows, their mean, and the rows in the buffer."""
    d, dtype = stream.d, (stream.dtype.name,)
    waiting, stored = Size("waiting", 2**24), Size("stored", 2**40)
    sampled = Size("sampled", SAMPLE_ROWS + LARGEST_ROWS)
    sample_directions = Size("sample directions", MOST_DIRECTIONS)
    buffer: Record = {"weights": Array((waiting,), least=1e-300)}
    if stream.is_sparse:
        integers = ("int32", "int64")
        buffer["data"] = Array((stored,), dtype, -LARGEST, LARGEST)
        buffer["indices"] = Array((stored,), integers, 0, d - 1)
        buffer["indptr"] = Array((Size("waiting + 1", 2**24),), integers, 0, 2**40)
    else:
        buffer["rows"] = Array((waiting, d), dtype, -LARGEST, LARGEST)
    return {
        "rows_seen": WHOLE,
        "mean": {"weight": WEIGHT, "vector": _entries(d)},
        "errors": {
            "low": Scalar(int, 0, INFINITE_BIN),
            "counts": Array((2, Size("bins", INFINITE_BIN)), least=0.0),
            "weight": WEIGHT,
            "next_window": WEIGHT,
        },
        "sample": {
            "rows": WHOLE,
            "directions": Array((sample_directions, d), least=-2, most=2),
            "point": _entries(d),
            "numbers": Array((sampled,), ("int64",), 0, MOST_ROWS),
            "priorities": Array((sampled,)),
            "errors": Array((sampled,), least=0.0),
            "coordinates": Array((sampled, sample_directions)),
        },
        "buffer": buffer,
    }


def _exact(d: int) -> Record:
    return {"triangle": Array((d * (d + 1) // 2,))}


def _directional(directions: Size) -> Record:
    return {
        "energy": Scalar(),
        "weight": WEIGHT,
        "next_window": WEIGHT,
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
        "rest": Scalar(float, 0.0, inf),
        "steps_taken": WHOLE,
        "gradients": Scalar(),
        "trusted_rows": WHOLE,
        "memory": {},
    }
    if getattr(estimator, "max_rank", None) == "auto":
        record["memory"] = {
            "max_rank": Scalar(int, 1, d),
            "deficient": Scalar(bool),
            "step": WHOLE,
            "next_test": Scalar(int, 1, MOST_ROWS),
        }
    if getattr(estimator, "average", False):
        record["average"] = {
            "count": WEIGHT,
            "rest": Scalar(),
            "factor": Array((Size("average", min(d, 2 * k + 16)), d), dtype),
            "pending": Array((Size("pending", 4 * d + 4 * k + 64), d), dtype),
        }
    return record


def iterative(stream: Stream, estimator: Any) -> Record:
    """Return the state of one of the paper's algorithms."""
    d, directions = stream.d, Size("rank", stream.d)
    if estimator.fixed_rank or getattr(estimator, "average", False):
        directions = Size("directions", estimator.n_components)
    return {
        **_common(stream),
        "solver": _solver(stream, estimator),
        "moment": _exact(d) if d <= EXACT_COLUMNS else _directional(directions),
        "score": SCORE,
        "seed": Scalar(int, 0, 2**31),
    }


def erm(stream: Stream, n_components: int) -> Record:
    """Return the state of `ERM`."""
    return {
        **_common(stream),
        "moment": _exact(stream.d),
        "score": SCORE,
        "scorers": Array((Size("scorers", n_components), stream.d), least=-2, most=2),
        "searched": WEIGHT,
    }


def _sketch(d: int, rank: int, name: str) -> Record:
    directions = Size(f"{name} rank", rank)
    return {
        "weight": WEIGHT,
        "level": Scalar(),
        "sum_of_squares": Scalar(float, -MOST_SUM),
        "mean": _entries(d),
        "columns": Array((d,), least=0.0),
        "basis": Array((directions, d), least=-2, most=2, orthonormal=True),
        "values": Array((directions,), least=0.0, descending=True),
    }


def pca(stream: Stream, n_components: int | float | None) -> Record:
    """Return the state of `PCA`."""
    d = stream.d
    record: Record = {
        "typical": {
            "centre": _entries(d),
            "centre_weight": Scalar(),
            "unit": Scalar(),
            "sums": Array((4,), least=0.0),
        },
        "has_begun": Scalar(bool),
    }
    if d <= candidates.EXACT_COLUMNS:
        sums = Size("sums", 5)
        record["origin"] = _entries(d)
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
        "evidence": Array((3, 3, 4, 2)),
        "evidence_rows": Array((3,), least=0.0),
        "foresight": {
            "unit": Scalar(),
            "periods": Array((Size("periods", 16), 5)),
            "squares": Array((4,), least=0.0),
            "inside": Scalar(float, -MOST_SUM),
        },
        "drift": {
            "point": _entries(d),
            "mean": Array((d,), least=-2, most=2),
            "last": Array((d,), least=-2, most=2),
            "rows": WEIGHT,
            "sums": Array((2,)),
        },
        "rows_learned": WHOLE,
        "rows": WEIGHT,
        "rows_since": WEIGHT,
        "rows_asked": WEIGHT,
        "scored": Scalar(int, 0, 2),
    }
