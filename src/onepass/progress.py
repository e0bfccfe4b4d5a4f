"""A progress line on standard error, for terminals, notebooks and log files."""

from __future__ import annotations

import math
import sys
import time
from datetime import timedelta
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

_BAR_WIDTH = 12  # characters: the line beside it fills most of a terminal of 80
_LONGEST_END = "  9,999,999 rows/s  99.9% captured  9:59:59 left"
# Between two lines where there is no terminal: a notebook replaces its line, a log keeps them all.
NOTEBOOK_SECONDS, LOG_SECONDS = 0.5, 10.0
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
        self.rows = done
        self._label, self._total, self._before = label, total, done
        self._of = "" if total is None else f" of {'' if exact else '~'}{total:,}"
        self._share = ""
        self._look_at, self._looked_at = time.monotonic(), 0.0
        self._is_narrow = False
        self._bar = self._make_bar() if self.visible and is_terminal else None
        self._in_notebook = "ipykernel" in sys.modules
        self._pause = NOTEBOOK_SECONDS if self._in_notebook else LOG_SECONDS

    def _make_bar(self) -> Bar:
        """Return a bar for a terminal, with the line beside it; it disappears in the end.

        A narrow terminal first loses the bar, then the numbers of rows.
        """
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        console = Console(stderr=True)
        longest = f"{self._label} {self._total or 10**9:,}{self._of} rows{_LONGEST_END}"
        room = console.width - len(longest)
        self._is_narrow = self._total is not None and room < 0
        columns = [BarColumn(_BAR_WIDTH)] if room > _BAR_WIDTH else []
        line = TextColumn("{task.fields[line]}")
        bar = Progress(*columns, line, console=console, transient=True, refresh_per_second=4)
        self._task = bar.add_task("", total=self._total, completed=self.rows, line=self)
        return bar

    def __enter__(self) -> Self:
        self._begin = time.monotonic()
        self._due = self._begin + self._pause
        if self._bar:
            self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar:
            self._bar.stop()
        elif self.visible:
            print(self, file=sys.stderr, flush=True)

    def __str__(self) -> str:
        seconds = time.monotonic() - self._begin
        speed = (self.rows - self._before) / max(seconds, 1e-9)
        rows = f"{self.rows:,}{self._of} rows"
        clock = _clock(seconds)
        if self._total is not None and self.rows < self._total:
            left = _clock((self._total - self.rows) / speed) if speed > 0.0 else "-:--:--"
            clock = f"{left} left"
        if self._is_narrow and self._total:
            rows = f"{'~' * ('~' in self._of)}{self.rows / self._total:.1%}"
        parts = [f"{self._label} {rows}", f"{speed:,.0f} rows/s", self._share, clock]
        return "  ".join(part for part in parts if part)

    def advance(self, rows: int) -> None:
        """Count rows that are done."""
        self.rows += rows
        if self._bar:
            self._bar.advance(self._task, rows)
        elif self.visible and time.monotonic() >= self._due:
            print(self, end="\r" if self._in_notebook else "\n", file=sys.stderr, flush=True)
            self._due = time.monotonic() + self._pause

    def captured(self, share: float) -> None:
        """Show the share of variance captured so far."""
        if self.visible and math.isfinite(share):
            self._share = f"{share:.1%} captured"
            took = time.monotonic() - self._looked_at if self._looked_at else 0.0
            self._look_at = time.monotonic() + max(LOOK_SECONDS, took / LOOK_SHARE)
            self._looked_at = 0.0

    def wants_captured(self) -> bool:
        """Return whether it is time to call `captured`."""
        if not self.visible or time.monotonic() < self._look_at:
            return False
        self._looked_at = time.monotonic()
        return True


def _clock(seconds: float) -> str:
    """Return hours, minutes and seconds."""
    return str(timedelta(seconds=round(seconds)))


def pass_label(label: str, number: int, passes: int | None) -> str:
    """Return the name of the work with the number of the pass over the rows, if there are more."""
    return label if (passes or 1) == 1 else f"{label}, pass {number} of {passes}:"
