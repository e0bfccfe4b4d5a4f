"""What is measured of the rows of a chunk before anything is learned from them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onepass.estimators.captured import Score
from onepass.estimators.chunk_rows import energies_about
from onepass.kernels.squares import dsyrk
from onepass.kernels.survey import energies_along, survey
from onepass.moments import Shifted

# Rows, and bytes of them, that stay in the cache until all is known of them.
ROOM_ROWS, ROOM_BYTES = 1024, 2**19


class Measured(NamedTuple):
    """What is known of rows.

    Attributes
    ----------
    shift : ndarray of shape (d,)
        What was taken away from them.
    shifted : Shifted
        The rows without it.
    energy : float
        The sum of their energies about the origin.
    captured : ndarray of shape (m,)
        How much of it is along each of m groups of directions.
    """

    shift: NDArray[np.float64]
    shifted: Shifted
    energy: float
    captured: NDArray[np.float64]


def measure_dense(
    rows: NDArray[np.floating],
    weights: NDArray[np.float64],
    origin: NDArray[np.float64],
    groups: list[NDArray[np.floating]],
    score: Score,
    believed: int,
    squares: NDArray[np.float64],
) -> Measured:
    """Measure rows (b, d) from an origin (d,), and along groups of directions (k, d).

    What the group of number `believed` captures is added to a score, if there are groups. The
    squares of the rows are added to the lower triangle of `squares`, which is empty where nobody
    wants them: then the rows minus the origin are kept instead.
    """
    b, d = rows.shape
    kept = b if not len(squares) else min(b, max(ROOM_ROWS, ROOM_BYTES // (8 * d)))
    directions = np.vstack([np.zeros((0, d)), *groups])
    near, energy, total = np.empty((kept, d)), np.empty(b), np.zeros(d)
    captured, sums = np.empty((len(groups), b)), np.zeros(len(groups))
    scores = score.sums.copy()
    energies, alike, unit = survey(
        rows, origin, weights, directions, near, squares, dsyrk(), energy, total, captured, sums,
        believed, score.unit, scores,
    )  # fmt: skip
    if groups:
        score.go_on(unit, scores, b)
    shifted = Shifted(None if len(squares) else near, total, alike)
    return Measured(origin, shifted, energies, sums)


def measure_sparse(
    rows: Any,
    weights: NDArray[np.float64],
    origin: NDArray[np.float64],
    groups: list[NDArray[np.floating]],
    score: Score,
    believed: int,
) -> Measured:
    """Do the same for sparse rows, which stay as they are: products with the origin are taken away.

    Nothing is added to any squares.
    """
    energy = weights * energies_about(rows, origin)
    captured, sums = np.empty((len(groups), len(weights))), np.zeros(len(groups))
    if groups:
        directions = np.vstack(groups)
        inner = np.asarray(rows @ directions.T, dtype=np.float64)
        energies_along(inner, directions @ origin, weights, captured, sums)
        score.add(captured[believed], energy)
    shifted = Shifted(rows, weights @ rows, bool((weights == 1.0).all()))
    return Measured(np.zeros(len(origin)), shifted, float(energy.sum()), sums)
