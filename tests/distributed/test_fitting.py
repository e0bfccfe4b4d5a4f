"""One model of all shards."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from onepass import ERM, PCA, open_source
from onepass.distributed import fit
from tests.distributed.models import made_rows, same_bits

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

X = made_rows(900)


@settings(max_examples=15)
@given(st.lists(st.integers(0, 90), min_size=2, max_size=9).filter(lambda sizes: sum(sizes) > 1))
def test_moments_are_those_of_all_rows_each_counted_once(sizes):
    X, told = made_rows(sum(sizes), d=6), []
    parts = np.split(X, np.cumsum(sizes)[:-1])
    for estimator in (PCA(2), ERM(2, center=True)):
        found = fit(estimator, parts, progress=told.append)
        assert found.n_samples_seen_ == len(X)
        np.testing.assert_allclose(found.mean_, X.mean(axis=0), rtol=1e-11, atol=1e-12)
        wanted = np.linalg.eigvalsh(np.cov(X.T))[::-1][:2]
        if len(wanted) == len(found.explained_variance_):
            np.testing.assert_allclose(found.explained_variance_, wanted, rtol=1e-9, atol=1e-9)
    assert told == 2 * [size for size in sizes if size]  # shards without rows are passed over


def test_the_given_estimator_stays_as_it_is():
    estimator = PCA(3).fit(X[:100])
    before = estimator.to_bytes()
    assert fit(estimator, [X[100:]]).n_samples_seen_ == 800
    assert estimator.to_bytes() == before


@pytest.mark.parametrize(
    ("estimator", "data", "options", "message"),
    [
        (PCA(3), X, {}, "ndarray has no shards"),
        (PCA(3), [X[:0]] * 2, {}, "no rows in any of the 2 shards"),
        (PCA(3), [X, X[:0], X[:, :5]], {}, "shard 2: .*features"),
        (PCA(3), [X, X.astype(np.float32)], {}, "shard 1: .*float32"),
        (PCA(3, half_life=100), [X], {}, "half_life"),
        (PCA(3), [X], {"shard_rows": 0}, "shard_rows=0"),
    ],
)
def test_what_cannot_be_learned_from(estimator, data, options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        fit(estimator, data, **options)


def test_every_form_of_the_same_shards_gives_the_same_bits(tmp_path):
    expected = fit(PCA(3), [X[:250], X[250:251], X[251:700], X[700:]])
    chunks = (250, 1, 449, 200)
    for columns in (12, 5):
        assert same_bits(fit(PCA(3), da.from_array(X, chunks=(chunks, columns))), expected)
    array = da.from_array(X, chunks=(chunks, 12))
    assert same_bits(fit(PCA(3), array[array[:, 0] > -np.inf]), expected)  # of unknown sizes
    paths = [tmp_path / f"{number}.npy" for number in range(4)]
    for path, part in zip(paths, np.split(X, [250, 251, 700]), strict=True):
        np.save(path, part)
    assert same_bits(fit(PCA(3), [dask.delayed(str)(path) for path in paths]), expected)
    assert same_bits(fit(PCA(3), paths), expected)


def test_sparse_chunks_and_tables_of_dask():
    pd = pytest.importorskip("pandas")
    dd = pytest.importorskip("dask.dataframe")
    rng = np.random.default_rng(0)
    rows = sp.random_array((600, 400), density=0.05, format="csr", random_state=rng)
    array = da.from_array(rows.toarray(), chunks=(200, 400)).map_blocks(sp.csr_matrix)
    parts = [rows[start : start + 200] for start in (0, 200, 400)]
    assert same_bits(fit(PCA(3), array), fit(PCA(3), parts))
    table = pd.DataFrame(X, columns=[f"c{j}" for j in range(12)])
    found = fit(ERM(3), dd.from_pandas(table, npartitions=3))
    assert list(found.feature_names_in_) == list(table.columns)
    assert found.n_samples_seen_ == 900


def test_files_are_split_alike_whatever_the_format(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    np.save(tmp_path / "rows.npy", X)
    table = pa.table({f"c{j}": X[:, j] for j in range(12)})
    parquet.write_table(table, tmp_path / "rows.parquet", row_group_size=170)
    expected = fit(PCA(3), [X[:225], X[225:450], X[450:675], X[675:]])
    for path in tmp_path.iterdir():
        for given_as in (path, [str(path)], open_source(path)):
            found = fit(PCA(3), given_as, shard_rows=250)
            np.testing.assert_array_equal(found.components_, expected.components_)
    assert same_bits(fit(PCA(3), tmp_path / "rows.npy", shard_rows=None), fit(PCA(3), [X]))
