"""Tasks -> their results, with a client or without one."""

from __future__ import annotations

import queue
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from onepass.distributed.learning import Learned, ShardError

LOOK_EVERY = 10.0  # seconds without news after which the scheduler is asked
PATIENCE = 6  # looks in a row: a scheduler may take its time to read a large graph


@dataclass(frozen=True)
class Branch:
    """The tasks of neighbouring shards."""

    root: Any  # the task whose result is their model
    counts: list[Any]  # tasks on the way whose results are numbers of rows
    labels: dict[str, str]  # of shards, by the keys of the tasks that learn from them


def require() -> None:
    """Raise if Dask is not there."""
    if not (find_spec("dask") and find_spec("distributed")):
        raise ImportError("onepass.distributed needs dask: pip install 'onepass[dask]'")


def run_branches(
    branches: list[Branch], client: Any, progress: Callable[[int], None] | None
) -> Iterator[tuple[int, Learned]]:
    """Yield number and model of each branch as it is done, in any order.

    Nothing of them stays on the cluster, whatever happens.
    """
    import dask

    client = _running(client)
    if client is None:
        for number, branch in enumerate(branches):
            tasks = (branch.root, *([] if progress is None else branch.counts))
            result, *rows = dask.compute(*tasks, scheduler="synchronous")
            for count in rows:
                progress(count)  # type: ignore[misc]
            yield number, result
        return
    # Nobody waits for the models of single shards, so that a worker can drop them when merged.
    counts = [] if progress is None else [count for branch in branches for count in branch.counts]
    labels = {key: label for branch in branches for key, label in branch.labels.items()}
    futures = client.compute([*(branch.root for branch in branches), *counts])
    numbers = {future.key: number for number, future in enumerate(futures[: len(branches)])}
    with closing(_results(client, futures, labels)) as results:
        for key, result in results:
            if key in numbers:
                yield numbers[key], result
            elif progress is not None:
                progress(result)


def compute(task: Any, client: Any) -> Any:
    """Return the result of one task, done by a worker where there is a client."""
    client = _running(client)
    if client is None:
        return task.compute(scheduler="synchronous")
    with closing(_results(client, [client.compute(task)], {})) as results:
        return next(results)[1]


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


def _results(
    client: Any, futures: list[Any], labels: dict[str, str]
) -> Generator[tuple[str, Any], None, None]:
    """Yield key and result of each future as it is done; in the end, let go of all of them.

    What nobody wants any more is not begun, and dropped when done. Messages call a task with a key
    in `labels` by that name. A scheduler that does not know a future will never do it.
    """
    import distributed

    address = client.scheduler.address
    done: queue.SimpleQueue[Any] = queue.SimpleQueue()
    for future in futures:
        future.add_done_callback(done.put)
    left, unknown = len(futures), 0
    try:
        while left:
            try:
                future = done.get(timeout=LOOK_EVERY)
            except queue.Empty:
                unknown = 0 if _are_known(client, futures) else unknown + 1
                if unknown >= PATIENCE:
                    message = f"The scheduler {address} does not know the work any more"
                    raise ConnectionError(message) from None
                continue
            left, unknown = left - 1, 0
            result = future.result()
            future.release()
            yield future.key, result
    except distributed.KilledWorker as error:
        raise ShardError(
            f"{labels.get(str(error.task), error.task)}: every worker that tried it died; their "
            "logs say why, and most often it is too little memory"
        ) from error
    except distributed.CancelledError as error:
        message = f"The scheduler {address} is gone, or the work was cancelled"
        raise ConnectionError(message) from error
    finally:
        for future in futures:
            future.release()


def _are_known(client: Any, futures: list[Any]) -> bool:
    """Whether every future is done, or its scheduler has its task."""
    waiting = {future.key: future for future in futures if not future.done()}
    states = client.sync(client.scheduler.get_task_status, keys=list(waiting))
    return all(
        state is not None or waiting[key].done() for key, state in states.items() if key in waiting
    )
