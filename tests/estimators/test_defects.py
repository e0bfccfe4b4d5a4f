"""Defects that were found once, and must not come back."""

import threading
import warnings

import numpy as np
import pytest
from scipy import sparse
from threadpoolctl import threadpool_info, threadpool_limits

import onepass
from onepass import ERM, PCA, CappedMSG, open_source
from onepass.schedules import AdaGradNorm, Constant, InverseSqrt, Schedule
from onepass.sources import Source
from tests.contracts.results import assert_identical
from tests.contracts.variants import Variant, build

pandas = pytest.importorskip("pandas")
NAMES = ["PCA", "MSG", "CappedMSG", "MEG", "Incremental", "Oja", "Grouse", "ERM"]
RNG = np.random.default_rng(0)
X = RNG.normal(size=(700, 6)) * [5, 4, 3, 1, 1, 0.5]
TABLE = pandas.DataFrame(X, columns=list("abcdef"))
TURNED = TABLE[list("fedcba")]


class Named(Source):
    """A source of one block whose columns have names."""

    def __init__(self, table):
        self.table, self.n_features, self.n_rows = table, table.shape[1], len(table)
        self.feature_names = list(table.columns)

    def blocks(self, start=None):
        yield (0, len(self.table)), self.table.to_numpy()


def test_columns_of_sources_are_known_by_name():
    model = PCA(2).fit(Named(TABLE))
    assert list(model.feature_names_in_) == list("abcdef")
    assert model.score(Named(TABLE)) == pytest.approx(model.score(TABLE))
    for use in (model.transform, model.score, model.partial_fit):
        with pytest.raises(ValueError, match="columns"):
            use(Named(TURNED))
        with pytest.raises(ValueError, match="feature names"):
            use(iter([TURNED]))
    blocks = PCA(2).fit([TABLE[:300], TABLE[300:]])
    assert list(blocks.feature_names_in_) == list("abcdef")
    with pytest.raises(ValueError, match="feature names"):
        PCA(2).fit([TABLE[:300], TURNED[300:]])


def test_variances_are_right_where_the_scale_changes():
    rows = RNG.normal(size=(12_000, 300)) * np.r_[9, 6, np.ones(298)]
    rows[6000:] *= 5
    model = CappedMSG(2).fit(rows)
    exact = ((rows @ model.components_.T) ** 2).mean(axis=0)
    np.testing.assert_allclose(model.explained_variance_, exact, rtol=0.1)


@pytest.mark.parametrize("name", NAMES)
def test_a_row_out_of_range_is_refused_and_changes_nothing(name):
    model = build(name, 2, random_state=0).fit(X)
    before = model.components_
    with pytest.raises(ValueError, match="1e\\+160 at row 0, column 3"):
        model.partial_fit(np.eye(1, 6, 3) * 1e160)
    single = build(name, 2, random_state=0).fit(X.astype(np.float32))
    with pytest.raises(ValueError, match="inf at row 0"):
        single.partial_fit(np.full((1, 6), 1e39))
    np.testing.assert_array_equal(model.components_, before)
    assert model.n_samples_seen_ == single.n_samples_seen_ == len(X)


@pytest.mark.parametrize("name", NAMES)
def test_an_interrupted_call_changes_nothing(name):
    def interrupted():
        for _ in range(5):
            yield X
        raise KeyboardInterrupt

    model = build(name, 2, random_state=0).fit(X)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(interrupted())
    assert model.n_samples_seen_ == len(X)
    assert_identical(model, build(name, 2, random_state=0).fit(X))
    again = build(name, 2, random_state=0).fit(np.vstack([X, X, X]))
    assert_identical(model.partial_fit(np.vstack([X, X])), again)


class Interrupted(Schedule):
    """Steps of the usual length, until one comes that is interrupted."""

    ends = float("inf")

    def steps(self, number, gradients, diameter):
        if np.max(number) > self.ends:
            raise KeyboardInterrupt
        return Constant(0.1).steps(number, gradients, diameter)


