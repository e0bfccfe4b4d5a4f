"""The same numbers give the same result, whatever holds them."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

from tests.contracts.chunks import chunks_of
from tests.contracts.rows import make
from tests.contracts.variants import CENTERINGS, ESTIMATORS, build

D, K = 24, 3
COLUMNS = [f"column {j}" for j in range(D)]
TABLES = {
    "list": lambda X: X.tolist(),
    "fortran": np.asfortranarray,
    "strided": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "read-only": lambda X: np.frombuffer(X.tobytes()).reshape(X.shape),
    "big-endian": lambda X: X.astype(">f8"),
    "pandas": lambda X: pd.DataFrame(X, columns=COLUMNS),
    "polars": lambda X: pl.DataFrame(X, schema=COLUMNS),
    "pyarrow": lambda X: pa.table(dict(zip(COLUMNS, X.T, strict=True))),
}
SPARSE = {
    "csr_array": sp.csr_array,
    "csr_matrix": sp.csr_matrix,
    "csc_array": sp.csc_array,
    "coo_matrix": sp.coo_matrix,
}


@pytest.fixture(autouse=True)
def short_chunks():
    with chunks_of(16):
        yield


@pytest.fixture(scope="module")
def rows():
    """Gaussian rows, two thirds zero, one of them entirely."""
    rows = make("gaussian", n=80, d=D, k=K)
    rows[np.random.default_rng(0).random(rows.shape) < 2 / 3] = 0
    rows[5] = 0
    return rows


def close(one, other, tolerance=1e-10):
    """Compare projectors, variances and shares of two fitted estimators."""
    projectors = [e.components_.T @ e.components_ for e in (one, other)]
    np.testing.assert_allclose(*projectors, rtol=0, atol=tolerance)
    for name in ("explained_variance_", "explained_variance_ratio_", "mean_"):
        values = [getattr(e, name) for e in (one, other)]
        np.testing.assert_allclose(*values, rtol=tolerance, atol=tolerance)
    # Not a number as long as ERM, which scores many rows at a time, has scored none.
    assert one.captured_.mean == pytest.approx(other.captured_.mean, rel=tolerance, nan_ok=True)


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("algorithm", ESTIMATORS)
def test_tables_and_arrays_agree(algorithm, table, rows):
    array = build(algorithm, K, random_state=0).fit(rows)
    given = TABLES[table](rows)
    other = build(algorithm, K, random_state=0).fit(given)
    close(array, other)
    np.testing.assert_allclose(other.transform(given), array.transform(rows), atol=1e-9)
    if table in ("pandas", "polars", "pyarrow"):
        assert list(other.feature_names_in_) == COLUMNS


@pytest.mark.parametrize("holder", SPARSE)
@pytest.mark.parametrize("algorithm", ESTIMATORS)
def test_sparse_holders_agree(algorithm, holder, rows):
    given = SPARSE[holder](rows)
    np.testing.assert_array_equal(given.toarray(), rows)
    dense = build(algorithm, K, random_state=0).fit(rows)
    sparse = build(algorithm, K, random_state=0).fit(given)
    close(dense, sparse)
    np.testing.assert_allclose(sparse.transform(given), dense.transform(rows), atol=1e-9)
    assert sparse.score(given) == pytest.approx(dense.score(rows))


@pytest.mark.parametrize(("algorithm", "center"), CENTERINGS)
def test_single_precision_in_single_precision_out(algorithm, center, rows):
    single = rows.astype(np.float32)
    narrow = build(algorithm, K, center=center, random_state=0).fit(single)
    wide = build(algorithm, K, center=center, random_state=0).fit(single.astype(float))
    close(wide, narrow, tolerance=2e-4)
    for name in ("components_", "mean_", "explained_variance_"):
        assert getattr(narrow, name).dtype == np.float32, name
        assert getattr(wide, name).dtype == np.float64, name
    for sparse_or_not in (single, sp.csr_array(single)):
        assert narrow.transform(sparse_or_not).dtype == np.float32
    assert narrow.inverse_transform(narrow.transform(single)).dtype == np.float32
    np.testing.assert_allclose(narrow.components_ @ narrow.components_.T, np.eye(K), atol=1e-6)


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, bool])
@pytest.mark.parametrize("algorithm", ESTIMATORS)
def test_whole_numbers_are_numbers(algorithm, dtype):
    """Squares of small integers overflow in their own type."""
    largest = 1 if dtype is bool else 255
    rows = np.random.default_rng(0).integers(0, largest, (60, 8), endpoint=True).astype(dtype)
    close(
        build(algorithm, 2, random_state=0).fit(rows.astype(float)),
        build(algorithm, 2, random_state=0).fit(rows),
        tolerance=1e-9,
    )
