"""Waiting for futures, but not for ones that can never be done."""

from __future__ import annotations

import queue
from collections.abc import Iterator
from typing import Any

LOOK_EVERY = 10.0  # seconds without news after which the scheduler is asked
PATIENCE = 6  # looks in a row: a scheduler may take its time to read a large graph


def completed(client: Any, futures: list[Any]) -> Iterator[Any]:
    """Yield futures as they are done, have failed or are cancelled.

    Parameters
    ----------
    client : distributed.Client
        Theirs.
    futures : list of distributed.Future
        What to wait for.

    Raises
    ------
    ConnectionError
        The scheduler does not know some of them, which then are never going to be done.
    """
    done: queue.SimpleQueue[Any] = queue.SimpleQueue()
    for future in futures:
        future.add_done_callback(done.put)
    left, unknown = len(futures), 0
    while left:
        try:
            future = done.get(timeout=LOOK_EVERY)
        except queue.Empty:
            unknown = 0 if _are_known(client, futures) else unknown + 1
            if unknown >= PATIENCE:
                raise ConnectionError(
                    f"The scheduler {client.scheduler.address} does not know the work any more"
                ) from None
        else:
            left, unknown = left - 1, 0
            yield future


def _are_known(client: Any, futures: list[Any]) -> bool:
    """Whether every future is done, or its scheduler has its task."""
    waiting = {future.key: future for future in futures if not future.done()}
    states = client.sync(client.scheduler.get_task_status, keys=list(waiting))
    return all(
        state is not None or waiting[key].done() for key, state in states.items() if key in waiting
    )