@pytest.mark.parametrize("name", ["MSG", "CappedMSG", "MEG", "Oja", "Grouse"])
def test_an_interrupted_step_of_a_long_call_changes_nothing(name):
    schedule = Interrupted()
    model, twin = (build(name, 2, step_size=schedule, random_state=0).fit(X) for _ in range(2))
    schedule.ends = 1500
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(np.vstack([X] * 6))
    assert_identical(model, twin)
    schedule.ends = float("inf")
    assert_identical(model.partial_fit(X), twin.partial_fit(X))


@pytest.mark.parametrize("name", ["MSG", "CappedMSG", "MEG", "Oja", "Grouse"])
def test_an_interrupted_step_of_a_short_call_is_not_passed_over(name):
    """Rows that are half learned from: neither results nor more rows, until it is fitted again."""
    schedule = Interrupted()
    model = build(name, 2, step_size=schedule, random_state=0).fit(X)
    schedule.ends = 1500
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(np.vstack([X, X]))
    schedule.ends = float("inf")
    for use in (model.transform, model.partial_fit, model.score):
        with pytest.raises(RuntimeError, match="interrupted"):
            use(X)
    assert_identical(model.fit(X), build(name, 2, step_size=schedule, random_state=0).fit(X))


@pytest.mark.parametrize("as_sparse", [False, True])
def test_all_directions_capture_everything(as_sparse):
    rows = sparse.csr_array(X + 3) if as_sparse else X + 3
    assert PCA(6).fit(rows).captured_.mean == pytest.approx(1.0)


def test_whitened_coordinates_are_checked_before_they_are_scaled():
    model = PCA(3, whiten=True).fit(X)
    with pytest.raises(ValueError, match=r"X has shape \(.*, 1\), and there are 3 components"):
        model.inverse_transform(X[:, :1])
    Z = model.transform(X)
    np.testing.assert_allclose(
        model.inverse_transform(sparse.csr_matrix(Z)), model.inverse_transform(Z)
    )


def test_iterables_of_blocks_of_any_kind():
    polars = pytest.importorskip("polars")
    expected = PCA(2).fit(X).components_
    named = [polars.DataFrame(X[:300], schema=list("abcdef"))]
    named += [polars.DataFrame(X[300:], schema=list("abcdef"))]
    for blocks in (named, {1: X[:300], 2: X[300:]}.values(), iter([X[:300], X[300:]])):
        np.testing.assert_array_equal(PCA(2).fit(blocks).components_, expected)


def test_sources_that_run_empty_say_so():
    model = PCA(2).fit(X)
    for use in (model.transform, model.partial_fit, PCA(2).fit):
        for empty in (iter([]), {}.values()):
            with pytest.raises(ValueError, match="no rows"):
                use(empty)
    with pytest.raises(ValueError, match="only once"):
        PCA(2).fit_transform(X[i : i + 100] for i in range(0, 700, 100))
    assert model.n_samples_seen_ == 700


@pytest.mark.parametrize("weight", [1e-3, 0.1, 10.0])
def test_the_scale_of_weights_is_not_the_scale_of_variances(weight):
    plain = PCA(2).fit(X)
    weighted = PCA(2).partial_fit(X, sample_weight=np.full(700, weight))
    np.testing.assert_allclose(weighted.explained_variance_, plain.explained_variance_, rtol=1e-8)


def test_parameters_set_later_do_not_change_what_was_learned():
    model = PCA(2).fit(X + 100)
    before = model.transform(X + 100)
    np.testing.assert_array_equal(model.set_params(center=False).transform(X + 100), before)
    assert CappedMSG(2).fit(X).set_params(n_components=3).transform(X).shape == (700, 2)


def test_what_is_published_can_be_written_to():
    model = PCA(2).fit(X)
    model.components_[:] = 0
    model.explained_variance_[:] = 0
    assert model.components_.any()
    assert model.explained_variance_.any()


@pytest.mark.parametrize("mean", [1e6, 1e8])
def test_a_far_mean_does_no_harm_where_the_second_moment_is_a_sketch(mean):
    spread = np.r_[10, 8, 6, np.full(1097, 0.1)]
    rows = np.random.default_rng(0).normal(size=(1500, 1100)) * spread
    model = PCA(3).fit(rows + mean)
    exact = np.linalg.svd(rows - rows.mean(axis=0), compute_uv=False)[:3] ** 2 / 1499
    np.testing.assert_allclose(model.explained_variance_, exact, rtol=1e-3)
    assert np.abs(model.components_[:, :3]).max(axis=1).min() > 0.99


