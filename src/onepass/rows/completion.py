"""Rows with gaps, completed by a low-rank Gaussian model.

The model of a row is

    x = m + W z + e,   z ~ N(0, I_r),   e ~ N(0, diag(psi)),

with m, W and psi from the second moment so far (probabilistic PCA, with a noise of its own for each
column). Given the observed entries of a row, the missing ones are normal: their conditional means
take the place of the gaps, and their conditional covariance is added to the second moment. That is
the EM algorithm for missing values.

- The first rows with gaps are kept, up to a budget, and completed again and again until the model
  settles: batch EM (Dempster, Laird and Rubin 1977).
- Later rows are completed by the model before them. Sums so far then count 1 - (1/q - 1) / n for
  each new row, with q the observed share of n rows, which forgets what a poorer model has
  completed: online EM with steps 1 / (q n) (Cappe and Moulines 2009).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import ceil
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from onepass import _core
from onepass.persistence.fields import (
    MOST_ENTRY,
    Array,
    Field,
    Number,
    Size,
    State,
    point,
    weight,
    whole,
)
from onepass.precision import TINY, Doubles
from onepass.rows.rows import TILE_BYTES, DenseRows, Rows, Scale, rows_about

# Numbers in rows with gaps that are kept for batch EM, 8 MB. Beyond, online EM takes over, at the
# cost of a few per cent in accuracy.
KEPT_NUMBERS = 2**20
RANK_FACTOR, RANK_MORE = 2, 8  # of the model: 2 k + 8 directions, twice what is asked for
ROWS_PER_DIRECTION = 8  # observed rows that a direction of the model is based on at least
# Of the mean variance of the directions left out: the least noise of a column. Without it a column
# that the directions explain by chance would count as observed without error.
LEAST_NOISE = 0.05
LEAST_REST = 1e-9  # of a variance: what is left out at least, so that nothing divides by rounding
# Steps of EM: an entry that is observed with probability q is learned at a rate of about q.
LEAST_STEPS, STEPS_PER_SHARE, LEAST_SHARE = 12, 8.0, 0.2
# Change of the model between two steps at which EM has converged, times 1 / sqrt(n).
CONVERGED = 0.02
TOGETHER_COLUMNS = 2048  # up to which it is known which columns were observed together
MOST_KEPT_ROWS = 2**24  # in a model file


def any_gap(values: Any) -> bool:
    """Return whether an entry of rows (r, d), dense or CSR, is missing."""
    entries = values.data if sparse.issparse(values) else values
    return bool(np.isnan(entries).any())


def rows_with_gaps(values: Any) -> NDArray[np.bool_]:
    """Return which rows (r,) of rows (r, d), dense or CSR, have missing entries."""
    if not sparse.issparse(values):
        return np.isnan(values).any(axis=1)
    found = np.zeros(values.shape[0], dtype=bool)
    missing = np.flatnonzero(np.isnan(values.data))
    found[np.searchsorted(values.indptr, missing, "right") - 1] = True
    return found


def tiles_with_gaps(values: Any) -> Iterator[tuple[NDArray[np.intp], NDArray[np.floating]]]:
    """Yield the rows with gaps of rows (r, d), dense or CSR, a few at a time.

    Yields which rows they are, and the rows as an array.
    """
    holes, length = (
        np.flatnonzero(rows_with_gaps(values)),
        max(1, TILE_BYTES // (8 * values.shape[1])),
    )
    for start in range(0, len(holes), length):
        rows = holes[start : start + length]
        yield rows, values[rows].toarray() if sparse.issparse(values) else values[rows]


def fill_gaps(
    values: Any,
    rows: NDArray[np.intp],
    given: NDArray[np.floating],
    filled: NDArray[np.floating],
) -> None:
    """Write the entries of filled rows (m, d) into the gaps of rows (r, d), dense or CSR.

    `rows` and `given` (m, d) are one of `tiles_with_gaps`: no row between them has gaps.
    """
    if not sparse.issparse(values):
        values[rows] = filled
        return
    stored = values.data[values.indptr[rows[0]] : values.indptr[rows[-1] + 1]]
    stored[np.isnan(stored)] = filled[np.isnan(given)]  # columns ascend in both


def squared_residuals(rows: Doubles, given: NDArray[np.floating], directions: Doubles) -> Doubles:
    """Return squared distances (r,) from the span of directions (k, d), over observed entries.

    The rows (r, d) are completed, and `given` (r, d) has NaN in their gaps.
    """
    rest = rows - (rows @ directions.T) @ directions
    rest[np.isnan(given)] = 0.0
    return np.einsum("ij,ij->i", rest, rest)


@dataclass(frozen=True)
class FactorModel:
    """The model that completes rows: mean (d,), loadings W (d, r) and noise psi (d,)."""

    mean: Doubles
    loadings: Doubles
    noise: Doubles

    @classmethod
    def of(cls, moment: Any, rank: int, scale: Scale) -> FactorModel:
        """Return the model of a second moment, in units of a scale (d,) if there is one."""
        d, total = moment.d, max(moment.weight, TINY)
        found, sums = moment.leading(min(rank, d), scale, prove=False)
        values = sums / total
        rest = moment.energy(scale) / total - float(values.sum())
        rest /= max(d - len(values), 1)
        rest = max(rest, LEAST_REST * float(values.max(initial=0.0)), TINY)
        units = np.ones(d) if scale is None else scale
        loadings = (found * np.sqrt(np.maximum(values - rest, 0.0))[:, None]).T * units[:, None]
        least = LEAST_NOISE * rest * units**2
        noise = _column_noise(moment.column_sums() / total, loadings, least)
        return cls(moment.mean.copy(), np.ascontiguousarray(loadings), noise)

    def with_variances(self, variances: Doubles) -> FactorModel:
        """Return the model with a noise for each column that makes its variance (d,) right."""
        noise = _column_noise(variances, self.loadings, LEAST_NOISE * self.noise)
        return replace(self, noise=noise)

    def shrunk(self, rows: float, scale: Scale) -> FactorModel:
        """Return the model that predicts new entries best, if it was found from so many rows.

        Directions found from few rows take up noise. In units of the noise, a true variance 1 + t
        shows up as 1 + t + g + g / t, with g = d / rows; the direction found has the squared cosine
        c = (1 - g / t^2) / (1 + g / t) with the true one, so that new rows vary by 1 + t c along
        it; and below t = sqrt(g) there is nothing to be found (Paul 2007). The noise is the mean of
        the variances left out after s directions, with rows - s degrees of freedom; directions
        count if they are above its edge (Kritchman and Nadler 2008). The variances of columns stay:
        what directions lose is noise.
        """
        d, r = self.loadings.shape
        units = np.ones(d) if scale is None else scale
        excess = ((self.loadings / units[:, None]) ** 2).sum(axis=0)
        order = np.argsort(-excess, kind="stable")
        rest = float(np.mean(self.noise / units**2))
        values, counts = excess[order] + rest, np.arange(1, r + 1)
        left = excess.sum() + d * rest - np.cumsum(values)
        degrees = np.maximum(1.0 - counts / max(rows, 1.0), TINY)
        noise = np.maximum(left / np.maximum(d - counts, 1), LEAST_REST * values) / degrees
        g = d / max(rows, 1.0)
        found = np.flatnonzero(values > noise * (1.0 + np.sqrt(g)) ** 2)
        share = np.zeros(r)  # of the excess of each direction that new rows have
        if len(found):
            order, sigma = order[: found[-1] + 1], noise[found[-1]]
            both = values[: len(order)] / sigma - 1.0 - g
            t = 0.5 * (both + np.sqrt(np.maximum(both**2 - 4.0 * g, 0.0)))
            cosine = np.maximum(1.0 - g / t**2, 0.0) / (1.0 + g / t)
            share[order] = np.minimum(sigma * t * cosine / excess[order], 1.0)
        kept = order if len(found) else order[:1]
        loadings = np.ascontiguousarray((self.loadings * np.sqrt(share))[:, kept])
        return FactorModel(self.mean, loadings, self.noise + self.loadings**2 @ (1.0 - share))

    def complete(self, rows: NDArray[np.floating], **options: Any) -> Any:
        """Return what the core's `complete` does with rows (n, d) that have gaps."""
        return _core.complete(
            np.ascontiguousarray(rows), self.mean, self.loadings, self.noise, **options
        )

    def filled(self, values: Any) -> Any:
        """Return rows (n, d), dense or CSR, with conditional means in their gaps."""
        filled = values.copy()
        for rows, given in tiles_with_gaps(values):
            fill_gaps(filled, rows, given, self.complete(given).rows)
        return filled

    def imputed(self, values: Any) -> tuple[Any, Any]:
        """Return the same, and the conditional standard deviations (n, d) of filled entries."""
        filled, is_sparse = values.copy(), sparse.issparse(values)
        deviations = values.copy() if is_sparse else np.zeros_like(values)
        for rows, given in tiles_with_gaps(values):
            done = self.complete(given, variances=True)
            fill_gaps(filled, rows, given, done.rows)
            fill_gaps(deviations, rows, given, np.sqrt(done.variances))
        if is_sparse:
            deviations.data[~np.isnan(values.data)] = 0.0
            deviations.eliminate_zeros()
        return filled, deviations

    def drawn(self, values: Any, seed: int) -> Any:
        """Return rows (n, d) with random draws of their conditional distribution in their gaps.

        The second moment of such rows is right on average, without a matrix of covariances.
        """
        rng, drawn = np.random.default_rng(seed), values.copy()
        scaled = self.loadings / self.noise[:, None]
        precision = np.eye(self.loadings.shape[1]) + self.loadings.T @ scaled
        for rows, given in tiles_with_gaps(values):
            fill_gaps(drawn, rows, given, self._draw(given, scaled, precision, rng))
        return drawn

    def _draw(
        self,
        rows: NDArray[np.floating],
        scaled: Doubles,
        precision: Doubles,
        rng: np.random.Generator,
    ) -> NDArray[np.floating]:
        """Return rows (n, d) with draws in their gaps, with W / psi and the precision.

        The precision is that of z given a row without gaps.
        """
        drawn = rows.copy()
        for row in drawn:
            holes = np.isnan(row)
            W = self.loadings[holes]
            G = precision - W.T @ scaled[holes]
            known = np.where(holes, 0.0, row - self.mean)
            root = np.linalg.inv(np.linalg.cholesky(G))
            z = np.linalg.solve(G, scaled.T @ known) + root.T @ rng.normal(size=len(G))
            noise = np.sqrt(self.noise[holes]) * rng.normal(size=holes.sum())
            row[holes] = self.mean[holes] + W @ z + noise
        return drawn


