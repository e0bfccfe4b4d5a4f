"""Sums over segments of the stream, from which every standard error comes.

A mean over rows that depend on their neighbours, or have heavy tails, has an error that no formula
for independent Gaussian rows gives. The spread of the means of long segments does (batch means).
So the sums that components come from are kept for at most 32 segments of the stream as well:

    P_s = sum over the rows of segment s of  w (x - m_s) (x - m_s)' F',

with m_s the mean of the segment and F (K, d) a frame: directions that nearly span the components.
`standard_errors` reads them. Narrow streams have F = I, and P_s is a second moment.

The components turn while the stream goes on, and the frame follows them. What the old frame F did
not span of the new one G is not known of a single segment, but of all of them together:

    P_s G' = P_s F' F G' + w_s / w (W - sum of P_s F' F) G',

with W the scatter within the segments. So the sum over segments is exact at any time, and only the
differences between segments lose what F did not span.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import ceil
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from onepass.moments.chunk import Chunk
from onepass.persistence.fields import Array, Field, Number, Size, State
from onepass.precision import TINY, Doubles

# Segments at most. Student's 95% quantile is 2.04 with 31 degrees of freedom, 2.13 with 15 and 2.57
# with 5: more segments would gain little, and they could not be as long.
SEGMENTS = 32
LEAST_ROWS = 16  # of a segment that is full: no single row follows from its sums
# Components that have errors: the frame has 2 k + 2 directions, and 32 segments of more of them
# would take more memory than the second moment itself.
MOST_COMPONENTS = 32
# Columns up to which a segment has the whole second moment. It is a part of the sums that the rows
# are learned with, so that it costs no product with rows; 32 of them take 4 MB.
WHOLE_COLUMNS = 128
SAME_DIRECTION = 1e-6  # singular value of unit rows below which one of them is among the others


class Segment(NamedTuple):
    """Sums over the rows of one segment; `product` is in the unit of its `Segments`."""

    rows: float
    weight: float
    place: float  # mean number of its rows in the stream
    mean: Doubles  # (d,)
    squares: Doubles  # (d,), of the columns about the mean
    product: NDArray[np.floating]  # (d, K), the scatter about the mean times the frame

    def plus(self, other: Segment, frame: Doubles) -> Segment:
        """Return the sums of both, with a frame (K, d) in the unit of products."""
        weight = self.weight + other.weight
        share = other.weight / max(weight, TINY)
        apart = other.mean - self.mean
        between = self.weight * share
        product = self.product + other.product + between * np.outer(apart, frame @ apart)
        return Segment(
            self.rows + other.rows,
            weight,
            self.place
            + other.rows / max(self.rows + other.rows, TINY) * (other.place - self.place),
            self.mean + share * apart,
            self.squares + other.squares + between * apart**2,
            product.astype(self.product.dtype),
        )


class Segments(State):
    """Sums over at most 32 segments of a stream, in its order.

    A segment is full when it has a 32nd to a 16th of the rows so far, and at least 16 rows. When
    there are too many, the two neighbours with the fewest rows are added up. Where earlier rows
    fade, these are the oldest ones.

    Parameters
    ----------
    d : int
        The number of columns.
    dtype : dtype
        Of the rows, in which products are kept.
    whole : bool
        Whether the frame is the identity.
    most : int
        How many segments there may be.

    Attributes
    ----------
    frame : ndarray of shape (K, d)
        Orthonormal directions, in the columns as they came.
    unit : float
        Products are kept in units of this energy.
    """

    def __init__(
        self, d: int, dtype: Any = np.float64, *, whole: bool = False, most: int = SEGMENTS
    ) -> None:
        self.d, self.dtype, self.most = d, np.dtype(dtype), most
        self.unit = 0.0
        self.frame: Doubles = np.eye(d) if whole else np.zeros((0, d))
        self._parts: list[Segment] = []

    def fields(self) -> dict[str, Field]:
        count, K, d = Size("segments", SEGMENTS), Size("directions of the frame", self.d), self.d
        return {
            "unit": Number(),
            "frame": Array((K, d), least=-2.0, most=2.0, orthonormal=True),
            "rows": Array((count,), least=0.0, fades=1),
            "weights": Array((count,), least=0.0, fades=1),
            "places": Array((count,), least=0.0),
            "means": Array((count, d)),
            "squares": Array((count, d), least=0.0, fades=1),
            "products": Array((count, d, K), (self.dtype.name,), fades=1),
        }

    def __len__(self) -> int:
        return len(self._parts)

    def __iter__(self) -> Iterator[Segment]:
        return iter(self._parts)

    @property
    def rows(self) -> Doubles:
        """How many rows each segment has, those that have faded less than one; shape (S,)."""
        return np.array([part.rows for part in self._parts])

    @property
    def weights(self) -> Doubles:
        """The weights of the segments, shape (S,)."""
        return np.array([part.weight for part in self._parts])

    @property
    def places(self) -> Doubles:
        """The mean numbers of their rows in their stream, shape (S,)."""
        return np.array([part.place for part in self._parts])

    @property
    def means(self) -> Doubles:
        """Their means, shape (S, d)."""
        return np.array([part.mean for part in self._parts]).reshape(-1, self.d)

    @property
    def squares(self) -> Doubles:
        """Sums of squares of their columns about their means, shape (S, d)."""
        return np.array([part.squares for part in self._parts]).reshape(-1, self.d)

    @property
    def products(self) -> NDArray[np.floating]:
        """Their scatters about their means times the frame, shape (S, d, K)."""
        shape = (-1, self.d, len(self.frame))
        return np.array([part.product for part in self._parts], self.dtype).reshape(shape)

    def take(self, content: dict[str, Any]) -> None:
        """Take over checked sums from a file."""
        self.unit, self.frame = content["unit"], content["frame"]
        numbers = (content[name].tolist() for name in ("rows", "weights", "places"))
        arrays = (content[name] for name in ("means", "squares", "products"))
        self._parts = [Segment(*sums) for sums in zip(*numbers, *arrays, strict=True)]

    def copy(self, shared: tuple[str, ...] = ()) -> Self:
        """Return a copy that goes on by itself; segments are replaced, never changed."""
        twin = object.__new__(type(self))
        twin.__dict__ = {**self.__dict__, "_parts": list(self._parts)}
        return twin

    def fade(self, factor: float) -> None:
        """Let all rows so far count less."""
        self._parts = [
            part._replace(
                rows=factor * part.rows,
                weight=factor * part.weight,
                squares=factor * part.squares,
                product=(factor * part.product).astype(self.dtype),
            )
            for part in self._parts
        ]

    # -- rows ------------------------------------------------------------------------------------

    @property
    def _full(self) -> float:
        """Chunk from which on a segment is full: 16 times a power of two."""
        total = sum(part.rows for part in self._parts)
        doublings = int(max(2.0 * total / (self.most * LEAST_ROWS), 1.0)).bit_length() - 1
        return float(LEAST_ROWS * 2**doublings)

    @property
    def room(self) -> int:
        """How many of the next rows come into one segment."""
        full, last = self._full, self._parts[-1].rows if self._parts else 0.0
        return ceil(full - last if last < full else full)

    def pieces(self, rows: Chunk, weights: Doubles) -> Iterator[tuple[Chunk, Doubles]]:
        """Yield rows (r, d) and weights (r,) in parts that each come into one segment.

        Each part has to be included before the next one is asked for.
        """
        start = 0
        while start < len(weights):
            part = slice(start, start + self.room)
            yield rows[part], weights[part]
            start = part.stop

    def add(self, rows: Chunk, weights: Doubles, before: int) -> None:
        """Include rows (r, d), as they came, with weights (r,), after so many others."""
        for part, own in self.pieces(rows, weights):
            self.include(part.origin, own, before, *part.sums_along(self.frame, own))
            before += len(own)

    def include(
        self,
        origin: Doubles,
        weights: Doubles,
        before: int,
        total: Doubles,
        squares: Doubles,
        product: Doubles,
    ) -> None:
        """Include rows of one segment, by their sums about a point.

        Parameters
        ----------
        origin : ndarray of shape (d,)
            The point.
        weights : ndarray of shape (r,)
            At most `room` of them.
        before : int
            The number of rows that came before these in the stream.
        total, squares : ndarray of shape (d,)
            The weighted sums of the rows and of the squares of their columns.
        product : ndarray of shape (d, K)
            The weighted sum of x x' times the frame.
        """
        count, weight = len(weights), float(weights.sum())
        mean = total / max(weight, TINY)
        if not self.unit:
            self.unit = _power_of_two(float(squares.sum()) / max(weight, TINY))
        frame = self.frame / self.unit
        added = Segment(
            float(count),
            weight,
            before + 0.5 * count,
            origin + mean,
            (squares - total * mean).clip(min=0.0),
            (product / self.unit - np.outer(total, frame @ mean)).astype(self.dtype),
        )
        if self._parts and self._parts[-1].rows < self._full:
            added = self._parts.pop().plus(added, frame)
        self._parts.append(added)
        self._shorten()

    def _shorten(self) -> None:
        """Add up the neighbours with the fewest rows until there are few enough."""
        while len(self._parts) > self.most:
            rows = self.rows
            self._add_up(int((rows[:-1] + rows[1:]).argmin()))

    def _add_up(self, first: int) -> None:
        """Put one segment and the next one together."""
        pair = self._parts[first].plus(self._parts[first + 1], self.frame / self.unit)
        self._parts[first : first + 2] = [pair]

    def close(self) -> None:
        """Let a segment of few rows, from which these could follow, join its neighbour."""
        while len(self._parts) > 1:
            short = np.flatnonzero(self.rows < min(LEAST_ROWS, self.rows.max()))
            if not len(short):
                return
            self._add_up(max(int(short[0]) - 1, 0))

    def turn(self, frame: Doubles, times: Callable[[Doubles], Doubles]) -> None:
        """Take another frame (K, d), orthonormal.

        ``times(columns)`` returns the scatter of all rows times columns (d, m).
        """
        if self._parts:
            along, weights = self.frame @ frame.T, self.weights
            turned = [part.product.astype(np.float64) @ along for part in self._parts]
            apart = self.means - (weights / weights.sum()) @ self.means
            between = (apart * weights[:, None]).T @ (apart @ frame.T)
            within = (times(frame.T) - between) / self.unit
            missing = (within - np.sum(turned, axis=0)) / weights.sum()
            self._parts = [
                part._replace(product=(product + part.weight * missing).astype(self.dtype))
                for part, product in zip(self._parts, turned, strict=True)
            ]
        self.frame = frame

    def joint_frame(self, other: Self) -> Doubles:
        """Return a frame (K, d) that spans those of both."""
        both = np.vstack([self.frame, other.frame])
        _, sizes, directions = np.linalg.svd(both, full_matrices=False)
        return directions[sizes > SAME_DIRECTION]

    def merge(self, other: Self) -> None:
        """Include the segments of another stream with the same frame, after these."""
        if not self._parts:
            self.unit, self.frame = other.unit, other.frame
        ratio = other.unit / (self.unit or 1.0)
        self._parts += [
            part._replace(product=(part.product * ratio).astype(self.dtype)) for part in other
        ]
        self._shorten()


def _power_of_two(energy: float) -> float:
    """Return a power of two near an energy, and 1 for none."""
    return float(2.0 ** np.round(np.log2(energy))) if 0.0 < energy < np.inf else 1.0
