"""How many threads the matrix products may use."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

SMALL_COLUMNS = 20_000  # below this a second thread costs more than it brings


@cache
def _controller() -> ThreadpoolController:
    """Look for the BLAS libraries once; that takes milliseconds."""
    return ThreadpoolController()


class _Limit:
    """The limit of one thread, while anybody wants it.

    It belongs to the process: whoever comes while it is in force must not take it for what was
    there before.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._wanted = 0
        self._held: Any = None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Return a context in which it is in force."""
        with self._lock:
            self._wanted += 1
            if self._wanted == 1:
                self._held = _controller().limit(limits=1, user_api="blas")
        try:
            yield
        finally:
            with self._lock:
                self._wanted -= 1
                if self._wanted == 0:
                    self._held.restore_original_limits()


_LIMIT = _Limit()


def threads_for(d: int) -> AbstractContextManager:
    """Return a context for products of a few rows of d columns: one thread where they are small."""
    return nullcontext() if d >= SMALL_COLUMNS else _LIMIT.held()
