"""Standard errors against d x d formulas, and against leaving segments out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from onepass.moments.segments import Segments
from onepass.moments.standard_errors import StandardErrors, standard_errors
from tests.moments.test_segments import segments_of, stream

Array = NDArray[np.float64]


def moment(X: Array, scale: Array | None = None, weights: Array | None = None) -> Array:
    weights = np.ones(len(X)) if weights is None else weights
    centred = (X - weights @ X / weights.sum()) / (1.0 if scale is None else scale)
    return (centred * weights[:, None]).T @ centred / weights.sum()


def leading(C: Array, k: int) -> tuple[Array, Array]:
    values, vectors = np.linalg.eigh(C)
    return values[::-1][:k], vectors[:, ::-1][:, :k].T


def errors_of(X: Array, segments: Segments, k: int, scale: Array | None = None) -> StandardErrors:
    C = moment(X, scale)
    values, vectors = leading(C, k)
    return standard_errors(segments, vectors, values, float(np.trace(C)), scale=scale)


def naive(X: Array, segments: Segments, k: int, scale: Array | None = None) -> Any:
    """Return errors of components (k, d) and variances (k,), degrees and share captured."""
    C, total = moment(X, scale), len(X)
    unit = np.ones(X.shape[1]) if scale is None else scale
    values, vectors = leading(C, X.shape[1])
    mean, end = X.mean(axis=0), 0
    moves, changes, shares, got, energy, owed = [], [], [], [], [], []
    for rows in segments.rows.astype(int):
        part, end = (X[end : end + rows] - mean) / unit, end + rows
        own = part.T @ part / rows
        change = own - C
        if scale is not None:
            E = np.diag(((part * unit) ** 2).mean(axis=0) / scale**2 - 1.0)
            change = change - 0.5 * (E @ C + C @ E)
        inner = vectors @ change @ vectors[:k].T
        gaps = values[:k] - values[:, None]
        np.fill_diagonal(gaps, np.inf)
        moves.append((vectors.T @ (inner / gaps)).T)
        changes.append(inner.diagonal())
        share = rows / total
        shares.append(share)
        got.append(np.trace(vectors[:k] @ own @ vectors[:k].T))
        energy.append(np.trace(own))
        owed.append(2 * share / (1 - share) * (inner[k:] ** 2 / gaps[k:]).sum())
    w, moves, changes = np.array(shares), np.array(moves), np.array(changes)
    np.testing.assert_allclose(np.tensordot(w, moves, 1), 0.0, atol=1e-10)
    s2, s3 = (w**2).sum(), (w**3).sum()
    factor = 1 / (1 - s2)
    new, energy = np.array(got) - owed, np.array(energy)
    share = w @ new / (w @ energy)
    spread = np.sqrt(factor * (w**2 * (new - share * energy) ** 2).sum()) / (w @ energy)
    return (
        np.sqrt(factor * np.tensordot(w**2, moves**2, 1)),
        np.sqrt(factor * (w**2) @ changes**2),
        (1 - s2) ** 2 / (s2 - 2 * s3 + s2**2),
        share,
        np.hypot(spread, 0.25 * (w @ owed) / (w @ energy)),
    )


@pytest.mark.parametrize("is_scaled", [False, True])
@pytest.mark.parametrize("k", [1, 3, 12])
def test_errors_equal_those_of_d_x_d_formulas(k: int, is_scaled: bool) -> None:
    X = stream(900) @ np.random.default_rng(3).normal(size=(12, 12)) + 50.0
    scale = X.std(axis=0) if is_scaled else None
    segments = segments_of(X, np.eye(12))
    found = errors_of(X, segments, k, scale)
    components, variances, degrees, share, error = naive(X, segments, k, scale)
    np.testing.assert_allclose(found.components, components, rtol=1e-6)
    np.testing.assert_allclose(found.variances, variances, rtol=1e-6)
    assert found.degrees == pytest.approx(degrees)
    angles = np.rad2deg(np.sqrt((components**2).sum(axis=1)))
    np.testing.assert_allclose(found.angles, angles.clip(max=90.0), rtol=1e-6)
    if k < 12:
        assert found.captured.mean == pytest.approx(share, rel=1e-8)
        assert found.captured.standard_error == pytest.approx(error, rel=1e-6)
    else:
        assert found.captured.mean == 1.0


def test_equal_variances_have_no_direction() -> None:
    corners = np.vstack([np.eye(3)[:2], -np.eye(3)[:2]] * 2) * 4.0
    corners[:, 2] = [1, 1, 1, 1, -1, -1, -1, -1]
    X = np.tile(corners, (50, 1))
    found = errors_of(X, segments_of(X, np.eye(3)), 2)
    np.testing.assert_array_equal(found.angles[:2], 90.0)
    np.testing.assert_array_equal(found.planes, 0)
    assert (found.plane_angles < 2.0).all()


def test_close_variances_are_known_together() -> None:
    X = np.random.default_rng(1).normal(size=(4000, 10)) * np.r_[5.0, 3.0, 2.99, np.ones(7)]
    found = errors_of(X, segments_of(X, np.eye(10)), 3)
    assert found.angles[0] < 3.0 < 45.0 < found.angles[1]
    np.testing.assert_array_equal(found.planes, [0, 1, 1])
    assert (found.plane_angles < 5.0).all()


def test_the_angle_of_a_plane_is_that_between_subspaces() -> None:
    """The angle said of two components together is the root mean square over 60 streams."""
    spread, said = [], []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(2000, 10)) * np.sqrt(np.r_[4.0, 4.0, np.ones(8)])
        found = errors_of(X, segments_of(X, np.eye(10)), 2)
        if found.planes.any():  # by chance, variances differ
            continue
        said.append(found.plane_angles[0] ** 2)
        spread.append(2.0 - (leading(moment(X), 2)[1][:, :2] ** 2).sum())
    true = np.rad2deg(np.sqrt(np.mean(spread)))
    assert np.sqrt(np.mean(said)) == pytest.approx(true, rel=0.2)
