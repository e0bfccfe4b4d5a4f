"""Further passes over rows of many columns, and few rows, against decompositions."""

import itertools

import numpy as np
import pytest
from scipy import sparse

from onepass import PCA, from_bytes, load, open_source
from onepass.distributed import fit as fit_on_shards
from onepass.estimators.checkpoint import Checkpoint
from onepass.sources import BlockSource
from tests.cli.commands import onepass

K, N, D = 4, 8400, 8300  # sparse rows of so many columns have no exact second moment
ACTIVE = 60  # columns that are not empty, so that a decomposition takes no time


def batch(X, weights, *, center=True, scale=False):
    """Return mean, deviations or ones, and the leading sums of squares and directions."""
    mean = np.average(X, axis=0, weights=weights) * center
    Z = X - mean
    deviations = np.sqrt(np.average(Z**2, axis=0, weights=weights)) if scale else np.ones(1)
    deviations = np.where(deviations > 0.0, deviations, 1.0)
    values, vectors = np.linalg.svd(np.sqrt(weights)[:, None] * Z / deviations, False)[1:]
    return mean, deviations, values**2, vectors


@pytest.fixture(scope="module")
def wide():
    """Return sparse rows of many columns, what they are in those that are not empty, and these."""
    rng = np.random.default_rng(4)
    inside = rng.poisson(0.3, size=(N, ACTIVE)) * rng.lognormal(0.0, 0.7, ACTIVE)
    columns = np.sort(rng.choice(D, ACTIVE, replace=False))
    frame = sparse.csr_array((np.ones(ACTIVE), (range(ACTIVE), columns)), (ACTIVE, D))
    return sparse.csr_array(sparse.csr_array(inside) @ frame), inside, frame.toarray()


def lost(model, inside, frame, weights=None, **options):
    """Return the share of the variance captured by batch PCA that a model does not capture."""
    weights = np.ones(len(inside)) if weights is None else weights
    mean, deviations, values, _ = batch(inside, weights, **options)
    components = model.components_.astype(np.float64) @ frame.T
    along = np.sqrt(weights)[:, None] * (inside - mean) / deviations @ components.T
    return 1.0 - float(np.square(along).sum() / values[: model.n_components_].sum())


def blocks_of(X, lengths):
    """Return consecutive rows of X in blocks of some lengths."""
    edges = np.cumsum([0, *lengths])
    return [X[start:stop] for start, stop in itertools.pairwise(edges)]


@pytest.mark.parametrize("options", [{}, {"center": False}, {"scale": True}])
def test_rows_in_memory_are_read_as_often_as_it_takes(wide, options):
    X, inside, frame = wide
    model, once = (PCA(K, passes=passes, **options).fit(X) for passes in (None, 1))
    assert lost(model, inside, frame, **options) < 1e-3
    mean, deviations, values, _ = batch(inside, np.ones(N), **options)
    degrees = N - options.get("center", True)
    np.testing.assert_allclose(model.explained_variance_, values[:K] / degrees, rtol=1e-2)
    np.testing.assert_allclose(model.mean_ @ frame.T, np.zeros(ACTIVE) + mean, atol=1e-9)
    np.testing.assert_allclose(model.scale_ @ frame.T, deviations * np.ones(ACTIVE), rtol=1e-9)
    assert model.n_samples_seen_ == N
    assert model.captured_.mean == pytest.approx(values[:K].sum() / values.sum(), rel=0.1)
    errors = np.square((inside - mean) / deviations).sum(axis=1)
    errors -= np.square(model.transform(X)).sum(axis=1)
    assert model.error_threshold(0.9) == pytest.approx(np.quantile(errors, 0.9), rel=0.1)
    assert model.long_rows_ == pytest.approx(once.long_rows_, rel=0.1)
    assert np.isfinite(model.components_error_).all()