def _column_noise(variances: Doubles, loadings: Doubles, least: Doubles) -> Doubles:
    """Return what loadings (d, r) leave over of variances (d,) of columns, at least `least`."""
    explained = np.einsum("ij,ij->i", loadings, loadings)
    return np.maximum(variances - explained, np.maximum(least, TINY))


class Gaps(State):
    """What is known of the gaps of a stream, and the model that fills those of other rows.

    It does not change: `GapCounts.gaps` makes it, or a model file.

    Attributes
    ----------
    mean, loadings, noise : ndarray of shape (d,), (d, r) and (d,)
        Of the model.
    observed : ndarray of shape (d,)
        How many rows have an entry in each column.
    rows, incomplete, empty : float, int and int
        Rows with an entry, those of them with gaps, and those without any entry.
    apart : ndarray of shape (2,) or (0,)
        Two columns that were never observed in the same row, if there are such.
    """

    mean: Doubles
    loadings: Doubles
    noise: Doubles
    observed: Doubles
    rows: float
    incomplete: int
    empty: int
    apart: NDArray[np.int64]

    def __init__(self, d: int) -> None:
        self.d = d

    def fields(self) -> dict[str, Field]:
        return {
            **_model_fields(self.d),
            "observed": Array((self.d,), least=0.0),
            "rows": Number(),
            "incomplete": whole(),
            "empty": whole(),
            "apart": Array((Size("columns apart", 2),), ("int64",), 0, self.d - 1),
        }

    def take(self, content: dict[str, Any]) -> None:
        """Take over values, by the names of their fields."""
        if len(content["apart"]) == 1:
            raise ValueError("a pair of columns has one column")
        super().take(content)

    @property
    def model(self) -> FactorModel:
        """The model that fills gaps."""
        return FactorModel(self.mean, self.loadings, self.noise)

    @property
    def missing_share(self) -> Doubles:
        """The share of the rows that lack an entry in each column, shape (d,)."""
        return 1.0 - self.observed / max(self.rows, 1.0)

    @property
    def rows_together(self) -> float:
        """As for `GapCounts`; from shares of columns, which differs in the last digit."""
        return float(self.rows * np.mean(1.0 - self.missing_share) ** 2)


