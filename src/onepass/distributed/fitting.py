"""Fit on shards of the rows: an executor learns from each, and their models are merged here."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator, Sequence
from concurrent import futures
from contextlib import closing
from typing import Any

from sklearn.base import clone
from sklearn.utils import check_random_state

from onepass.distributed.shards import (
    SHARD_ROWS,
    Learned,
    Shard,
    ShardError,
    join,
    learn,
    shards_of,
)
from onepass.estimators.checkpoint import Checkpoint, describe_run
from onepass.persistence.archive import ModelFileError
from onepass.sources import Source
from onepass.sources.paths import split

FAN_IN = 4  # models that are merged at once


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

    A worker learns from each shard, and this process merges the models of the shards in a fixed
    tree. The result depends on the shards and their order, to the last bit, but not on the number
    of workers, their speed, or whether some of them die and their tasks are done again. Only models
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
    client : concurrent.futures.Executor or distributed.Client, optional
        Where the workers are. By default `distributed.default_client()`. If there is none, this
        process does all the work, shard by shard. A Dask cluster learns again what a worker that
        died was learning; a pool of processes does not, and the fit ends.
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
    client = _connected(client)
    shards = shards_of(data, _executor(client), shard_rows)
    template = clone(estimator)
    if estimator.is_random and not isinstance(getattr(estimator, "random_state", 0), int):
        # All tasks have the same seed: one that is repeated must draw the same random numbers.
        seed = check_random_state(estimator.random_state).randint(2**31)
        template.set_params(random_state=int(seed))
    tree = Tree(len(shards))
    kept = None
    if checkpoint is not None:
        kept = Checkpoint(os.fspath(checkpoint), _run(estimator, shards), checkpoint_every)
        if resume and os.path.exists(kept.path):
            seed = getattr(tree.read(kept), "random_state", None)
            if isinstance(seed, int):
                template.set_params(random_state=seed)
    left = {number: shards[number] for number in tree.missing()}
    try:
        with closing(_learned(client, template, left)) as finished:
            for number, learned in finished:
                tree.add(number, learned)
                left.pop(number)
                if progress is not None and learned.rows:
                    progress(learned.rows)
                if kept is not None and (kept.is_due or not left):
                    tree.write(kept)
    except BaseException:
        if kept is not None:
            tree.write(kept)
        raise
    model = tree.join().model
    if model is None:
        raise ValueError(f"There are no rows in any of the {len(shards)} shards")
    return model


class Tree:
    """Models of shards, merged `FAN_IN` neighbours at a time as soon as all of them are there.

    Which models are merged follows from the number of shards alone, so that the order in which they
    come changes no bit. Node (level, i) is of the shards from i to i + 1, times FAN_IN ** level.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._nodes: dict[tuple[int, int], Learned] = {}  # none of them is part of another

    def missing(self) -> list[int]:
        """Return the numbers of the shards that are in no node."""
        widths = ((FAN_IN**level, index) for level, index in self._nodes)
        found = {n for width, index in widths for n in range(index * width, (index + 1) * width)}
        return [number for number in range(self._count) if number not in found]

    def add(self, number: int, learned: Learned) -> None:
        """Add the model of a shard, and merge it with its neighbours if they are there."""
        level, size = 0, self._count  # nodes of the level
        self._nodes[0, number] = learned
        while size > 1:
            number, level, size = number // FAN_IN, level + 1, -(-size // FAN_IN)
            below = -(-self._count // FAN_IN ** (level - 1))
            first, last = number * FAN_IN, min((number + 1) * FAN_IN, below)
            parts = [(level - 1, index) for index in range(first, last)]
            if not all(part in self._nodes for part in parts):
                return
            self._nodes[level, number] = join(*(self._nodes.pop(part) for part in parts))

    def join(self) -> Learned:
        """Return the model of all shards so far."""
        return join(*(self._nodes[node] for node in sorted(self._nodes, key=self._first)))

    def _first(self, node: tuple[int, int]) -> int:
        """Return the first shard of a node."""
        return int(node[1] * FAN_IN ** node[0])

    def write(self, checkpoint: Checkpoint) -> None:
        """Write a checkpoint, unless there was no row yet."""
        whole = self.join().model if self._nodes else None
        if whole is not None:
            names = {f"{level}.{index}": node for (level, index), node in self._nodes.items()}
            models = {name: node.model for name, node in names.items() if node.rows}
            labels = {name: node.label for name, node in names.items()}
            # A single model is that of all rows, which the file has anyway.
            checkpoint.write(whole, {"nodes": labels}, models if len(names) > 1 else {})

    def read(self, checkpoint: Checkpoint) -> Any:
        """Take over the models of a checkpoint; return that of all rows."""
        model, progress, parts = checkpoint.read()
        try:
            labels = progress["nodes"]
            for name, label in labels.items():
                level, index = map(int, name.split("."))
                own = parts.get(name) if len(labels) > 1 else model
                self._nodes[level, index] = Learned(own, str(label))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            message = f"{checkpoint.path}: not a valid checkpoint: {error!r}"
            raise ModelFileError(message) from error
        return model


def _connected(client: Any) -> Any:
    """Return an executor, a client of Dask that has a scheduler, or None for this process."""
    if isinstance(client, futures.Executor):
        return client
    if client is None and sys.modules.get("distributed"):
        from distributed import default_client

        try:
            client = default_client()
        except ValueError:
            return None
    if client is not None and not hasattr(client, "get_executor"):
        raise TypeError(
            f"{type(client).__name__} runs no tasks: pass an executor of concurrent.futures, a "
            "client of Dask, or None"
        )
    if client is not None and client.status != "running":
        # Such a client would keep the tasks and wait. One that found no scheduler stays the default
        # client for a while.
        raise ConnectionError(f"{client} is {client.status}: give a client that has a scheduler")
    return client


def _executor(client: Any) -> futures.Executor | None:
    """Return the executor of a client of Dask, or what is one already."""
    return client.get_executor(pure=False) if hasattr(client, "get_executor") else client


def _learned(
    client: Any, template: Any, shards: dict[int, Shard]
) -> Generator[tuple[int, Learned], None, None]:
    """Yield number and model of each shard when it is done, in any order; in the end, cancel."""
    tasks = {n: (template, s.content, s.label, s.extent) for n, s in shards.items()}
    executor = _executor(client)
    if executor is None:
        for number, task in tasks.items():
            yield number, learn(*task)
        return
    waiting: dict[futures.Future[Learned], int] = {}
    try:
        if executor is client:
            for number, task in tasks.items():
                waiting[executor.submit(learn, *task)] = number
        else:
            held = _graph(client, list(tasks.values()))
            for number in tasks:
                waiting[executor.submit(_same, held.pop(0))] = number
        for future in futures.as_completed(waiting):
            number = waiting.pop(future)
            try:
                learned = future.result()
            except (ShardError, futures.BrokenExecutor):
                raise
            except futures.CancelledError as error:
                message = "the work was cancelled, or the scheduler is gone"
                raise ShardError(f"{shards[number].label}: {message}") from error
            except Exception as error:  # such as that every worker which tried it died
                message = str(error) or type(error).__name__
                raise ShardError(f"{shards[number].label}: {message}") from error
            yield number, learned
    except futures.BrokenExecutor as error:
        raise ShardError("a worker died, most often for lack of memory") from error
    finally:
        for future in waiting:
            future.cancel()


def _graph(client: Any, tasks: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Return futures of Dask for models of shards.

    The shards are in the same graph, so that a worker learns from a chunk as soon as it has it, and
    what several chunks are computed from is computed once.
    """
    from dask.delayed import delayed

    sources = {id(rows): rows for _, rows, *_ in tasks if isinstance(rows, Source)}
    sent_once = {key: delayed(rows, traverse=False) for key, rows in sources.items()}
    work = delayed(learn, pure=False)
    return list(
        client.compute(
            [work(model, sent_once.get(id(rows), rows), *rest) for model, rows, *rest in tasks]
        )
    )


def _same(value: Any) -> Any:
    """Return what it is given: the result of a task of Dask, to an executor."""
    return value


def _run(estimator: Any, shards: Sequence[Shard]) -> dict[str, Any]:
    """Return what identifies a fit of an estimator on shards."""
    params = {name: repr(value) for name, value in estimator.get_params(deep=False).items()}
    params.pop("random_state", None)
    paths = dict.fromkeys(shard.path for shard in shards if shard.path is not None)
    seen = [path for path in paths if os.path.exists(split(path)[0])]  # others are on workers
    labels = [shard.label for shard in shards]
    options = {"estimator": type(estimator).__name__, **params}
    return describe_run("on shards (--dask or --workers)", options, seen, shards=labels)
