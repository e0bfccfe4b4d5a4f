"""A file of the corpus, and what becomes of it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse

from onepass import open_source
from onepass.sources import SourceError

OUTCOMES = ("read", "refused", "refused without need", "misread", "crashed")
TOLERANCE = 1e-9  # relative; decimals and text of 10 digits become float64 in several ways

# Writes a file, and returns what the tool itself reads from it: a table or an array. The names of
# a table's numeric columns are compared, too.
Writer = Callable[[Path], Any]


@dataclass(frozen=True)
class Case:
    """A file.

    Attributes
    ----------
    tool, name : str
        Who writes it, and what is special about it.
    file : str
        Its name.
    write : callable
        Writes it and returns what the tool reads, or None if these are no rows of numbers.
    options : dict
        What a user knows about the file and says at once, for `open_source`.
    inside : str
        What follows the path: ``"::x"``.
    refused : str
        A word of the message, where the file may be refused.
    then : dict or None
        What that message leads to: options, and perhaps ``inside``. None if the file cannot be
        read.
    """

    tool: str
    name: str
    file: str
    write: Writer
    options: Mapping[str, Any] = field(default_factory=dict)
    inside: str = ""
    refused: str = ""
    then: Mapping[str, Any] | None = None

    def outcome(self, folder: Path) -> tuple[str, str]:
        """Write the file into an empty folder, and return one of OUTCOMES and what was seen."""
        path = folder / self.file
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of tools; files are compared, not what is said
            expected = self.write(path)
            kind, seen = attempt(path, expected, {"inside": self.inside, **self.options})
            if kind != "refused":
                return kind, seen
            if not self.refused or self.refused.lower() not in seen.lower():
                return "refused without need", seen
            if self.then is None:
                return kind, seen
            more = {"inside": self.inside, **self.options, **self.then}
            again, found = attempt(path, expected, more)
            return (kind, seen) if again == "read" else (_worse(again), f"{seen}; then {found}")


def _worse(kind: str) -> str:
    """Return what a file is that is not read with the option that the message names."""
    return "misread" if kind == "misread" else "refused without need"


def attempt(path: Path, expected: Any, options: Mapping[str, Any]) -> tuple[str, str]:
    """Return what becomes of a file that is read with these options."""
    more = dict(options)
    try:
        source = open_source(f"{path}{more.pop('inside', '')}", **more)
        blocks = list(source)
        found = scipy.sparse.vstack(blocks) if scipy.sparse.issparse(blocks[0]) else None
        values = np.concatenate(blocks) if found is None else found
    except SourceError as error:
        return "refused", str(error)
    except Exception as error:  # whatever a file provokes is what is measured
        return "crashed", f"{type(error).__name__}: {error}"
    difference = different(values, expected, source.feature_names)
    return ("misread", difference) if difference else ("read", "")


def different(found: Any, expected: Any, names: list[str] | None) -> str:
    """Return in which way rows differ from what is expected; nothing if they agree."""
    if expected is None:
        return "read, though these are no rows of numbers"
    if isinstance(expected, pd.DataFrame):
        expected = numbers(expected)
        wanted = [str(name) for name in expected.columns]
        if names is not None and names != wanted:
            return f"columns {names[:5]} instead of {wanted[:5]}"
        expected = expected.to_numpy()
    if found.shape != expected.shape:
        return f"shape {found.shape} instead of {expected.shape}"
    if scipy.sparse.issparse(found) and scipy.sparse.issparse(expected):
        parts = [scipy.sparse.csr_array(one) for one in (found, expected)]
        for part in parts:
            part.sum_duplicates()
            part.eliminate_zeros()
        found, expected = (
            np.column_stack([part.nonzero()[0], part.nonzero()[1], part.data]) for part in parts
        )
        if found.shape != expected.shape:
            return f"{len(found)} entries instead of {len(expected)}"
    found, expected = (
        one.toarray() if scipy.sparse.issparse(one) else np.asarray(one)
        for one in (found, expected)
    )
    near = np.isclose(
        found.astype(np.float64), expected.astype(np.float64), TOLERANCE, 0.0, equal_nan=True
    )
    if near.all():
        return ""
    place = tuple(int(i) for i in np.argwhere(~near)[0])
    return f"{(~near).sum()} values differ, at {place}: {found[place]} instead of {expected[place]}"


def numbers(table: pd.DataFrame) -> pd.DataFrame:
    """Return the columns of numbers as float64: lists as one column each, no text and no dates."""
    if all(pd.api.types.is_numeric_dtype(kind) for kind in table.dtypes):
        values = table.to_numpy(dtype=np.float64, na_value=np.nan)
        return pd.DataFrame(values, columns=table.columns)
    columns: dict[str, Any] = {}
    for name, column in table.items():
        some = column.dropna()
        first = some.iloc[0] if len(some) else np.nan
        if isinstance(first, list | tuple | np.ndarray):
            width = len(first)
            empty = np.full(width, np.nan)
            is_list = [isinstance(value, list | tuple | np.ndarray) for value in column]
            rows = [np.asarray(v) if one else empty for v, one in zip(column, is_list, strict=True)]
            stacked = np.array(rows, dtype=np.float64)
            columns |= {f"{name}_{j}": stacked[:, j] for j in range(width)}
        elif isinstance(first, Decimal):
            columns[str(name)] = [np.nan if pd.isna(v) else float(v) for v in column]
        elif pd.api.types.is_numeric_dtype(column) or isinstance(first, bool | int | float):
            columns[str(name)] = column.to_numpy(dtype=np.float64, na_value=np.nan)
    return pd.DataFrame(columns)
