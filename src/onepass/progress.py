"""How far it is, on standard error: one line, in terminals, notebooks and log files."""

from __future__ import annotations

import math
import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

_BAR = 12
_LONGEST = "9,999,999 rows/s 99.9% captured 9:59:59 left"
NOTEBOOK_SECONDS, LOG_SECONDS = 0.5, 10.0  # between two lines where there is no terminal
LOOK_SECONDS = 1.0  # between two looks at what has been captured, which cost a little
LOOK_SHARE = 0.02  # of the time that these looks may take


class Progress:
    """A line with rows, rows per second, share captured and time left.

    Parameters
    ----------
    label : str
        What is going on.
    total : int or None
        The number of rows, where it is known.
    exact : bool
        Whether it is known for sure, or estimated.
    done : int
        Rows that were done before.
    visible : bool or None
        None shows the line on a terminal only; True everywhere.
    """

    def __init__(
        self,
        label: str,
        total: int | None,
        *,
        exact: bool = True,
        done: int = 0,
        visible: bool | None = None,
    ) -> None:
        is_terminal = sys.stderr.isatty()
        self.visible = is_terminal if visible is None else visible
        self._line: _Live | _Plain | None = None
        if self.visible:
            kind = _Live if is_terminal else _Plain
            self._line = kind(label, total, exact, done)
        self._look_at, self._looked_at = time.monotonic(), 0.0

    def __enter__(self) -> Self:
        if self._line:
            self._line.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._line:
            self._line.stop()

    def advance(self, rows: int) -> None:
        """Count rows that are done."""
        if self._line:
            self._line.advance(rows)

    def captured(self, share: float) -> None:
        """Show the share of variance captured so far."""
        if self._line and math.isfinite(share):
            self._line.share = f"{share:.1%} captured"
            self._line.refresh()
            took = time.monotonic() - self._looked_at if self._looked_at else 0.0
            self._look_at = time.monotonic() + max(LOOK_SECONDS, took / LOOK_SHARE)
            self._looked_at = 0.0

    def wants_captured(self) -> bool:
        """Return whether it is time to look at what has been captured, and to say so."""
        if self._line is None or time.monotonic() < self._look_at:
            return False
        self._looked_at = time.monotonic()
        return True


class _Plain:
    """The line where there is no terminal: written again in a notebook, now and then in a log."""

    def __init__(self, label: str, total: int | None, exact: bool, done: int) -> None:
        self._label, self._total, self._rows, self._new = label, total, done, 0
        self._of = "" if total is None else f" of {'' if exact else '~'}{total:,}"
        self.share = ""
        self._in_notebook = "ipykernel" in sys.modules
        self._pause = NOTEBOOK_SECONDS if self._in_notebook else LOG_SECONDS

    def refresh(self) -> None:
        """Do nothing: the next line shows it."""

    def start(self) -> None:
        self._begin = time.monotonic()
        self._due = self._begin + self._pause

    def advance(self, rows: int) -> None:
        self._rows, self._new = self._rows + rows, self._new + rows
        if time.monotonic() >= self._due:
            self._write("\r" if self._in_notebook else "\n")
            self._due = time.monotonic() + self._pause

    def stop(self) -> None:
        self._write("\n")

    def _write(self, end: str) -> None:
        """Write the line."""
        seconds = time.monotonic() - self._begin
        speed = self._new / max(seconds, 1e-9)
        parts = [f"{self._label} {self._rows:,}{self._of} rows", f"{speed:,.0f} rows/s", self.share]
        if self._total is not None and 0 < self._rows < self._total and speed > 0.0:
            parts.append(f"{_clock((self._total - self._rows) / speed)} left")
        else:
            parts.append(_clock(seconds))
        print("  ".join(part for part in parts if part), end=end, file=sys.stderr, flush=True)


def _clock(seconds: float) -> str:
    """Return hours, minutes and seconds."""
    minutes, second = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{second:02}"


class _Live:
    """The line on a terminal, which disappears in the end."""

    def __init__(self, label: str, total: int | None, exact: bool, done: int) -> None:
        self._bar = _bar(label, total, exact=exact)
        self._task = self._bar.add_task(label, total=total, completed=done, rate="", captured="")
        self.share = ""

    def start(self) -> None:
        self._bar.start()

    def advance(self, rows: int) -> None:
        self._bar.advance(self._task, rows)
        speed = self._bar.tasks[0].speed
        rate = "" if speed is None else f"{speed:,.0f} rows/s"
        self._bar.update(self._task, rate=rate, captured=self.share)

    def refresh(self) -> None:
        """Show what has changed beside the number of rows."""
        self.advance(0)

    def stop(self) -> None:
        self._bar.stop()


def _bar(label: str, total: int | None, *, exact: bool) -> Bar:
    """Return the line, for a number of rows that is known, estimated or not known.

    What is left out where the terminal is narrow: first the bar, then the numbers of rows.
    """
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    of = "" if total is None else f" of {'' if exact else '~'}{total:,}"
    rows = f"{{task.completed:,.0f}}{of} rows"
    longest = len(f"{label} {total or 10**9:,}{of} rows {_LONGEST}")
    if total is not None and longest > console.width:
        rows = f"{'' if exact else '~'}{{task.percentage:.1f}}%"
    bar = [BarColumn(bar_width=_BAR)] if longest + _BAR + 1 <= console.width else []
    return Progress(
        TextColumn("{task.description}"),
        *bar,
        TextColumn(rows),
        TextColumn("{task.fields[rate]}"),
        TextColumn("{task.fields[captured]}"),
        TimeElapsedColumn() if total is None else TimeRemainingColumn(),
        TextColumn("" if total is None else "left"),
        console=console,
        transient=True,
        refresh_per_second=4,
    )