def test_captured_is_that_of_the_components_where_their_number_is_found():
    rows = np.random.default_rng(5).normal(size=(5000, 60)) * np.geomspace(3, 0.03, 60)
    model = PCA(0.5).fit(rows)
    assert model.captured_.mean == pytest.approx(model.score(rows), abs=0.03)


def test_one_column_in_other_units_does_not_hide_the_others():
    rows = np.random.default_rng(0).normal(size=(3000, 30))
    rows[:, 0] *= 1e7
    with pytest.warns(onepass.OnepassWarning, match="column 0 has 100.0% of the variance"):
        model = PCA(3).fit(rows)
    assert model.components_.shape == (3, 30)


def test_centred_sparse_rows_in_pieces_give_the_same_bits():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(1500, 300)) * np.geomspace(3, 0.3, 300) + 5
    rows[rng.random(rows.shape) < 0.9] = 0
    rows = sparse.csr_array(rows)
    whole, pieces = CappedMSG(4, center=True).fit(rows), CappedMSG(4, center=True)
    for start in range(0, 1500, 37):
        pieces.partial_fit(rows[start : start + 37])
    np.testing.assert_array_equal(whole.components_, pieces.components_)


@pytest.mark.parametrize("n", [1, 5, 600])
@pytest.mark.parametrize("d", [40, 1500])
def test_sparse_rows_that_are_all_the_same_have_no_variance(n, d):
    row = np.zeros(d)
    row[::7] = 100.0
    with pytest.warns(UserWarning, match="nothing varies"):
        model = PCA(2).fit(sparse.csr_array(np.tile(row, (n, 1))))
    assert model.explained_variance_.max() == 0.0


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("name", ["CappedMSG", "MSG", "MEG", "Incremental"])
def test_wide_rows_that_teach_nothing(name, center):
    model = getattr(onepass, name)(3, center=center)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert model.partial_fit(
            np.ones((1, 1025)) if center else np.zeros((1, 1025))
        ).components_.size
        model.partial_fit(np.zeros((600, 1025)))
    model.partial_fit(RNG.normal(size=(100, 1025)))
    assert np.isfinite(model.components_).all()


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("name", NAMES)
def test_a_row_that_is_too_large_is_refused_at_once_and_is_not_learned_from(name, kind):
    rows = RNG.normal(size=(600, 40))
    model, undisturbed = (build(name, 3, random_state=0).fit(kind(rows)) for _ in range(2))
    with pytest.raises(ValueError, match="row 1, column 0"):
        model.partial_fit(kind(np.vstack([rows[:1], np.full((1, 40), 1e153)])))
    assert_identical(model, undisturbed)
    more = kind(rows[::-1].copy())
    assert_identical(model.partial_fit(more), undisturbed.partial_fit(more))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_weight_that_is_too_large_is_refused_at_once(dtype):
    X = RNG.normal(size=(600, 40)).astype(dtype)
    for model in (CappedMSG(3).fit(X), PCA(3).fit(X)):
        with pytest.raises(ValueError, match=r"sample_weight is 1e.300 at row 1"):
            model.partial_fit(1e10 * X[:2], sample_weight=[1.0, 1e300])
        assert np.isfinite(model.partial_fit(X).components_).all()


def test_large_sparse_rows_in_single_precision():
    X = RNG.normal(size=(1500, 40))
    X[np.abs(X) < 1] = 0
    rows = (1e15 * X).astype(np.float32)
    dense, thin = PCA(3).fit(rows), PCA(3).fit(sparse.csr_array(rows))
    np.testing.assert_allclose(thin.explained_variance_, dense.explained_variance_, rtol=1e-4)


@pytest.mark.parametrize("offset", [1.0, 1e6])
@pytest.mark.parametrize("name", ["MSG", "CappedMSG", "MEG", "Incremental"])
def test_sparse_rows_that_begin_with_the_same_row_twice(name, offset):
    X = RNG.normal(size=(300, 6)) * [3, 2, 1, 0.5, 0.4, 0.3] + offset
    X[1] = X[0]
    dense, thin = (
        getattr(onepass, name)(2, center=True).fit(rows) for rows in (X, sparse.csr_array(X))
    )
    M = dense.subspace_.to_dense()
    np.testing.assert_allclose(thin.subspace_.to_dense(), M, atol=1e-8 * np.abs(M).max())


