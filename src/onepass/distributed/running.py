"""Tasks -> their result, with a client or without one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from onepass.distributed.learning import Learned, ShardError
from onepass.distributed.waiting import completed


@dataclass(frozen=True)
class Tasks:
    """The tasks of a round.

    Attributes
    ----------
    root : Delayed
        Its result is the model.
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


def run_tasks(tasks: Tasks, client: Any, progress: Callable[[int], None] | None) -> Learned:
    """Return the result of a round; nothing of it stays on the cluster, whatever happens.

    Parameters
    ----------
    tasks : Tasks
        What to do.
    client : distributed.Client or None
        As for `onepass.distributed.fit`.
    progress : callable or None
        Called with the numbers of rows as they come.
    """
    import distributed

    if client is None:
        try:
            client = distributed.default_client()
        except ValueError:
            return _run_here(tasks, progress)
    if client.status != "running":
        # It would keep the tasks for a scheduler that it may never find. A client whose scheduler
        # was not there stays the default one for a while.
        raise ConnectionError(f"{client} is {client.status}: give a client that has a scheduler")
    # Nobody waits for the models of single shards, so that a worker can drop them when merged.
    wanted = [tasks.root] if progress is None else [tasks.root, *tasks.counts]
    futures = client.compute(wanted)
    try:
        for done in completed(client, futures):
            if done is not futures[0] and progress is not None:
                progress(done.result())
            elif done.status != "finished":
                break
        return futures[0].result()
    except distributed.KilledWorker as error:
        label = tasks.labels.get(str(error.task), error.task)
        raise ShardError(
            f"{label}: every worker that tried it died; their logs "
            "say why, and most often it is too little memory"
        ) from error
    except distributed.CancelledError as error:
        address = client.scheduler.address
        raise ConnectionError(
            f"The scheduler {address} is gone, or the work was cancelled"
        ) from error
    finally:
        # What nobody wants any more is not begun, and dropped when done.
        for future in futures:
            future.release()


def _run_here(tasks: Tasks, progress: Callable[[int], None] | None) -> Learned:
    """Return the result of a round that this process has done alone."""
    import dask

    if progress is None:
        return dask.compute(tasks.root, scheduler="synchronous")[0]
    result, *counts = dask.compute(tasks.root, *tasks.counts, scheduler="synchronous")
    for count in counts:
        progress(count)
    return result
