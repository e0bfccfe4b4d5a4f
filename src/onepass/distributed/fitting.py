"""Shards -> models -> one model, on Dask."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable
from typing import Any

from sklearn.base import clone
from sklearn.utils import check_random_state

from onepass.distributed import checkpoint as checkpoints
from onepass.distributed.carrying import add_round
from onepass.distributed.learning import join, learn
from onepass.distributed.running import Tasks, require, run_tasks
from onepass.distributed.shards import Shard, shards_of
from onepass.distributed.tree import fold


def fit(
    estimator: Any,
    data: Any,
    client: Any = None,
    *,
    rounds: int = 1,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Any:
    """Return an estimator fitted on rows that lie in shards, by the workers of a Dask cluster.

    Every shard is learned from where it is, and the models of the shards merge in a fixed tree.
    The result depends on the shards and their order, to the last bit, but not on the number of
    workers, on their speed, or on whether some of them die and their tasks are done again. What
    travels is models, never shards.

    Parameters
    ----------
    estimator : estimator
        Of any kind; it stays as it is, and what it has learned before plays no role.
    data : dask array, dask dataframe, or list
        A shard is a chunk of rows of an array (of dense or scipy sparse blocks), a partition of a
        dataframe, or an item of a list: a delayed block or table, a source, or a path that
        the worker can read. Shards without rows are passed over.
    client : distributed.Client, optional
        By default the current one. Without any, this process does all the work, shard by shard.
    rounds : int, default=1
        With 1, all shards are learned from independently. With r > 1, a round takes every r-th
        shard, and begins from the iterate that the round before has ended with; still each row is
        seen once. Where there is no iterate (ERM, Incremental), rounds only say how often there
        is a checkpoint.
    checkpoint : str or path, optional
        A model file that the client writes after every round.
    resume : bool, default=False
        Whether to go on after the last round that is in the checkpoint, if the file exists.
    progress : callable, optional
        Called in this process with the number of rows of each shard that is done.

    Returns
    -------
    estimator
        Fitted, on as many rows as all shards have.

    Raises
    ------
    ShardError
        A ValueError that says which shard cannot be learned from, and where in it.

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
            "half_life needs an order of the rows, and shards are learned from at once"
        )
    estimator._validate_params()
    shards = shards_of(data)
    if not 1 <= rounds <= len(shards):
        raise ValueError(
            f"rounds={rounds} must be between 1 and the number of shards, {len(shards)}"
        )
    params = {name: repr(value) for name, value in estimator.get_params(deep=False).items()}
    params.pop("random_state", None)
    run = checkpoints.Run(rounds, [shard.label for shard in shards], params)
    model, done = None, 0
    if resume and checkpoint is not None and os.path.exists(checkpoint):
        model, done, seed = checkpoints.load(checkpoint, run)
    else:
        seed = _seed(estimator.random_state)
    # A task that is done again must draw the same numbers.
    template = clone(estimator).set_params(random_state=seed)
    for number in range(done, rounds):
        tasks = _tasks(template, model, shards[number::rounds])
        model = add_round(model, run_tasks(tasks, client, progress).model)
        if checkpoint is not None and model is not None:
            checkpoints.save(checkpoint, model, run, number + 1, seed)
    if model is None:
        raise ValueError(f"There are no rows in any of the {len(shards)} shards")
    model.random_state = model._learned_with["random_state"] = estimator.random_state
    return model


def _seed(random_state: Any) -> int:
    """Return one seed for all tasks."""
    if isinstance(random_state, int):
        return random_state
    return int(check_random_state(random_state).randint(2**31))


def _tasks(template: Any, start: Any, shards: list[Shard]) -> Tasks:
    """Return the tasks of a round."""
    from dask import delayed

    run = uuid.uuid4().hex
    kept = [
        delayed(value, name=f"{name}-{run}", traverse=False)
        for name, value in (("onepass-estimator", template), ("onepass-start", start))
    ]
    leaves = [
        delayed(learn, pure=False)(
            *kept, shard.content, shard.label, dask_key_name=f"onepass-learn-{run}-{number}"
        )
        for number, shard in enumerate(shards)
    ]
    counts = [
        delayed(_rows, pure=False)(leaf, dask_key_name=f"onepass-rows-{run}-{number}")
        for number, leaf in enumerate(leaves)
    ]
    labels = {leaf.key: shard.label for leaf, shard in zip(leaves, shards, strict=True)}
    return Tasks(fold(leaves, delayed(join, pure=False)), counts, labels)


def _rows(learned: Any) -> int:
    """Return how many rows a model is from: all of it that the client sees before the end."""
    return learned.rows
