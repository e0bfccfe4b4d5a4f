"""Fit on shards of the rows: plan the tasks, run them, merge the models."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from sklearn.base import clone
from sklearn.utils import check_random_state

from onepass.distributed.executor import Executor, executor_for
from onepass.distributed.shards import SHARD_ROWS, Learned, Shard, join, learn, shards_of
from onepass.estimators.checkpoint import Checkpoint, describe_run
from onepass.persistence.archive import ModelFileError
from onepass.sources.paths import split

T = TypeVar("T")

FAN_IN = 4  # models that are merged at once: a third as many tasks as with two
BRANCHES = 16  # at most: the models that the client holds and writes


def fit(
    estimator: Any,
    data: Any,
    client: Any = None,
    *,
    shard_rows: int | None = SHARD_ROWS,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_every: float = 30.0,
    resume: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Any:
    """Return an estimator fitted on shards of the rows, by workers on one or more machines.

    A worker learns from each shard, and the models of the shards are merged in a fixed tree. The
    result depends on the shards and their order, to the last bit, but not on the number of
    workers, their speed, or whether some of them die and their tasks are done again. Only models
    are sent between machines, never shards.

    Parameters
    ----------
    estimator : estimator
        Any estimator of onepass. It is not changed, and what it has learned before is not used.
    data : dask array, dask dataframe, or list
        A shard is a chunk of rows of an array (of dense or scipy sparse blocks), a partition of a
        dataframe, or an item of a list: a delayed block or table, a source, or a path that
        the workers can read. Large files become several shards: see `shard_rows`. Shards without
        rows are skipped.
    client : distributed.Client or concurrent.futures.Executor, optional
        By default `distributed.default_client()`. If there is none, this process does all the
        work, shard by shard. An executor of `concurrent.futures` takes lists of paths and
        sources; models are merged in this process, and a worker that dies ends the work.
    shard_rows : int or None, default=131072
        Files that store their number of rows (npy, npz, parquet, arrow, h5, zarr), and sources that
        know it, are split into shards of at most this many rows, of nearly equal length. A shard
        lies in one file, and a worker reads only the rows of its shard. The result depends on the
        split. Each text file is one shard. With None, each item is one shard.
    checkpoint : str or path, optional
        A model file of all rows so far. This process writes it every `checkpoint_every` seconds,
        at the end, and when an error or a signal ends the work.
    checkpoint_every : float, default=30.0
        Seconds between checkpoints. They do not change the result.
    resume : bool, default=False
        Whether to continue from the checkpoint, if the file exists.
    progress : callable, optional
        Called in this process with the number of rows of each shard that is done.

    Returns
    -------
    estimator
        Fitted on the rows of all shards.

    Raises
    ------
    ShardError
        A ValueError that names the shard that cannot be learned from, and the place in it.
    ConnectionError
        There is no scheduler, or it is gone.

    Examples
    --------
    >>> import dask.array as da, numpy as np
    >>> import onepass.distributed
    >>> X = np.random.default_rng(0).normal(size=(4000, 5)) * [4, 3, 1, 1, 1]
    >>> shards = da.from_array(X, chunks=(1000, 5))
    >>> model = onepass.distributed.fit(onepass.PCA(2), shards)
    >>> model.n_samples_seen_
    4000
    >>> bool(np.allclose(model.mean_, X.mean(axis=0)))
    True
    """
    if getattr(estimator, "half_life", None) is not None:
        raise ValueError(
            "half_life needs an order of the rows, but shards are learned from at the same time"
        )
    estimator._check_parameters()
    if shard_rows is not None and shard_rows < 1:
        raise ValueError(f"shard_rows={shard_rows} must be at least 1")
    executor = executor_for(client)
    shards = shards_of(data, executor, shard_rows)
    kept = None
    if checkpoint is not None:
        kept = Checkpoint(os.fspath(checkpoint), _run(estimator, shards), checkpoint_every)
    if resume and kept is not None and os.path.exists(kept.path):
        done = Done.read(kept)
    else:
        seed = getattr(estimator, "random_state", 0)
        if not isinstance(seed, int):
            seed = int(check_random_state(seed).randint(2**31))
        done = Done(seed)
    # All tasks have this seed: one that is repeated must draw the same random numbers.
    template = clone(estimator)
    random = estimator.is_random and hasattr(estimator, "random_state")
    if random:
        template.set_params(random_state=done.seed)
    if done.model is None:
        _learn_from(shards, template, executor, done, kept, progress)
    model = done.model
    if model is None:
        raise ValueError(f"There are no rows in any of the {len(shards)} shards")
    if random:
        model.random_state = model._params["random_state"] = estimator.random_state
    return model


def _run(estimator: Any, shards: Sequence[Shard]) -> dict[str, Any]:
    """Return what identifies a fit of an estimator on shards."""
    params = {name: repr(value) for name, value in estimator.get_params(deep=False).items()}
    params.pop("random_state", None)
    paths = dict.fromkeys(shard.path for shard in shards if shard.path is not None)
    seen = [path for path in paths if os.path.exists(split(path)[0])]  # others are on workers
    labels = [shard.label for shard in shards]
    options = {"estimator": type(estimator).__name__, **params}
    return describe_run("on shards (--dask or --workers)", options, seen, shards=labels)


@dataclass
class Done:
    """What is finished of a fit: branches of the tree, and in the end the model."""

    seed: int  # of all tasks
    model: Any = None  # of all rows
    branches: dict[int, Learned] = field(default_factory=dict)  # by number; empty in the end

    def write(self, checkpoint: Checkpoint) -> None:
        """Write a checkpoint, unless there was no row yet."""
        parts = {str(number): self.branches[number] for number in sorted(self.branches)}
        shown = join(*parts.values()).model if parts else self.model
        if shown is not None:
            labels = {number: part.label for number, part in parts.items()}
            models = {number: part.model for number, part in parts.items() if part.rows}
            checkpoint.write(shown, {"seed": self.seed, "branches": labels}, models)

    @classmethod
    def read(cls, checkpoint: Checkpoint) -> Done:
        """Return what was finished when a checkpoint was written."""
        model, progress, parts = checkpoint.read()
        try:
            labels = progress["branches"].items()
            found = {int(number): Learned(parts.get(number), label) for number, label in labels}
            return cls(int(progress["seed"]), None if found else model, found)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            message = f"{checkpoint.path}: not a valid checkpoint: {error!r}"
            raise ModelFileError(message) from error


def _learn_from(
    shards: list[Shard],
    template: Any,
    executor: Executor,
    done: Done,
    checkpoint: Checkpoint | None,
    progress: Callable[[int], None] | None,
) -> None:
    """Run the branches of the tree that are not done yet, and set the model of all of them."""

    def submit(shard: Shard) -> Any:
        task = (learn, template, shard.content, shard.label, shard.extent)
        return executor.submit(*task, label=shard.label, progress=progress)

    groups = branches(shards, 1 if checkpoint is None else BRANCHES)
    left = [number for number in range(len(groups)) if number not in done.branches]
    saved = len(done.branches)
    merge = partial(executor.submit, join)
    handles = (fold(groups[number], submit, merge) for number in left)
    try:
        with closing(executor.results(handles)) as results:
            for index, learned in results:
                done.branches[left[index]] = learned
                is_last = len(done.branches) == len(groups)
                if checkpoint is not None and checkpoint.is_due and not is_last:
                    done.write(checkpoint)
    except BaseException:
        if checkpoint is not None and len(done.branches) > saved:
            done.write(checkpoint)
        raise
    parts: list[Learned] = [done.branches[number] for number in range(len(groups))]
    done.model, done.branches = fold(parts, lambda part: part, join).model, {}
    if checkpoint is not None:
        done.write(checkpoint)


def fold(items: Sequence[T], leaf: Callable[[T], Any], join: Callable[..., Any]) -> Any:
    """Join the leaves of items in a tree, `FAN_IN` neighbours at a time; return its root.

    A leaf is made just before it is needed.

    >>> fold("abcdefghi", str.upper, lambda *parts: f"({''.join(parts)})")
    '((ABCD)(EFGH)I)'
    """
    if len(items) == 1:
        return leaf(items[0])
    return join(*(fold(group, leaf, join) for group in branches(items, FAN_IN)))


def branches(items: Sequence[T], most: int) -> list[Sequence[T]]:
    """Return at most so many groups of items; folding these, then the results, equals `fold`.

    >>> branches("abcdefghi", 3)
    ['abcd', 'efgh', 'i']
    """
    size = 1
    while size * most < len(items):
        size *= FAN_IN
    return [items[first : first + size] for first in range(0, len(items), size)]
