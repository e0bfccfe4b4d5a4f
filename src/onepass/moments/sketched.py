"""A sketch of the second moment of the rows."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from onepass.kernels.orthonormal import orthonormal
from onepass.moments.mean import Mean
from onepass.moments.moment import Shifted, WholeMoment
from onepass.moments.nystroem import nystroem
from onepass.moments.products import in_range, leading_of_rows, mean_step, multiply
from onepass.moments.sample import Sample
from onepass.subspace import Subspace, add_up

NEGLIGIBLE = 1e-9  # part of directions outside of a sketch that is rounding
FEW_ROWS = 256  # up to so many first rows, their Gram matrix is the quickest way to a sketch
FRESH = 4  # new directions that every update of a sketch looks into


class SketchedMoment(WholeMoment):
    """A few directions of the sum of x x' of centred rows, and the sums of squares along them.

    Every update takes one step of a block power iteration on everything so far, from the
    directions that there are and a few fresh ones, and keeps the Nystroem approximation: the exact
    product with these directions. What is not seen is judged by a sample of the rows.

    Parameters
    ----------
    d : int
        The dimension of the rows.
    max_rank : int
        The number of directions.
    center : bool
        Whether it is about the mean or about zero.
    dtype : dtype
        Of the rows.
    sample_rows : int
        How many rows may be kept.
    """

    def __init__(
        self, d: int, max_rank: int, center: bool, dtype: np.dtype, sample_rows: int
    ) -> None:
        super().__init__(center)
        self.max_rank = max_rank
        self._sketch = Subspace.empty(d, dtype=dtype)
        self._sample = Sample(sample_rows)
        self._updates = 0

    def copy(self) -> SketchedMoment:
        twin = SketchedMoment.__new__(SketchedMoment)
        twin.__dict__.update(self.__dict__)  # no array is changed in place
        twin._sample = self._sample.copy()
        return twin

    def leading(
        self, k: int, start: NDArray[np.floating] | None = None
    ) -> tuple[NDArray[np.floating], NDArray[np.float64]]:
        return self._sketch.basis[:k], self._sketch.weights[:k]

    def fade(self, factor: float) -> None:
        self._energy *= factor
        self._sketch = self._sketch.scaled(factor)
        self._sample.fade(factor)

    def merge(
        self,
        other: SketchedMoment,
        between: NDArray[np.float64],
        held: NDArray[np.floating] | None = None,
    ) -> None:
        self._updates += other._updates
        self._energy += other._energy
        summands = [self._sketch, other._sketch]
        length = float(np.linalg.norm(between))
        if self.center and length > 0.0:
            direction = (between / length)[None].astype(self._sketch.basis.dtype)
            summands.append(Subspace(direction, np.array([length**2])))
            self._energy += length**2
        total = add_up(summands, self.max_rank)
        self._sketch = Subspace(orthonormal(total.basis), total.weights)
        self._sample.merge(other._sample)

    def lighten(self) -> None:
        """Keep no more rows than directions from now on, so that it is quick to send."""
        self._sample.limit(self.max_rank)

    def compress(self, directions: NDArray[np.floating], mean: Mean | None) -> NDArray[np.float64]:
        basis = self._sketch.basis.astype(np.float64)
        inside = directions @ basis.T
        seen = (inside * self._sketch.weights) @ inside.T
        rows, weights = self._sample.rows, self._sample.weights
        if rows is None or mean is None:
            return seen
        if self.center and not issparse(rows):
            rows = rows - mean.vector
        whole = np.asarray(rows @ directions.T, dtype=np.float64)
        part = np.asarray(rows @ basis.T, dtype=np.float64)
        if self.center and issparse(rows):
            whole = whole - directions @ mean.vector
            part = part - basis @ mean.vector
        part = part @ inside.T
        unseen = mean.weight / weights.sum() * float(weights @ (whole**2 - part**2).sum(axis=1))
        # A sample is too small for the whole matrix of what is unseen: one level for all of it.
        outside = np.eye(len(directions)) - inside @ inside.T
        share = float(np.trace(outside))
        return seen + max(unseen, 0.0) / share * outside if share > NEGLIGIBLE else seen

    def update(
        self,
        rows: Any,
        weights: NDArray[np.float64],
        before: Mean,
        after: Mean,
        held: NDArray[np.floating] | None = None,
        shifted: Shifted | None = None,
    ) -> None:
        self._updates += 1
        self._sample.add(rows, weights)
        step = np.zeros(0)
        if self.center:
            step = mean_step(before, after)
            if shifted is not None:
                rows = shifted.rows.astype(rows.dtype, copy=False)
            elif not issparse(rows):  # products with a far mean would lose the digits that matter
                rows = rows - (weights @ rows / weights.sum()).astype(rows.dtype)
        self._power_step(rows, weights, step)

    def _power_step(self, rows: Any, weights: NDArray, step: NDArray[np.float64]) -> None:
        """Replace the sketch by one step of the power iteration on itself plus the rows."""
        dtype, sketch = self._sketch.basis.dtype, self._sketch
        rows = in_range(rows)
        if not sketch.rank and not step.size and rows.shape[0] <= FEW_ROWS:
            new = leading_of_rows(rows, weights, self.center, self.max_rank)
            self._sketch = Subspace(new.basis.astype(dtype, copy=False), new.weights)
            return
        directions, held = self._directions(rows, weights)
        for _ in range(1 if sketch.rank else 3):
            product, core = multiply(directions, rows, weights, self.center, step)
            product += held[:, None].astype(product.dtype) * directions
            core.flat[:: len(core) + 1] += held
            new = nystroem(product, core, self.max_rank)
            if not sketch.rank:
                directions, held = new.basis, np.zeros(new.rank)
        self._sketch = Subspace(new.basis.astype(dtype, copy=False), new.weights)

    def _directions(self, rows: Any, weights: NDArray) -> tuple[NDArray, NDArray[np.float64]]:
        """Return the sketch's directions and fresh ones, mixed from the rows, and their weights."""
        old = self._sketch.basis.astype(rows.dtype, copy=False)
        count = FRESH if len(old) else self.max_rank + FRESH
        count = min(count, rows.shape[0], old.shape[1] - len(old))
        mixing = np.sqrt(weights) * _signs(count, rows.shape[0], self._updates)
        if self.center:
            mixing -= mixing.sum(axis=1, keepdims=True) * weights / weights.sum()
        fresh = np.asarray(mixing.astype(old.dtype) @ rows)
        size = np.abs(fresh).max(axis=1, keepdims=True, initial=0.0)
        fresh = np.divide(fresh, size, out=np.zeros_like(fresh), where=size > 0)
        for _ in range(2):
            fresh = fresh - (fresh @ old.T) @ old
        fresh = orthonormal(fresh)
        held = np.concatenate([self._sketch.weights, np.zeros(len(fresh))])
        return np.vstack([old, fresh]), held


@cache
def _all_signs() -> NDArray[np.float64]:
    """Return many random signs, always the same."""
    return np.random.default_rng(0).choice([-1.0, 1.0], 2**16)


def _signs(rows: int, columns: int, which: int) -> NDArray[np.float64]:
    """Return a matrix of signs, another one for every `which`."""
    start = np.arange(rows)[:, None] * 997 + which * 7919
    return _all_signs()[(start + np.arange(columns)) % 2**16]
