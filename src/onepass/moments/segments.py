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
from itertools import pairwise
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


# Of s parts of the rows: the weighted sums of x (s, d), of the squares of its columns (s, d),
# and of x x' times the frame (s, d, K).
PartSums = tuple[Doubles, Doubles, Doubles]


def sums_of_parts(rows: Chunk, weights: Doubles, edges: list[int], frame: Doubles) -> PartSums:
    """Return the sums of parts of rows (r, d) with weights (r,) between edges (s + 1,)."""
    parts = [slice(*pair) for pair in pairwise(edges)]
    found = [rows[part].sums_along(frame, weights[part]) for part in parts]
    totals, squares, products = (np.array(sums) for sums in zip(*found, strict=True))
    return totals, squares, products


class Segment(NamedTuple):
    """Sums over the rows of one segment; `product` is in the unit of its `Segments`."""

    rows: float
    weight: float
    mean: Doubles  # (d,)
    squares: Doubles  # (d,), of the columns about the mean
    product: NDArray[np.floating]  # (d, K), the scatter about the mean times the frame

    def plus(self, other: Segment, frame: Doubles) -> Segment:
        """Return the sums of both, with a frame (K, d) in the unit of products."""
        weight = self.weight + other.weight
        share = other.weight / max(weight, TINY)
        apart = other.mean - self.mean
        between = self.weight * share
        product = self.product + other.product
        product += np.outer(between * apart, frame @ apart)
        return Segment(
            self.rows + other.rows,
            weight,
            self.mean + share * apart,
            self.squares + other.squares + between * apart**2,
            product,
        )


class Segments(State):
    """Sums over at most 32 segments of a stream, in its order.

    Rows that come together are cut into segments that have, when they are full, a 32nd to a 16th of
    all rows then, and at least 16 rows. When there are too many, the two neighbours with the fewest
    rows are added up. Where earlier rows fade, these are the oldest ones.

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
            "means": Array((count, d)),
            "squares": Array((count, d), least=0.0, fades=1),
            "products": Array((count, d, K), (self.dtype.name,), fades=1),
        }

    @property
    def is_whole(self) -> bool:
        """Whether the frame is the identity."""
        return len(self.frame) == self.d

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
        shape = (len(self), self.d, len(self.frame))
        return np.array([part.product for part in self._parts], self.dtype).reshape(shape)

    def take(self, content: dict[str, Any]) -> None:
        """Take over checked sums from a file."""
        self.unit, self.frame = content["unit"], content["frame"]
        numbers = (content[name].tolist() for name in ("rows", "weights"))
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

    def add(
        self,
        rows: Chunk,
        weights: Doubles,
        sums: Callable[[Chunk, Doubles, list[int], Doubles], PartSums] = sums_of_parts,
    ) -> None:
        """Include rows (r, d), as they came, with weights (r,).

        ``sums(rows, weights, edges, frame)`` returns the sums of parts of the rows about their
        origin, of which part i goes from edge i to the next.
        """
        if not len(weights):
            return
        full, last = self._full_with(len(weights)), self._parts[-1].rows if self._parts else 0.0
        joins = 0.0 < last < full
        first = ceil(full - last) if joins else full
        edges = [0, *range(first, len(weights), full), len(weights)]
        totals, squares, products = sums(rows, weights, edges, self.frame)
        heavy = np.add.reduceat(weights, edges[:-1])
        means = totals / np.maximum(heavy, TINY)[:, None]
        self.unit = self.unit or _power_of_two(float(squares.sum() / max(heavy.sum(), TINY)))
        frame = self.frame / self.unit
        about = products / self.unit
        about -= totals[:, :, None] * (means @ frame.T)[:, None, :]
        added = map(
            Segment,
            np.diff(edges).astype(float).tolist(),
            heavy.tolist(),
            rows.origin + means,
            (squares - totals * means).clip(min=0.0),
            about.astype(self.dtype, copy=False),
        )
        if joins:
            self._parts.append(self._parts.pop().plus(next(added), frame))
        self._parts += added
        self._shorten()

    def _full_with(self, more: int) -> int:
        """Return how many rows fill a segment when so many have come: 16 times a power of two."""
        total = more + sum(part.rows for part in self._parts)
        doublings = int(max(2.0 * total / (self.most * LEAST_ROWS), 1.0)).bit_length() - 1
        return LEAST_ROWS * 2**doublings

    def _shorten(self) -> None:
        """Add up neighbours until there are few enough, and none has too few rows."""
        while len(self._parts) > 1:
            short = np.flatnonzero(self.rows < min(LEAST_ROWS, self.rows.max()))
            if not len(short):
                break
            self._add_up(max(int(short[0]) - 1, 0))
        while len(self._parts) > self.most:
            rows = self.rows
            self._add_up(int((rows[:-1] + rows[1:]).argmin()))

    def _add_up(self, first: int) -> None:
        """Put one segment and the next one together."""
        pair = self._parts[first].plus(self._parts[first + 1], self.frame / self.unit)
        self._parts[first : first + 2] = [pair]

    def turn(
        self, frame: Doubles, times: Callable[[Doubles], Doubles], *, center: bool = True
    ) -> None:
        """Take another frame (K, d), orthonormal.

        ``times(columns)`` returns the scatter of all rows, about their mean or about zero, times
        columns (d, m).
        """
        if self._parts:
            along, weights = self.frame @ frame.T, self.weights
            turned = [part.product.astype(np.float64) @ along for part in self._parts]
            apart = self.means - float(center) * (weights / weights.sum()) @ self.means
            between = (apart * weights[:, None]).T @ (apart @ frame.T)
            within = (times(frame.T) - between) / self.unit
            missing = (within - np.sum(turned, axis=0)) / weights.sum()
            self._parts = [
                part._replace(product=(product + part.weight * missing).astype(self.dtype))
                for part, product in zip(self._parts, turned, strict=True)
            ]
        self.frame = np.ascontiguousarray(frame)

    def fill(self, columns: NDArray[np.bool_], mean: Doubles, variances: Doubles) -> None:
        """Let all rows have means and variances (d,) in some columns (d,)."""
        self._parts = [
            part._replace(
                mean=np.where(columns, mean, part.mean),
                squares=np.where(columns, part.weight * variances, part.squares),
            )
            for part in self._parts
        ]

    def reweigh(self, factor: float) -> None:
        """Let all weights be so many times as large."""
        rows = self.rows.tolist()
        self.fade(factor)
        self._parts = [
            part._replace(rows=count) for part, count in zip(self._parts, rows, strict=True)
        ]

    def joint_frame(self, other: Self) -> Doubles:
        """Return a frame (K, d) that spans those of both."""
        if self.is_whole:
            return self.frame
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
