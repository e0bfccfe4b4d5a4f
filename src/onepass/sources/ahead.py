"""Reading ahead in a thread, so that reading and learning overlap."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")

_DEPTH = 4  # blocks of a few megabytes


def read_ahead(items: Generator[T, None, None], wake: Callable[[], None]) -> Iterator[T]:
    """Yield what a generator yields, up to four items ahead of the consumer.

    The generator runs in a thread, which ends when the generator does or when the consumer stops
    early. An exception in it is raised where its item would have come.

    Parameters
    ----------
    items : generator
        Not started yet. It is closed in the end.
    wake : callable
        Called in the end, to stop a wait for something that may never come.

    Yields
    ------
    object
        The items of the generator.
    """
    end: Any = object()
    pool = ThreadPoolExecutor(1, thread_name_prefix="onepass-read-ahead")
    try:
        coming = deque(pool.submit(next, items, end) for _ in range(_DEPTH))
        while (item := coming.popleft().result()) is not end:
            coming.append(pool.submit(next, items, end))
            yield item
            del item  # otherwise it would live on while the next one is waited for
    finally:
        wake()
        pool.shutdown(cancel_futures=True)
        items.close()
