"""How many threads the matrix products may use."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import cache

from threadpoolctl import ThreadpoolController

SMALL_COLUMNS = 20_000  # below this a second thread costs more than it brings


@cache
def _controller() -> ThreadpoolController:
    """Look for the BLAS libraries once; that takes milliseconds."""
    return ThreadpoolController()


def threads_for(d: int) -> AbstractContextManager:
    """Return a context for products of a few rows of d columns: one thread where they are small."""
    if d >= SMALL_COLUMNS:
        return nullcontext()
    return _controller().limit(limits=1, user_api="blas")
