import os
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

from onepass import ERM, PCA, open_source
from onepass.distributed import ShardError, fit
from tests.distributed.models import made_rows, same_bits

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

X = made_rows(900)
CUTS = [0, 250, 251, 700, 900]
PARTS = [X[a:b] for a, b in pairwise(CUTS)]


@pytest.fixture(scope="module")
def model():
    """The model that all forms of the same shards must give."""
    return fit(PCA(3), [dask.delayed(part) for part in PARTS])


def test_a_dask_array_in_any_chunks_of_columns(model):
    for columns in (12, 5):
        array = da.from_array(X, chunks=(tuple(np.diff(CUTS)), columns))
        assert same_bits(fit(PCA(3), array), model)


def test_a_dask_array_whose_chunks_have_unknown_sizes(model):
    array = da.from_array(X, chunks=(tuple(np.diff(CUTS)), 12))
    assert same_bits(fit(PCA(3), array[array[:, 0] > -np.inf]), model)


def test_paths_and_sources(model, tmp_path):
    paths = []
    for number, part in enumerate(PARTS):
        paths.append(tmp_path / f"{number}.npy")
        np.save(paths[-1], part)
    assert same_bits(fit(PCA(3), paths), model)
    assert same_bits(fit(PCA(3), [open_source(path) for path in paths]), model)
    assert same_bits(fit(PCA(3), [dask.delayed(os.fspath)(path) for path in paths]), model)


def test_a_dask_array_of_sparse_blocks():
    rows = sp.random_array(
        (600, 400), density=0.05, format="csr", random_state=np.random.default_rng(0)
    )
    array = da.from_array(rows.toarray(), chunks=(200, 400)).map_blocks(sp.csr_matrix)
    found = fit(PCA(3), array)
    parts = [dask.delayed(rows[start : start + 200]) for start in (0, 200, 400)]
    assert found._learner.stream.is_sparse
    assert same_bits(found, fit(PCA(3), parts))


def test_a_dask_dataframe_keeps_its_names():
    pd = pytest.importorskip("pandas")
    dd = pytest.importorskip("dask.dataframe")
    table = pd.DataFrame(X, columns=[f"c{j}" for j in range(12)])
    found = fit(ERM(3), dd.from_pandas(table, npartitions=3))
    assert list(found.feature_names_in_) == list(table.columns)
    assert found.n_samples_seen_ == 900
    assert np.allclose(np.abs(found.components_), np.abs(ERM(3).fit(X).components_))


def test_shards_without_rows_are_passed_over(model):
    parts = [PARTS[0], X[:0], *PARTS[1:3], X[:0], X[:0], X[:0], X[:0], PARTS[3]]
    found = fit(PCA(3), [dask.delayed(part) for part in parts])
    assert found.n_samples_seen_ == 900
    with pytest.raises(ValueError, match="no rows in any of the 2 shards"):
        fit(PCA(3), [dask.delayed(X[:0])] * 2)


def test_progress_comes_with_each_shard():
    told = []

    def read(part):
        told.append("read")
        return part

    fit(PCA(3), [dask.delayed(read)(part) for part in PARTS], progress=told.append)
    assert told[::2] == ["read"] * 4
    assert sorted(told[1::2]) == [1, 200, 250, 449]


def test_errors_say_which_shard_and_where(tmp_path):
    bad = X.copy()
    bad[705, 4] = np.inf
    array = da.from_array(bad, chunks=(100, 12))
    with pytest.raises(ShardError, match=r"shard 7 \(from row 700 of the array\).*row 5, column 4"):
        fit(PCA(3), array)
    path = tmp_path / "bad.npy"
    np.save(path, bad)
    with pytest.raises(ShardError, match=r"shard 0 \(.*bad.npy\).*row 706, column \[4\]"):
        fit(PCA(3), [path])
    with pytest.raises(ShardError, match=r"shard 1 \(gone.npy\).*no such file"):
        fit(PCA(3), [dask.delayed(X), "gone.npy"])


def test_shards_that_do_not_fit_together():
    with pytest.raises(ShardError, match="shard 0, shard 1, shard 2: model 3 has 5 features"):
        fit(PCA(3), [dask.delayed(part) for part in (X, X, X[:, :5])])
    with pytest.raises(ShardError, match="float32"):
        fit(PCA(3), [dask.delayed(part) for part in (X, X.astype(np.float32))])
    with pytest.raises(ShardError, match="sparse"):
        fit(PCA(3), [dask.delayed(part) for part in (X, sp.csr_array(X))])


def test_what_is_refused_at_once():
    with pytest.raises(TypeError, match="ndarray has no shards"):
        fit(PCA(3), X)
    with pytest.raises(ValueError, match="There are no shards"):
        fit(PCA(3), [])
    with pytest.raises(ValueError, match="has 3 dimensions"):
        fit(PCA(3), da.ones((4, 4, 4)))
    with pytest.raises(ValueError, match="n_components"):
        fit(PCA(0), [dask.delayed(X)])
    with pytest.raises(ValueError, match="half_life"):
        fit(PCA(3, half_life=100), [dask.delayed(X)])
    with pytest.raises(TypeError, match="str runs no tasks: pass a client"):
        fit(PCA(3), [dask.delayed(X)], "tcp://127.0.0.1:8786")
