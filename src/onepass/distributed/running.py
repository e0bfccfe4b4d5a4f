"""Tasks -> their results, with a client or without one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from onepass.distributed.learning import Learned, ShardError
from onepass.distributed.waiting import completed


@dataclass(frozen=True)
class Branch:
    """The tasks of neighbouring shards.

    Attributes
    ----------
    root : Delayed
        Its result is their model.
    counts : list of Delayed
        Tasks on the way whose results are numbers of rows.
    labels : dict
        From the key of the task that learns from a shard to the shard's label.
    """

    root: Any
    counts: list[Any]
    labels: dict[str, str]


def require() -> None:
    """Raise if Dask is not there."""
    if not (find_spec("dask") and find_spec("distributed")):
        raise ImportError("onepass.distributed needs dask: pip install 'onepass[dask]'")


def run_branches(
    branches: list[Branch], client: Any, progress: Callable[[int], None] | None
) -> Iterator[tuple[int, Learned]]:
    """Yield number and model of each branch as it is done, in any order.

    Nothing of them stays on the cluster, whatever happens.

    Parameters
    ----------
    branches : list of Branch
        What to do.
    client : distributed.Client or None
        As for `onepass.distributed.fit`.
    progress : callable or None
        Called with the numbers of rows as they come.
    """
    client = _running(client)
    if client is None:
        yield from _run_here(branches, progress)
        return
    # Nobody waits for the models of single shards, so that a worker can drop them when merged.
    counts = [] if progress is None else [count for branch in branches for count in branch.counts]
    labels = {key: label for branch in branches for key, label in branch.labels.items()}
    futures = client.compute([*(branch.root for branch in branches), *counts])
    numbers = {future.key: number for number, future in enumerate(futures[: len(branches)])}
    with _releasing(futures), _explaining(client, labels):
        for done in completed(client, futures):
            result = done.result()
            if done.key in numbers:
                done.release()
                yield numbers[done.key], result
            elif progress is not None:
                progress(result)


def compute(task: Any, client: Any) -> Any:
    """Return the result of one task, done by a worker where there is a client."""
    client = _running(client)
    if client is None:
        return task.compute(scheduler="synchronous")
    futures = [client.compute(task)]
    with _releasing(futures), _explaining(client, {}):
        return next(completed(client, futures)).result()


def _running(client: Any) -> Any:
    """Return the client to use; None if there is none."""
    import distributed

    if client is None:
        try:
            client = distributed.default_client()
        except ValueError:
            return None
    if client.status != "running":
        # It would keep the tasks for a scheduler that it may never find. A client whose scheduler
        # was not there stays the default one for a while.
        raise ConnectionError(f"{client} is {client.status}: give a client that has a scheduler")
    return client


@contextmanager
def _releasing(futures: list[Any]) -> Iterator[None]:
    """Let go of futures in the end: what nobody wants is not begun, and dropped when done."""
    try:
        yield
    finally:
        for future in futures:
            future.release()


@contextmanager
def _explaining(client: Any, labels: dict[str, str]) -> Iterator[None]:
    """Say in words of shards and schedulers what Dask says in words of tasks."""
    import distributed

    address = client.scheduler.address
    try:
        yield
    except distributed.KilledWorker as error:
        label = labels.get(str(error.task), error.task)
        raise ShardError(
            f"{label}: every worker that tried it died; their logs "
            "say why, and most often it is too little memory"
        ) from error
    except distributed.CancelledError as error:
        raise ConnectionError(
            f"The scheduler {address} is gone, or the work was cancelled"
        ) from error


def _run_here(
    branches: list[Branch], progress: Callable[[int], None] | None
) -> Iterator[tuple[int, Learned]]:
    """Yield number and model of each branch, done by this process alone."""
    import dask

    for number, branch in enumerate(branches):
        counts = [] if progress is None else branch.counts
        result, *rows = dask.compute(branch.root, *counts, scheduler="synchronous")
        if progress is not None:
            for count in rows:
                progress(count)
        yield number, result
