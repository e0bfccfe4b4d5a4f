"""Captured variance, and how much of it is missing to the optimum."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from onepass.metrics.second_moment import Measured, measured
from onepass.metrics.span import orthonormal, residual


def captured(directions: ArrayLike, data: Measured, *, mean: ArrayLike | None = None) -> float:
    """Return the variance of the projection onto the span of the directions, per row.

    It is tr(P E[x x']), with P the projection: the objective of the paper.

    Parameters
    ----------
    directions : array-like of shape (k, d)
        Their span is measured.
    data : rows, Subspace or distribution
        See `onepass.metrics`.
    mean : array-like of shape (d,), optional
        Subtracted from the rows; sparse rows stay sparse. Only for rows.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> from onepass import metrics
    >>> rows = np.array([[3.0, 4.0], [0.0, 1.0]])
    >>> metrics.captured([[0.0, 2.0]], rows)
    8.5
    """
    moment = measured(data, mean)
    return moment.captured(orthonormal(directions, moment.n_features))


def captured_share(
    directions: ArrayLike, data: Measured, *, mean: ArrayLike | None = None
) -> float:
    """Return `captured` as a share of the total variance, between 0 and 1.

    Rows without any variance have a share of 1: there is nothing that is not captured.

    Parameters
    ----------
    directions, data, mean
        As for `captured`.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> from onepass import metrics
    >>> from onepass.sources.synthetic import Toy
    >>> round(metrics.captured_share([[0.0, 1.0]], Toy()), 4)
    0.5714
    """
    moment = measured(data, mean)
    total = moment.total()
    if total == 0:
        return 1.0
    return min(1.0, moment.captured(orthonormal(directions, moment.n_features)) / total)


def suboptimality(directions: ArrayLike, data: Measured, k: int | None = None) -> float:
    """Return what the best k directions capture more than the given ones.

    It is of second order in the angles, and computed without a difference of large numbers: it
    is right to a few digits even where it is 1e-20 of the variance.

    Parameters
    ----------
    directions : array-like of shape (j, d)
        Their span is measured.
    data : rows, Subspace or distribution
        See `onepass.metrics`.
    k : int, optional
        The number of directions to compare with, at least j; j by default. Directions that are
        linearly dependent count as fewer.

    Returns
    -------
    float

    Examples
    --------
    >>> from onepass import metrics
    >>> from onepass.sources.synthetic import Toy
    >>> round(metrics.suboptimality([[1.0, 0.0]], Toy()), 4)
    0.3333
    >>> print(f"{metrics.suboptimality([[1e-10, 1.0]], Toy()):.3g}")
    3.33e-21
    """
    moment = measured(data, None)
    span = orthonormal(directions, moment.n_features)
    k = len(np.atleast_2d(directions)) if k is None else k
    if not len(span) <= k <= moment.n_features:
        raise ValueError(
            f"k={k} must be from {len(span)}, the number of directions, to {moment.n_features}"
        )
    # With mu the k-th eigenvalue and `top` the eigenvectors above it, the residuals `lost` of
    # top outside of span and `gained` of span outside of top give optimum - captured as
    #   sum_top (value - mu) |lost|^2 + mu |gained|^2 - captured by gained + mu (k - dim span).
    values, top, mu = moment.leading(k)
    lost = residual(top, span)
    gained = residual(span, top)
    exchanged = mu * np.vdot(gained, gained) - moment.captured(gained)
    missing = (values - mu) @ np.einsum("ij,ij->i", lost, lost)
    return max(0.0, float(missing + exchanged + mu * (k - len(span))))
