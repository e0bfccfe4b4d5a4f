"""The rows that a command reads, and the files that it may write."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from tempfile import TemporaryDirectory
from typing import Any

import click
import numpy as np
from click.core import ParameterSource
from numpy.typing import NDArray

from onepass.cli.program import Failure, is_quiet, note, warn
from onepass.persistence.atomic import remove_unfinished
from onepass.progress import Progress
from onepass.report.rows import RowTexts
from onepass.report.summary import shortened
from onepass.sources.files import FileSource, open_tables
from onepass.sources.paths import is_remote, open_content, split
from onepass.sources.tables import ReadOptions

_COUNTED_BYTES = 1 << 20


def open_for(model: Any, path: str, data: tuple[str, ...], reading: dict[str, Any]) -> FileSource:
    """Return the rows for a model, whose file is `path`.

    Unless columns are chosen, those that the model was fitted on are found by name: the files may
    have other columns as well, and another order. If the model or the files have no names, columns
    are taken in their order. Options of reading that are not given are those of the fit, and its
    marks of missing entries hold here, too.
    """
    origin, (options, choice) = model.origin_, ReadOptions.split(reading)
    marks = [mark for mark in origin.na if mark not in options.na]
    given = click.get_current_context().get_parameter_source
    kept = {
        name: value
        for name, value in origin.reading.items()
        if given(name) is not ParameterSource.COMMANDLINE
    }
    tables = open_tables(data, options, marks, kept)
    first = tables[0]
    kept = {name: kept[name] for name in first.reading if name in kept}
    if marks or kept:
        note(f"reading with the options of the fit of {path}: {as_options(kept, marks)}")
    names = list(getattr(model, "feature_names_in_", ()))
    if choice["columns"] is None and names:
        missing = [name for name in names if name not in (first.names or ())]
        if first.names is not None and missing:
            raise Failure(
                f"{first.path}: there is no column {missing[0]!r} ({path} was fitted on "
                f"{shortened(names, 8)})"
            )
        # A model of some columns of files without names has their numbers as names.
        if not missing or all(name.isdigit() and int(name) < first.width for name in names):
            choice["columns"] = names
        if missing:
            numbers = f"by their numbers, {shortened(names, 8)}, as in"
            how = numbers if choice["columns"] else "in the order of"
            note(f"{first.path} has no names of columns; they are taken {how} {path}")
    elif choice["columns"] is None and first.names is not None:
        note(f"{path} has no names of columns; those of {first.path} are taken in their order")
    source = FileSource(tables, **choice, preparation=origin.preparation)
    if source.n_features != model.n_features_in_:
        raise Failure(
            f"{first.path} has {source.n_features} columns, and {path} was fitted on "
            f"{model.n_features_in_}: not the model for these data, or --columns is needed"
        )
    for message in source.notes:
        note(message)
    if origin.mapped:
        warn(
            f"{path} was fitted on rows changed by source.map(function), which is not saved: apply "
            "the function to these rows first"
        )
    return source


def as_options(reading: Mapping[str, Any], marks: Iterable[str]) -> str:
    """Return how files are read, as options of the command line."""
    words = [f"--na {shlex.quote(mark)}" for mark in marks]
    for name, value in reading.items():
        if name == "header":
            words.append("--header" if value else "--no-header")
        else:
            words.append(f"--{name.replace('_', '-')} {shlex.quote(str(value))}")
    return " ".join(words)


def on_disk(data: tuple[str, ...], output: str) -> tuple[str, ...]:
    """Return the files of a command that reads them twice: once as numbers, once as text.

    Standard input is copied to a temporary file beside the output, which takes as much room. It is
    removed when the command ends.
    """
    if data.count("-") != 1:
        return data
    prepare_output(output, [])
    temporary = TemporaryDirectory(prefix="onepass-", dir=os.path.dirname(os.path.realpath(output)))
    folder = click.get_current_context().with_resource(temporary)
    path = os.path.join(folder, "standard-input.csv")
    with open(path, "wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    return tuple(path if given == "-" else given for given in data)


def progress_over(label: str, source: FileSource, done: int = 0) -> Progress:
    """Return a progress line, which only terminals show, and not with --quiet."""
    visible, exact = False if is_quiet() else None, source.n_rows is not None
    return Progress(label, expected_rows(source), exact=exact, done=done, visible=visible)


def expected_rows(source: FileSource) -> int | None:
    """Return the number of rows, an estimate for text files, None if it is not known."""
    counts = [_lines(path, source.named) if rows is None else rows for path, rows in source.files]
    return None if None in counts else sum(count or 0 for count in counts)


def _lines(path: str, has_header: bool) -> int | None:
    """Estimate the number of rows of a text file from the lengths of the first lines."""
    if not os.path.isfile(path):
        return None
    try:
        with open(path, "rb") as file, open_content(path, file) as text:
            sample = text.read(_COUNTED_BYTES)
            taken = file.tell()
    except Exception:  # of a damaged file: the error comes when it is read
        return None
    lines = max(sample.count(b"\n"), sample.count(b"\r"))
    return round(lines * os.path.getsize(path) / taken) - has_header if lines else None


def warn_of_repeats(paths: Iterable[str]) -> None:
    """Warn of files that are given more than once."""
    for path, count in Counter(map(os.path.realpath, paths)).items():
        if count > 1:
            warn(f"{path} is given more than once, so its rows count more than once")


def prepare_output(path: str, others: Iterable[str]) -> None:
    """Refuse a path that cannot be written, or that is one of the other files of a command.

    What a killed command has left beside it is removed.
    """
    folder = os.path.dirname(os.path.realpath(path))
    if not path or (os.path.exists(path) and not os.path.isfile(path)):
        raise Failure(f"{path or repr(path)} is not a file that can be written")
    if not os.path.isdir(folder):
        raise Failure(f"{path}: there is no folder {folder}")
    if not os.access(folder, os.W_OK):
        raise Failure(f"{path}: no permission to write in {folder}")
    for other in others:
        local = split(other)[0].removeprefix("file://")
        if os.path.realpath(local) == os.path.realpath(path):
            raise Failure(f"{path} is an input or another output: it must not be overwritten")
    remove_unfinished(path)


def table_of_cells(source: FileSource) -> Any:
    """Return the table `obs` of the cells in files; None if some files have no names of cells.

    A column `file` is added where there are several files. Names that occur in more than one of
    them get the number of their file, as `anndata.concat` does it.
    """
    tables = [table.obs() for table in source.tables if hasattr(table, "obs")]
    if len(tables) < len(source.tables):
        return None
    if len(tables) == 1:
        return tables[0]
    import pandas as pd

    if not pd.concat([table.index.to_series() for table in tables]).is_unique:
        for number, table in enumerate(tables):
            table.index = table.index + f"-{number}"
    for path, table in zip(source.paths, tables, strict=True):
        table["file"] = path
    return pd.concat(tables)


class Points:
    """The columns of files, of any type, that colour and label points of a page.

    A column that is not there is refused at once.
    """

    def __init__(self, source: FileSource | None, color: str | None, label: str | None) -> None:
        self._source, self._color, self._label = source, color, label
        wanted = [name for name in (color, label) if name is not None]
        if wanted and (source is None or source.once):
            raise Failure("--color and --label need files, which are read once more")
        self._cells: Any = ()
        if source is not None and wanted:
            cells = table_of_cells(source)
            self._cells = () if cells is None else cells
            for name in wanted:
                if name not in self._cells:
                    source.tables[0].find(name)

    def texts(self, numbers: NDArray[np.int64]) -> RowTexts:
        """Return what is beside rows, which are counted from 0 over all files.

        Files are read once more, up to the last of the rows.
        """
        labels = self._values(self._label, numbers)
        texts = None if labels is None else [str(label) for label in labels]
        colors = self._values(self._color, numbers)
        return RowTexts(self._lines(numbers), texts, colors, self._label or "", self._color or "")

    def _values(self, name: str | None, numbers: NDArray[np.int64]) -> list[Any] | None:
        """Return the values of a column."""
        if name is None or self._source is None:
            return None
        if name in self._cells:
            return self._cells[name].iloc[numbers].tolist()
        tables = self._source.tables
        pieces = (cells[0] for table in tables for cells in table.cells([table.find(name)]))
        found = picked(((piece, "") for piece in pieces), numbers)
        return [None if one is None else one[0].as_py() for one in found]

    def _lines(self, numbers: NDArray[np.int64]) -> list[str] | None:
        """Return the lines of rows, with the names of the files if there are several.

        None where a file has no lines, would have to be fetched again, or has become shorter.
        """
        source = self._source
        if source is None or any(map(is_remote, source.paths)):
            return None
        if any(table.lines() is None for table in source.tables):
            return None
        starts = [f"{path}:" * (len(source.paths) > 1) for path in source.paths]
        named = zip(source.tables, starts, strict=True)
        pieces = ((lines, start) for table, start in named for lines in table.lines() or ())
        found = picked(pieces, numbers)
        return None if None in found else [f"{start}{line}" for line, start in found]


def picked(pieces: Iterable[tuple[Any, str]], numbers: NDArray[np.int64]) -> list[Any]:
    """Return the items at numbers, from 0, of arrays that follow each other, with their texts.

    None where they are too short.
    """
    found: dict[int, tuple[Any, str]] = {}
    before = 0
    for piece, text in pieces:
        inside = numbers[(numbers >= before) & (numbers < before + len(piece))]
        found |= {number: (piece[number - before], text) for number in inside.tolist()}
        before += len(piece)
    return [found.get(number) for number in numbers.tolist()]
