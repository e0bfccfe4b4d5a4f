"""Matrix products on one thread, for as long as anybody in this process asks for it.

How a product is split among threads changes its last bits, and the workers of a cluster differ in
their cores. Several tasks of one worker may come and go in any order, so they are counted: the
first one in sets the limit and the last one out lifts it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from threadpoolctl import threadpool_limits

_lock = threading.Lock()
_inside = 0
_limit: Any = None


@contextmanager
def one_thread() -> Iterator[None]:
    """Give a context in which BLAS uses one thread."""
    global _inside, _limit
    with _lock:
        _inside += 1
        if _inside == 1:
            _limit = threadpool_limits(1, user_api="blas")
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                _limit.restore_original_limits()
