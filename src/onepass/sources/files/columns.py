"""Which columns of which file."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from onepass.sources.base import SourceError, called
from onepass.sources.files.table import Table


def choose(
    tables: list[Table], wanted: Sequence[str | int] | None, skip_non_numeric: bool
) -> list[NDArray[np.intp]]:
    """Return, for each file, the indices of the columns that make up the rows.

    The first file decides which columns they are and in which order. In the others they are found
    by name, or by index where there are no names. Without a choice all files must have the same
    columns.

    Parameters
    ----------
    tables : list of Table
        The files.
    wanted : sequence of str or int, optional
        Names or indices of columns; all by default.
    skip_non_numeric : bool
        Leave out columns that are not numbers instead of refusing them.

    Returns
    -------
    list of ndarray of shape (d,)
    """
    first = tables[0]
    indices = [_indices(table) for table in tables]
    if wanted is None:
        chosen = np.arange(len(first.numeric))
        if skip_non_numeric:
            chosen = chosen[first.numeric]
    else:
        chosen = np.array([_find(first, indices[0], column) for column in wanted], dtype=np.intp)
        if len(set(chosen.tolist())) < len(chosen):
            raise SourceError(f"a column is chosen twice: {', '.join(map(str, wanted))}")
    if len(chosen) == 0:
        raise SourceError.at("no column is numeric", file=first.path)
    found = [chosen]
    for table, index in zip(tables[1:], indices[1:], strict=True):
        if wanted is None:
            _check_same(first, table)
        names = [first.column(j) for j in chosen.tolist()]
        found.append(np.array([_find(table, index, name) for name in names], dtype=np.intp))
    for table, columns in zip(tables, found, strict=True):
        _check_numeric(table, columns, hint=wanted is None)
    return found


def _indices(table: Table) -> dict[str, int] | None:
    """Return the index of each name, if there are names, and refuse two columns of one name."""
    if table.names is None:
        return None
    indices: dict[str, int] = {}
    for j, name in enumerate(table.names):
        if indices.setdefault(name, j) != j:
            raise SourceError.at("there are two columns of this name", file=table.path, column=name)
    return indices


def _find(table: Table, indices: dict[str, int] | None, column: str | int) -> int:
    """Return the index of a column given by its name or its index."""
    if isinstance(column, str) and indices is not None:
        if column in indices:
            return indices[column]
        raise SourceError.at(
            f"there is no such column; there are {_listed(list(indices))}",
            file=table.path,
            column=column,
        )
    width = len(table.numeric)
    if isinstance(column, str) and not (column.isascii() and column.isdigit()):
        raise SourceError.at(
            f"there is no such column: columns have no names here, only numbers 0 to {width - 1}",
            file=table.path,
            column=column,
        )
    if not 0 <= int(column) < width:
        raise SourceError.at(
            f"there is no such column: there are only {width}", file=table.path, column=int(column)
        )
    return int(column)


def _check_same(first: Table, table: Table) -> None:
    """Refuse a file that has other columns than the first one."""
    if first.names is None or table.names is None:
        if len(first.numeric) != len(table.numeric):
            raise SourceError.at(
                f"there are {len(table.numeric)} columns, and {len(first.numeric)} in {first.path}",
                file=table.path,
            )
        return
    missing = set(first.names) - set(table.names)
    extra = set(table.names) - set(first.names)
    if missing or extra:
        differences = [f"is missing {_listed(sorted(missing))}"] * bool(missing)
        differences += [f"has also {_listed(sorted(extra))}"] * bool(extra)
        raise SourceError.at(
            f"compared with {first.path}, it {' and '.join(differences)}", file=table.path
        )


def _check_numeric(table: Table, columns: NDArray[np.intp], hint: bool) -> None:
    """Refuse columns that are not numbers, by name."""
    bad = columns[~table.numeric[columns]].tolist()
    if not bad:
        return
    message = f"it holds {table.why_not_numeric(bad[0])}"
    if len(bad) > 1:
        message += f"; the same is true of {_listed([table.column(j) for j in bad[1:]])}"
    if hint:
        message += ". Choose columns, or skip those that are not numeric"
    raise SourceError.at(message, file=table.path, column=table.column(bad[0]))


def _listed(names: Sequence[str | int], most: int = 8) -> str:
    """Return columns as text, not too many of them."""
    text = ", ".join(map(called, names[:most]))
    return text + (f" and {len(names) - most} more" if len(names) > most else "")
