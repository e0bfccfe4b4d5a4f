"""From a feasible matrix M to k directions (Lemma 3.1; Warmuth and Kuzmin, Algorithm 4.1).

M is feasible if its eigenvalues are between 0 and 1 and sum to at most k. The paper's experiments
take the k top eigenvectors; its theorem is about sampling.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onepass.subspace import Subspace

# By which weights may miss the constraints: long sums of updates have rounding errors.
_TOLERANCE = 1e-6


def top(M: Subspace, k: int) -> NDArray[np.floating]:
    """Return eigenvectors of the k largest eigenvalues of M.

    Parameters
    ----------
    M : Subspace
        It need not be feasible.
    k : int
        The number of directions, at most d.

    Returns
    -------
    ndarray of shape (k, d)
        Orthonormal, largest eigenvalue first. Where the k largest include that of the complement,
        as they do when M has a rank below k, its directions are chosen by a fixed rule.

    Examples
    --------
    >>> import numpy as np
    >>> from onepass import rounding
    >>> from onepass.subspace import Subspace
    >>> rounding.top(Subspace(np.eye(2, 3), np.array([0.2, 0.9]), rest=0.5), 2)
    array([[0., 1., 0.],
           [0., 0., 1.]])
    """
    _check_count(k, M.n_features)
    order = np.argsort(-M.weights, kind="stable")
    above = order[M.weights[order] >= M.rest][:k]
    missing = min(k - len(above), M.n_features - M.rank)
    # A fixed seed: the same M always gives the same directions.
    outside = _complement(M.basis, missing, np.random.default_rng(0))
    below = order[len(above) :][: k - len(above) - missing]
    return np.concatenate([M.basis[above], outside, M.basis[below]])


def sample(M: Subspace, k: int, rng: np.random.Generator) -> NDArray[np.floating]:
    """Return k random directions whose projection is M in expectation.

    Systematic sampling: each basis row is taken with a probability equal to its weight, and
    directions of the complement, uniformly at random in it, make up the rest.

    Parameters
    ----------
    M : Subspace
        Feasible.
    k : int
        The number of directions, at most d.
    rng : numpy.random.Generator
        One uniform number is drawn from it, and normal ones for directions of the complement.

    Returns
    -------
    ndarray of shape (k, d)
        Orthonormal. If the trace of M is below k, too few directions are drawn; they are completed
        with the heaviest basis rows that were not drawn, then with random directions of the
        complement. The expected projection is then above M, which captures no less.

    Examples
    --------
    >>> import numpy as np
    >>> from onepass import rounding
    >>> from onepass.subspace import Subspace
    >>> M = Subspace(np.eye(3), np.array([1.0, 0.75, 0.25]))
    >>> rounding.sample(M, 2, np.random.default_rng(0))
    array([[1., 0., 0.],
           [0., 1., 0.]])
    """
    _check_count(k, M.n_features)
    _check_feasible(np.append(M.weights, M.rest), M.trace, k)
    position = rng.uniform()
    heights = np.floor(position + np.cumsum(np.clip(M.weights, 0, 1)))
    drawn = np.diff(heights, prepend=0.0) > 0
    # In the complement only the number of draws matters: its directions are interchangeable.
    outside = int(np.floor(position + M.trace) - heights.max(initial=0.0))
    taken = np.flatnonzero(drawn)[:k]
    outside = max(0, min(outside, k - len(taken), M.n_features - M.rank))
    others = np.argsort(np.where(drawn, np.inf, -M.weights), kind="stable")[: M.rank - len(taken)]
    taken = np.concatenate([taken, others[: k - len(taken) - outside]])
    return np.concatenate([M.basis[taken], _complement(M.basis, k - len(taken), rng)])


def decompose(weights: ArrayLike, k: int) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Return weights as a mixture of corners: sets of k indices, each with a probability.

    Warmuth and Kuzmin's Algorithm 4.1. Index i is in a set with probability ``weights[i]``.

    Parameters
    ----------
    weights : array-like of shape (d,)
        Between 0 and 1, with the sum k.
    k : int
        The size of the sets.

    Returns
    -------
    probabilities : ndarray of shape (c,)
        Positive, with the sum 1; c is at most d.
    corners : ndarray of shape (c, k)
        The indices of each set.

    Examples
    --------
    >>> from onepass import rounding
    >>> probabilities, corners = rounding.decompose([0.5, 0.75, 0.75], 2)
    >>> probabilities
    array([0.5 , 0.25, 0.25])
    >>> corners
    array([[1, 2],
           [0, 1],
           [0, 2]])
    """
    sigma = np.clip(np.asarray(weights, dtype=np.float64), 0, 1)
    d = len(sigma)
    _check_count(k, d)
    _check_feasible(np.asarray(weights, dtype=np.float64), float(np.sum(weights)), k)
    if abs(sigma.sum() - k) > _TOLERANCE * k:
        raise ValueError(f"weights sum to {sigma.sum():.6g}, not to k={k}")
    probabilities: list[float] = []
    corners: list[NDArray[np.intp]] = []
    left = 1.0
    while left > 0 and len(corners) < d:
        order = np.argsort(-sigma, kind="stable")
        corner, others = order[:k], order[k:]
        p = min(sigma[corner[-1]], left - sigma[others].max(initial=0.0))
        if p <= 0:
            break
        probabilities.append(p)
        corners.append(np.sort(corner))
        sigma[corner] -= p
        left -= p
    # What rounding errors left over is shared out.
    return np.array(probabilities) / sum(probabilities), np.array(corners)


def _complement(
    basis: NDArray[np.floating], j: int, rng: np.random.Generator
) -> NDArray[np.floating]:
    """Return j random orthonormal rows orthogonal to basis (m, d), as a (j, d) array."""
    rows = rng.standard_normal((j, basis.shape[1]))
    for _ in range(2):
        rows -= (rows @ basis.T) @ basis
        rows = np.linalg.qr(rows.T)[0].T
    return rows.astype(basis.dtype)


def _check_count(k: int, d: int) -> None:
    """Refuse a number of directions that d dimensions do not have."""
    if not 1 <= k <= d:
        raise ValueError(f"k={k} must be from 1 to {d}, the number of dimensions")


def _check_feasible(values: NDArray[np.float64], total: float, k: int) -> None:
    """Refuse eigenvalues outside of [0, 1], or with a sum above k."""
    low, high = values.min(), values.max()
    if not (low >= -_TOLERANCE and high <= 1 + _TOLERANCE):
        raise ValueError(f"eigenvalues must be between 0 and 1, not from {low:.6g} to {high:.6g}")
    if total > k + _TOLERANCE * k:
        raise ValueError(f"eigenvalues must sum to at most k={k}, not to {total:.6g}")
