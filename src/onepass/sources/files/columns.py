"""Which columns of which file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from onepass.sources.base import SourceError, called
from onepass.sources.files.table import Columns, Table


def choose(
    tables: list[Table],
    wanted: Sequence[str | int] | None,
    skip_non_numeric: bool,
    keep_index: bool,
) -> list[Columns]:
    """Return, for each file, the indices of the columns that make up the rows.

    The first file decides which columns they are and in which order. In the others they are found
    by name, or by index where there are no names. Without a choice all files must have the same
    columns, and those of pandas' index are left out unless they are to be kept.
    """
    first = tables[0]
    left_out = set() if keep_index else set(first.index)
    left_out |= first.not_numeric.keys() if skip_non_numeric else set()
    chosen: list[int] | None = None
    if wanted is not None:
        places = _places(first)
        chosen = [_find(first, places, column) for column in wanted]
        if len(set(chosen)) < len(chosen):
            raise SourceError(f"a column is chosen twice: {', '.join(map(str, wanted))}")
    elif left_out:
        chosen = [j for j in range(first.width) if j not in left_out]
    if chosen == []:
        raise SourceError.at("no column is chosen, or none is numeric", file=first.path)
    found = [_matching(first, chosen, table, exact=wanted is None) for table in tables]
    for table, columns in zip(tables, found, strict=True):
        _check(table, columns)
    return [None if columns is None else np.array(columns, dtype=np.intp) for columns in found]


def listed(names: Sequence[str | int], most: int = 8) -> str:
    """Return columns as text, not too many of them."""
    text = ", ".join(map(called, names[:most]))
    return text + (f" and {len(names) - most} more" if len(names) > most else "")


def _places(table: Table) -> dict[str, int]:
    """Return the index of each name; -1 where two columns have it."""
    places: dict[str, int] = {}
    for j, name in enumerate(table.names or ()):
        places[name] = -1 if name in places else j
    return places


def _find(table: Table, places: dict[str, int], column: str | int) -> int:
    """Return the index of a column given by its name, or by its index."""
    if isinstance(column, str) and column in places:
        if places[column] < 0:
            message = "there are two columns of this name; choose by number"
            raise SourceError.at(message, file=table.path, column=column)
        return places[column]
    is_number = not isinstance(column, str) or (column.isascii() and column.isdigit())
    if is_number and 0 <= int(column) < table.width:
        return int(column)
    message = f"there is no such column: columns have the numbers 0 to {table.width - 1}"
    message += " and no names" if table.names is None else f" and the names {listed(table.names)}"
    raise SourceError.at(message, file=table.path, column=int(column) if is_number else column)


def _matching(
    first: Table, chosen: list[int] | None, table: Table, *, exact: bool
) -> list[int] | None:
    """Return the columns of a file that are those of the first one; `exact` allows no others."""
    if first.names == table.names and first.width == table.width:
        return chosen
    places = _places(table)
    indices = range(first.width) if chosen is None else chosen
    if first.names is None:
        if exact and first.width != table.width:
            message = f"there are {table.width} columns, and {first.width} in {first.path}"
            raise SourceError.at(message, file=table.path)
        return [_find(table, places, j) for j in indices]
    if table.names is None:
        message = f"its columns have no names, and those of {first.path} have"
        raise SourceError.at(message, file=table.path)
    names = [first.names[j] for j in indices]
    missing = [name for name in names if name not in places]
    extra = set(table.names) - set(first.names) - {table.names[j] for j in table.index}
    if missing or (exact and extra):
        differences = [f"is missing {listed(missing)}"] * bool(missing)
        differences += [f"has also {listed(sorted(extra))}"] * (exact and bool(extra))
        message = f"compared with {first.path}, it {' and '.join(differences)}"
        raise SourceError.at(message, file=table.path)
    return [_find(table, places, name) for name in names]


def _check(table: Table, columns: list[int] | None) -> None:
    """Refuse two columns of one name, and columns that are not numbers."""
    if table.names is not None:
        names = table.names if columns is None else [table.names[j] for j in columns]
        name, count = Counter(names).most_common(1)[0]
        if count > 1:
            message = "there are two columns of this name"
            raise SourceError.at(message, file=table.path, column=name)
    bad = [j for j in table.not_numeric if columns is None or j in set(columns)]
    if bad:
        message = f"contains {table.not_numeric[bad[0]]}"
        if len(bad) > 1:
            message += f"; the same is true of {listed([table.column(j) for j in bad[1:]])}"
        message += "; choose columns (columns=, --columns), or leave such columns out "
        message += "(skip_non_numeric=True, --skip-non-numeric)"
        raise SourceError.at(message, file=table.path, column=table.column(bad[0]))
