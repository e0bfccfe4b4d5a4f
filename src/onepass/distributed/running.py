"""Run tasks with a client, or in this process if there is none."""

from __future__ import annotations

import queue
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from importlib.util import find_spec
from typing import Any

from onepass.distributed.learning import Learned, ShardError

LOOK_EVERY = 10.0  # seconds without a result, after which the scheduler is asked
PATIENCE = 6  # times in a row: a scheduler may need a while to read a large graph


def require() -> None:
    """Raise ImportError if Dask is not installed."""
    if not (find_spec("dask") and find_spec("distributed")):
        raise ImportError("onepass.distributed needs dask: pip install 'onepass[dask]'")


def run_branches(
    branches: list[Any],
    leaves: dict[str, Any],
    client: Any,
    progress: Callable[[int], None] | None,
) -> Iterator[tuple[int, Learned]]:
    """Yield number and result of each branch, a task, when it is done, in any order.

    `leaves` are the tasks that learn from shards, by their labels. Nothing stays on the cluster in
    the end, errors included.
    """
    from dask.callbacks import Callback

    labels = {leaf.key: label for label, leaf in leaves.items()}
    client = _running(client)
    if client is None:

        def count(key: str, result: Any, *state: Any) -> None:
            if progress is not None and key in labels:
                progress(result.rows)

        for number, branch in enumerate(branches):
            with Callback(posttask=count):
                result = branch.compute(scheduler="synchronous")
            yield number, result
        return
    # The models of single shards are not asked for, so that a worker drops them once merged.
    counts = [] if progress is None else [leaf.rows for leaf in leaves.values()]
    futures = client.compute([*branches, *counts])
    numbers = {future.key: number for number, future in enumerate(futures[: len(branches)])}
    with closing(_results(client, futures, labels)) as results:
        for key, result in results:
            if key in numbers:
                yield numbers[key], result
            elif progress is not None:
                progress(result)


def compute(task: Any, client: Any) -> Any:
    """Return the result of one task, run by a worker if there is a client."""
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
        # Such a client would keep the tasks and wait. One that found no scheduler stays the
        # default client for a while.
        raise ConnectionError(f"{client} is {client.status}: give a client that has a scheduler")
    return client


def _results(
    client: Any, futures: list[Any], labels: dict[str, str]
) -> Generator[tuple[str, Any], None, None]:
    """Yield key and result of each future when it is done; in the end, release all of them.

    The scheduler drops tasks whose futures are released. Messages name tasks by their `labels`. If
    the scheduler does not know a future any more, it will never be done, and that is an error.
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
            f"{labels.get(str(error.task), error.task)}: every worker that tried it died, most "
            "often for lack of memory; their logs say more"
        ) from error
    except distributed.CancelledError as error:
        message = f"The scheduler {address} is gone, or the work was cancelled"
        raise ConnectionError(message) from error
    finally:
        for future in futures:
            future.release()


def _are_known(client: Any, futures: list[Any]) -> bool:
    """Return whether each future is done or known to the scheduler."""
    waiting = {future.key: future for future in futures if not future.done()}
    states = client.sync(client.scheduler.get_task_status, keys=list(waiting))
    return all(
        state is not None or waiting[key].done() for key, state in states.items() if key in waiting
    )
