"""Fit on shards of the rows: plan the tasks, run them, merge the models."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from typing import Any, TypeVar

from sklearn.base import clone
from sklearn.utils import check_random_state

from onepass.distributed import checkpoint as checkpoints
from onepass.distributed.executor import Executor, executor_for
from onepass.distributed.shards import SHARD_ROWS, Learned, Shard, join, learn, shards_of

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
    run = checkpoints.describe(estimator, shards)
    if resume and checkpoint is not None and os.path.exists(checkpoint):
        state = checkpoints.load(checkpoint, run, checkpoint_every)
    else:
        seed = getattr(estimator, "random_state", 0)
        if not isinstance(seed, int):
            seed = int(check_random_state(seed).randint(2**31))
        state = checkpoints.State(run, seed, checkpoint, checkpoint_every)
    # All tasks have this seed: one that is repeated must draw the same random numbers.
    template = clone(estimator)
    random = estimator.is_random and hasattr(estimator, "random_state")
    if random:
        template.set_params(random_state=state.seed)
    if state.model is None:
        _learn_from(shards, template, executor, state, progress)
    model = state.model
    if model is None:
        raise ValueError(f"There are no rows in any of the {len(shards)} shards")
    if random:
        model.random_state = model._learned_with["random_state"] = estimator.random_state
    return model


def _learn_from(
    shards: list[Shard],
    template: Any,
    executor: Executor,
    state: checkpoints.State,
    progress: Callable[[int], None] | None,
) -> None:
    """Run the branches of the tree that are not done yet, and set the model of the state."""

    def submit(shard: Shard) -> Any:
        task = (learn, template, shard.content, shard.label, shard.extent)
        return executor.submit(*task, label=shard.label, progress=progress)

    groups = branches(shards, 1 if state.path is None else BRANCHES)
    left = [number for number in range(len(groups)) if number not in state.branches]
    saved = len(state.branches)
    merge = partial(executor.submit, join)
    handles = (fold(groups[number], submit, merge) for number in left)
    try:
        with closing(executor.results(handles)) as results:
            for index, learned in results:
                state.branches[left[index]] = learned
                if len(state.branches) < len(groups):
                    state.keep()
    except BaseException:
        if len(state.branches) > saved:
            state.keep(now=True)
        raise
    parts: list[Learned] = [state.branches[number] for number in range(len(groups))]
    state.model, state.branches = fold(parts, lambda part: part, join).model, {}
    state.keep(now=True)


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
