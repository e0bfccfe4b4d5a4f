"""Reading ahead in a thread, so that reading and learning overlap."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from typing import TypeVar

T = TypeVar("T")

_DEPTH = 4  # blocks of a few megabytes


def read_ahead(
    make: Callable[[], Iterator[T]], wake: Callable[[], None] | None = None
) -> Iterator[T]:
    """Yield what an iterator yields, up to four items ahead of the consumer.

    The iterator is made, advanced and closed in one thread, which ends when the iterator does or
    when the consumer stops early. An exception in it is raised where its item would have come.

    Parameters
    ----------
    make : callable
        Returns the iterator.
    wake : callable, optional
        Called when the consumer stops early, to end a wait for something that may never come.

    Yields
    ------
    object
        The items of the iterator.
    """
    # An item comes in a list of its own, an exception as it is, and None is the end.
    items: queue.Queue[list[T] | BaseException | None] = queue.Queue(_DEPTH)
    stop = threading.Event()

    def produce() -> None:
        try:
            iterator = make()
            try:
                for item in iterator:
                    items.put([item])
                    # Otherwise the item would live here while the next one is read.
                    del item
                    if stop.is_set():
                        return
            finally:
                close = getattr(iterator, "close", None)
                if close is not None:
                    close()
            items.put(None)
        except BaseException as error:  # carried over to the consumer, whatever it is
            items.put(error)

    # A daemon: a read that never returns must not keep the program from ending.
    thread = threading.Thread(target=produce, name="onepass-read-ahead", daemon=True)
    thread.start()
    try:
        while (entry := items.get()) is not None:
            if isinstance(entry, BaseException):
                raise entry
            yield entry.pop()
    finally:
        stop.set()
        if wake is not None:
            wake()
        while thread.is_alive():
            # Makes room for a thread that waits with an item in its hands.
            try:
                items.get(timeout=0.01)
            except queue.Empty:
                continue
