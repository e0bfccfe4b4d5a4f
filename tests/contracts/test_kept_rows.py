"""While rows are fewer than columns they are kept, and everything is as exact as ever."""

import pickle
import tracemalloc

import numpy as np
import pytest
from scipy import sparse

import onepass
from onepass import ERM, PCA, IncrementalPCA
from onepass.estimators.saving import pack, unpack
from onepass.persistence import archive
from tests.contracts.chunks import chunks_of
from tests.contracts.results import assert_equals_reference, assert_identical, published
from tests.contracts.rows import at_once, feed, make, ragged
from tests.contracts.variants import Variant

D, K = 280, 3
VARIANTS = [
    Variant("PCA"),
    Variant("PCA", params={"center": False}),
    Variant("ERM"),
    Variant("IncrementalPCA"),
]
KINDS = [np.asarray, np.float32, sparse.csr_array]


@pytest.fixture(scope="module")
def rows():
    """First fewer rows than columns, in the end more."""
    return make("gaussian", n=400, d=D, k=K)


def keeps_rows(estimator):
    return bool(estimator.learner_.kept)


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [20, 100, 400])
def test_equals_the_reference(variant, kind, n, rows):
    model = variant.build(D, K).fit(kind(rows[:n]))
    assert keeps_rows(model) == (n < D)
    tolerance = 1e-5 if kind is np.float32 else 1e-10
    assert_equals_reference(model, variant, rows[:n], len(model.components_), tolerance=tolerance)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("estimator", [PCA(K), PCA(K, scale=True), ERM(K), IncrementalPCA(K)])
def test_splits_reading_and_copies_change_no_bit(estimator, kind, rows, tmp_path):
    def fresh():
        return type(estimator)(**estimator.get_params())

    weights = np.random.default_rng(0).choice([0.0, 0.5, 3.0], len(rows))
    given = kind(rows)
    with chunks_of(24):
        for n in (200, 400):
            whole = feed(fresh(), given[:n], at_once, weights)
            read = fresh()
            for piece in ragged(n):
                published(read.partial_fit(given[piece], sample_weight=weights[piece]))
                read.save(tmp_path / "m.onepass")
                read = pickle.loads(pickle.dumps(read))
                header, arrays = archive.from_bytes(archive.to_bytes(*pack(read, waiting=True)))
                read = unpack(header, arrays, "the checkpoint")
            assert_identical(whole, read)


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_can_go_on(kind, rows):
    model = PCA(K).fit(kind(rows[:200]))
    assert keeps_rows(model)
    loaded = onepass.from_bytes(model.to_bytes())
    assert keeps_rows(model)
    assert not keeps_rows(loaded)
    for one in (loaded, loaded.partial_fit(kind(rows[200:]))):
        tolerance = 1e-5 if kind is np.float32 else 1e-10
        seen = rows[: one.n_samples_seen_]
        assert_equals_reference(one, Variant("PCA"), seen, K, tolerance=tolerance)


@pytest.mark.parametrize("cuts", [(100, 50), (200, 150), (350, 20), (20, 350)])
def test_merging_is_exact(cuts, rows):
    first, second = cuts
    parts = [PCA(K).fit(rows[:first]), PCA(K).fit(rows[first : first + second])]
    before = [published(part) for part in parts]
    merged = onepass.merge(*parts)
    assert keeps_rows(merged) == (first + second < D)
    assert_equals_reference(merged, Variant("PCA"), rows[: first + second], K)
    for part, held in zip(parts, before, strict=True):
        for name, value in published(part).items():
            np.testing.assert_array_equal(value, held[name], err_msg=name)


@pytest.mark.parametrize("n", [100, 300])
def test_rows_are_learned_from_at_the_first_gap(n, rows):
    given = rows.copy()
    given[n, 7] = np.nan
    whole = PCA(K).fit(given)
    assert not keeps_rows(whole)
    assert_identical(whole, feed(PCA(K), given, ragged))
    np.testing.assert_allclose(whole.mean_, rows.mean(axis=0), atol=1e-2)
    merged = onepass.merge(PCA(K).fit(rows[:n]), PCA(K).fit(given[n:]))
    np.testing.assert_allclose(merged.explained_variance_, whole.explained_variance_, rtol=1e-3)


def test_few_rows_of_many_columns_build_no_matrix():
    rows = np.random.default_rng(0).normal(size=(400, 4000)).astype(np.float32)
    PCA(K).fit(rows[:130])
    tracemalloc.start()
    model = PCA(K).fit(rows)
    _ = model.components_
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4000 * 4000 * 4 < 4000 * 4001 // 2 * 8


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_beyond_the_matrix_few_rows_are_exact_until_they_are_saved(kind):
    d = 9000 if kind is sparse.csr_array else 4200
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(300, 60)) @ rng.normal(size=(60, d)) * (rng.random((300, d)) < 0.5)
    model = PCA(K).fit(kind(rows))
    assert keeps_rows(model)
    _, values, vectors = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
    np.testing.assert_allclose(model.singular_values_, values[:K], rtol=1e-9)
    cosines = np.abs(np.sum(model.components_ * vectors[:K], axis=1))
    np.testing.assert_allclose(cosines, 1.0, atol=1e-9)
    loaded = onepass.from_bytes(model.to_bytes())
    np.testing.assert_allclose(loaded.singular_values_, values[:K], rtol=1e-3)
    assert loaded.n_samples_seen_ == 300
