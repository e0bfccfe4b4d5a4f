"""Reading ahead in a thread, so that reading and learning overlap."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from typing import TypeVar

T = TypeVar("T")

_DEPTH = 2


def read_ahead(make: Callable[[], Iterator[T]]) -> Iterator[T]:
    """Yield what an iterator yields, up to two items ahead of the consumer.

    The iterator is made, advanced and closed in one thread, which ends when the iterator does or
    when the consumer stops early. An exception in it is raised where its item would have come.

    Parameters
    ----------
    make : callable
        Returns the iterator.

    Yields
    ------
    object
        The items of the iterator.
    """
    items: queue.Queue[tuple[T | None, BaseException | None] | None] = queue.Queue(_DEPTH)
    stop = threading.Event()

    def produce() -> None:
        try:
            iterator = make()
            try:
                for item in iterator:
                    items.put((item, None))
                    if stop.is_set():
                        return
            finally:
                close = getattr(iterator, "close", None)
                if close is not None:
                    close()
            items.put(None)
        except BaseException as error:  # carried over to the consumer, whatever it is
            items.put((None, error))

    # A daemon: a read that never returns must not keep the program from ending.
    thread = threading.Thread(target=produce, name="onepass-read-ahead", daemon=True)
    thread.start()
    try:
        while (entry := items.get()) is not None:
            item, error = entry
            if error is not None:
                raise error
            yield item  # type: ignore[misc]
            # Otherwise the item would live in this frame while the next one is waited for.
            del item, entry
    finally:
        stop.set()
        while thread.is_alive():
            # Makes room for a thread that waits with an item in its hands.
            try:
                items.get(timeout=0.01)
            except queue.Empty:
                continue
        thread.join()
