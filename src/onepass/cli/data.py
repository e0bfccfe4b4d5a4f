"""The rows that a command reads, and the files that it may write."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from onepass.cli.errors import Failure
from onepass.cli.messages import is_quiet, note
from onepass.progress import Progress
from onepass.report.portrait import listed
from onepass.sources import SourceError
from onepass.sources.files.source import FileSource, Table, open_tables
from onepass.sources.files.storage import open_content, split

_SAMPLE_BYTES = 1 << 20


def open_for(model: Any, path: str, data: tuple[str, ...], reading: dict[str, Any]) -> FileSource:
    """Return the rows for a model.

    Unless columns are chosen, those that the model was fitted on are found by name: the files may
    have other columns as well, and another order. If the model or the files have no names, columns
    are taken in their order. Messages name the model's file, `path`.
    """
    names = getattr(model, "feature_names_in_", None) if reading["columns"] is None else None
    reading = dict(reading)
    tables = open_tables(data, reading.pop("header"), reading.pop("delimiter"))
    said, file = [], tables[0].path
    if names is None:
        source = FileSource(tables, **reading)
        if reading["columns"] is None and source.feature_names is not None:
            said = [f"{path} has no names of columns; those of {file} are taken in their order"]
    elif tables[0].names is not None:
        source = _by_name(path, tables, list(names), reading)
    else:
        source, taken = _by_number(tables, list(names), reading)
        said = [f"{file} has no names of columns; they are taken {taken} {path}"]
    if source.n_features != model.n_features_in_:
        raise Failure(
            f"{file} has {source.n_features} columns, and {path} was fitted on "
            f"{model.n_features_in_}: not the model for these data, or --columns is needed"
        )
    for message in (*source.notes, *said):
        note(message)
    return source


def _by_name(
    path: str, tables: list[Table], names: list[str], reading: dict[str, Any]
) -> FileSource:
    """Return the rows of the columns that have the names of a model."""
    fitted_on = f"({path} was fitted on {listed(names, 8)})"
    try:
        source = FileSource(tables, **{**reading, "columns": names})
    except SourceError as error:
        raise Failure(f"{error} {fitted_on}") from error
    for name in set(names) - set(source.feature_names or ()):  # taken for the number of a column
        raise Failure(f"{tables[0].path}: there is no column {name!r} {fitted_on}")
    return source


def _by_number(
    tables: list[Table], names: list[str], reading: dict[str, Any]
) -> tuple[FileSource, str]:
    """Return the rows of files without names, and how their columns were chosen.

    Names of a model that was fitted on some columns of such files are numbers.
    """
    if all(name.isascii() and name.isdigit() for name in names):
        with suppress(SourceError):
            source = FileSource(tables, **{**reading, "columns": names})
            return source, f"by their numbers, {listed(names, 8)}, as in"
    return FileSource(tables, **reading), "in the order of"


def progress_over(label: str, source: FileSource, done: int = 0) -> Progress:
    """Return a progress line, which only terminals show, and not with --quiet."""
    return Progress(
        label,
        expected_rows(source),
        exact=source.n_rows is not None,
        done=done,
        visible=False if is_quiet() else None,
    )


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
            sample = text.read(_SAMPLE_BYTES)
            taken = file.tell()
    except Exception:  # of a damaged file: the error comes when it is read
        return None
    lines = max(sample.count(b"\n"), sample.count(b"\r"))
    return round(lines * os.path.getsize(path) / taken) - has_header if lines else None


def check_output(path: str, others: Iterable[str]) -> None:
    """Refuse a path that cannot be written, or that is one of the other files of a command."""
    if os.path.exists(path or ".") and not os.path.isfile(path):
        raise Failure(f"{path or repr(path)} is not a file that can be written")
    folder = os.path.dirname(os.path.realpath(path))
    if not os.path.isdir(folder):
        raise Failure(f"{path}: there is no folder {folder}")
    if not os.access(folder, os.W_OK):
        raise Failure(f"{path}: no permission to write in {folder}")
    for other in others:
        local = split(other)[0].removeprefix("file://")
        if os.path.realpath(local) == os.path.realpath(path):
            raise Failure(f"{path} is an input or another output: it must not be overwritten")
