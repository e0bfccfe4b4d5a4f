"""Data for a command: opened as the options say, for a model by the columns that it knows."""

from __future__ import annotations

from typing import Any

from onepass.cli.guarding import Failure
from onepass.cli.telling import note
from onepass.sources import SourceError, open_source
from onepass.sources.files.source import FileSource


def open_data(data: tuple[str, ...], reading: dict[str, Any]) -> FileSource:
    """Return the rows of files; say what was decided about them without having been asked for.

    Parameters
    ----------
    data : tuple of str
        Files, folders, patterns.
    reading : dict
        Parameters of `onepass.open_source`.
    """
    source = open_source(data, **reading)
    for message in source.notes:
        note(message)
    return source


def open_for(model: Any, path: str, data: tuple[str, ...], reading: dict[str, Any]) -> FileSource:
    """Return the rows for a model.

    Without a choice of columns, those that the model was fitted on are found by their names, so
    that other columns and another order do no harm. Where the model or the data have no names,
    columns are taken in their order.

    Parameters
    ----------
    model : estimator
        Fitted.
    path : str
        Its file, for messages.
    data, reading
        As for `open_data`.
    """
    names = getattr(model, "feature_names_in_", None)
    if reading["columns"] is None and names is not None:
        source = _by_name(path, data, list(names), reading)
    else:
        source = open_data(data, reading)
    if source.n_features != model.n_features_in_:
        raise Failure(
            f"{source.paths[0]} has {source.n_features} columns, and {path} was fitted on "
            f"{model.n_features_in_}: not the model for these data, or --columns is needed"
        )
    return source


def _by_name(
    path: str, data: tuple[str, ...], names: list[str], reading: dict[str, Any]
) -> FileSource:
    """Return the rows with the named columns, or all columns where there are no names."""
    try:
        return open_data(data, {**reading, "columns": names})
    except SourceError as error:
        refusal = Failure(f"{error} ({path} was fitted on {', '.join(names[:8])})")
        if "-" in data:  # what was read of it is gone
            raise refusal from error
    if open_source(data, **{**reading, "skip_non_numeric": True, "keep_index": True}).named:
        raise refusal
    return open_data(data, reading)
