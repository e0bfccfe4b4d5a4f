"""What is read after fitting: an immutable model that transforms, scores and is saved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import ceil, nan
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from onepass.gaps.counts import MissingCounts, any_gap, tiles_with_gaps
from onepass.gaps.factor_model import FactorModel, squared_residuals
from onepass.moments.chunk import Chunk, chunk_about
from onepass.moments.row_errors import ErrorHistogram
from onepass.moments.standard_errors import StandardErrors, nothing
from onepass.persistence.fields import (
    MOST_ENTRY,
    Array,
    Field,
    Maybe,
    Number,
    Part,
    Size,
    State,
    whole,
)
from onepass.precision import ROUNDING, TINY, Doubles


@dataclass(frozen=True, eq=False)
class Model(State):
    """Components and their variances, in the meanings of scikit-learn's PCA.

    Rows x become coordinates ``components @ ((x - mean) / scale)``.

    Attributes
    ----------
    components : ndarray of shape (k, d)
        Orthonormal and ordered; the largest entry of each is positive.
    explained_variance : ndarray of shape (k,)
        Of all rows, along the components.
    total_variance, noise_variance : float
        The sum of the variances of all columns, scaled, and their mean over the directions left
        out.
    degrees : float
        What sums over rows are divided by: n - 1 about the mean, n about zero.
    mean, column_variances : ndarray of shape (d,), the second one or None
        Of the columns as they came; variances divide by n. The mean is zero if rows are not
        centred.
    scale : ndarray of shape (d,) or None
        What columns are divided by.
    how_sure : StandardErrors, or a function that returns them
        They are found when they are read, which takes as long as finding the components.
    rows : int
        The number of rows learned from.
    center : bool
        Whether the mean is subtracted.
    errors : ErrorHistogram
        Squared distances of rows from the subspace before they were learned from.
    long_rows : float
        The share of the variance that the longest 1% of the rows hold; NaN where it is not known.
    missing : MissingCounts or None
        How much was missing where; None if nothing was.
    factors : FactorModel or None
        The Gaussian of rows that had gaps; None if there were none.
    """

    components: NDArray[np.floating]
    explained_variance: NDArray[np.floating]
    total_variance: float
    noise_variance: float
    degrees: float
    mean: NDArray[np.floating]
    column_variances: Doubles | None
    scale: Doubles | None
    how_sure: StandardErrors | Callable[[], StandardErrors]
    rows: int
    center: bool
    errors: ErrorHistogram
    long_rows: float = nan
    missing: MissingCounts | None = None
    factors: FactorModel | None = None

    @classmethod
    def empty(cls, d: int, dtype: np.dtype, *, center: bool) -> Self:
        """Return a model of no components of d columns, to be restored from a file."""
        none, numbers = np.zeros((0, d), dtype), np.zeros(0)
        sure, errors = nothing(none, ""), ErrorHistogram()
        return cls(none, numbers, 0.0, 0.0, 1.0, np.zeros(d), None, None, sure, 0, center, errors)

    def fields(self) -> dict[str, Field]:
        """Return the field of each attribute, for a file without a learner."""
        k, d, dtype = Size("components", self.d), self.d, (self.components.dtype.name,)
        return {
            "components": Array((k, d), dtype, -2.0, 2.0, orthonormal=True),
            "explained_variance": Array((k,), ("float32", "float64"), least=0.0),
            "total_variance": Number(),
            "noise_variance": Number(),
            "degrees": Number(float, TINY),
            "mean": Array((d,), dtype, -MOST_ENTRY, MOST_ENTRY),
            "column_variances": Array((d,), least=0.0, optional=True),
            "scale": Array((d,), least=1e-150, optional=True),
            "standard_errors": Part(),
            "rows": whole(1),
            "errors": Part(),
            "long_rows": Number(most=1.0, gaps=True),
            "missing": Maybe(lambda: MissingCounts(d)),
            "factors": Maybe(lambda: FactorModel.empty(d)),
        }

    def take(self, content: dict[str, Any]) -> None:
        """Take over checked values from a file."""
        if not len(content["components"]):
            raise ValueError("it has no components")
        super().take(content)

    @cached_property
    def standard_errors(self) -> StandardErrors:
        """Standard errors of components, variances and the share captured."""
        return self.how_sure if isinstance(self.how_sure, StandardErrors) else self.how_sure()

    @property
    def k(self) -> int:
        """The number of components."""
        return len(self.components)

    @property
    def d(self) -> int:
        """The number of columns."""
        return self.components.shape[1]

    def _deviations(self) -> NDArray[np.floating]:
        """Return the standard deviations (k,) along the components, one where there is none."""
        deviation = np.sqrt(self.explained_variance)
        return np.where(deviation > 0.0, deviation, 1.0).astype(deviation.dtype)

    def _about_mean(self, values: Any) -> Chunk:
        """Return checked rows (n, d) about the mean, in the units of the components."""
        mean = self.mean.astype(np.float64)
        return chunk_about(values, np.ones(values.shape[0]), mean, self.scale)

    def density(self) -> FactorModel:
        """Return the Gaussian of `covariance`: low-rank, and noise everywhere else."""
        units = np.ones(self.d) if self.scale is None else self.scale
        excess = np.sqrt(np.maximum(self.explained_variance - self.noise_variance, 0.0))
        loadings = (self.components * excess[:, None]).T.astype(np.float64) * units[:, None]
        noise = np.maximum(self.noise_variance * units**2, TINY)
        return FactorModel(self.mean.astype(np.float64), np.ascontiguousarray(loadings), noise)

    @cached_property
    def filling(self) -> FactorModel:
        """Return the Gaussian that fills gaps, with what few rows overstate taken off."""
        rows = self.rows if self.missing is None else self.missing.rows_together
        return self.gap_model().shrunk(rows)

    def gap_model(self) -> FactorModel:
        """Return the Gaussian of rows with gaps: that of the stream, if it had any.

        Otherwise it is the density, with a noise for each column that makes its variance right.
        """
        if self.factors is not None:
            return self.factors
        density, variances = self.density(), self.column_variances
        return density if variances is None else density.with_variances(variances, self.rows)

    def filled(self, values: Any) -> Any:
        """Return checked rows (n, d) with conditional means in their gaps, if they have any."""
        return self.filling.filled(values)[0] if any_gap(values) else values

    def far_fills(self, values: Any, filled: Any) -> NDArray[np.intp]:
        """Return how many gaps of each column of rows (n, d) were filled far from the others.

        That is, beyond the range of the entries observed by more than its width.
        """
        ranges, far = self.missing, np.zeros(self.d, np.intp)
        if ranges is None:
            ranges = MissingCounts(self.d, self.rows)
            ranges.count_before(self.mean.astype(np.float64), self.column_variances)
        for rows, given in tiles_with_gaps(values):
            complete = filled[rows].toarray() if sparse.issparse(filled) else filled[rows]
            far += ranges.far(np.where(np.isnan(given), complete, np.nan))
        return far

    def transform(self, values: Any, *, whiten: bool = False) -> NDArray[np.floating]:
        """Return the coordinates (n, k) of checked rows (n, d)."""
        values = self.filled(values)
        coordinates = self._about_mean(values).inner(self.components)
        if whiten:
            coordinates = coordinates / self._deviations()
        return np.ascontiguousarray(coordinates, np.result_type(values.dtype, self.mean.dtype))

    def inverse_transform(self, coordinates: Any, *, whiten: bool = False) -> NDArray[np.floating]:
        """Return the rows (n, d) of coordinates (n, k), in the original columns."""
        axes = self._deviations()[:, None] * self.components if whiten else self.components
        rows = np.asarray(coordinates @ axes)
        if self.scale is not None:
            rows *= self.scale.astype(rows.dtype)
        return rows + self.mean

    def captured_energy(self, values: Any) -> tuple[float, float]:
        """Return the energy of checked rows (n, d) along the components, and all of it."""
        rows = self._about_mean(self.filled(values))
        inner = rows.inner(self.components)
        return float(np.vdot(inner, inner)), float(rows.energies.sum())

    def reconstruction_error(self, values: Any) -> Doubles:
        """Return the squared distances (n,) of checked rows (n, d) from the subspace.

        Of rows with gaps, observed entries count.
        """
        components, filled = self.components.astype(np.float64), self.filled(values)
        errors = self._about_mean(filled).outside(components)[1]
        for rows, given in tiles_with_gaps(values) if filled is not values else ():
            for part, tile in self._about_mean(filled[rows]).dense():
                errors[rows[part]] = squared_residuals(tile, given[part], components)
        return errors

    def error_threshold(self, quantile: float) -> float:
        """Return the reconstruction error that a share of new rows stays below; NaN if unknown."""
        return self.errors.quantile(quantile, self._row_weight()) if self.k < self.d else 0.0

    def why_no_threshold(self, quantile: float) -> str:
        """Return why `error_threshold` is not known; an empty text if it is."""
        if not np.isnan(self.error_threshold(quantile)):
            return ""
        # See `ErrorHistogram.quantile`: quantile (n + 1) must be at most n.
        needed = 1 if quantile == 1.0 else ceil(quantile / (1.0 - quantile) - 1e-9)
        measured = round(self.errors.total / self._row_weight())
        return (
            f"a threshold for a quantile of {quantile:g} needs the errors of at least {needed} "
            f"rows in the last half of the stream, and there {'is' if measured == 1 else 'are'} "
            f"{measured}: fit more rows, or use a smaller quantile"
        )

    def _row_weight(self) -> float:
        """Return the mean weight of a row; with a half-life, which fades them, less than that."""
        lost = 1.0 / max(self.rows, 2) if self.center else 0.0
        return self.degrees / (1.0 - lost) / max(self.rows, 1)

    def score_samples(self, values: Any) -> Doubles:
        """Return the log-density (n,) of checked rows under the Gaussian of `covariance`.

        Directions without variance have one of the size of rounding.

        Of rows with gaps it is that of what is observed.
        """
        if not self.total_variance > 0.0:
            raise ValueError("the log-likelihood is not defined: nothing varies")
        variances, noise = self._positive_variances()
        constant = np.log(variances).sum() + self.d * np.log(2.0 * np.pi)
        constant += (self.d - self.k) * np.log(noise)
        if self.scale is not None:
            constant += 2.0 * np.log(self.scale).sum()
        filled = self.filled(values)
        inside, outside = self._about_mean(filled).outside(self.components.astype(np.float64))
        scores = -0.5 * ((inside**2 / variances).sum(axis=1) + outside / noise + constant)
        for rows, given in tiles_with_gaps(values) if filled is not values else ():
            done = self.density().complete(given, likelihood=True)
            observed = (~np.isnan(given)).sum(axis=1) * np.log(2.0 * np.pi)
            scores[rows] = -0.5 * (done.distances + done.log_determinants + observed)
        return scores

    def covariance(self) -> NDArray[np.floating]:
        """Return the covariance (d, d): components, and noise everywhere else."""
        excess = np.maximum(self.explained_variance - self.noise_variance, 0.0)
        covariance = (self.components.T * excess) @ self.components
        covariance.flat[:: self.d + 1] += self.noise_variance
        if self.scale is not None:
            covariance = self.scale[:, None] * covariance * self.scale
        return covariance.astype(self.components.dtype, copy=False)

    def precision(self) -> NDArray[np.floating]:
        """Return the inverse (d, d) of the covariance."""
        variances, noise = self._positive_variances()
        if not min(variances.min(), noise) > ROUNDING * self.total_variance:
            raise ValueError(
                "the precision is not defined: there are directions without any variance"
            )
        outside = 1.0 / noise if self.k < self.d else 0.0
        precision = (self.components.T * (1.0 / variances - outside)) @ self.components
        precision.flat[:: self.d + 1] += outside
        if self.scale is not None:
            precision = precision / self.scale[:, None] / self.scale
        return precision.astype(self.explained_variance.dtype)

    def _positive_variances(self) -> tuple[Doubles, float]:
        """Return the variances (k,) along the components, and the noise outside, one if k = d.

        Those below rounding count as rounding.
        """
        least = ROUNDING * self.total_variance
        noise = max(self.noise_variance, least)
        variances = np.maximum(self.explained_variance.astype(np.float64), noise)
        return variances, noise if self.k < self.d else 1.0


def signed(components: NDArray[np.floating]) -> NDArray[np.floating]:
    """Return components (k, d) with the signs for which each row's largest entry is positive."""
    largest = np.abs(components).argmax(axis=1)[:, None]
    negative = np.take_along_axis(components, largest, axis=1) < 0.0
    return np.where(negative, -components, components)


def in_type(variances: Doubles, dtype: np.dtype) -> NDArray[np.floating]:
    """Return variances (k,) in the type of the rows, unless their squares are out of its range."""
    limits, largest = np.finfo(dtype), float(variances.max(initial=0.0))
    fits = largest == 0.0 or limits.tiny < largest < limits.max
    return variances.astype(dtype) if fits else variances
