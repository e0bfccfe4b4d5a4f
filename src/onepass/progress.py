"""A progress line on standard error, for terminals, notebooks and log files."""

from __future__ import annotations

import math
import sys
import time
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

_BAR = 12
_LONGEST = "9,999,999 rows/s 99.9% captured 9:59:59 left"
NOTEBOOK_SECONDS, LOG_SECONDS = 0.5, 10.0  # between two lines where there is no terminal
LOOK_SECONDS = 1.0  # between two updates of the captured share, which take a moment
LOOK_SHARE = 0.02  # of the time that these updates may take


class Progress:
    """A line with rows, rows per second, share captured and time left.

    Parameters
    ----------
    label : str
        The name of the work.
    total : int or None
        The number of rows, if it is known.
    exact : bool
        Whether `total` is exact, or an estimate.
    done : int
        The number of rows that were done before.
    visible : bool or None
        None shows the line on a terminal only, True everywhere.
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
        self._label, self._total, self._rows, self._new = label, total, done, 0
        self._of = "" if total is None else f" of {'' if exact else '~'}{total:,}"
        self._share = ""
        self._look_at, self._looked_at = time.monotonic(), 0.0
        self._bar: Bar | None = None
        if self.visible and is_terminal:
            self._bar = _bar(label, total, self._of)
            self._task = self._bar.add_task(
                label, total=total, completed=done, rate="", captured=""
            )
        self._in_notebook = "ipykernel" in sys.modules
        self._pause = NOTEBOOK_SECONDS if self._in_notebook else LOG_SECONDS

    def __enter__(self) -> Self:
        if self._bar:
            self._bar.start()
        self._begin = time.monotonic()
        self._due = self._begin + self._pause
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar:
            self._bar.stop()
        elif self.visible:
            self._write("\n")

    def advance(self, rows: int) -> None:
        """Count rows that are done."""
        self._rows, self._new = self._rows + rows, self._new + rows
        if self._bar:
            self._bar.advance(self._task, rows)
            speed = self._bar.tasks[0].speed
            rate = "" if speed is None else f"{speed:,.0f} rows/s"
            self._bar.update(self._task, rate=rate, captured=self._share)
        elif self.visible and time.monotonic() >= self._due:
            self._write("\r" if self._in_notebook else "\n")
            self._due = time.monotonic() + self._pause

    def captured(self, share: float) -> None:
        """Show the share of variance captured so far."""
        if self.visible and math.isfinite(share):
            self._share = f"{share:.1%} captured"
            if self._bar:
                self._bar.update(self._task, captured=self._share)
            took = time.monotonic() - self._looked_at if self._looked_at else 0.0
            self._look_at = time.monotonic() + max(LOOK_SECONDS, took / LOOK_SHARE)
            self._looked_at = 0.0

    def wants_captured(self) -> bool:
        """Return whether it is time to call `captured`."""
        if not self.visible or time.monotonic() < self._look_at:
            return False
        self._looked_at = time.monotonic()
        return True

    def _write(self, end: str) -> None:
        """Write the line without a terminal: over the last one in a notebook, or to a log."""
        seconds = time.monotonic() - self._begin
        speed = self._new / max(seconds, 1e-9)
        parts = [f"{self._label} {self._rows:,}{self._of} rows", f"{speed:,.0f} rows/s"]
        if self._share:
            parts.append(self._share)
        if self._total is not None and 0 < self._rows < self._total and speed > 0.0:
            parts.append(f"{_clock((self._total - self._rows) / speed)} left")
        else:
            parts.append(_clock(seconds))
        print("  ".join(parts), end=end, file=sys.stderr, flush=True)


def _clock(seconds: float) -> str:
    """Return hours, minutes and seconds."""
    minutes, second = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{second:02}"


def _bar(label: str, total: int | None, of: str) -> Bar:
    """Return the line of a terminal, which disappears in the end; `of` is the total as text.

    A narrow terminal first loses the bar, then the numbers of rows.
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
    rows = f"{{task.completed:,.0f}}{of} rows"
    longest = len(f"{label} {total or 10**9:,}{of} rows {_LONGEST}")
    if total is not None and longest > console.width:
        rows = f"{'~' * ('~' in of)}{{task.percentage:.1f}}%"
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
