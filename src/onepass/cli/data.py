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
import scipy.sparse
from click.core import ParameterSource

from onepass.cli.errors import Failure
from onepass.cli.messages import is_quiet, note, warn
from onepass.persistence.atomic import remove_unfinished
from onepass.progress import Progress
from onepass.report.summary import shortened
from onepass.sources.files import FileSource, open_tables
from onepass.sources.paths import open_content, split
from onepass.sources.tables import ReadOptions

_COUNTED_BYTES = 1 << 20


def open_for(model: Any, path: str, data: tuple[str, ...], reading: dict[str, Any]) -> FileSource:
    """Return the rows for a model.

    Unless columns are chosen, those that the model was fitted on are found by name: the files may
    have other columns as well, and another order. If the model or the files have no names, columns
    are taken in their order. Options of reading that are not given are those of the fit, and its
    marks of missing entries hold here, too. Messages name the model's file, `path`.
    """
    options, choice = ReadOptions.split(reading)
    marks = [mark for mark in model.origin_.na if mark not in options.na]
    source_of = click.get_current_context().get_parameter_source
    kept = {
        name: value
        for name, value in model.origin_.reading.items()
        if source_of(name) is not ParameterSource.COMMANDLINE
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
            how = f"by their numbers, {shortened(names, 8)}, as" if choice["columns"] else "in the"
            how += " in" if choice["columns"] else " order of"
            note(f"{first.path} has no names of columns; they are taken {how} {path}")
    elif choice["columns"] is None and first.names is not None:
        note(f"{path} has no names of columns; those of {first.path} are taken in their order")
    source = FileSource(tables, **choice, preparation=model.origin_.preparation)
    if source.n_features != model.n_features_in_:
        raise Failure(
            f"{first.path} has {source.n_features} columns, and {path} was fitted on "
            f"{model.n_features_in_}: not the model for these data, or --columns is needed"
        )
    for message in source.notes:
        note(message)
    if model.origin_.mapped:
        warn(
            f"{path} was fitted on rows changed by source.map(function), which is not saved: apply "
            "the function to these rows first"
        )
    return source


def empty_columns(source: FileSource) -> list[str]:
    """Return the columns in which fewer than two rows have an entry, by name or number.

    Reading ends as soon as there are none.
    """
    first, counts = source.tables[0], np.zeros(source.n_features, dtype=np.int64)
    for block in source:
        counts += block.shape[0] if scipy.sparse.issparse(block) else (~np.isnan(block)).sum(axis=0)
        if (counts > 1).all():
            break
    chosen = first.chosen()
    return [str(first.column(chosen[j])) for j in np.flatnonzero(counts < 2).tolist()]


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
    visible = False if is_quiet() else None
    exact = source.n_rows is not None
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
