"""The model of what a `PCALearner` has learned."""

from __future__ import annotations

from functools import partial
from math import nan
from typing import TYPE_CHECKING

import numpy as np

from onepass.model import Model, in_type, signed
from onepass.moments.standard_errors import standard_errors
from onepass.precision import ZERO_VARIANCE, Doubles
from onepass.subspace import orthonormal

if TYPE_CHECKING:
    from onepass.pca.learner import PCALearner

LONGEST = 0.01  # of the rows, whose share of the variance is measured


def count_of(learner: PCALearner) -> int:
    """Return how many components there are; a share is one of the variance of all rows."""
    if isinstance(learner.n_components, int):
        return learner.n_components
    if learner.counted:
        return learner.counted
    moment, leading = learner.moment, learner.leading_moment
    scale = learner.scale_of(moment)
    sums = leading.spectrum(scale)
    sums = sums[sums > ZERO_VARIANCE * sums.max(initial=0.0)]
    if learner.n_components is None:
        return len(sums)
    if learner.bounded:
        sums = moment.compress(leading.leading(len(sums), scale)[0], scale).diagonal()
    least = learner.n_components * moment.energy(scale) * (1.0 - ZERO_VARIANCE)
    enough = np.cumsum(sums) >= least
    return int(np.argmax(enough)) + 1 if enough.any() else len(sums)


def model_of(learner: PCALearner) -> Model:
    """Return the model of a learner in which no row waits."""
    moment, leading, stream = learner.moment, learner.leading_moment, learner.stream
    scale, d, dtype = learner.scale_of(moment), stream.d, stream.dtype
    k, weight = max(count_of(learner), 1), moment.weight or 1.0
    if learner.n_components is None and moment.is_additive:
        k = max(min(learner.rows_learned, d), 1)  # those without variance as well
    found = leading.leading(k, scale, learner.directions)[0]
    found = np.asarray(orthonormal(found) if len(found) else np.eye(1, d), np.float64)
    directions, sums = _rotated(found, leading.compress(found, scale), learner.keep_all)
    bounded = None
    for each in learner.bounded:
        own = leading.weight or 1.0
        bounded = each.segments.copy(), sums / own, leading.energy(scale) / own
        sums = moment.compress(directions, scale).diagonal().clip(min=0.0)
    degrees = learner.degrees(moment.weight)
    explained = sums / degrees
    inside, k = float(explained.sum()), len(directions)
    total = max(moment.energy(scale) / degrees, inside)
    components = np.ascontiguousarray(signed(directions).astype(dtype))
    how_sure = partial(
        standard_errors,
        learner.segments.copy(),
        components,
        sums / weight,
        total * degrees / weight,
        center=stream.center,
        scale=scale,
        bounded=bounded,
        held=_held(learner),
    )
    return Model(
        components=components,
        explained_variance=in_type(explained, dtype),
        total_variance=total,
        noise_variance=(total - inside) / (d - k) if k < d else 0.0,
        degrees=degrees,
        mean=moment.mean.astype(dtype) if stream.center else np.zeros(d, dtype),
        column_variances=moment.column_sums() / weight,
        scale=scale,
        how_sure=how_sure,
        rows=learner.rows_learned,
        center=stream.center,
        errors=learner.errors,
        long_rows=learner.lengths.share(LONGEST) if learner.rows_learned >= 1 / LONGEST else nan,
        missing=next((gaps.counts.summary() for gaps in learner.completions), None),
        factors=next((learner.filling(gaps) for gaps in learner.completions), None),
    )


def _held(learner: PCALearner) -> float | None:
    """Return the part of the variance that completed rows hold; None where segments tell it.

    Draws have all the variance. Where nothing follows from the entries observed, a product of two
    columns has as much error as from a part q of the rows.
    """
    for gaps in learner.completions:
        return None if learner.adds_covariances else float(np.sqrt(gaps.counts.share))
    return 1.0


def _rotated(directions: Doubles, second: Doubles, keep_all: bool) -> tuple[Doubles, Doubles]:
    """Return directions (k, d) along the eigenvectors of a second moment (k, k) along them.

    The eigenvalues (k,) are returned as well, largest first. Directions along which rows do not
    vary are left out, unless all are to be kept. Where rows do not vary at all, there is one.
    """
    values, vectors = np.linalg.eigh(second)
    values, vectors = values[::-1], vectors[:, ::-1]
    d = directions.shape[1]
    varies = values > ZERO_VARIANCE * np.sqrt(d) * max(values.max(initial=0.0), 0.0)
    values = np.where(varies, values, 0.0)
    kept = varies | keep_all
    if not kept.any():
        return np.eye(1, d), np.zeros(1)
    return vectors[:, kept].T @ directions, values[kept]
