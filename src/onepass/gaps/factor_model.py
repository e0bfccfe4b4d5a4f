"""The low-rank Gaussian model that completes rows with gaps.

The model of a row is

    x = m + W z + e,   z ~ N(0, I_r),   e ~ N(0, diag(psi)),

with m, W and psi from a second moment (probabilistic PCA, with a noise of its own for each column).
Given the observed entries of a row, the missing ones are normal: their conditional means take the
place of the gaps.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from onepass import _core
from onepass.moments.chunk import TILE_BYTES, Scale
from onepass.moments.moment import Moment
from onepass.persistence.fields import Array, Field, Size, State, point
from onepass.precision import TINY, Doubles

# Of the mean variance of the directions left out: the least noise of a column. Without it a column
# that the directions explain by chance would count as observed without error.
LEAST_NOISE = 0.05
LEAST_REST = 1e-9  # of a variance: what is left out at least, so that nothing divides by rounding


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
class FactorModel(State):
    """The model that completes rows: mean (d,), loadings W (d, r) and noise psi (d,).

    It does not change.
    """

    mean: Doubles
    loadings: Doubles
    noise: Doubles

    @classmethod
    def empty(cls, d: int) -> FactorModel:
        """Return the model of d columns before anything is known: it has no loadings."""
        return cls(np.zeros(d), np.zeros((d, 0)), np.ones(d))

    def fields(self) -> dict[str, Field]:
        d = len(self.mean)
        return {
            "mean": point(d),
            "loadings": Array((d, Size("rank of the model", d)), least=-1e150, most=1e150),
            "noise": Array((d,), least=TINY),
        }

    @classmethod
    def of(cls, moment: Moment, rank: int, scale: Scale) -> FactorModel:
        """Return the model of a second moment, in units of a scale (d,) if there is one."""
        d, total = moment.d, max(moment.weight, TINY)
        found, sums = moment.leading(min(rank, d), scale)
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
