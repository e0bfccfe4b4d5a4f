"""How many threads matrix products may use."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


@cache
def _controller() -> ThreadpoolController:
    """Return the controller of the loaded BLAS libraries; finding these takes milliseconds."""
    return ThreadpoolController()


_lock = threading.Lock()
_users = 0
_limit: Any = None


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit BLAS to one thread: small products are faster, and bits do not depend on the cores.

    The limit belongs to the process. It is set by the first thread that enters and lifted by the
    last one that leaves, so that fits in several threads do not undo each other's limit.
    """
    global _users, _limit
    with _lock:
        _users += 1
        if _users == 1:
            _limit = _controller().limit(limits=1, user_api="blas")
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                _limit.restore_original_limits()
                _limit = None
