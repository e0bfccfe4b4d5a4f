"""The average of iterates beyond its rank: truncation keeps the leading directions."""

import numpy as np
import pytest

from onepass.algorithms.averaging import Average

DTYPE = np.dtype(np.float64)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("together", [1, 16, 150])
def test_truncation_of_many_rows_keeps_what_matters(dtype, together):
    """Rows in 60 dimensions with a flat tail: the leading directions of the sum, nearly all."""
    rng, d, k, rank = np.random.default_rng(0), 60, 3, 10
    basis = np.linalg.qr(rng.normal(size=(d, d)))[0]
    found = rng.normal(size=(3000, d)) * np.r_[3.0, 2.5, 2.0, np.full(d - k, 0.5)] @ basis
    average = Average(d, rank, np.dtype(dtype))
    for start in range(0, len(found), 4 * together):
        rows = found[start : start + 4 * together].astype(dtype)
        average.add(rows, 0.0, len(rows) / 4)
    exact = found.T @ found / 750
    values, vectors = np.linalg.eigh(exact)
    value = average.value()
    np.testing.assert_allclose(value.basis @ value.basis.T, np.eye(rank), atol=1e-5)
    cosines = np.linalg.svd(value.top(k) @ vectors[:, -k:], compute_uv=False)
    assert cosines.min() > 0.999
    weights = value.weights[:k]
    assert (weights <= values[::-1][:k] * (1 + 1e-4)).all()  # truncation only takes off
    assert (weights > 0.9 * values[::-1][:k]).all()


def test_one_pass_finds_new_directions():
    """A small part of the rows that is all in directions not held yet."""
    rng = np.random.default_rng(0)
    average = Average(60, 10, DTYPE)
    first, later = np.eye(60)[:4], np.eye(60)[10:14]
    average.add(rng.normal(size=(90, 4)) @ first, 0.0, 90)
    average.add(rng.normal(size=(40, 4)) @ later, 0.0, 5)
    found = average.value().basis
    assert len(found) == 8
    for frame in (first, later):
        np.testing.assert_allclose(np.linalg.norm(frame @ found.T, axis=1), 1.0, atol=1e-10)
