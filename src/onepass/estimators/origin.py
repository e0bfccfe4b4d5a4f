"""How the rows were read that learning began with, for rows that come later."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

from onepass.sources import Source
from onepass.sources.preparation import Preparation


@dataclass(frozen=True)
class Origin:
    """How the rows were read that learning began with.

    Attributes
    ----------
    preparation : Preparation
        What was done with each row.
    mapped : bool
        Whether a function was applied to blocks.
    na : tuple of str
        What stood for missing entries in files.
    reading : dict
        The other options that files were read with.
    names_are_made : bool
        Whether the names of the columns were made for the numbers of lists.
    rows_there : int or None
        How many rows there were, if reading stopped before the last of them; 0 if that is unknown.
    """

    preparation: Preparation = field(default_factory=Preparation)
    mapped: bool = False
    na: tuple[str, ...] = ()
    reading: Mapping[str, Any] = field(default_factory=dict)
    names_are_made: bool = False
    rows_there: int | None = None

    @classmethod
    def of(cls, source: Source) -> Self:
        """Return how a source reads its rows."""
        preparation = source.preparation or Preparation()
        marks = tuple(map(str, source.na))
        reading, is_made = dict(source.reading), source.names_are_made
        return cls(preparation, source.is_mapped, marks, reading, is_made)

    def options(self) -> dict[str, Any]:
        """Return what was done with each row, by the names of options."""
        found = {name: value for name, value in asdict(self.preparation).items() if value}
        return found | ({"mapped": True} if self.mapped else {})

    def combined(self, others: Sequence[Origin]) -> Origin:
        """Return the origin of rows of several models: all marks, and what all have in common."""
        marks = dict.fromkeys(mark for each in (self, *others) for mark in each.na)
        shared = {
            name: value
            for name, value in self.reading.items()
            if all(other.reading.get(name) == value for other in others)
        }
        return replace(self, na=tuple(marks), reading=shared, rows_there=None)

    def check_prepared(self, source: Source) -> None:
        """Refuse a source that prepares its rows in another way, if it says how."""
        if source.preparation is not None and source.preparation != self.preparation:
            options = ", ".join(f"{name}={value!r}" for name, value in self.options().items())
            raise ValueError(
                f"the model was fitted on rows prepared by {options or 'nothing'}: open X with the "
                "same options of open_source"
            )
