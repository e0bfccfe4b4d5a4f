"""What is read from an estimator after fitting."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from onepass.learning.captured_share import Captured


@dataclass(frozen=True)
class Result:
    """Components and their variances, in the meanings of scikit-learn's PCA.

    Attributes
    ----------
    components : ndarray of shape (k, d)
        Orthonormal, ordered by variance, mutually uncorrelated on the rows; the largest entry of
        each is positive.
    explained_variance : ndarray of shape (k,)
    total_variance : float
        The sum of the variances of all columns.
    noise_variance : float
        The mean variance of the directions left out.
    degrees : float
        What sums over rows are divided by: n - 1 about the mean, n about zero.
    mean : ndarray of shape (d,)
        Zeros where rows are not centred.
    captured : Captured
        The share of variance that the components capture of new rows.
    """

    components: NDArray[np.floating]
    explained_variance: NDArray[np.floating]
    total_variance: float
    noise_variance: float
    degrees: float
    mean: NDArray[np.floating]
    captured: Captured


def signed(components: NDArray[np.floating]) -> NDArray[np.floating]:
    """Return components (k, d) with the signs for which each row's largest entry is positive."""
    largest = np.abs(components).argmax(axis=1)[:, None]
    negative = np.take_along_axis(components, largest, axis=1) < 0.0
    return np.where(negative, -components, components)


def publish(
    directions: NDArray[np.floating],
    second: NDArray[np.float64],
    energy: float,
    degrees: float,
    mean: NDArray[np.float64],
    captured: Captured,
) -> Result:
    """Rotate orthonormal directions (k, d) into components.

    Parameters
    ----------
    directions : ndarray of shape (k, d)
    second : ndarray of shape (k, k)
        ``directions @ S @ directions.T`` with S the sum of x x' over the rows.
    energy : float
        The trace of S.
    degrees : float
        What sums over rows are divided by.
    mean : ndarray of shape (d,)
    captured : Captured
    """
    (k, d), dtype = directions.shape, directions.dtype
    values, vectors = np.linalg.eigh(second / degrees)
    explained = values[::-1].clip(min=0.0)
    components = signed(vectors.T[::-1] @ directions.astype(np.float64))
    total = max(energy / degrees, float(explained.sum()))
    noise = (total - float(explained.sum())) / (d - k) if k < d else 0.0
    limits = np.finfo(dtype)
    if explained[0] < limits.max and (explained[0] == 0.0 or explained[0] > limits.tiny):
        explained = explained.astype(dtype)  # unless the squares of the rows are out of its range
    return Result(
        np.ascontiguousarray(components.astype(dtype)),
        explained,
        total,
        noise,
        degrees,
        mean.astype(dtype),
        captured,
    )
