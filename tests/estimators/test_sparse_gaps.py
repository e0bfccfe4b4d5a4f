"""Sparse rows some of whose stored entries are missing."""

import numpy as np
import pytest
from scipy import sparse

from onepass import PCA, metrics

rng = np.random.default_rng(0)
HIDDEN = rng.poisson(0.5, size=(1500, 1)) * rng.gamma(2.0, size=(1, 20))
COMPLETE = sparse.csr_array(HIDDEN + (rng.random((1500, 20)) < 0.1) * rng.normal(size=(1500, 20)))


@pytest.fixture
def rows():
    rows = COMPLETE.copy()
    rows.data[np.random.default_rng(1).random(rows.nnz) < 0.1] = np.nan
    return rows


@pytest.mark.parametrize("calls", [1, 5])
def test_missing_entries_of_sparse_rows_are_completed(rows, calls):
    model = PCA(1)
    for part in np.array_split(np.arange(1500), calls):
        model.partial_fit(rows[part])
    best = PCA(1).fit(COMPLETE)
    assert metrics.principal_angles(model.components_, best.components_)[-1] < 0.05
    missing = np.bincount(rows.indices[np.isnan(rows.data)], minlength=20) / 1500
    np.testing.assert_allclose(model.missing_share_, missing)
    assert np.isfinite(model.transform(rows)).all()
    assert np.isfinite(model.score_samples(rows)).all()


def test_filled_rows_are_sparse_and_equal_dense_ones(rows):
    model = PCA(1).fit(rows)
    rows = sparse.csr_array(sparse.vstack(10 * [rows]))  # several tiles
    filled, deviations = model.impute(rows, return_std=True)
    dense = rows.toarray()
    expected, spread = model.impute(dense, return_std=True)
    assert sparse.issparse(filled)
    assert filled.nnz == rows.nnz  # zeros are observed, and stay
    assert deviations.nnz == np.isnan(rows.data).sum()
    np.testing.assert_allclose(filled.toarray(), expected)
    np.testing.assert_allclose(deviations.toarray(), spread)
    np.testing.assert_allclose(model.transform(rows), model.transform(dense))
    np.testing.assert_allclose(model.score_samples(rows), model.score_samples(dense))
    np.testing.assert_allclose(model.reconstruction_error(rows), model.reconstruction_error(dense))
