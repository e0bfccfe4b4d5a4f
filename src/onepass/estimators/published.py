"""What an estimator shows of what it has learned."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from onepass.estimators.learner import Learner
from onepass.kernels.orthonormal import orthonormal

CLOSE = 0.5  # the cosine from which on an anchor decides


@dataclass(frozen=True)
class Published:
    """Components and their variances, in the meanings of scikit-learn's PCA.

    Attributes
    ----------
    components : ndarray of shape (k, d)
        Orthonormal, ordered by variance, mutually uncorrelated on the rows seen.
    explained_variance : ndarray of shape (k,)
        In the dtype of the rows, unless its range is too small for their squares.
    total_variance : float
        The sum of the variances of all columns.
    noise_variance : float
        The mean variance of the directions left out.
    degrees : float
        What sums over rows are divided by: n - 1 about the mean, n about zero.
    """

    components: NDArray[np.floating]
    explained_variance: NDArray[np.float64]
    total_variance: float
    noise_variance: float
    degrees: float


def publish(learner: Learner, directions: NDArray[np.floating]) -> Published:
    """Turn directions of shape (k, d) into components of the rows that the learner has seen."""
    k, d = directions.shape
    dtype = directions.dtype
    directions = np.asarray(orthonormal(directions.astype(np.float64, copy=False)))
    lost = 1.0 / max(learner.rows_seen, 2) if learner.plan.center else 0.0
    degrees = learner.mean.weight * (1.0 - lost) or 1.0
    values, vectors = np.linalg.eigh(learner.second.compress(directions, learner.mean) / degrees)
    components = signed(vectors.T[::-1] @ directions, learner.anchors)
    explained = values[::-1].clip(min=0.0)
    total = max(learner.second.energy / degrees, float(explained.sum()))
    noise = (total - float(explained.sum())) / (d - k) if k < d else 0.0
    components = np.ascontiguousarray(components.astype(dtype))
    smallest, largest = np.finfo(dtype).tiny, np.finfo(dtype).max
    if largest > explained[0] and (explained[0] == 0.0 or explained[0] > smallest):
        explained = explained.astype(dtype)
    return Published(components, explained, total, noise, degrees)


def principal(learner: Learner, directions: NDArray[np.floating]) -> NDArray[np.floating]:
    """Return about the components that directions (k, d) will be published as: (k, d)."""
    matrix = learner.second.compress(directions.astype(np.float64, copy=False), None)
    turned = np.linalg.eigh(matrix)[1].T[::-1] @ directions
    return signed(turned, learner.anchors).astype(directions.dtype, copy=False)


def signed(components: NDArray[np.float64], anchors: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return components (k, d) with signs that do not depend on how they were computed.

    A component points the way of the anchor (one of the rows of `anchors`) that it is closest to.
    Without one that is close, its largest entry is positive.
    """
    largest = np.abs(components).argmax(axis=1)
    toward = np.take_along_axis(components, largest[:, None], axis=1)[:, 0]
    if len(anchors):
        inner = components @ anchors.T
        closest = np.abs(inner).argmax(axis=1)
        nearest = np.take_along_axis(inner, closest[:, None], axis=1)[:, 0]
        toward = np.where(np.abs(nearest) > CLOSE, nearest, toward)
    return np.where(toward < 0.0, -1.0, 1.0)[:, None] * components