@pytest.mark.parametrize("size", [0.0, -1.0, float("nan"), float("inf")])
@pytest.mark.parametrize("schedule", [AdaGradNorm, Constant, InverseSqrt])
def test_steps_that_are_not_positive_are_refused(schedule, size):
    with pytest.raises(ValueError, match="must be a positive number"):
        schedule(size)


@pytest.mark.parametrize("name", ["Oja", "Grouse"])
def test_steps_of_nothing_move_nothing(name):
    class Still(Schedule):
        def steps(self, number, gradients, diameter):
            return np.zeros(len(number))

    init, rows = np.eye(3, 40), RNG.normal(size=(1500, 40))
    model = build(name, 3, init=init, step_size=Still()).fit(rows)
    np.testing.assert_allclose(model.subspace_.to_dense(), init.T @ init, atol=1e-12)


def test_a_schedule_may_give_one_number():
    class Fixed(Schedule):
        def steps(self, number, gradients, diameter):
            return 0.1

    X = RNG.normal(size=(600, 40))
    model = CappedMSG(3, step_size=Fixed()).fit(X)
    other = CappedMSG(3, step_size=Constant(0.1)).fit(X)
    np.testing.assert_allclose(model.subspace_.to_dense(), other.subspace_.to_dense(), atol=1e-12)


def test_how_rows_lie_in_memory_changes_no_bit():
    X = np.asfortranarray(RNG.normal(size=(1500, 40)) * np.linspace(3, 0.3, 40) + 1)
    whole = PCA(3).fit(X)
    parts = PCA(3).partial_fit(X[:5]).partial_fit(X[5:])
    np.testing.assert_array_equal(whole.components_, parts.components_)
    np.testing.assert_array_equal(whole.captured_, parts.captured_)


