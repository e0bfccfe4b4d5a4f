"""Fit on shards of the rows: workers learn from each, and their models are merged here."""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent import futures
from contextlib import closing, suppress
from dataclasses import replace
from functools import partial
from typing import Any

from sklearn.base import clone
from sklearn.utils import check_random_state

from onepass.distributed.shards import SHARD_ROWS, Shard, ShardError, learn, shards_of
from onepass.estimators.checkpoint import Checkpoint, describe_run
from onepass.estimators.merging import merge
from onepass.persistence.archive import ModelFileError
from onepass.sources import Source
from onepass.sources.paths import split
from onepass.threads import one_thread


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

    A worker learns from each shard, and this process merges their models in the order of the
    shards. The result depends on the shards alone, to the last bit, and not on the number of
    workers, their speed, or whether some of them die and their tasks are done again. Only models
    are sent between machines, never shards.

    Parameters
    ----------
    estimator : estimator
        Any estimator of onepass. It is not changed, and what it has learned before is not used.
    data : dask array, dask dataframe, or list
        A shard is a chunk of rows of an array (of dense or scipy sparse blocks), a partition of a
        dataframe, or an item of a list: a delayed block or table, a source, or a path that
        the workers can read. Shards without rows are skipped.
    client : concurrent.futures.Executor or distributed.Client, optional
        Where the workers are. By default `distributed.default_client()`. If there is none, this
        process does all the work, shard by shard. A Dask cluster learns again what a worker that
        died was learning; a pool of processes does not, and the fit ends.
    shard_rows : int or None, default=131072
        Files that store their number of rows, and sources that know it, are split into shards of
        at most this many rows, of nearly equal length, each in one file. With None, each item of a
        list is one shard.
    checkpoint : str or path, optional
        A model file of the shards that are merged. This process writes it every `checkpoint_every`
        seconds, at the end, and when an error or a signal ends the work.
    checkpoint_every : float, default=30.0
        Seconds between checkpoints. They do not change the result.
    resume : bool, default=False
        Whether to continue from the checkpoint, if the file exists.
    progress : callable, optional
        Called in this process with the number of rows of each shard that is merged in the first
        pass.

    Returns
    -------
    estimator
        Fitted on the rows of all shards. Its `random_state` is an integer where one is used: if
        none was given, it was drawn once for all shards.

    Raises
    ------
    ShardError
        A ValueError that names the shard that could not be learned from, and the place in it.
    ConnectionError
        The client has no scheduler.

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
    if shard_rows is not None and shard_rows < 1:
        raise ValueError(f"shard_rows={shard_rows} must be at least 1")
    client = connected(client)
    shards = shards_of(data, client, shard_rows)
    template = clone(estimator)
    if estimator.is_random and not isinstance(getattr(estimator, "random_state", 0), int):
        # All tasks have the same seed: one that is repeated must draw the same random numbers.
        seed = check_random_state(estimator.random_state).randint(2**31)
        template.set_params(random_state=int(seed))
    # How many shards are merged, into which model, and in which further pass; changes at once.
    state: tuple[int, Any, Any] = 0, None, None
    kept = None
    if checkpoint is not None:
        kept = Checkpoint(os.fspath(checkpoint), _run(estimator, shards), checkpoint_every)
        if resume and os.path.exists(kept.path):
            state = _resumed(kept, len(shards))
            seed = getattr(state[1], "random_state", None)
            if isinstance(seed, int):
                template.set_params(random_state=seed)
    try:
        while True:
            done, model, further = state
            work = partial(learn, template, None)
            if further is not None:
                work = partial(learn, model.for_transform(), further.fresh())
            with closing(results(client, work, shards[done:])) as found:
                for shard, part in zip(shards[done:], found, strict=True):
                    state = _joined(state, part, shard)
                    if progress is not None and part is not None and further is None:
                        progress(part.n_samples_seen_)
                    if kept is not None and kept.is_due:
                        _save(kept, state)
            further = state[1] and state[1].next_pass(state[2])
            if further is None:
                state = len(shards), state[1], None
                break
            state = 0, state[1], further
    finally:
        if kept is not None:
            _save(kept, state)
    if state[1] is None:
        raise ValueError(f"There are no rows in any of the {len(shards)} shards")
    return state[1]


