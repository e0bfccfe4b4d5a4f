"""What a solver is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Directions = NDArray[np.floating]


def as_they_are(X: Any, k: int) -> Any:
    """Return the rows unchanged."""
    return X


@dataclass(frozen=True)
class Solver:
    """Something that finds k directions in rows.

    Attributes
    ----------
    name : str
        As on the command line.
    fit : callable
        ``fit(prepared, k)`` returns the directions, of shape (k, d), or None if it finds none.
        This is what is timed.
    prepare : callable
        ``prepare(X, k)`` returns the rows in the form that `fit` wants; not timed.
    streams : bool
        Whether a row costs the same however many there are, so that fewer rows than the data set
        has are enough to time it.
    at_least : int
        The fewest rows that show what a row costs.
    dense, sparse : bool
        Which rows it takes.
    max_columns : int or None
        Beyond, it is not run: it would take minutes.
    """

    name: str
    fit: Callable[[Any, int], Directions | None]
    prepare: Callable[[Any, int], Any] = as_they_are
    streams: bool = True
    at_least: int = 512
    dense: bool = True
    sparse: bool = False
    max_columns: int | None = None

    def takes(self, X: Any) -> bool:
        """Whether it can be run on rows X of shape (n, d)."""
        fits = self.max_columns is None or X.shape[1] <= self.max_columns
        return fits and (self.sparse if sparse.issparse(X) else self.dense)
