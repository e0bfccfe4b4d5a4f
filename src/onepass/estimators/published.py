"""What an estimator shows of what it has learned."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from onepass.estimators.learner import Learner


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
    directions = np.linalg.qr(directions.astype(np.float64).T)[0].T
    degrees = max(learner.mean.weight - learner.plan.center, 1.0)
    values, vectors = np.linalg.eigh(learner.second.compress(directions, learner.mean) / degrees)
    components = vectors.T[::-1] @ directions
    largest = np.abs(components).argmax(axis=1)
    components *= np.sign(components[np.arange(k), largest])[:, None]
    explained = values[::-1].clip(min=0.0)
    total = max(learner.second.energy / degrees, float(explained.sum()))
    noise = (total - float(explained.sum())) / (d - k) if k < d else 0.0
    components = np.ascontiguousarray(components.astype(dtype))
    smallest, largest = np.finfo(dtype).tiny, np.finfo(dtype).max
    if largest > explained[0] and (explained[0] == 0.0 or explained[0] > smallest):
        explained = explained.astype(dtype)
    return Published(components, explained, total, noise, degrees)
