"""Completing the rows of a stream, by EM.

Conditional means take the place of the gaps of a row, and their conditional covariance is added to
the second moment: that is the EM algorithm for missing values.

- The first rows with gaps are kept, up to a budget, and completed again and again until the model
  settles: batch EM (Dempster, Laird and Rubin 1977).
- Later rows are completed by the model before them. Sums so far then count 1 - (1/q - 1) / n for
  each new row, with q the observed share of n rows, which forgets what a poorer model has
  completed: online EM with steps 1 / (q n) (Cappe and Moulines 2009).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import ceil
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from onepass.gaps.counts import MissingCounts
from onepass.gaps.factor_model import FactorModel, squared_residuals
from onepass.moments.chunk import DenseChunk, Scale, chunk_about
from onepass.persistence.fields import MOST_ENTRY, Array, Field, Part, Size, State
from onepass.precision import TINY, Doubles

# Numbers in rows with gaps that are kept for batch EM, 8 MB. Beyond, online EM takes over, at the
# cost of a few per cent in accuracy.
KEPT_NUMBERS = 2**20
# Steps of EM: an entry that is observed with probability q is learned at a rate of about q.
LEAST_STEPS, STEPS_PER_SHARE, LEAST_SHARE = 12, 8.0, 0.2
# Change of the model between two steps at which EM has converged, times 1 / sqrt(n).
CONVERGED = 0.02
MOST_KEPT_ROWS = 2**24  # in a model file


@dataclass(frozen=True)
class Filled:
    """What a model filled into the gaps of rows (r, d)."""

    holes: NDArray[np.intp]  # which rows had gaps, (m,)
    given: NDArray[np.floating]  # these as they came, with NaN, (m, d)
    variances: NDArray[np.floating]  # conditional ones, zero where entries were observed, (m, d)
    model: FactorModel

    @classmethod
    def by(
        cls, model: FactorModel, values: NDArray[np.floating]
    ) -> tuple[NDArray[np.floating], Filled]:
        """Return rows (r, d) completed by a model, and what was filled in."""
        holes = np.flatnonzero(np.isnan(values).any(axis=1))
        given = np.ascontiguousarray(values[holes])
        done = model.complete(given, variances=True)
        complete = values.copy()
        complete[holes] = done.rows
        return complete, cls(holes, given, done.variances, model)

    def __getitem__(self, part: slice) -> Filled:
        """Return what was filled into some of the rows."""
        start, stop, _ = part.indices(int(self.holes.max(initial=0)) + 1)
        inside = (self.holes >= start) & (self.holes < stop)
        holes = self.holes[inside] - start
        return Filled(holes, self.given[inside], self.variances[inside], self.model)


class CompletedChunk(DenseChunk):
    """Rows with conditional means in their gaps, whose squares include the covariances of these."""

    @cached_property
    def energies(self) -> Doubles:
        energies = super().energies.copy()
        energies[self.filled.holes] += self._unseen
        return energies

    def column_squares(self, weights: Doubles) -> Doubles:
        spread = weights[self.filled.holes] @ self._variances
        return super().column_squares(weights) + spread

    def add_outer(self, weights: Doubles, matrix: Doubles) -> Doubles:
        total = super().add_outer(weights, matrix)
        self.add_covariances(weights, matrix)
        return total

    def add_covariances(self, weights: Doubles, matrix: Doubles) -> None:
        share = weights[self.filled.holes]
        counted = share > 0.0
        if not counted.any():
            return
        sums = matrix.T if self.scale is None else np.zeros((self.d, self.d))
        given = self.filled.given[counted]
        self.filled.model.complete(given, weights=share[counted], covariance=sums)
        if self.scale is not None:
            matrix += sums.T / self.scale / self.scale[:, None]

    def observed_errors(self, errors: Doubles, point: Doubles, directions: Doubles) -> Doubles:
        holes, errors = self.filled.holes, errors.copy()
        rows = self._centred(holes) - point
        errors[holes] = squared_residuals(rows, self.filled.given, directions)
        return errors

    def measure(self, point: Doubles, directions: Doubles | None = None) -> tuple[Doubles, Doubles]:
        distances, errors = super().measure(point, directions)
        distances[self.filled.holes] += self._unseen
        if directions is None:
            return distances, distances
        return distances, self.observed_errors(errors, point, directions)

    @cached_property
    def _variances(self) -> NDArray[np.floating]:
        """The conditional variances of the rows with gaps, in units of the scale, (m, d)."""
        variances = self.filled.variances
        return variances if self.scale is None else variances / self.scale**2

    @cached_property
    def _unseen(self) -> Doubles:
        """The expected energies of what is not known of the rows with gaps, (m,)."""
        return self._variances.sum(axis=1, dtype=np.float64)


class Completion(State):
    """The model that completes rows of a stream, after `rows` without gaps, for k components.

    Attributes
    ----------
    counts : MissingCounts
    model : FactorModel
        Without loadings while rows are kept for batch EM for the first time.
    late : ndarray of shape (d,)
        Which columns no row had an entry in that was learned from.
    kept, kept_weights : ndarray of shape (m, d) and (m,)
        Rows that the model is going to be found from.
    """

    def __init__(self, d: int, k: int, dtype: np.dtype, rows: float = 0.0) -> None:
        self.d, self.k = d, k
        self.counts, self.model = MissingCounts(d, rows), FactorModel.empty(d)
        self.late: NDArray[np.bool_] = np.zeros(d, dtype=bool)
        self.kept: NDArray[np.floating] = np.zeros((0, d), dtype)
        self.kept_weights: Doubles = np.zeros(0)

    def fields(self) -> dict[str, Field]:
        d, kept = self.d, Size("kept rows", MOST_KEPT_ROWS)
        dtype = (self.kept.dtype.name,)
        return {
            "counts": Part(),
            "model": Part(),
            "late": Array((d,), ("bool",), 0, 1),
            "kept": Array((kept, d), dtype, -MOST_ENTRY, MOST_ENTRY, gaps=True),
            "kept_weights": Array((kept,), least=1e-300),
        }

    @property
    def has_started(self) -> bool:
        """Whether the model has been found."""
        return self.model.loadings.shape[1] > 0

    def keeps(self, values: Any) -> bool:
        """Return whether rows (r, d) are kept for batch EM: at first, and from late entries on."""
        if not self.has_started or len(self.kept):
            return True
        return bool(self.late.any() and not np.isnan(values[:, self.late]).all())

    def keep(self, values: NDArray[np.floating], weights: Doubles) -> bool:
        """Keep rows (r, d) with gaps; return whether there are enough to find the model."""
        self.kept = np.vstack([self.kept, values])
        self.kept_weights = np.concatenate([self.kept_weights, weights])
        return self.kept.size > KEPT_NUMBERS

    def model_of(self, moment: Any, scale: Scale) -> FactorModel:
        """Return the model of a second moment, in units of a scale (d,) if there is one."""
        return FactorModel.of(moment, self.counts, self.k, scale)

    def start(self, base: Any, scale_of: Callable[[Any], Scale]) -> None:
        """Find the model by batch EM on the rows kept, and on those with second moment `base`.

        EM begins with independent columns. They are divided by ``scale_of(moment)``.
        """
        counts, model = self.counts, FactorModel.of_columns(self.kept, center=base.center)
        elsewhere = np.isnan(self.kept).all(axis=0)
        if base.weight > 0.0 and elsewhere.any():
            mean = np.where(elsewhere, base.mean, model.mean)
            noise = np.where(elsewhere, base.column_sums() / base.weight, model.noise)
            model = FactorModel(mean, model.loadings, noise)
        is_near = not base.center or (base.is_additive and base.weight > 0.0)
        origin = base.origin if is_near else model.mean.astype(self.kept.dtype).astype(np.float64)
        share = float(counts.observed.min()) / max(counts.rows, 1.0)  # where most are missing
        steps = LEAST_STEPS + ceil(STEPS_PER_SHARE / max(LEAST_SHARE, share))
        least, change = CONVERGED / np.sqrt(max(counts.rows, 1.0)), np.inf
        while change > least and steps:
            moment, steps = base.copy(), steps - 1
            self.fill_late(moment, model)
            self._add_kept(moment, model, origin, steps)
            before, model = model, self.model_of(moment, scale_of(moment))
            change = _change(before.loadings, model.loadings)
        self.model = model

    def _add_kept(self, moment: Any, model: FactorModel, origin: Doubles, seed: int) -> None:
        """Add the rows kept, completed by a model, and their covariances to a second moment."""
        if not moment.is_additive:
            drawn = model.drawn(self.kept, seed)
            moment.add(chunk_about(drawn, self.kept_weights, origin), self.kept_weights)
            return
        covariance = np.zeros((self.d, self.d))
        done = model.complete(self.kept, weights=self.kept_weights, covariance=covariance)
        moment.add(chunk_about(done.rows, self.kept_weights, origin), self.kept_weights)
        moment.squares += np.tril(covariance.T)

    def fill_late(self, moment: Any, model: FactorModel) -> None:
        """Write what a model expects of late columns into a second moment of rows without them.

        They are linear in the others plus noise: the E-step of EM for all these rows at once.
        """
        late, others = self.late, ~self.late
        if not late.any() or not moment.weight > 0.0:
            return
        W, scaled = model.loadings, model.scaled[others]
        within = np.linalg.inv(np.eye(W.shape[1]) + scaled.T @ W[others])
        slopes = W[late] @ within @ scaled.T
        noise = W[late] @ within @ W[late].T + np.diag(model.noise[late])
        moment.move(model.mean)
        total, squares = moment.total.copy(), np.tril(moment.squares)
        squares += np.tril(squares, -1).T
        known = squares[np.ix_(others, others)]
        total[late] = slopes @ total[others]
        squares[np.ix_(late, others)] = slopes @ known
        squares[np.ix_(others, late)] = known @ slopes.T
        squares[np.ix_(late, late)] = slopes @ known @ slopes.T + moment.weight * noise
        moment.total, moment.squares = total, np.asfortranarray(np.tril(squares))

    def merge(self, other: Self) -> None:
        """Include what is known of the gaps of another stream; neither keeps rows."""
        if not self.has_started:
            self.model = other.model
        self.counts.merge(other.counts)
        self.late = self.late & other.late


def _change(before: Doubles, after: Doubles) -> float:
    """Return |A A' - B B'| / |B B'| in the Frobenius norm, for loadings A and B of (d, r)."""
    old, new, across = (
        float(np.sum((left.T @ right) ** 2))
        for left, right in ((before, before), (after, after), (before, after))
    )
    return float(np.sqrt(max(old + new - 2.0 * across, 0.0) / max(new, TINY)))
