"""Which of the arrays in one file holds the rows."""

from __future__ import annotations

from onepass.sources.base import SourceError


def split(path: str) -> tuple[str, str | None]:
    """Return the file and the name in ``"file::name"``."""
    file, mark, name = path.partition("::")
    return file, name if mark else None


def choose_array(path: str, name: str | None, candidates: list[str]) -> str:
    """Return the name of the array to read: the given one, or the only one there is."""
    listed = ", ".join(repr(candidate) for candidate in candidates) or "none"
    if name is not None:
        if name in candidates:
            return name
        raise SourceError.at(
            f"there is no array {name!r} of rows and columns in it, only {listed}", file=path
        )
    if len(candidates) != 1:
        raise SourceError.at(
            f"of its arrays one must have rows and columns, and these do: {listed}. "
            f"Choose one with '{path}::name'",
            file=path,
        )
    return candidates[0]
