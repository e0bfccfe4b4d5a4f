"""How the kernels are compiled: once per machine, cached on disk, and announced when it happens."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from numba.core import event

F = TypeVar("F", bound=Callable[..., Any])

MESSAGE = "onepass: compiling its kernels for this machine, once (about 20 s) ..."


class _Announcement(event.Listener):
    """Says on the first real compilation of one of our functions that it happens, then leaves.

    Numba triggers "numba:compile" only after it has looked into its disk cache in vain, so a
    cached kernel says nothing, and without the compiler (NUMBA_DISABLE_JIT=1) nothing is triggered.
    """

    def on_start(self, event_: event.Event) -> None:
        function = event_.data["dispatcher"].py_func
        if function.__module__.startswith("onepass."):
            event.unregister("numba:compile", self)
            print(MESSAGE, file=sys.stderr, flush=True)

    def on_end(self, event_: event.Event) -> None:
        """Nothing to say when it is done."""


event.register("numba:compile", _Announcement())


def jit(function: F) -> F:
    """Compile `function` on its first call, or load it from the cache on disk.

    Every compiled function of onepass is decorated with this and with nothing else.
    """
    compiled: Any = numba.njit(cache=True, error_model="numpy")(function)
    return cast(F, compiled)
