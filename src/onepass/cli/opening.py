"""Data for a model that exists already: the columns that it knows, found by name."""

from __future__ import annotations

from typing import Any

from onepass.cli.guarding import Failure
from onepass.sources import SourceError, open_source
from onepass.sources.files.source import FileSource


def open_for(
    model: Any, path: str, data: tuple[str, ...], columns: list[str] | None, skip_non_numeric: bool
) -> FileSource:
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
    data : tuple of str
        Files, folders, patterns.
    columns, skip_non_numeric
        As for `onepass.open_source`.
    """
    names = getattr(model, "feature_names_in_", None)
    if columns is None and names is not None:
        source = _by_name(path, data, list(names), skip_non_numeric)
    else:
        source = open_source(data, columns=columns, skip_non_numeric=skip_non_numeric)
    if source.n_features != model.n_features_in_:
        raise Failure(
            f"{source.paths[0]} has {source.n_features} columns, and {path} was fitted on "
            f"{model.n_features_in_}: not the model for these data, or --columns is needed"
        )
    return source


def _by_name(
    path: str, data: tuple[str, ...], names: list[str], skip_non_numeric: bool
) -> FileSource:
    """Return the rows with the named columns, or all columns where there are no names."""
    try:
        return open_source(data, columns=names)
    except SourceError as error:
        refusal = Failure(f"{error} ({path} was fitted on it)")
        if "-" in data:  # what was read of it is gone
            raise refusal from error
    try:
        source = open_source(data, skip_non_numeric=skip_non_numeric)
    except SourceError:
        raise refusal from None
    if source.feature_names is not None:
        raise refusal
    return source
