"""The low-rank Gaussian model that completes rows with gaps.

The model of a row is

    x = m + W z + e,   z ~ N(0, I_r),   e ~ N(0, diag(psi)),

with m, W and psi from a second moment (probabilistic PCA, with a noise of its own for each column).
Given the observed entries of a row, the missing ones are normal: their conditional means take the
place of the gaps.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from onepass import _core
from onepass.gaps.counts import MissingCounts, fill_gaps, tiles_with_gaps
from onepass.moments.chunk import Scale
from onepass.moments.moment import Moment
from onepass.persistence.fields import Array, Field, Size, State, point
from onepass.precision import TINY, Doubles

LEAST_REST = 1e-9  # of a variance: what is left out at least, so that nothing divides by rounding


def squared_residuals(rows: Doubles, given: NDArray[np.floating], directions: Doubles) -> Doubles:
    """Return squared distances (r,) of completed rows from a span, where `given` is not NaN."""
    rest = rows - (rows @ directions.T) @ directions
    rest[np.isnan(given)] = 0.0
    return np.einsum("ij,ij->i", rest, rest)


@dataclass(frozen=True)
class FactorModel(State):
    """The model that completes rows: mean (d,), loadings W (d, r) and noise psi (d,).

    It does not change. A column without noise has no loadings, either: it is constant.
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
            "noise": Array((d,), least=0.0),
        }

    @classmethod
    def of(cls, moment: Moment, counts: MissingCounts, k: int, scale: Scale) -> FactorModel:
        """Return the model of a second moment, in units of a scale (d,) if there is one.

        Variances are at most what the ranges of observed entries allow.
        """
        d, total, constant = moment.d, max(moment.weight, TINY), counts.is_constant
        varying = d - int(np.count_nonzero(constant))
        found, sums = moment.leading(counts.rank(k, varying), scale)
        values = sums / total
        rest = moment.energy(scale) / total - float(values.sum())
        rest /= max(varying - len(values), 1)
        units = np.ones(d) if scale is None else scale
        roots = np.sqrt(np.maximum(values - max(rest, 0.0), 0.0))
        loadings = (found * roots[:, None]).T * units[:, None]
        mean = np.where(constant, counts.least * moment.center, moment.mean)
        variances = np.minimum(moment.column_sums() / total, counts.largest_variances(mean))
        model = cls(mean, loadings, np.zeros(d))
        return model.with_variances(variances, counts.observed)

    @classmethod
    def of_columns(cls, values: NDArray[np.floating], *, center: bool) -> FactorModel:
        """Return the model of independent columns, of what is observed of rows (r, d)."""
        seen = ~np.isnan(values)
        count = np.maximum(seen.sum(axis=0), 1)
        known = np.where(seen, values, 0.0).astype(np.float64)
        mean = known.sum(axis=0) / count * center
        squares = (np.where(seen, known - mean, 0.0) ** 2).sum(axis=0)
        return cls(mean, np.zeros((values.shape[1], 1)), squares / count)

    def with_variances(self, variances: Doubles, rows: Doubles | float) -> FactorModel:
        """Return the model with variances (d,) of columns that were found from rows (d,).

        Loadings explain at most n / (n + 1) of a variance found from n rows: one more row may break
        what all of them have in common (Laplace's rule of succession). Otherwise a row off the
        pattern of columns that nearly determine another is extrapolated without limit.
        """
        explained = np.einsum("ij,ij->i", self.loadings, self.loadings)
        most = variances * (rows / (rows + 1.0))
        share = np.minimum(most / np.maximum(explained, TINY), 1.0)
        loadings = np.ascontiguousarray(self.loadings * np.sqrt(share)[:, None])
        return replace(self, loadings=loadings, noise=variances - share * explained)

    def shrunk(self, rows: float) -> FactorModel:
        """Return the model that predicts new entries best, if it was found from so many rows.

        In units of the noise, a true variance 1 + t shows up as 1 + t + g + g / t, g = d / rows;
        the direction found has the squared cosine c = (1 - g / t^2) / (1 + g / t) with the true
        one, so that new rows vary by 1 + t c along it; and below t = sqrt(g) there is nothing to be
        found (Paul 2007). The noise is the mean of the variances left out after s directions, with
        rows - s degrees of freedom; directions count above its edge (Kritchman and Nadler 2008).
        The variances of columns stay: what directions lose is noise.
        """
        root, d = np.sqrt(self.noise), max(int(np.count_nonzero(self.noise)), 1)
        inverse = np.divide(1.0, root, out=np.zeros_like(root), where=root > 0.0)
        directions, sizes, _ = np.linalg.svd(inverse[:, None] * self.loadings, full_matrices=False)
        excess = sizes**2
        values, counts = excess + 1.0, np.arange(1, len(sizes) + 1)
        left = excess.sum() + d - np.cumsum(values)
        degrees = np.maximum(1.0 - counts / max(rows, 1.0), TINY)
        noise: Doubles = np.maximum(left / np.maximum(d - counts, 1), LEAST_REST * values) / degrees
        g = d / max(rows, 1.0)
        found = np.flatnonzero((values > noise * (1.0 + np.sqrt(g)) ** 2) & (counts < d))
        share = np.zeros(len(sizes))  # of the excess of each direction that new rows have
        if len(found):
            first, sigma = slice(found[-1] + 1), noise[found[-1]]
            both = values[first] / sigma - 1.0 - g
            t = 0.5 * (both + np.sqrt(np.maximum(both**2 - 4.0 * g, 0.0)))
            cosine = np.maximum(1.0 - g / t**2, 0.0) / (1.0 + g / t)
            share[first] = np.minimum(sigma * t * cosine / excess[first], 1.0)
        kept = slice(found[-1] + 1 if len(found) else 1)
        loadings = (root[:, None] * directions * (sizes * np.sqrt(share)))[:, kept]
        lost = directions**2 @ (excess * (1.0 - share))
        return FactorModel(self.mean, np.ascontiguousarray(loadings), self.noise * (1.0 + lost))

    @property
    def scaled(self) -> Doubles:
        """The loadings over the noise of their columns, (d, r)."""
        noise = self.noise[:, None]
        return np.divide(self.loadings, noise, out=np.zeros_like(self.loadings), where=noise > 0.0)

    def complete(self, rows: NDArray[np.floating], **options: Any) -> Any:
        """Return what the core's `complete` does with rows (n, d) that have gaps."""
        rows = np.ascontiguousarray(rows)
        return _core.complete(rows, self.mean, self.loadings, self.noise, **options)

    def filled(self, values: Any) -> tuple[Any, Any]:
        """Return rows (n, d), dense or CSR, with conditional means in their gaps.

        The conditional standard deviations (n, d) come with them, zero elsewhere.
        """
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

        Their second moment is right on average. A draw is a row of the model, plus the conditional
        mean of what the observed entries differ from it (Matheron's rule).
        """
        rng, drawn = np.random.default_rng(seed), values.copy()
        for rows, given in tiles_with_gaps(values):
            sample = rng.normal(size=(len(given), self.loadings.shape[1])) @ self.loadings.T
            sample += np.sqrt(self.noise) * rng.normal(size=given.shape)
            complete = self.complete(given - sample).rows + sample
            fill_gaps(drawn, rows, given, np.where(np.isnan(given), complete, given))
        return drawn
