"""What a data set is, and which part of it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onepass.sources.synthetic import Distribution


@dataclass(frozen=True)
class Size:
    """How many rows and columns, and how many directions; None is what the data set has.

    Examples
    --------
    >>> Size.parse("784x8")
    Size(k=8, columns=784, rows=None)
    """

    k: int
    columns: int | None = None
    rows: int | None = None

    @classmethod
    def parse(cls, text: str) -> Size:
        """Read ``K``, ``DxK`` or ``NxDxK``."""
        numbers = [int(number) for number in text.lower().split("x")]
        if len(numbers) > 3 or min(numbers) < 1:
            raise ValueError(f"a size is K, DxK or NxDxK, not {text!r}")
        return cls(*reversed(numbers))

    def __str__(self) -> str:
        return "x".join(str(part) for part in (self.rows, self.columns, self.k) if part)


@dataclass(frozen=True)
class Problem:
    """Rows to learn k directions from, and what the directions are judged on.

    Attributes
    ----------
    name : str
        Of the data set.
    X : array or CSR matrix of shape (n, d)
        The rows. Dense ones are centred, so that all solvers face the same problem.
    k : int
        How many directions are looked for.
    population : Distribution or None
        Where the rows come from, if that is known; directions are judged on it, else on X.
    """

    name: str
    X: Any
    k: int
    population: Distribution | None = None

    def __str__(self) -> str:
        n, d = self.X.shape
        return f"{self.name}, n={n}, d={d}, k={self.k}"


@dataclass(frozen=True)
class Dataset:
    """Something that problems are taken from.

    Attributes
    ----------
    name : str
        As on the command line.
    load : callable
        ``load(size, folder)`` returns a Problem; raises FileNotFoundError where files are missing.
    sizes : tuple of Size
        What is run unless sizes are asked for.
    columns : int or None
        How many there are, or None if any number can be had.
    """

    name: str
    load: Callable[[Size, Path | None], Problem]
    sizes: tuple[Size, ...]
    columns: int | None = None

    def fitting(self, sizes: list[Size]) -> list[Size]:
        """Return those sizes that this data set can have."""
        if self.columns is None:
            return [size for size in sizes if size.columns is not None]
        return [size for size in sizes if size.columns in (None, self.columns)]


def folder_of(name: str, folder: Path | None) -> Path:
    """Return the folder with the files of a data set."""
    if folder is None or not (folder / name).is_dir():
        raise FileNotFoundError(f"{name} needs --data DIR, a folder that holds {name}/")
    return folder / name
