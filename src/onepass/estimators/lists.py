"""Columns of lists in tables of pandas, polars and pyarrow: each number of a list is a column."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

# How polars and pyarrow, in pandas too, begin the names of types of lists.
_LISTS = re.compile(r"list|array|large_list|fixed_size_list", re.IGNORECASE)


def types_of(table: Any) -> dict[Any, str]:
    """Return the types of the columns of a table, by name; columns of lists are "lists"."""
    schema: Any = getattr(table, "schema", None)
    if hasattr(schema, "types"):  # pyarrow
        names, kinds = schema.names, schema.types
    else:
        names, kinds = table.columns, getattr(table, "dtypes", ())
    labels = {kind: str(kind) for kind in set(kinds)}
    return {
        name: "lists" if _is_lists(table, name, labels[kind]) else labels[kind]
        for name, kind in zip(names, kinds, strict=False)
    }


def _is_lists(table: Any, name: Any, kind: str) -> bool:
    """Return whether a column holds lists."""
    if kind != "object":
        return bool(_LISTS.match(kind))
    values = np.asarray(table[name]).ravel()
    first = next((value for value in values if value is not None), None)
    return isinstance(first, list | tuple) or getattr(first, "ndim", 0) == 1


def expanded(table: Any, n_rows: int) -> Iterator[tuple[NDArray[Any], list[str]]]:
    """Yield the numbers of so many rows each of a table of lists, and the names of the columns.

    Numbers have the shape (n, d), names are ``embedding_0`` and so on. A list that is missing is a
    row of NaN.
    """
    lengths: dict[Any, int] = {}
    slice_of = getattr(table, "slice", None)  # not pandas
    for begin in range(0, max(1, len(table)), n_rows):
        part = slice_of(begin, n_rows) if slice_of else table.iloc[begin : begin + n_rows]
        columns, names = [], []
        for name in types_of(table):
            columns.append(_rows(part[name], name, begin, lengths))
            names += [f"{name}_{j}" for j in range(columns[-1].shape[1])]
        yield np.hstack(columns), names


def _rows(column: Any, name: Any, begin: int, lengths: dict[Any, int]) -> NDArray[Any]:
    """Return lists as rows, shape (n, d); `lengths` are those of the lists before."""
    values = column.to_numpy()
    if values.ndim == 2:  # polars' Array
        return np.asarray(values)
    if len(values) == 0:
        return np.empty((0, 1))
    for row, value in enumerate(values, begin):
        if value is not None and len(value) != lengths.setdefault(name, len(value) or -1):
            raise ValueError(
                f"column {name!r}, row {row}: a list of {len(value)} numbers, and the first one "
                f"has {max(lengths[name], 0)}; lists must be equally long, and not empty"
            )
    if name not in lengths:
        raise ValueError(f"column {name!r} begins with {len(values)} rows without a list")
    missing = np.full(lengths[name], np.nan, dtype=np.float32)
    return np.stack([missing if value is None else _numbers(value) for value in values])


def _numbers(value: Any) -> NDArray[Any]:
    """Return one list as an array; None in it is NaN."""
    row = np.asarray(value)
    return row.astype(np.float64) if row.dtype == object else row