def test_dense_float32_rows():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(4200, 4150)).astype(np.float32)
    X[:, :5] *= np.arange(6, 1, -1, dtype=np.float32)
    X += 3.0
    model = PCA(2).fit(X)
    assert model.components_.dtype == np.float32
    centred = X - X.mean(axis=0)
    for component, variance in zip(model.components_, model.explained_variance_, strict=True):
        along = centred @ component
        assert variance == pytest.approx(along.var(ddof=1), rel=1e-4)
        residual = (along @ centred) / 4199 - variance * component
        assert np.linalg.norm(residual) < 0.02 * variance


def test_weights_count_rows(wide):
    X, inside, frame = wide
    weights = np.random.default_rng(1).integers(0, 3, N).astype(float)
    model = PCA(K).fit(X, sample_weight=weights)
    assert lost(model, inside, frame, weights) < 1e-3
    assert model.n_samples_seen_ == np.count_nonzero(weights)


def test_a_share_has_as_many_components_as_the_first_pass_finds(wide):
    X, inside, frame = wide
    values = batch(inside, np.ones(N))[2]
    model = PCA(0.3, passes=3).fit(X)
    wanted = np.searchsorted(np.cumsum(values), 0.3 * values.sum()) + 1
    assert abs(model.n_components_ - wanted) <= 1
    assert lost(model, inside, frame) < 1e-3
    model.partial_fit(X[:1] * 1e6)
    assert model.n_components_ == 1


@pytest.mark.parametrize("lengths", [[N], [700] * 12, [N - 1, 1]])
def test_blocks_change_no_bit(wide, lengths):
    X = wide[0]
    model = PCA(K, passes=3).fit(blocks_of(X, lengths))
    whole = PCA(K, passes=3).fit(X)
    np.testing.assert_array_equal(model.components_, whole.components_)
    assert model.captured_ == whole.captured_
    assert model.error_threshold(0.05) == whole.error_threshold(0.05)


def test_a_source_is_read_as_often_as_asked(wide):
    X, inside, frame = wide
    found = []
    for passes in (1, 2, 3, 4):
        read = []

        def blocks(read=read):
            read.append(0)
            return iter(blocks_of(X, [2100] * 4))

        found.append(lost(PCA(K, passes=passes).fit(BlockSource(blocks)), inside, frame))
        assert len(read) == passes
    assert found[3] < found[1] < found[0]
    assert found[3] < 1e-4


def test_shards_are_read_as_often_as_asked(wide, tmp_path, monkeypatch):
    X, inside, frame = wide
    shards, path = blocks_of(X, [2100] * 4), tmp_path / "checkpoint"
    model = fit_on_shards(PCA(K, passes=4), shards, checkpoint=path, checkpoint_every=0.0)
    assert lost(model, inside, frame) < 1e-4
    assert model.n_samples_seen_ == N
    errors = np.square(inside - inside.mean(axis=0)).sum(axis=1)
    errors -= np.square(model.transform(X)).sum(axis=1)
    assert model.error_threshold(0.9) == pytest.approx(np.quantile(errors, 0.9), rel=0.1)
    again = fit_on_shards(PCA(K, passes=4), shards, checkpoint=path, resume=True)
    np.testing.assert_array_equal(again.components_, model.components_)


def test_what_is_not_in_memory_is_read_once(tmp_path):
    X = np.random.default_rng(6).normal(size=(4200, 4150)).astype(np.float32)
    np.save(tmp_path / "rows.npy", X)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    models = [PCA(2).fit(rows) for rows in (mapped[:], open_source(tmp_path / "rows.npy"))]
    np.testing.assert_array_equal(models[0].components_, models[1].components_)


def test_the_model_goes_on_merges_and_is_saved(wide):
    X, inside, frame = wide
    model = PCA(K).fit(X)
    again = from_bytes(model.to_bytes())
    np.testing.assert_array_equal(again.components_, model.components_)
    assert again.captured_ == model.captured_
    assert again.error_threshold(0.1) == model.error_threshold(0.1)
    for one in (model, again):
        one.partial_fit(X)
        assert one.n_samples_seen_ == 2 * N
        assert lost(one, inside, frame) < 0.02
    np.testing.assert_array_equal(again.components_, model.components_)
    merged = PCA(K).fit(X).merge(PCA(K).fit(X[::-1]))
    assert merged.n_samples_seen_ == 2 * N
    assert lost(merged, inside, frame) < 1e-3


