"""What the workers do: pure functions from shards to models, and from models to a model."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from scipy import sparse

from onepass.distributed.carrying import begin, leave
from onepass.distributed.excerpt import Excerpt, Extent
from onepass.estimators.merging import merge
from onepass.sources import Source, open_source
from onepass.threads import one_thread


class ShardError(ValueError):
    """A shard that cannot be learned from; the message says which, and where in it."""


@dataclass(frozen=True)
class Learned:
    """A model and the shards that it is from.

    Attributes
    ----------
    model : estimator or None
        With no row waiting; None if there was not a single row.
    label : str
        What messages call the shards.
    """

    model: Any
    label: str

    @property
    def rows(self) -> int:
        """How many rows were learned from."""
        return 0 if self.model is None else self.model.n_samples_seen_


def learn(
    estimator: Any, start: Any, content: Any, label: str, extent: Extent | None = None
) -> Learned:
    """Return a model of one shard.

    Parameters
    ----------
    estimator : estimator
        Not fitted; stays as it is.
    start : estimator or None
        The model of the rounds before, to begin from; stays as it is.
    content : object
        As in `Shard`, computed.
    label : str
        What messages call the shard.
    extent : Extent, optional
        Which rows of a source or file; all by default.
    """
    try:
        with one_thread():
            rows = open_source(content) if isinstance(content, str | os.PathLike) else content
            if extent is not None:
                rows = Excerpt(rows, extent)
            elif not isinstance(rows, Source) and _length(rows) == 0:
                return Learned(None, label)
            model = begin(estimator, start).partial_fit(rows)
            model._learner = model._learner.settled()
            leave(model, start)
    except Exception as error:
        raise ShardError(f"{label}: {error or type(error).__name__}") from error
    return Learned(model, label)


def join(*parts: Learned) -> Learned:
    """Return one model for the shards of several."""
    some = [part for part in parts if part.model is not None]
    label = f"{parts[0].label} to {parts[-1].label}"
    if not some:
        return Learned(None, label)
    try:
        with one_thread():
            model = merge(*(part.model for part in some))
    except ValueError as error:
        raise ShardError(f"{', '.join(part.label for part in some)}: {error}") from error
    return Learned(model, label)


def _length(rows: Any) -> int:
    """Return the number of rows of a block or table; -1 where it is not known."""
    if sparse.issparse(rows):
        return rows.shape[0]
    return len(rows) if hasattr(rows, "__len__") else -1
