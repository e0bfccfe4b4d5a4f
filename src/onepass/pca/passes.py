"""Further passes over rows that can be read again, where no exact second moment is kept.

The rows are a matrix A = sum of w (x - mean) (x - mean)' of which only products with a few
directions are formed, one in each pass over the rows: block Krylov iteration on the rows
themselves. The first pass finds the mean and the scale, and directions to start from. The last one
measures rows along the directions that were found.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np

from onepass.learner import ChunkTaker
from onepass.moments.chunk import Scale, chunk_about, rows_in
from onepass.moments.krylov import Eigenpairs, Krylov, with_random
from onepass.moments.moment import ColumnSums
from onepass.moments.row_errors import ErrorHistogram, LongRows
from onepass.moments.segments import Segments
from onepass.moments.sketch import Sketch
from onepass.pca.kept import (
    BESIDE,
    GROUP,
    KEPT_BYTES,
    PART_BYTES,
    SINGLE_RANGE,
    RowMatrix,
    add_products,
    energy_of,
    far_mean,
    origin_for,
    parts_of,
    slices,
)
from onepass.pca.reading import count_of
from onepass.persistence.fields import Array, Field, Number, Part, Size, directions, point, whole
from onepass.precision import TINY, Doubles, Rows
from onepass.stream import Stream

if TYPE_CHECKING:
    from onepass.pca.learner import PCALearner

MOST_PASSES = 8  # over rows in memory
ENOUGH = 1e-4  # of the captured variance: what further passes would add is below it when they end
SPARSE_ROWS = 8192  # of a chunk of sparse rows
MOST_LEVERAGE = 0.99  # of a row: what it has to itself of a direction


def pairs_for(k: int) -> int:
    """Return how many directions are kept at least, with sums along them, where k are wanted."""
    return 3 * k + 24


class FurtherPass(ChunkTaker):
    """One more pass over rows that were learned from before: it multiplies them, or measures them.

    Parameters
    ----------
    stream : Stream
        What all rows have in common.

    Attributes
    ----------
    number : int
        Which pass over the rows it is; the first one has found their mean and scale.
    mean, origin : ndarray of shape (d,)
        Of all rows, and a point near them where the mean is far from zero.
    scale : ndarray of shape (d,) or None
        What columns are divided by.
    unit : float
        The sum of all squares, in units of which A is.
    is_double : bool
        Whether float32 rows are multiplied in double precision.
    krylov : Krylov
        The iteration before this pass, which multiplies its block.
    captured, growth : float
        By the leading directions, and how much that grew in the pass before.
    product, along : ndarray of shape (m, d) and (m,)
        Sums over the rows of this pass: with the block, and of the rows along it.
    measures : bool
        Whether it measures rows.
    directions, energies : ndarray of shape (k, d) and (k,)
        That rows are measured along, and the sums of squares along them.
    segments, errors, lengths
        What measuring finds, as in the learner.
    """

    def __init__(self, stream: Stream) -> None:
        super().__init__(stream)
        d = stream.d
        self.number = 1
        self.mean = self.origin = np.zeros(d)
        self.scale: Scale = None
        self.unit, self.is_double, self.measures = 1.0, False, False
        self.krylov = Krylov(np.zeros((0, d)))
        self.captured = self.growth = 0.0
        self.product, self.along = np.zeros((0, d)), np.zeros(0)
        self.directions, self.energies = np.zeros((0, d)), np.zeros(0)
        self.segments = Segments(d, stream.dtype)
        self.errors, self.lengths = ErrorHistogram(), LongRows()

    def fields(self) -> dict[str, Field]:
        d, block, wanted = self.stream.d, Size("a product", self.stream.d), Size("measured", 2**31)
        return {
            **super().fields(),
            "number": whole(1),
            "mean": point(d),
            "origin": point(d),
            "scale": Array((d,), least=1e-150, optional=True),
            "unit": Number(float, TINY),
            "is_double": Number(bool, 0, 1),
            "krylov": Part(),
            "captured": Number(),
            "growth": Number(float, -1.0),
            "product": Array((block, d)),
            "along": Array((block,)),
            "measures": Number(bool, 0, 1),
            "directions": directions(wanted, d),
            "energies": Array((wanted,), least=0.0),
            "segments": Part(),
            "errors": Part(),
            "lengths": Part(),
        }

    def following(self) -> Self:
        """Return the next pass, with nothing to do so far."""
        made = type(self)(self.stream)
        kept = ("mean", "origin", "scale", "unit", "is_double", "captured", "growth")
        vars(made).update({name: getattr(self, name) for name in kept})
        made.number = self.number + 1
        return made

    def multiplying(self, krylov: Krylov) -> Self:
        """Return the next pass, which multiplies the block of an iteration."""
        made = self.following()
        made.krylov = krylov
        # In the order in which products come.
        made.product = np.zeros(
            krylov.block.shape[::-1], order="F" if self.stream.is_sparse else "C"
        )
        made.along = np.zeros(krylov.block.shape[1])
        return made

    def fresh(self) -> Self:
        """Return this pass without any row, for a part of them that is read elsewhere."""
        made = self.following()
        made.number, made.measures = self.number, self.measures
        made.directions, made.energies = self.directions, self.energies
        made.segments.frame, made.krylov.block = self.segments.frame, self.krylov.block
        made.product, made.along = np.zeros_like(self.product), np.zeros_like(self.along)
        return made

    def joined(self, other: Self) -> Self:
        """Return this pass with the rows that were read elsewhere; no row waits in either."""
        both = self.copy()
        both.product, both.along = both.product + other.product, both.along + other.along
        both.segments.merge(other.segments)
        both.errors.merge(other.errors)
        both.lengths.merge(other.lengths)
        both.rows_learned += other.rows_learned
        return both

    def chunk_rows(self) -> int:
        if self.stream.is_sparse:
            return SPARSE_ROWS
        return max(16, GROUP * PART_BYTES // (self.stream.d * self.stream.dtype.itemsize))

    def learn_with_gaps(self, values: Rows, weights: Doubles) -> None:
        raise ValueError(f"pass {self.number} over X finds missing entries, and the first did not")

    def learn(self, values: Rows, weights: Doubles) -> None:
        if self.measures:
            self._measure(values, weights)
            return
        parts = parts_of(values, weights, self.origin, self.is_double)
        block = self.krylov.block if self.scale is None else self.krylov.block / self.scale[:, None]
        self.product, self.along = self.product.copy(order="K"), self.along.copy()
        add_products(self.product, self.along, parts, block, self.mean - self.origin)

    def _measure(self, values: Rows, weights: Doubles) -> None:
        """Measure how far rows are from the mean and the directions, and add to the segments.

        The directions have seen each row. Without it, its error would be larger by one over the
        square of one less its leverage (PRESS, Allen 1974), the share that it has of the sums along
        them.
        """
        rows = chunk_about(values, weights, self.origin)
        self.segments.add(rows, weights)
        scaled = rows if self.scale is None else rows.scaled(self.scale)
        mean = scaled.at(self.mean)
        distances, errors, along = scaled.measure_along(mean, self.directions)
        self.lengths.add(distances, weights)
        if len(self.directions):
            leverage = weights * (along**2 @ (1.0 / self.energies.clip(min=TINY)))
            self.errors.add(errors / (1.0 - leverage.clip(max=MOST_LEVERAGE)) ** 2, weights)

    def iterated(self, k: int) -> bool:
        """Take a step of the iteration with the product, after all rows.

        Whether further passes promise too little is returned. Growth falls by about the same factor
        in each pass, so that what is left is a geometric series.
        """
        product = self.product - np.outer(self.along, self.mean - self.origin)
        product = product if self.scale is None else product / self.scale
        self.krylov.add(np.ascontiguousarray(product.T) / self.unit)
        before, slower = self.captured, self.growth
        self.captured = self.krylov.captured(k)
        self.growth = self.captured - before
        left = self.growth**2 / max(slower - self.growth, TINY)
        values = self.krylov.values[: pairs_for(k)].clip(min=0.0)
        are_enough = len(values) == min(pairs_for(k), self.stream.d)
        self.is_double |= float(values[:k].min()) < SINGLE_RANGE * float(values[0])
        return are_enough and left <= ENOUGH * self.captured

    def pairs(self, k: int) -> Eigenpairs:
        """Return Ritz pairs, orthonormal directions (m, d) and the sums (m,) along them."""
        values = self.krylov.values[: pairs_for(k)].clip(min=0.0)
        return self.krylov.directions(len(values)), values * self.unit


def next_pass(
    learner: PCALearner, done: FurtherPass | None, passes: int | None
) -> FurtherPass | None:
    """Take over what a pass has found, None for the first one; return the next, if there is one."""
    most = MOST_PASSES if passes is None else passes
    if done is None:
        return _second_of_sketch(learner) if most > 1 else None
    done.finish()
    if done.rows_learned != learner.rows_learned:
        raise ValueError(
            f"pass {done.number} over X has {done.rows_learned:,} rows, and the first one had "
            f"{learner.rows_learned:,}: it has to give the same rows each time"
        )
    if done.measures:
        learner.segments, learner.errors = done.segments, done.errors
        learner.lengths = done.lengths
        return None
    k = count_of(learner)
    is_enough = done.iterated(k) and passes is None
    if done.number < most and (
        is_enough or done.number + 1 == most or not done.krylov.block.shape[1]
    ):
        return _last(learner, done, *done.pairs(k))
    if passes is not None:  # a call that reads rows in memory is not seen before its end
        _take_pairs(learner, *done.pairs(k))
    return done.multiplying(done.krylov) if done.number < most else None


def _first_of(learner: PCALearner, sums: ColumnSums, is_double: bool) -> FurtherPass | None:
    """Return the first pass, from the sums that it has found; None if rows do not vary."""
    made = FurtherPass(learner.stream)
    made.scale = learner.scale_of(sums)
    made.mean, made.origin = sums.mean, far_mean(sums)
    made.unit, made.is_double = energy_of(sums, made.scale), is_double
    return made if TINY < made.unit < np.inf else None


def second_of_rows(learner: PCALearner, values: Rows, weights: Doubles) -> FurtherPass | None:
    """Find the mean of rows in memory, and what to start from; return the second pass.

    Where there are fewer rows than columns, their leading directions are found at once, to
    rounding, if that takes little memory or time. Nothing is done where a matrix or the rows can be
    kept, nor where rows do not vary.
    """
    if learner.is_exact or not learner.kept or not isinstance(learner.n_components, int):
        return None
    has_room = 8 * values.shape[0] ** 2 <= KEPT_BYTES  # for a Gram matrix
    if has_room and learner.kept[0].fits(values):
        return None
    k, (n, d), sketch = count_of(learner), values.shape, learner.empty_moment()
    assert isinstance(sketch, Sketch)
    # More directions make products with sparse rows slower, but hardly those with dense ones.
    width = k + BESIDE if learner.stream.is_sparse else min(pairs_for(k), d)
    rng = np.random.default_rng(0)
    mixed, shares = np.zeros((width, d)), np.zeros(width)
    for part in slices(values):
        share = weights[part]
        some = rows_in(values, part)
        rows = chunk_about(some, share, origin_for(sketch, some, share))
        sketch.add_columns(rows, share)
        mixing = rng.normal(size=(len(share), width)).T * np.sqrt(share)
        mixed += rows.combine(mixing) + np.outer(mixing.sum(axis=1), rows.origin)
        shares += mixing.sum(axis=1)
    first = _first_of(learner, sketch, is_double=False)
    if first is None:
        return None
    learner.kept, learner.settled = [], [sketch]
    learner.rows_learned, learner.rows = n, float(n)
    if n < d and (has_room or not learner.stream.is_sparse):
        few = RowMatrix([(values, weights)], sketch, first.scale)
        more = pairs_for(k) - k
        found = few.leading(k, None, more) if has_room else few.iterated(k, None, more)
        if found is not None:
            return _last(learner, first, *found)
    mixed -= np.outer(shares, sketch.mean)
    start = mixed if first.scale is None else mixed / first.scale
    return first.multiplying(Krylov(start[:d]))


def _second_of_sketch(learner: PCALearner) -> FurtherPass | None:
    """Return the second pass, which starts from the sketch of the first; None if there is none."""
    if learner.is_exact or learner.bounded or learner.completions or learner.stream.half_life:
        return None
    if learner.counted:  # the passes are done
        return None
    learner.finish()
    if learner.kept or learner.completions:
        return None
    sketch = learner.settled[0]
    assert isinstance(sketch, Sketch)
    first = _first_of(learner, sketch, learner.is_double)
    if first is None:
        return None
    learner.counted = k = count_of(learner)
    width = min(pairs_for(k), sketch.d)
    return first.multiplying(Krylov(with_random(sketch.leading(width)[0], width, sketch.d)))


def _last(
    learner: PCALearner, done: FurtherPass, directions: Doubles, values: Doubles
) -> FurtherPass:
    """Take over what passes have found, and return the last one, which measures rows along it."""
    _take_pairs(learner, directions, values)
    made, k = done.following(), learner.evaluated
    made.measures, made.segments.frame = True, learner.segments.frame
    made.directions, made.energies = directions[:k], values[:k]
    return made


def _take_pairs(learner: PCALearner, directions: Doubles, values: Doubles) -> None:
    """Let the sketch have directions (m, d) and the sums of squares along them (m,)."""
    k, sketch = count_of(learner), learner.settled[0]
    assert isinstance(sketch, Sketch)
    energy = energy_of(sketch, learner.scale_of(sketch))
    sketch.become(directions, values, energy, least=k)
    learner.take_directions(directions, values)