def read(model, source, further, stop=None, start=None):
    """Read a source in one pass; return the position after so many blocks, None after all."""
    for number, (position, _) in enumerate(model.learn_blocks(source, start, further), 1):
        if number == stop:
            return position
    return None


@pytest.mark.parametrize(("interrupted", "stop"), [(1, 2), (2, 1), (3, 3), (4, 2)])
def test_an_interrupted_fit_goes_on_to_the_same_bits(wide, tmp_path, interrupted, stop):
    source = BlockSource(blocks_of(wide[0], [2100] * 4))
    whole, model, further = PCA(K, passes=4).fit(source), PCA(K, passes=4), None
    for _ in range(interrupted - 1):
        read(model, source, further)
        further = model.next_pass(further)
    position = read(model, source, further, stop)
    path = str(tmp_path / "checkpoint")
    run = {"version": "0", "kind": "", "options": {}, "files": [], "more": {}}
    Checkpoint(path, run, 0.0).write(model, {}, further)
    assert load(path).n_samples_seen_ == (N if interrupted > 1 else stop * 2100)
    model, _, further = Checkpoint(path, run, 0.0).read()
    while True:
        read(model, source, further, start=position)
        further, position = model.next_pass(further), None
        if further is None:
            break
    np.testing.assert_array_equal(model.components_, whole.components_)
    assert model.captured_ == whole.captured_
    assert model.error_threshold(0.9) == whole.error_threshold(0.9)


@pytest.mark.parametrize("options", [{"robust": True}, {"half_life": 3000}, {}])
def test_other_fits_stay_with_one_pass(wide, options):
    X = wide[0].copy()
    if not options:
        X.data[0] = np.nan
    many, one = (PCA(K, passes=passes, **options).fit(X) for passes in (None, 1))
    np.testing.assert_array_equal(many.components_, one.components_)


def test_fewer_rows_than_columns_in_memory_are_exact():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(300, 60_000))  # more bytes than are kept
    X[:, :20] *= 9.0
    model = PCA(K).fit(X)
    centred = X - X.mean(axis=0)
    values = np.linalg.eigvalsh(centred @ centred.T)[::-1]
    captured = np.square(centred @ model.components_.T).sum()
    assert captured >= values[:K].sum() * (1 - 1e-9)
    assert np.isfinite(model.captured_.mean)
    assert model.partial_fit(X[:10]).n_samples_seen_ == 310


def test_the_command_line_reads_as_often_as_asked(wide, tmp_path):
    sparse.save_npz(tmp_path / "rows.npz", sparse.csr_matrix(wide[0]))
    path, found = str(tmp_path / "rows.npz"), str(tmp_path / "model.onepass")
    onepass("fit", path, "-k", str(K), "--passes", "3", "-o", found)
    np.testing.assert_array_equal(
        load(found).components_, PCA(K, passes=3).fit(wide[0]).components_
    )


def test_sources_that_cannot_be_read_again_are_refused(wide):
    X = wide[0]
    with pytest.raises(ValueError, match="passes=2"):
        PCA(K, passes=2).fit(block for block in [X])
    for value in (0, 1.5, True, "all"):
        with pytest.raises(ValueError, match="passes"):
            PCA(K, passes=value).fit(X[:50])
    gaps = X.copy()
    gaps.data[-1] = np.nan
    for second in (X[:-1], gaps):
        rows = iter([X, second])
        with pytest.raises(ValueError, match=r"pass 2|rows"):
            PCA(K, passes=3).fit(BlockSource(lambda rows=rows: [next(rows)]))