def test_threads_that_fit_at_once_leave_the_number_of_threads_as_it_was():
    def number():
        return [info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"]

    X = np.random.default_rng(0).normal(size=(3000, 70)) * 0.9 ** np.arange(70)

    def run(found):
        model = PCA(3)
        for start in range(0, 3000, 300):
            model.partial_fit(X[start : start + 300])
        found.append(model.components_)

    with threadpool_limits(limits=2, user_api="blas"):
        before, found = number(), []
        run(found)
        threads = [threading.Thread(target=run, args=(found,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert number() == before
        for components in found:
            np.testing.assert_array_equal(components, found[0])


def test_a_fit_that_is_refused_leaves_the_model():
    X = np.random.default_rng(0).normal(size=(100, 5))
    model = PCA(2).fit(X)
    before = model.components_
    with pytest.raises(ValueError, match="multiply by a large number"):
        model.fit(X * 1e-160)
    np.testing.assert_array_equal(model.components_, before)


@pytest.mark.parametrize("make", [lambda: PCA(1), lambda: CappedMSG(1), lambda: ERM(1)])
@pytest.mark.parametrize("rows", [3, 600])
@pytest.mark.parametrize("size", [1.1e100, 1e153, 1e200])
def test_what_is_too_large_is_refused_when_it_comes(make, rows, size):
    """Not when other rows come that are fine."""
    X = np.random.default_rng(0).normal(size=(rows, 2))
    model = make().fit(X)
    before = model.components_
    bad = X.copy()
    bad[-1, 1] = size
    with pytest.raises(ValueError, match=rf"at row {rows - 1}, column 1"):
        model.partial_fit(bad)
    np.testing.assert_array_equal(model.components_, before)
    assert model.partial_fit(X).n_samples_seen_ == 2 * rows


@pytest.mark.parametrize("make", [lambda: PCA(2), lambda: CappedMSG(2, center=True)])
@pytest.mark.parametrize("splits", [[], [100], [512], [600, 700]])
def test_a_column_that_is_large_everywhere_is_refused_however_rows_are_split(make, splits):
    X = np.random.default_rng(0).normal(size=(1000, 5))
    X[:, 2] = 1e200
    with pytest.raises(ValueError, match="at row 0, column 2"):
        make().partial_fit(np.split(X, splits)[0])


def test_a_number_in_a_file_that_is_too_large_is_named(tmp_path):
    X = np.random.default_rng(0).normal(size=(20_000, 6))
    X[4096, 3] = 1e200
    np.save(tmp_path / "a.npy", X)
    with pytest.raises(ValueError, match=r"a\.npy, row 4097, column \[3\]: 1e\+200"):
        PCA(2).fit(open_source(tmp_path / "a.npy"))


def test_weights_that_are_next_to_nothing_are_refused():
    X = np.random.default_rng(0).normal(size=(300, 5))
    with pytest.raises(ValueError, match=r"at row 0; weights must be .* between 1e-50 and"):
        PCA(2).fit(X, sample_weight=np.full(300, 1e-308))
    PCA(2).fit(X, sample_weight=np.full(300, 1e-50))


@pytest.mark.parametrize("name", NAMES)
def test_rows_that_lie_in_another_order_or_are_read_only_give_the_same_bits(name):
    rows = np.random.default_rng(0).normal(size=(1200, 9))
    locked = rows.copy()
    locked.setflags(write=False)
    expected = build(name, 2, random_state=0).fit(rows)
    for other in (locked, np.asfortranarray(rows), rows[::-1][::-1], [locked[:999], locked[999:]]):
        assert_identical(build(name, 2, random_state=0).fit(other), expected)


@pytest.mark.parametrize("name", NAMES[1:-1])
@pytest.mark.parametrize(("dtype", "far", "close"), [(float, 3e-2, 1e-10), ("f4", 0.2, 1e-4)])
def test_rows_that_lean_on_others_come_between_rows_that_do_not(name, dtype, far, close):
    # Such rows were left to another loop once, which wrote over the basis that it read from.
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(400, 30)) * np.linspace(2, 0.5, 30)
    lean = rng.random(400) < 0.1
    lean[0] = False
    rows[lean] = rows[np.flatnonzero(lean) - 1] + far * rows[lean]
    rows = rows.astype(dtype)
    variant = Variant(name) if name == "Incremental" else Variant(name, "auto")
    wanted = variant.expected(rows.astype(float), 3).last
    found = variant.build(30, 3).fit(rows).subspace_.to_dense()
    np.testing.assert_allclose(found, wanted, rtol=0, atol=close * max(1, np.abs(wanted).max()))


def test_a_batch_that_no_memory_holds_is_waited_for():
    model = CappedMSG(2, batch_size=10**12)
    for _ in range(400):
        model.partial_fit(np.eye(3))
    assert model.n_samples_seen_ == 1200
    assert model.components_.shape == (2, 3)


@pytest.mark.parametrize("whiten", [False, True])
def test_errors_of_inverse_transform_speak_of_components(whiten):
    model = PCA(2, whiten=whiten).fit(X)
    with pytest.raises(ValueError, match=r"X has shape \(700, 6\), and there are 2 components"):
        model.inverse_transform(X)
    with pytest.raises(ValueError, match=r"^X contains NaN at row 0, column 1"):
        model.inverse_transform([[0.0, np.nan]])
    with pytest.raises(ValueError, match=r"^X has shape") as raised:
        model.inverse_transform(np.zeros((2, 2, 2)))
    assert "fit(" not in str(raised.value)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("k", [2, 5, 7])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_without_variance_in_a_direction_there_is_no_precision(name, k, dtype):
    """What rounding leaves of a variance is none: its inverse would be 1e14."""
    rows = np.hstack([X, X[:, :1]]).astype(dtype) / 7  # of rank six in seven columns
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PCA says that there are fewer components
        model = build(name, k, random_state=0).fit(rows)
    if k < 6:
        precision, d = model.get_precision(), rows.shape[1]
        np.testing.assert_allclose(precision @ model.get_covariance(), np.eye(d), atol=1e-3)
        assert np.isfinite(model.score_samples(rows[:3])).all()
        return
    for read in (model.get_precision, lambda: model.score_samples(rows)):
        with pytest.raises(ValueError, match="directions without any variance"):
            read()
