"""Sums over rows, kept by segments of the stream, so that its latest part can be told apart."""

from __future__ import annotations

from typing import Self

import numpy as np

from onepass.persistence.fields import Array, Field, Number, Size, State
from onepass.precision import Doubles

# Segments that are kept, at least half of them full: each is at most a thirty-second of the stream,
# so that "the last half" begins within 3% of where it should.
SEGMENTS = 64


class Segments(State):
    """Sums over the rows of each segment of a stream, in the order of the stream.

    Neighbouring segments are added up when there are more than 64, so that a segment is at most
    about a thirty-second of the stream.

    Parameters
    ----------
    name : str
        Of what the sums are about.
    powers : tuple of int
        How each column of the table fades; the first column is the number of rows.
    least : float
        The number of rows of a segment at least, but for the last one.

    Attributes
    ----------
    table : ndarray of shape (segments, columns)
    full : float
        The number of rows from which on a segment is full.
    """

    def __init__(self, name: str, powers: tuple[int, ...], least: float = 1.0) -> None:
        self.name, self.powers, self.least = name, powers, least
        self.table: Doubles = np.zeros((0, len(powers)))
        self.full = least

    def fields(self) -> dict[str, Field]:
        shape = (Size(f"segments of {self.name}", SEGMENTS), len(self.powers))
        return {"table": Array(shape, fades=self.powers), "full": Number(float, self.least, 1e300)}

    def add(self, sums: Doubles) -> None:
        """Include the sums (columns,) of further rows."""
        if len(self.table) and self.table[-1, 0] < self.full:
            self.table = np.vstack([self.table[:-1], self.table[-1] + sums])
        else:
            self.table = np.vstack([self.table, sums])
        self._shorten()

    def _shorten(self) -> None:
        """Add up neighbours until there are few enough."""
        while len(self.table) > SEGMENTS:
            pairs = len(self.table) // 2
            head = self.table[: 2 * pairs].reshape(pairs, 2, -1).sum(axis=1)
            self.table = np.vstack([head, self.table[2 * pairs :]])
            self.full = 2.0 * max(self.full, float(head[:, 0].min()))

    def latest(self, rows: float, share: float) -> Doubles:
        """Return the segments (s, columns) that hold the last share of so many rows.

        The first of them may begin before. Rows that are in no segment came first.
        """
        held = np.cumsum(self.table[::-1, 0])
        return self.table[::-1][: 1 + int(np.searchsorted(held, share * rows * (1.0 - 1e-12)))]

    def merge(self, other: Self) -> None:
        """Include the segments of another stream, as if both had come alternately.

        Rows at the same place of their streams come into one segment, wherever they are from:
        what the streams differ in is no difference between earlier and later rows.
        """
        fine, coarse = self.table, other.table
        if len(fine) < len(coarse):
            fine, coarse = coarse, fine
        if len(coarse):
            place, end = (np.cumsum(table[:, 0]) for table in (fine, coarse))
            place, end = place / place[-1], np.append(0.0, end / end[-1])
            sums = np.vstack([np.zeros(coarse.shape[1]), np.cumsum(coarse, axis=0)])
            until = np.stack([np.interp(place, end, column) for column in sums.T], axis=1)
            fine = fine + np.diff(until, axis=0, prepend=0.0)
        self.table = fine
        self.full = max(self.full, other.full, float(fine[:, 0].max(initial=0.0)))
