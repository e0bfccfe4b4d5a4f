"""Signals that ask for a stop."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any, Self

_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")


class Interruption:
    """Within it a signal only leaves a note, so that work can stop where nothing is lost.

    A second signal is no longer patient and raises KeyboardInterrupt. Signals that were ignored,
    as SIGHUP is under nohup, stay ignored.

    Parameters
    ----------
    active : bool
        If not, signals do what they did before.

    Attributes
    ----------
    signal : int or None
        The signal that came.
    """

    def __init__(self, active: bool = True) -> None:
        # Only the main thread may install handlers, and only there do signals arrive.
        self._active = active and threading.current_thread() is threading.main_thread()
        self.signal: int | None = None
        self._previous: dict[int, Any] = {}

    def __enter__(self) -> Self:
        if self._active:
            for number in (getattr(signal, name) for name in _SIGNALS if hasattr(signal, name)):
                if signal.getsignal(number) is not signal.SIG_IGN:
                    self._previous[number] = signal.signal(number, self._note)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        """Note the first signal; raise on the second."""
        if self.signal is not None:
            raise KeyboardInterrupt
        self.signal = number