def _model_fields(d: int) -> dict[str, Field]:
    """Return the fields of a `FactorModel` of d columns."""
    return {
        "mean": point(d),
        "loadings": Array((d, Size("rank of the model", d)), least=-1e150, most=1e150),
        "noise": Array((d,), least=TINY),
    }


@dataclass(frozen=True)
class CompletedChunk:
    """Rows (r, d) with conditional means in their gaps, and what is known of the gaps.

    About a point they are `CompletedRows`.

    Attributes
    ----------
    values : ndarray of shape (r, d)
        Completed.
    holes : ndarray of shape (m,)
        Which rows had gaps.
    given : ndarray of shape (m, d)
        These rows as they came, with NaN.
    variances : ndarray of shape (m, d)
        Conditional variances of their entries, zero where these were observed.
    model : FactorModel
        That they were completed by.
    """

    values: NDArray[np.floating]
    holes: NDArray[np.intp]
    given: NDArray[np.floating]
    variances: NDArray[np.floating]
    model: FactorModel

    @classmethod
    def by(cls, model: FactorModel, values: NDArray[np.floating]) -> CompletedChunk:
        """Return rows (r, d) completed by a model."""
        holes = np.flatnonzero(np.isnan(values).any(axis=1))
        given = np.ascontiguousarray(values[holes])
        done = model.complete(given, variances=True)
        filled = values.copy()
        filled[holes] = done.rows
        return cls(filled, holes, given, done.variances, model)

    @property
    def shape(self) -> tuple[int, ...]:
        """The numbers of rows and columns."""
        return self.values.shape

    @property
    def dtype(self) -> np.dtype:
        """The type of the entries."""
        return self.values.dtype

    def rows_about(self, weights: Doubles, origin: Doubles, scale: Scale) -> Rows:
        """Return the rows about a point, with weights (r,)."""
        return CompletedRows(self, weights, origin, scale)

    def __getitem__(self, part: slice) -> CompletedChunk:
        start, stop, _ = part.indices(len(self.values))
        inside = (self.holes >= start) & (self.holes < stop)
        return CompletedChunk(
            self.values[part],
            self.holes[inside] - start,
            self.given[inside],
            self.variances[inside],
            self.model,
        )


