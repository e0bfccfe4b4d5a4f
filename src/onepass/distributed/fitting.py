"""Fit on shards of the rows: plan the tasks, run them round by round, merge the models."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from sklearn.base import clone
from sklearn.utils import check_random_state

from onepass.distributed import checkpoint as checkpoints
from onepass.distributed.learning import add_round, join, learn
from onepass.distributed.running import require, run_branches
from onepass.distributed.shards import SHARD_ROWS, Shard, shards_of

T = TypeVar("T")

FAN_IN = 4  # models that are merged at once: a third as many tasks as with two
BRANCHES = 16  # at most: the models that the client holds and writes


def fit(
    estimator: Any,
    data: Any,
    client: Any = None,
    *,
    rounds: int = 1,
    shard_rows: int | None = SHARD_ROWS,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_every: float = 30.0,
    resume: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Any:
    """Return an estimator fitted on shards of the rows by the workers of a Dask cluster.

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
    client : distributed.Client, optional
        By default `distributed.default_client()`. If there is none, this process does all the
        work, shard by shard.
    rounds : int, default=1
        With 1, all shards are learned from independently. With r > 1, a round takes every r-th
        shard and begins from the iterate at the end of the round before. Each row is still seen
        once. ERM and Incremental have no such iterate: their rounds only determine how often there
        is a checkpoint.
    shard_rows : int or None, default=131072
        Files that store their number of rows (npy, npz, parquet, arrow, h5, zarr), and sources that
        know it, are split into shards of at most this many rows, of nearly equal length. A shard
        lies in one file, and a worker reads only the rows of its shard. The result depends on the
        split. Each text file is one shard. With None, each item is one shard.
    checkpoint : str or path, optional
        A model file of all rows so far. The client writes it after every round, every
        `checkpoint_every` seconds within a round, and when an error or a signal ends the work.
    checkpoint_every : float, default=30.0
        Seconds between checkpoints within a round. They do not change the result.
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
    require()
    if getattr(estimator, "half_life", None) is not None:
        raise ValueError(
            "half_life needs an order of the rows, but shards are learned from at the same time"
        )
    estimator._check_parameters()
    if shard_rows is not None and shard_rows < 1:
        raise ValueError(f"shard_rows={shard_rows} must be at least 1")
    shards = shards_of(data, client, shard_rows)
    if not 1 <= rounds <= len(shards):
        raise ValueError(
            f"rounds={rounds} must be between 1 and the number of shards, {len(shards)}"
        )
    run = checkpoints.describe(estimator, shards, rounds)
    if resume and checkpoint is not None and os.path.exists(checkpoint):
        state = checkpoints.load(checkpoint, run, checkpoint_every)
    else:
        seed = getattr(estimator, "random_state", 0)
        if not isinstance(seed, int):
            seed = int(check_random_state(seed).randint(2**31))
        state = checkpoints.State(run, seed, checkpoint, checkpoint_every)
    # All tasks have this seed: one that is repeated must draw the same random numbers.
    template, random = clone(estimator), hasattr(estimator, "random_state")
    if random:
        template.set_params(random_state=state.seed)
    while state.done < rounds:
        _run_round(template, shards[state.done :: rounds], state, client, progress)
    model = state.model
    if model is None:
        raise ValueError(f"There are no rows in any of the {len(shards)} shards")
    if random:
        model.random_state = model._learned_with["random_state"] = estimator.random_state
    return model


def _run_round(
    template: Any,
    shards: list[Shard],
    state: checkpoints.State,
    client: Any,
    progress: Callable[[int], None] | None,
) -> None:
    """Run the branches of a round that are not done yet."""
    groups = branches(shards, 1 if state.path is None else BRANCHES)
    left = [number for number in range(len(groups)) if number not in state.branches]
    tasks, leaves = _tasks(template, state.model, [groups[number] for number in left])
    saved = len(state.branches)
    try:
        for index, learned in run_branches(tasks, leaves, client, progress):
            state.branches[left[index]] = learned
            if len(state.branches) < len(groups):
                state.keep()
    except BaseException:
        if len(state.branches) > saved:
            state.keep(now=True)
        raise
    whole = fold([state.branches[number] for number in range(len(groups))], join)
    state.model = add_round(state.model, whole.model)
    state.done, state.branches = state.done + 1, {}
    state.keep(now=True)


def fold(leaves: Sequence[T], join: Callable[..., T]) -> T:
    """Join neighbours, `FAN_IN` at a time, until one is left; return it.

    >>> fold("abcdefghi", lambda *parts: f"({''.join(parts)})")
    '((abcd)(efgh)i)'
    """
    while len(leaves) > 1:
        groups = [leaves[first : first + FAN_IN] for first in range(0, len(leaves), FAN_IN)]
        leaves = [join(*group) if len(group) > 1 else group[0] for group in groups]
    return leaves[0]


def branches(leaves: Sequence[T], most: int) -> list[Sequence[T]]:
    """Return at most so many groups of leaves; folding these, then the results, equals `fold`.

    >>> branches("abcdefghi", 3)
    ['abcd', 'efgh', 'i']
    """
    size = 1
    while size * most < len(leaves):
        size *= FAN_IN
    return [leaves[first : first + size] for first in range(0, len(leaves), size)]


def _tasks(
    template: Any, start: Any, groups: list[Sequence[Shard]]
) -> tuple[list[Any], dict[str, Any]]:
    """Return a task for each group of shards, and the tasks that learn from shards, by labels."""
    from dask import delayed

    run = uuid.uuid4().hex
    kept = [
        delayed(value, name=f"{name}-{run}", traverse=False)
        for name, value in (("onepass-estimator", template), ("onepass-start", start))
    ]
    leaves = {
        shard.label: delayed(learn, pure=False)(
            *kept,
            shard.content,
            shard.label,
            shard.extent,
            dask_key_name=f"onepass-learn-{run}-{shard.label}",
        )
        for shards in groups
        for shard in shards
    }
    merge = delayed(join, pure=False)
    tasks = [fold([leaves[shard.label] for shard in shards], merge) for shards in groups]
    return tasks, leaves
