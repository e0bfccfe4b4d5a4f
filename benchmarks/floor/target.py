"""What a row of the table is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.results import Row


@dataclass(frozen=True)
class Effort:
    """How much to measure: all of it, or just enough to show that it runs."""

    quick: bool
    seed: int
    folder: Path | None

    @property
    def turns(self) -> int:
        """How often each piece of work is timed."""
        return 1 if self.quick else 5

    def rows(self, n: int) -> int:
        """Return how many rows to take of n."""
        return min(n, 600) if self.quick else n


@dataclass(frozen=True)
class Target:
    """A row of the table.

    Attributes
    ----------
    name, title : str
        On the command line, and in the table.
    measure : callable
        ``measure(effort)`` returns the number.
    target : float or None
        Its limit; None where it is only reported.
    unit : str
        "times" for ratios, "share" for shares of the variance.
    at_least : bool
        Whether the number should be at least the target, or at most.
    """

    name: str
    title: str
    measure: Callable[[Effort], float]
    target: float | None
    unit: str = "times"
    at_least: bool = False

    def row(self, effort: Effort) -> Row:
        """Return the measured row."""
        measured = self.measure(effort)
        met = None
        if self.target is not None:
            met = measured >= self.target if self.at_least else measured <= self.target
        return {
            "name": self.name,
            "title": self.title,
            "target": self.target,
            "at_least": self.at_least,
            "measured": measured,
            "unit": self.unit,
            "met": met,
        }