class CompletedRows(DenseRows):
    """Completed rows about a point, whose squares include the conditional covariances."""

    is_completed = True

    def __init__(
        self, chunk: CompletedChunk, weights: Doubles, origin: Doubles, scale: Scale = None
    ) -> None:
        super().__init__(chunk.values, weights, origin, scale)
        self.chunk = chunk

    def __getitem__(self, part: slice) -> CompletedRows:
        return CompletedRows(self.chunk[part], self.weights[part], self.origin, self.scale)

    def scaled(self, scale: Doubles) -> CompletedRows:
        return CompletedRows(self.chunk, self.weights, self.origin, scale)

    def _units(self) -> Doubles:
        """Return what variances of columns are divided by, shape (d,)."""
        return np.ones(self.d) if self.scale is None else self.scale**2

    @property
    def energies(self) -> Doubles:
        """The expected squared norms of the rows, shape (r,)."""
        energies = super().energies.copy()
        energies[self.chunk.holes] += self._unseen()
        return energies

    def column_squares(self, weights: Doubles) -> Doubles:
        spread = weights[self.chunk.holes] @ self.chunk.variances
        return super().column_squares(weights) + spread / self._units()

    def sums_along(self, directions: Doubles, weights: Doubles) -> tuple[Doubles, Doubles, Doubles]:
        # The conditional covariances are left out of the product: they are nearly the same in all
        # segments, and their sum is known.
        total, squares, product = super().sums_along(directions, weights)
        spread = weights[self.chunk.holes] @ self.chunk.variances
        return total, squares + spread / self._units(), product

    def add_outer(self, weights: Doubles, matrix: Doubles) -> Doubles:
        total = super().add_outer(weights, matrix)
        share = weights[self.chunk.holes]
        counted = share > 0.0
        if counted.any():
            self._add_covariances(self.chunk.given[counted], share[counted], matrix)
        return total

    def _add_covariances(
        self, given: NDArray[np.floating], weights: Doubles, matrix: Doubles
    ) -> None:
        """Add weighted conditional covariances of rows to the lower triangle of a matrix (d, d)."""
        sums = matrix.T if self.scale is None else np.zeros((self.d, self.d))
        self.chunk.model.complete(given, weights=weights, covariance=sums)
        if self.scale is not None:
            matrix += sums.T / self.scale / self.scale[:, None]

    def observed_errors(self, errors: Doubles, point: Doubles, directions: Doubles) -> Doubles:
        """Return errors in which, of rows with gaps, observed entries count alone."""
        holes, given, errors = self.chunk.holes, self.chunk.given, errors.copy()
        about = DenseRows(self.values[holes], self.weights[holes], point, self.scale)
        for part, tile in about.dense():
            errors[holes[part]] = squared_residuals(tile, given[part], directions)
        return errors

    def measure(self, point: Doubles, directions: Doubles | None = None) -> tuple[Doubles, Doubles]:
        distances, captured = super().measure(point, directions)
        holes = self.chunk.holes
        if len(holes):
            distances[holes] += self._unseen()
            if directions is not None:
                along = directions @ self._mean_covariance()
                captured[holes] += np.vdot(along, directions)
        return distances, captured

    def _unseen(self) -> Doubles:
        """Return the expected energies of what is not known of the rows with gaps."""
        return self.chunk.variances @ (1.0 / self._units())

    def _mean_covariance(self) -> Doubles:
        """Return the mean conditional covariance (d, d) of the rows with gaps."""
        matrix = np.zeros((self.d, self.d), order="F")
        count = len(self.chunk.holes)
        self._add_covariances(self.chunk.given, np.full(count, 1.0 / count), matrix)
        return matrix + np.tril(matrix, -1).T


