"""The rows that a command reads, and the files that it may write."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from tempfile import TemporaryDirectory
from typing import Any

import click
import numpy as np
from click.core import ParameterSource
from numpy.typing import NDArray

from onepass.cli.errors import Failure
from onepass.cli.messages import is_quiet, note, warn
from onepass.persistence.atomic import remove_unfinished
from onepass.progress import Progress
from onepass.report import model_page
from onepass.report.summary import shortened
from onepass.sources import Block, Position, SourceError
from onepass.sources.excerpt import Excerpt
from onepass.sources.files import FileSource, open_tables
from onepass.sources.paths import is_remote, open_content, split
from onepass.sources.tables import ReadOptions

_COUNTED_BYTES = 1 << 20


def open_for(model: Any, path: str, data: tuple[str, ...], reading: dict[str, Any]) -> FileSource:
    """Return the rows for a model.

    Unless columns are chosen, those that the model was fitted on are found by name: the files may
    have other columns as well, and another order. If the model or the files have no names, columns
    are taken in their order. What stood for missing entries when it was fitted does so here, too,
    and options of reading that are not given are those of the fit. Messages name the model's file,
    `path`.
    """
    names = list(getattr(model, "feature_names_in_", ())) if reading["columns"] is None else []
    options, reading = ReadOptions.split(reading)
    reading["preparation"] = model.origin_.preparation
    marks = [mark for mark in model.origin_.na if mark not in options.na]
    source_of = click.get_current_context().get_parameter_source
    kept = {
        name: value
        for name, value in model.origin_.reading.items()
        if source_of(name) is not ParameterSource.COMMANDLINE
    }
    if names and "skip_lines" in kept and "-" not in data:
        rest = {name: value for name, value in kept.items() if name != "skip_lines"}
        with suppress(SourceError):  # where other lines come first
            if {*names} <= {*(open_tables(data, options, marks, rest)[0].names or ())}:
                kept = rest  # nothing is before the names
    tables = open_tables(data, options, marks, kept)
    kept = {name: kept[name] for name in tables[0].reading if name in kept}
    if marks or kept:
        note(f"read as when {path} was fitted: {as_options(kept, marks)}")
    said, file, by_name = [], tables[0].path, {**reading, "columns": names}
    if not names:
        source = FileSource(tables, **reading)
        if reading["columns"] is None and source.feature_names is not None:
            said = [f"{path} has no names of columns; those of {file} are taken in their order"]
    elif tables[0].names is not None:
        fitted_on = f"({path} was fitted on {shortened(names, 8)})"
        try:
            source = FileSource(tables, **by_name)
        except SourceError as error:
            otherwise = ""
            if "encoding" in kept:
                otherwise = f"; it was read with {as_options({'encoding': kept['encoding']}, ())}, "
                otherwise += "as when the model was fitted; if it is UTF-8, pass --encoding utf-8"
            raise Failure(f"{error} {fitted_on}{otherwise}") from error
        for name in set(names) - set(source.feature_names or ()):  # it was taken for a number
            raise Failure(f"{file}: there is no column {name!r} {fitted_on}")
    elif "skip_lines" in kept:
        raise Failure(
            f"{file}: there are no names of columns after the lines that are skipped, as when "
            f"{path} was fitted; pass --skip-lines 0 if none come before the names"
        )
    else:
        try:  # a model of some columns of files without names has their numbers as names
            source = FileSource(tables, **by_name)
            taken = f"by their numbers, {shortened(names, 8)}, as in"
        except SourceError:
            source, taken = FileSource(tables, **reading), "in the order of"
        said = [f"{file} has no names of columns; they are taken {taken} {path}"]
    if source.n_features != model.n_features_in_:
        raise Failure(
            f"{file} has {source.n_features} columns, and {path} was fitted on "
            f"{model.n_features_in_}: not the model for these data, or --columns is needed"
        )
    for message in (*source.notes, *said):
        note(message)
    if model.origin_.mapped:
        warn(
            f"{path} was fitted on rows that source.map(function) had changed, and the function is "
            "not saved: the rows here must have been changed by it already"
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
    note(f"standard input is copied to {path}, to keep other columns as they are")
    with open(path, "wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    return tuple(path if given == "-" else given for given in data)


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
            sample = text.read(_COUNTED_BYTES)
            taken = file.tell()
    except Exception:  # of a damaged file: the error comes when it is read
        return None
    lines = max(sample.count(b"\n"), sample.count(b"\r"))
    return round(lines * os.path.getsize(path) / taken) - has_header if lines else None


def write_page(
    model: Any, path: str, source: FileSource | None, title: str, command: str | None = None
) -> None:
    """Write a page about a model, and about rows of a source that can still be read."""
    if source is None or source.once:
        data = [] if source is None else source.paths
        model_page(model, path, title=title, data=data, command=command)
        return
    with progress_over("report", source) as progress:

        def blocks(start: Position | None) -> Iterator[tuple[Position, Block]]:
            for position, block in source.blocks(start):
                yield position, block
                progress.advance(block.shape[0])

        rows = Excerpt(source, blocks)
        rows.feature_names = None  # `open_for` has compared the names
        lines = partial(lines_of, source)
        model_page(model, path, rows, title=title, data=source.paths, command=command, lines=lines)


def lines_of(source: FileSource, rows: NDArray[np.int64]) -> list[str] | None:
    """Return the lines of rows, which are counted from 0 over all files, with the names of several.

    Files are read once more, up to the last of the rows. None where a file has no lines, would have
    to be fetched again, or has become shorter.
    """
    is_text = all(table.lines() is not None for table in source.tables)
    if source.once or not is_text or any(map(is_remote, source.paths)):
        return None
    found: dict[int, str] = {}
    before = 0
    for path, table in zip(source.paths, source.tables, strict=True):
        name = f"{path}:" if len(source.paths) > 1 else ""
        for lines in table.lines() or ():
            inside = rows[(rows >= before) & (rows < before + len(lines))]
            found |= {int(row): f"{name}{lines[row - before]}" for row in inside}
            before += len(lines)
            if len(found) == len(rows):
                break
    return [found[int(row)] for row in rows] if len(found) == len(rows) else None


def warn_of_repeats(paths: Iterable[str]) -> None:
    """Warn of files that are given more than once."""
    for path, count in Counter(map(os.path.realpath, paths)).items():
        if count > 1:
            warn(f"{path} is given more than once, and its rows count more than once")


def check_page(path: str) -> None:
    """Refuse a name that does not say that the file is a page of HTML."""
    if not path.lower().endswith((".html", ".htm")):
        raise Failure(f"{path}: a report is a page of HTML, and its name must end in .html or .htm")


def prepare_output(path: str, others: Iterable[str]) -> None:
    """Refuse a path that cannot be written, or that is one of the other files of a command.

    What a killed command has left beside it is removed.
    """
    if os.path.exists(path or ".") and not os.path.isfile(path):
        raise Failure(f"{path or repr(path)} is not a file that can be written")
    try:
        os.stat(path)
    except FileNotFoundError:
        pass
    except OSError as error:  # the name is too long, or a link leads to itself
        raise Failure(f"{path} cannot be written: {error.strerror}") from error
    folder = os.path.dirname(os.path.realpath(path))
    if not os.path.isdir(folder):
        raise Failure(f"{path}: there is no folder {folder}")
    if not os.access(folder, os.W_OK):
        raise Failure(f"{path}: no permission to write in {folder}")
    for other in others:
        local = split(other)[0].removeprefix("file://")
        if os.path.realpath(local) == os.path.realpath(path):
            raise Failure(f"{path} is an input or another output: it must not be overwritten")
    remove_unfinished(path)
