"""The rows that a command reads, and the files that it may write."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from onepass.cli.errors import Failure
from onepass.cli.messages import is_quiet, note
from onepass.progress import Progress
from onepass.sources import SourceError, open_source
from onepass.sources.files.source import FileSource
from onepass.sources.files.storage import open_content

_SAMPLE_BYTES = 1 << 20


def open_data(data: tuple[str, ...], reading: dict[str, Any]) -> FileSource:
    """Return the rows of files; say what was guessed about their format."""
    source = open_source(data, **reading)
    for message in source.notes:
        note(message)
    return source


def open_for(model: Any, path: str, data: tuple[str, ...], reading: dict[str, Any]) -> FileSource:
    """Return the rows for a model.

    Unless columns are chosen, those that the model was fitted on are found by name: the files may
    have other columns as well, and another order. If the model or the files have no names, columns
    are taken in their order. Messages name the model's file, `path`.
    """
    names = getattr(model, "feature_names_in_", None) if reading["columns"] is None else None
    source = None if names is None else _open_by_name(path, data, list(names), reading)
    is_in_order = source is None and names is not None
    source = source or open_data(data, reading)
    if source.n_features != model.n_features_in_:
        raise Failure(
            f"{source.paths[0]} has {source.n_features} columns, and {path} was fitted on "
            f"{model.n_features_in_}: not the model for these data, or --columns is needed"
        )
    if is_in_order:
        note(f"{source.paths[0]} has no names of columns; they are taken in the order of {path}")
    elif reading["columns"] is None and names is None and source.feature_names is not None:
        note(f"{path} has no names of columns; those of {source.paths[0]} are taken in their order")
    return source


def _open_by_name(
    path: str, data: tuple[str, ...], names: list[str], reading: dict[str, Any]
) -> FileSource | None:
    """Return the rows of the named columns, None if the files have no names."""
    try:
        return open_data(data, {**reading, "columns": names})
    except SourceError as error:
        refusal = Failure(f"{error} ({path} was fitted on {', '.join(names[:8])})")
        if "-" in data:  # which cannot be opened again
            raise refusal from error
    if open_source(data, **{**reading, "skip_non_numeric": True, "keep_index": True}).named:
        raise refusal
    return None


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


def check_output(path: str, inputs: Iterable[str]) -> None:
    """Refuse a path that cannot be written, or that is one of the files that are read."""
    folder = os.path.dirname(os.path.realpath(path))
    if not os.path.isdir(folder):
        raise Failure(f"{path}: there is no folder {folder}")
    if not os.access(folder, os.W_OK):
        raise Failure(f"{path}: no permission to write in {folder}")
    for read in inputs:
        if os.path.realpath(read.partition("::")[0]) == os.path.realpath(path):
            raise Failure(f"{path} is among the files that are read: it must not be overwritten")