class GapCounts(State):
    """How much of a stream is missing where.

    Parameters
    ----------
    d : int
        The number of columns.
    rows : float
        Complete rows that came before the first one with gaps.

    Attributes
    ----------
    rows, incomplete, empty : float, int and int
        Rows so far with an entry, those of them with gaps, and those without any entry, which are
        left out.
    observed : ndarray of shape (d,)
        How many of the rows have an entry in each column.
    together : ndarray of shape (d, d) or (0, 0)
        Which columns were observed in the same row; not known beyond 2048 columns.
    """

    def __init__(self, d: int, rows: float = 0.0) -> None:
        self.d, self.rows = d, rows
        self.incomplete = self.empty = 0
        self.observed: Doubles = np.full(d, rows)
        known = d if d <= TOGETHER_COLUMNS else 0
        self.together: NDArray[np.bool_] = np.full((known, known), rows > 0.0)

    def fields(self) -> dict[str, Field]:
        return {
            "rows": weight(0),
            "incomplete": whole(),
            "empty": whole(),
            "observed": Array((self.d,), least=0.0),
            "together": Array(self.together.shape, ("bool",), 0, 1),
        }

    @property
    def share(self) -> float:
        """The share of the entries that were observed."""
        return float(self.observed.sum()) / max(self.rows * self.d, 1.0)

    @property
    def rows_together(self) -> float:
        """How many rows observe two columns both, if they are missing independently: n q^2."""
        return self.rows * self.share**2

    def rank(self, k: int) -> int:
        """Return the rank of the model that completes rows, for k components."""
        most = min(RANK_FACTOR * k + RANK_MORE, self.d - 1)
        return int(max(1, min(most, self.rows * self.share / ROWS_PER_DIRECTION)))

    def count(self, values: Any) -> None:
        """Include rows (r, d), dense or CSR, none of which is empty."""
        self.rows += values.shape[0]
        self.incomplete += int(np.count_nonzero(rows_with_gaps(values)))
        if sparse.issparse(values):
            missing = values.indices[np.isnan(values.data)]
            self.observed = self.observed + values.shape[0] - np.bincount(missing, minlength=self.d)
            self.together = np.ones_like(self.together)  # zeros are observed
            return
        seen = ~np.isnan(values)
        self.observed = self.observed + seen.sum(axis=0)
        if self.together.size and not self.together.all():
            counts = seen.astype(np.float32)
            self.together = self.together | (counts.T @ counts > 0.0)

    def gaps(self, model: FactorModel) -> Gaps:
        """Return what is known of the gaps, with the model that fills those of other rows."""
        gaps, apart = Gaps(self.d), np.argwhere(np.tril(~self.together, -1))[:1]
        own = ("observed", "rows", "incomplete", "empty")
        held = {name: getattr(self, name) for name in own}
        gaps.take({**vars(model), **held, "apart": apart.ravel().astype(np.int64)})
        return gaps

    def merge(self, other: Self) -> None:
        """Include what is known of another stream."""
        self.rows += other.rows
        self.incomplete, self.empty = self.incomplete + other.incomplete, self.empty + other.empty
        self.observed = self.observed + other.observed
        self.together = self.together | other.together


