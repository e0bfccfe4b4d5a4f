"""One model of all shards."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onepass import ERM, MEG, MSG, PCA, CappedMSG, Grouse, Incremental, Oja, ShardError
from onepass.distributed import fit
from tests.distributed.models import made_rows, same_bits

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

X = made_rows(900)
ESTIMATORS = [
    CappedMSG(3, average=True), CappedMSG(3, max_rank="auto"), MSG(3, trace="exact"),
    MEG(3), Oja(3, random_state=1), Grouse(3, random_state=1),
    Incremental(3), ERM(3, center=True), PCA(3), PCA(0.9),
]  # fmt: skip


def delayed(parts):
    return [dask.delayed(part) for part in parts]


@settings(max_examples=15)
@given(st.lists(st.integers(0, 90), min_size=2, max_size=9).filter(lambda sizes: sum(sizes) > 1))
def test_moments_are_those_of_all_rows_each_counted_once(sizes):
    X = made_rows(sum(sizes), d=6)
    parts = np.split(X, np.cumsum(sizes)[:-1])
    for estimator in (PCA(2), ERM(2, center=True)):
        found = fit(estimator, delayed(parts))
        assert found.n_samples_seen_ == len(X)
        np.testing.assert_allclose(found.mean_, X.mean(axis=0), rtol=1e-11, atol=1e-12)
        wanted = np.linalg.eigvalsh(np.cov(X.T))[::-1][:2]
        if len(wanted) == len(found.explained_variance_):
            np.testing.assert_allclose(found.explained_variance_, wanted, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_merged_iterates_are_as_good_as_one_pass(estimator):
    X = made_rows(4000) - made_rows(4000).mean(axis=0)
    best = ERM(3).fit(X).score(X)
    found = fit(estimator, delayed(np.array_split(X, 4)))
    assert found.score(X) > best - 0.03
    span = found.components_ @ found.components_.T
    np.testing.assert_allclose(span, np.eye(len(span)), atol=1e-10)


def test_the_given_estimator_stays_as_it_is():
    estimator = PCA(3).fit(X[:100])
    before = estimator.to_bytes()
    assert fit(estimator, delayed([X[100:]])).n_samples_seen_ == 800
    assert estimator.to_bytes() == before


def test_shards_without_rows_are_passed_over():
    parts = [X[:250], X[:0], X[250:251], *[X[:0]] * 4, X[251:]]
    told = []
    found = fit(PCA(3), delayed(parts), progress=told.append)
    assert told == [250, 1, 649]
    assert found.n_samples_seen_ == 900
    with pytest.raises(ValueError, match="no rows in any of the 2 shards"):
        fit(PCA(3), delayed([X[:0]] * 2))


def test_shards_that_do_not_fit_together():
    for other, word in ((X[:, :5], "features"), (X.astype(np.float32), "float32")):
        with pytest.raises(ShardError, match=f"shard 0, shard 1, shard 2: model 3 .*{word}"):
            fit(PCA(3), delayed([X, X, other]))


def test_what_is_refused():
    with pytest.raises(TypeError, match="ndarray has no shards"):
        fit(PCA(3), X)
    with pytest.raises(ValueError, match="no shards"):
        fit(PCA(3), [])
    with pytest.raises(ValueError, match="3 dimensions"):
        fit(PCA(3), da.ones((4, 4, 4)))
    with pytest.raises(ValueError, match="n_components"):
        fit(PCA(0), delayed([X]))
    with pytest.raises(ValueError, match="half_life"):
        fit(PCA(3, half_life=100), delayed([X]))
    with pytest.raises(ValueError, match="shard_rows=0"):
        fit(PCA(3), delayed([X]), shard_rows=0)
    with pytest.raises(TypeError, match="str runs no tasks"):
        fit(PCA(3), delayed([X]), "tcp://127.0.0.1:8786")


WITHOUT_DASK = """
import sys
sys.modules["dask"] = sys.modules["distributed"] = None
from onepass import PCA
from onepass.distributed import fit
print(fit(PCA(3), sys.argv[1:]).n_samples_seen_)
"""


def test_paths_need_no_dask(tmp_path):
    np.save(tmp_path / "rows.npy", X)
    command = [sys.executable, "-c", WITHOUT_DASK, tmp_path / "rows.npy"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("900\n", "")


def test_every_form_of_the_same_shards_gives_the_same_bits(tmp_path):
    expected = fit(PCA(3), delayed([X[:250], X[250:251], X[251:700], X[700:]]))
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
