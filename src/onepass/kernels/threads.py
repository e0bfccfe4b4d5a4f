"""How many threads the matrix products may use."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

SMALL_COLUMNS = 20_000  # below this a second thread costs more than it brings


@cache
def _libraries() -> list[Any]:
    """Return controllers of the BLAS libraries; finding them takes milliseconds."""
    found = [lib for lib in ThreadpoolController().lib_controllers if lib.user_api == "blas"]
    for lib in found:  # asking takes no time, and no other thread should get a turn for it
        lib.dynlib = ctypes.PyDLL(lib.filepath, handle=lib.dynlib._handle)
    return found


class _Limit:
    """The limit of one thread, while anybody wants it.

    It belongs to the process: whoever comes while it is in force must not take it for what was
    there before.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._wanted = 0
        self._before: list[int] = []

    @contextmanager
    def held(self) -> Iterator[None]:
        """Return a context in which it is in force."""
        with self._lock:
            self._wanted += 1
            if self._wanted == 1:
                self._before = [lib.num_threads for lib in _libraries()]
                self._set([1] * len(self._before))
        try:
            yield
        finally:
            with self._lock:
                self._wanted -= 1
                if self._wanted == 0:
                    self._set(self._before)

    def _set(self, threads: list[int]) -> None:
        """Set how many threads each library may use, where these were not one already.

        From threadpoolctl 3.8 on its controllers obey one thread only, the first that ever set a
        limit. Here it is known who wants one, and any thread may be the last.
        """
        for lib, before, wanted in zip(_libraries(), self._before, threads, strict=True):
            if before != 1:
                getattr(lib, "_real_set_num_threads", lib.set_num_threads)(wanted)


_LIMIT = _Limit()


def one_thread() -> AbstractContextManager:
    """Return a context for products whose last bits must not depend on the number of cores."""
    return _LIMIT.held()


def threads_for(d: int) -> AbstractContextManager:
    """Return a context for products of a few rows of d columns: one thread where they are small."""
    return nullcontext() if d >= SMALL_COLUMNS else one_thread()