class GapModel(GapCounts):
    """The model that completes rows of a stream, and what is known of its gaps.

    Parameters
    ----------
    d, k : int
        The numbers of columns and of components.
    dtype : dtype
        Of the rows.
    rows : float
        Complete rows that came before the first one with gaps.

    Attributes
    ----------
    mean, loadings, noise : ndarray of shape (d,), (d, r) and (d,)
        Of the model; r = 0 while rows are kept for batch EM for the first time.
    late : ndarray of shape (d,)
        Which columns no row had an entry in that was learned from. Sums know nothing of them yet.
    kept, kept_weights : ndarray of shape (m, d) and (m,)
        Rows that the model is going to be found from.
    """

    def __init__(self, d: int, k: int, dtype: np.dtype, rows: float = 0.0) -> None:
        super().__init__(d, rows)
        self.k = k
        self.mean: Doubles = np.zeros(d)
        self.loadings: Doubles = np.zeros((d, 0))
        self.noise: Doubles = np.ones(d)
        self.late: NDArray[np.bool_] = np.zeros(d, dtype=bool)
        self.kept: NDArray[np.floating] = np.zeros((0, d), dtype)
        self.kept_weights: Doubles = np.zeros(0)

    def fields(self) -> dict[str, Field]:
        d, kept = self.d, Size("kept rows", MOST_KEPT_ROWS)
        dtype = (self.kept.dtype.name,)
        return {
            **super().fields(),
            **_model_fields(d),
            "late": Array((d,), ("bool",), 0, 1),
            "kept": Array((kept, d), dtype, -MOST_ENTRY, MOST_ENTRY, gaps=True),
            "kept_weights": Array((kept,), least=1e-300),
        }

    @property
    def has_started(self) -> bool:
        """Whether the model has been found."""
        return self.loadings.shape[1] > 0

    @property
    def model(self) -> FactorModel:
        """The model."""
        return FactorModel(self.mean, self.loadings, self.noise)

    def keeps(self, values: Any) -> bool:
        """Return whether rows (r, d) are to be kept for batch EM.

        They are until the model has been found, and again from the first entry of a late column on.
        """
        if not self.has_started or len(self.kept):
            return True
        return bool(self.late.any() and not np.isnan(values[:, self.late]).all())

    def keep(self, values: NDArray[np.floating], weights: Doubles) -> bool:
        """Keep rows (r, d) with gaps; return whether there are enough to find the model."""
        self.kept = np.vstack([self.kept, values])
        self.kept_weights = np.concatenate([self.kept_weights, weights])
        return self.kept.size > KEPT_NUMBERS

    def find(self, moment: Any, scale: Scale) -> None:
        """Take the model of a second moment, in units of a scale (d,) if there is one."""
        self._take_model(self.model_of(moment, scale))

    def model_of(self, moment: Any, scale: Scale) -> FactorModel:
        """Return the model of a second moment, in units of a scale (d,) if there is one."""
        return FactorModel.of(moment, self.rank(self.k), scale)

    def _take_model(self, model: FactorModel) -> None:
        self.mean, self.loadings, self.noise = model.mean, model.loadings, model.noise

    def start(self, base: Any, scale_of: Callable[[Any], Scale]) -> None:
        """Find the model by batch EM on the rows kept, and on those with second moment `base`.

        `scale_of` gives what columns are divided by for a second moment.
        """
        moment, model = self._first_moment(base), None
        origin = self._origin(base)
        share = float(self.observed.min()) / max(self.rows, 1.0)  # of the column most often missing
        steps = LEAST_STEPS + ceil(STEPS_PER_SHARE / max(LEAST_SHARE, share))
        least = CONVERGED / np.sqrt(max(self.rows, 1.0))
        for step in range(steps):
            before, model = model, self.model_of(moment, scale_of(moment))
            if before is not None and _change(before.loadings, model.loadings) < least:
                break
            moment = base.copy()
            self.fill_late(moment, model)
            self._add_kept(moment, model, origin, step)
        assert model is not None
        self._take_model(model)

    def _add_kept(self, moment: Any, model: FactorModel, origin: Doubles, seed: int) -> None:
        """Add the rows kept, completed by a model, and their covariances to a second moment."""
        if not moment.is_additive:
            drawn = model.drawn(self.kept, seed)
            moment.add(rows_about(drawn, self.kept_weights, origin), self.kept_weights)
            return
        covariance = np.zeros((self.d, self.d))
        done = model.complete(self.kept, weights=self.kept_weights, covariance=covariance)
        moment.add(rows_about(done.rows, self.kept_weights, origin), self.kept_weights)
        moment.squares += np.tril(covariance.T)

    def fill_late(self, moment: Any, model: FactorModel) -> None:
        """Write what a model expects of late columns into a second moment of rows without them.

        Given all other columns, those of a row are linear in them plus noise, so that their sums
        follow from the sums of the others: the E-step of EM for all these rows at once.
        """
        late, others = self.late, ~self.late
        if not late.any() or not moment.weight > 0.0:
            return
        W, scaled = model.loadings, model.loadings[others] / model.noise[others, None]
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

    def completed(self, values: Any, *, is_exact: bool, seed: int) -> Any:
        """Return rows (r, d) completed by the model.

        Where second moments are exact, dense rows know their conditional covariances. Elsewhere
        draws take the place of gaps.
        """
        if is_exact and not sparse.issparse(values):
            return CompletedChunk.by(self.model, values)
        return self.model.drawn(values, seed)

    def _origin(self, moment: Any) -> Doubles:
        """Return a point (d,) near the rows kept: that of a second moment, or their mean."""
        if not moment.center or (moment.is_additive and moment.weight > 0.0):
            return moment.origin
        with np.errstate(invalid="ignore"):
            mean = np.nansum(self.kept, axis=0) / np.maximum((~np.isnan(self.kept)).sum(axis=0), 1)
        return mean.astype(self.kept.dtype).astype(np.float64)

    def _first_moment(self, base: Any) -> Any:
        """Return the second moment that EM begins with: of what is observed.

        An exact one has for each pair of columns the mean over the rows that observe both; a sketch
        has column means in the gaps.
        """
        seen, early = ~np.isnan(self.kept), ~self.late
        weights = self.kept_weights[:, None] * seen
        counts = weights.sum(axis=0) + base.weight * early
        known = np.where(seen, self.kept, 0.0).astype(np.float64)
        total = (self.kept_weights[:, None] * known).sum(axis=0) + base.weight * early * base.mean
        mean = total / np.maximum(counts, TINY) * base.center
        moment = base.copy()
        if not base.is_additive:
            filled = np.where(seen, self.kept, mean).astype(self.kept.dtype)
            moment.add(rows_about(filled, self.kept_weights, self._origin(base)), self.kept_weights)
            return moment
        moment.move(mean)
        deviations = np.where(seen, known - mean, 0.0)
        both = np.outer(early, early)
        together = weights.T @ seen + base.weight * both
        squares = (self.kept_weights[:, None] * deviations).T @ deviations
        squares += np.tril(moment.squares) * both
        moment.squares = np.asfortranarray(np.tril(squares / np.maximum(together, 1.0)))
        moment.weight, moment.total = 1.0, np.zeros(self.d)
        return moment

    def merge(self, other: Self) -> None:
        """Include what is known of the gaps of another stream; neither keeps rows."""
        if not self.has_started:
            self._take_model(other.model)
        super().merge(other)
        self.late = self.late & other.late


def _change(before: Doubles, after: Doubles) -> float:
    """Return |A A' - B B'| / |B B'| in the Frobenius norm, for loadings A and B of (d, r)."""
    squares = [float(np.sum((left.T @ right) ** 2)) for left, right in (
        (before, before), (after, after), (before, after))]  # fmt: skip
    difference = max(squares[0] + squares[1] - 2.0 * squares[2], 0.0)
    return float(np.sqrt(difference / max(squares[1], TINY)))
