"""How far it is, on standard error, if somebody is looking."""

from __future__ import annotations

import math
import sys
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

_BAR = 12
_LONGEST = "9,999,999 rows/s 99.9% captured 9:59:59 left"


class Progress:
    """A line with rows, rows per second, share captured and time left; nothing off a terminal.

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
    """

    def __init__(self, label: str, total: int | None, *, exact: bool = True, done: int = 0) -> None:
        self.visible = sys.stderr.isatty()
        if self.visible:
            self._bar = _bar(label, total, exact=exact)
            self._task = self._bar.add_task(
                label, total=total, completed=done, rate="", captured=""
            )

    def __enter__(self) -> Self:
        if self.visible:
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self.visible:
            self._bar.stop()

    def advance(self, rows: int) -> None:
        """Count rows that are done."""
        if self.visible:
            self._bar.advance(self._task, rows)
            speed = self._bar.tasks[0].speed
            self._bar.update(self._task, rate="" if speed is None else f"{speed:,.0f} rows/s")

    def captured(self, share: float) -> None:
        """Show the share of variance captured so far."""
        if self.visible and math.isfinite(share):
            self._bar.update(self._task, captured=f"{share:.1%} captured")


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
