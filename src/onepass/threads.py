"""How many threads matrix products may use."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController


@cache
def _controller() -> ThreadpoolController:
    """Return the controller of the loaded BLAS libraries; finding these takes milliseconds."""
    return ThreadpoolController()


def _take_control() -> None:
    """Let this thread set limits: threadpoolctl 3.8 ignores all threads but the first one."""
    for library in _controller().lib_controllers:
        if hasattr(library, "clear_controlling_thread"):
            library.clear_controlling_thread(force=True)


PAUSE_SECONDS = 2e-5  # time for another thread to take the interpreter's lock
_lock = threading.Lock()
_users = 0
_limit: Any = None
_allowed = 1  # the number of threads of BLAS without the limit
_pool: ThreadPoolExecutor | None = None  # its threads stay: new ones would touch new memory
Job = TypeVar("Job")
Outcome = TypeVar("Outcome")


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit BLAS to one thread: small products are faster, and bits do not depend on the cores.

    The limit is that of the process. The first thread that enters sets it and the last one that
    leaves lifts it, so that fits in several threads do not undo each other's limit.
    """
    global _users, _limit, _allowed, _pool
    with _lock:
        _users += 1
        if _users == 1:
            used = [lib["num_threads"] for lib in _controller().info() if lib["user_api"] == "blas"]
            _allowed = max(used, default=1)
            _take_control()
            _limit = _controller().limit(limits=1, user_api="blas")
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                _take_control()
                _limit.restore_original_limits()
                _take_control()  # and leave it to whichever comes next
                if _pool is not None:
                    _pool.shutdown()
                _limit, _allowed, _pool = None, 1, None


def give_way() -> None:
    """Let threads that learn go first.

    A thread that comes back from compiled code waits up to 5 ms for the interpreter's lock while
    another one never sleeps. Chunks take less than that.
    """
    if _users:
        time.sleep(PAUSE_SECONDS)


def thread_count() -> int:
    """Return how many threads `run_all` uses."""
    return _allowed


def run_all(work: Callable[[Job], Outcome], jobs: Iterable[Job]) -> list[Outcome]:
    """Return ``[work(job) for job in jobs]``, computed by as many threads as BLAS may use.

    Inside `one_thread` every product runs on one thread, so that the result of a job does not
    depend on the number of threads.
    """
    global _pool
    jobs = list(jobs)
    count = min(_allowed, len(jobs))
    if count < 2:
        return list(map(work, jobs))

    def share(first: int) -> list[Outcome]:
        return list(map(work, jobs[first::count]))

    with _lock:  # another thread may be about to leave `one_thread`, which ends the pool
        _pool = _pool or ThreadPoolExecutor(max(_allowed - 1, 1))  # beside this thread
        futures = [_pool.submit(share, first) for first in range(1, count)]
    found: list[Any] = [None] * len(jobs)
    found[::count] = share(0)
    for first, future in enumerate(futures, 1):
        found[first::count] = future.result()
    return found


def _forget_threads() -> None:
    """Forget limit and threads in a forked process, which has none of these threads."""
    global _lock, _users, _limit, _allowed, _pool
    _lock, _users, _limit, _allowed, _pool = threading.Lock(), 0, None, 1, None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)
