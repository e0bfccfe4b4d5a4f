"""Which of the arrays in one file holds the rows."""

from __future__ import annotations

from onepass.sources.base import SourceError


def split(path: str) -> tuple[str, str | None]:
    """Return the file and the name in ``"file::name"``."""
    file, mark, name = path.partition("::")
    return file, name if mark else None


def choose_array(path: str, name: str | None, shapes: dict[str, tuple[int, ...]]) -> str:
    """Return the name of the array to read: the given one, or the only one that it can be.

    Vectors beside it are labels and the like; an array of three dimensions is not passed over.
    """
    candidates = [key for key, shape in shapes.items() if len(shape) == 2]
    listed = ", ".join(repr(candidate) for candidate in candidates) or "none"
    if name is not None:
        if name in candidates:
            return name
        raise SourceError.at(
            f"there is no array {name!r} of rows and columns in it, only {listed}", file=path
        )
    larger = [key for key, shape in shapes.items() if len(shape) > 2]
    if len(candidates) == 1 and not larger:
        return candidates[0]
    message = f"it is not clear which of its arrays is meant; rows and columns have {listed}"
    if larger:
        message += f", more dimensions have {', '.join(map(repr, larger))}"
    raise SourceError.at(f"{message}. Choose one with '{path}::name'", file=path)
