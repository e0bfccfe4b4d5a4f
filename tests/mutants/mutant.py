"""A small change to the code that a test must notice."""

from __future__ import annotations

from typing import NamedTuple


class Mutant(NamedTuple):
    """One place in one file, and the tests that must fail when it is changed.

    Attributes
    ----------
    name : str
        What the change does, in a few words.
    file : str
        The file, from the root of the repository.
    old : str
        Text that is in the file exactly once.
    new : str
        What takes its place.
    tests : str
        Arguments for pytest, separated by blanks: as few and as quick as will do.
    """

    name: str
    file: str
    old: str
    new: str
    tests: str

    @property
    def is_compiled(self) -> bool:
        """Whether the core has to be built again."""
        return self.file.endswith((".hpp", ".cpp", ".h"))