def connected(client: Any) -> Any:
    """Return an executor, a client of Dask that has a scheduler, or None for this process."""
    if client is None and sys.modules.get("distributed"):
        from distributed import default_client

        try:
            client = default_client()
        except ValueError:
            return None
    if getattr(client, "status", "running") != "running":
        # Such a client would keep the tasks and wait. One that found no scheduler stays the default
        # client for a while.
        raise ConnectionError(f"{client} is {client.status}: give a client that has a scheduler")
    return client


def results(
    client: Any, work: Callable[[Shard], Any], shards: Sequence[Shard]
) -> Generator[Any, None, None]:
    """Yield what workers make of each shard, in order; closing it cancels the rest."""
    if client is None:
        yield from map(work, shards)
        return
    waiting: deque[Any] = deque()
    try:
        waiting.extend(_submitted(client, work, shards))
        for shard in shards:
            try:
                yield waiting.popleft().result()
            except (ShardError, futures.BrokenExecutor):
                raise
            except Exception as error:  # such as that every worker which tried it died
                message = str(error) or type(error).__name__
                if isinstance(error, futures.CancelledError):
                    message = "the work was cancelled, or the scheduler is gone"
                raise ShardError(f"{shard.label}: {message}") from error
    except futures.BrokenExecutor as error:
        raise ShardError("a worker died, most often for lack of memory") from error
    finally:
        while waiting:
            with suppress(Exception):  # of Dask, if the scheduler is gone
                waiting.pop().cancel()


def _submitted(client: Any, work: Callable[[Shard], Any], shards: Sequence[Shard]) -> list[Any]:
    """Return a future of the work on each shard.

    For Dask all are in one graph, so that a worker learns from a chunk as soon as it has it, and
    what several chunks are computed from is computed once.
    """
    if isinstance(client, futures.Executor):
        return [client.submit(work, shard) for shard in shards]
    from dask.delayed import delayed

    sources = {id(s.content): s.content for s in shards if isinstance(s.content, Source)}
    sent_once = {key: delayed(source, traverse=False) for key, source in sources.items()}
    task = delayed(work, pure=False)
    held = [replace(s, content=sent_once.get(id(s.content), s.content)) for s in shards]
    return list(client.compute([task(shard) for shard in held]))


def _joined(state: tuple[int, Any, Any], part: Any, shard: Shard) -> tuple[int, Any, Any]:
    """Return the state after another shard; None is of no rows."""
    done, model, further = state
    if part is None:
        return done + 1, model, further
    try:
        with one_thread():
            if further is not None:
                return done + 1, model, further.joined(part)
            return done + 1, part if model is None else merge(model, part), None
    except ValueError as error:
        raise ShardError(f"{shard.label}: {error}") from error


def _run(estimator: Any, shards: Sequence[Shard]) -> dict[str, Any]:
    """Return what identifies a fit of an estimator on shards."""
    params = {name: repr(value) for name, value in estimator.get_params(deep=False).items()}
    params.pop("random_state", None)
    paths = dict.fromkeys(shard.path for shard in shards if shard.path)
    seen = [path for path in paths if os.path.exists(split(path)[0])]  # others are on workers
    labels = [shard.label for shard in shards]
    options = {"estimator": type(estimator).__name__, **params}
    return describe_run("on shards (--dask or --workers)", options, seen, shards=labels)


def _save(checkpoint: Checkpoint, state: tuple[int, Any, Any]) -> None:
    """Write a checkpoint, unless there was no row yet."""
    shards, model, further = state
    if model is not None:
        checkpoint.write(model, {"shards": shards}, further)


def _resumed(checkpoint: Checkpoint, count: int) -> tuple[int, Any, Any]:
    """Return how many shards a checkpoint is of, its model, and the pass if it is a further one."""
    model, progress, further = checkpoint.read()
    shards = progress.get("shards")
    if not (isinstance(shards, int) and 0 <= shards <= count):
        raise ModelFileError(f"{checkpoint.path}: not a valid checkpoint: {shards!r} shards")
    return shards, model, further
