"""Merged estimators stand for the rows of all, as far as an algorithm defines that."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse
from sklearn import decomposition

import onepass
from onepass import PCA
from tests import reference
from tests.contracts.chunks import chunks_of, learn_as_if_wide
from tests.contracts.results import (
    assert_close,
    assert_equals_reference,
    assert_identical,
    assert_variances_are_those_of,
    published,
)
from tests.contracts.rows import make
from tests.contracts.test_splits import Recording
from tests.contracts.variants import (
    ALGORITHMS,
    BATCH_VARIANTS,
    ESTIMATORS,
    OTHER_VARIANTS,
    VARIANTS,
    Variant,
    build,
)

D, K = 20, 3
CUTS = [50, 59]  # rows: six chunks, one, and five
# `auto` needs an init to be one variant in all parts; these have one.
ITERATES = [v for v in VARIANTS if not v.averages]
# The rows of the contracts have a mean, and the paper does not take it off.
pytestmark = pytest.mark.filterwarnings("ignore:the mean of the rows is far from zero")


@pytest.fixture(autouse=True)
def short_chunks():
    with chunks_of(8):
        yield


@pytest.fixture(scope="module")
def rows():
    return make("gaussian", n=100, d=D, k=K) + 0.5


@pytest.fixture(scope="module")
def weights():
    return np.random.default_rng(0).choice([0.0, 0.5, 1.0, 3.0], 100)


def fitted_parts(variant, rows, weights=None):
    """Return estimators that are fitted on the parts of the rows."""
    given = np.ones(rows.shape[0]) if weights is None else weights
    edges = [0, *CUTS, rows.shape[0]]
    return [
        variant.build(D, K).partial_fit(rows[a:b], sample_weight=given[a:b])
        for a, b in pairwise(edges)
    ]


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("variant", BATCH_VARIANTS, ids=str)
def test_batch_estimates_merge_exactly(variant, kind, rows, weights):
    merged = onepass.merge(*fitted_parts(variant, kind(rows), weights))
    assert_equals_reference(merged, variant, rows, K, weights)
    merged.partial_fit(kind(3 * rows[:20]))
    more, counts = np.vstack([rows, 3 * rows[:20]]), np.append(weights, np.ones(20))
    assert_equals_reference(merged, variant, more, K, counts)


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_means_and_variances_merge_exactly(variant, rows, weights):
    merged = onepass.merge(*fitted_parts(variant, rows, weights))
    assert merged.n_samples_seen_ == (weights > 0).sum()
    assert_variances_are_those_of(merged, variant, rows, weights, 1e-10)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_total_variance_of_many_columns_merges_exactly(algorithm, rows, weights, monkeypatch):
    """Beyond the exact matrix the sum of all squares is kept, and means that differ add to it."""
    learn_as_if_wide(monkeypatch)
    moved = rows + np.where(np.arange(len(rows)) < CUTS[0], 0.0, 4.0)[:, None]
    variant = Variant(algorithm, params={"center": True})
    merged = onepass.merge(*fitted_parts(variant, moved, weights))
    total = merged.explained_variance_.sum() + (D - K) * merged.noise_variance_
    scatter = reference.scatter(moved, weights, center=True)[1]
    degrees = weights.sum() * (1.0 - 1.0 / (weights > 0).sum())
    assert total == pytest.approx(scatter.trace() / degrees, rel=1e-10)


@pytest.mark.parametrize("variant", [v for v in VARIANTS if v.averages], ids=str)
def test_averages_merge_by_the_number_of_their_iterates(variant, rows):
    parts = fitted_parts(variant, rows)
    steps = np.ceil(np.diff([0, *CUTS, len(rows)]) / variant.params.get("batch_size", 1))
    wanted = sum(n * p.average_.to_dense() for n, p in zip(steps, parts, strict=True)) / sum(steps)
    assert_close(onepass.merge(*parts).average_.to_dense(), wanted, 1e-10)


def averaged(variant, parts, steps):
    """The average of the iterates, made an iterate of the algorithm again."""
    iterates = [part.subspace_.to_dense() for part in parts]
    if variant.algorithm == "Incremental":
        values, vectors = np.linalg.eigh(sum(iterates))
        kept = slice(-variant.max_rank(D, K), None)
        return reference.compose(values[kept], vectors[:, kept])
    M = sum(n * M for n, M in zip(steps, iterates, strict=True)) / sum(steps)
    values, vectors = np.linalg.eigh(M)
    if variant.algorithm == "MEG":
        return M
    if variant.has_init:
        return vectors[:, -K:] @ vectors[:, -K:].T
    kept = slice(-variant.max_rank(D, K), None)
    return reference.compose(reference.project(values[kept], K, variant.trace), vectors[:, kept])


@pytest.mark.parametrize("variant", ITERATES, ids=str)
def test_iterates_are_averaged_by_the_number_of_steps(variant, rows):
    one, _, other = fitted_parts(variant, rows)
    batch = variant.params.get("batch_size", 1)
    steps = np.ceil(np.array([CUTS[0], len(rows) - CUTS[1]]) / batch)
    merged = onepass.merge(one, other).subspace_.to_dense()
    assert_close(merged, averaged(variant, [one, other], steps), 1e-9)


@pytest.mark.parametrize("algorithm", ["MSG", "CappedMSG", "MEG", "Oja", "Grouse"])
def test_steps_go_on_after_those_of_all_parts(algorithm, rows):
    note = Recording()
    parts = [build(algorithm, K, step_size=note, center=False, random_state=0).fit(rows[a : a + 40])
             for a in (0, 40)]  # fmt: skip
    merged = onepass.merge(*parts)
    note.gradients.clear()
    merged.partial_fit(rows[80:96])
    norms = np.sqrt(np.cumsum(np.sum(rows**2, axis=1) ** 2))
    assert sorted(note.gradients) == [*range(81, 97)]
    found = [note.gradients[t] for t in range(81, 97)]
    np.testing.assert_allclose(found, norms[80:96], rtol=1e-12)


@pytest.mark.parametrize("variant", [*VARIANTS, *BATCH_VARIANTS, *OTHER_VARIANTS], ids=str)
def test_merging_leaves_the_parts_alone_and_can_be_saved(variant, rows, tmp_path):
    parts, twins = fitted_parts(variant, rows), fitted_parts(variant, rows)
    merged = onepass.merge(*parts)
    before = published(merged)
    merged.save(tmp_path / "m.onepass")
    loaded = onepass.load(tmp_path / "m.onepass")
    assert_identical(merged, loaded)
    assert_identical(merged.partial_fit(rows[:30]), loaded.partial_fit(rows[:30]))
    assert_identical(onepass.merge(*parts), onepass.merge(*twins))
    for name, value in published(onepass.merge(*parts)).items():
        np.testing.assert_array_equal(value, before[name], err_msg=name)
    for part, twin in zip(parts, twins, strict=True):
        assert_identical(part.partial_fit(rows[:9]), twin.partial_fit(rows[:9]))


@pytest.mark.parametrize("algorithm", ESTIMATORS)
def test_what_differs_is_refused(algorithm, rows):
    model = build(algorithm, 2, random_state=0).fit(rows)
    other = "ERM" if algorithm != "ERM" else "CappedMSG"
    for theirs, message in (
        (build(algorithm, 3, random_state=0).fit(rows), "n_components"),
        (build(algorithm, 2, random_state=0).fit(rows[:, :9]), "features=9"),
        (build(algorithm, 2, random_state=0).fit(np.float32(rows)), "float32"),
        (build(other, 2).fit(rows), other),
    ):
        with pytest.raises(ValueError, match=message):
            onepass.merge(model, theirs)


@pytest.mark.parametrize("algorithm", ["PCA", "CappedMSG"])
@pytest.mark.parametrize("d", [50, 3000])
def test_sparse_and_dense_rows_merge_where_columns_are_few(algorithm, d):
    rows = np.random.default_rng(0).normal(size=(60, d))
    kinds = (np.asarray, sparse.csr_array)
    dense, other = (build(algorithm, 2).partial_fit(kind(rows)) for kind in kinds)
    if d > 2048:
        with pytest.raises(ValueError, match="sparse"):
            onepass.merge(dense, other)
    else:
        merged = onepass.merge(dense, other)
        np.testing.assert_allclose(merged.mean_, rows.mean(axis=0))


def test_a_grown_cap_is_kept(rows):
    rng = np.random.default_rng(2)
    grown = onepass.CappedMSG(2, max_rank="auto").fit(rng.normal(size=(3000, 30)))
    young = onepass.CappedMSG(2, max_rank="auto").fit(rng.normal(size=(30, 30)))
    assert grown.max_rank_ > young.max_rank_
    assert onepass.merge(young, grown).max_rank_ == grown.max_rank_


def test_a_model_of_another_library_is_named():
    X = np.random.default_rng(0).normal(size=(30, 3))
    with pytest.raises(ValueError, match="model 2 is sklearn's PCA, the first is onepass's PCA"):
        PCA(2).fit(X).merge(decomposition.PCA(2).fit(X))


def test_the_same_rows_do_not_count_twice():
    X = np.random.default_rng(0).normal(size=(30, 3))
    one, other = PCA(2).fit(X), PCA(2).fit(X)
    for models in ((one, one), (one, other, one), (one, other, other)):
        with pytest.raises(ValueError, match=r"is the same object as model.* count twice"):
            onepass.merge(*models)
    assert one.merge(other).n_samples_seen_ == 60
