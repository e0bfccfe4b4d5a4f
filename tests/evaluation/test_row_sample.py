"""Some rows to look at: the sample merges, and splits of the rows do not change it."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone

import onepass
from onepass import ERM, MSG, PCA, CappedMSG, Incremental, Oja
from onepass.evaluation.row_errors import (
    FRAME_GROWTH,
    LARGEST_ROWS,
    SAMPLE_ROWS,
    RowSample,
    crossed_errors,
)
from onepass.rows.rows import rows_about

RNG = np.random.default_rng(0)
TURN = np.linalg.qr(RNG.normal(size=(20, 20)))[0]
X = RNG.normal(size=(3000, 20)) * 0.8 ** np.arange(20) @ TURN + 5.0
X[2000] += 40.0
MODELS = [PCA(3), PCA(3, scale=True), PCA(2, half_life=500), CappedMSG(3, center=True), ERM(3)]
FIELDS = ("numbers", "priorities", "errors", "coordinates", "directions", "point")


def sample(model):
    return model._model().sample


def same(first, second):
    return all(np.array_equal(getattr(first, name), getattr(second, name)) for name in FIELDS)


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_splits_and_files_change_nothing(model, tmp_path):
    model, parts = clone(model).partial_fit(X), clone(model)
    for block in np.array_split(X, 41):
        parts.partial_fit(block)
    assert same(sample(model), sample(parts))
    model.save(tmp_path / "m.onepass")
    assert same(sample(model), sample(onepass.load(tmp_path / "m.onepass")))


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_coordinates_are_those_of_the_rows(model):
    clean = np.delete(X, 2000, axis=0)
    model = clone(model).partial_fit(clean)
    held = sample(model)
    components = model.components_ / getattr(model, "scale_", 1.0)
    late = held.numbers > 1500
    found = held.along(components, model.mean_)[late]
    expected = model.transform(clean[held.numbers[late]])
    for ours, theirs in zip(found.T, expected.T, strict=True):
        assert np.corrcoef(ours, theirs)[0, 1] > 0.85


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_the_row_that_stands_out_is_found(model):
    held = sample(clone(model).partial_fit(X))
    assert held.numbers[held.largest()[0]] == 2000
    assert len(held.largest()) == LARGEST_ROWS
    assert len(held.numbers) <= SAMPLE_ROWS + LARGEST_ROWS


def offered(rows, start=0, half_life=None):
    held = RowSample(5, half_life)
    held.rows = start
    held.add(rows, rows[:, 0] ** 2, np.eye(5)[:3], np.zeros(5))
    return held


def test_a_merged_sample_is_that_of_all_rows_and_keeps_their_numbers():
    rows = RNG.normal(size=(4000, 5))
    one, two = offered(rows[:1000]), offered(rows[1000:])
    errors = np.sort(rows[:, 0] ** 2)
    one.merge(two)
    assert one.rows == 4000
    np.testing.assert_allclose(
        one.along(np.eye(5)[:3], np.zeros(5)), rows[one.numbers, :3], atol=1e-12
    )
    np.testing.assert_array_equal(one.errors[one.largest()], errors[::-1][:LARGEST_ROWS])
    early = np.mean(one.numbers < 1000)
    assert 0.15 < early < 0.4  # a quarter of the rows


def test_a_sample_with_a_half_life_is_of_late_rows():
    held = offered(RNG.normal(size=(20_000, 5)), half_life=500.0)
    assert np.median(held.numbers) > 17_000
    assert 9000 < np.median(offered(RNG.normal(size=(20_000, 5))).numbers) < 11_000


def test_what_is_in_the_sample_depends_on_positions_alone():
    rows = RNG.normal(size=(3000, 5))
    whole, parts = offered(rows), RowSample(5)
    for block in np.array_split(rows, 11):
        parts.add(block, block[:, 0] ** 2, np.eye(5)[:3], np.zeros(5))
    np.testing.assert_array_equal(whole.numbers, parts.numbers)
    np.testing.assert_array_equal(whole.coordinates, parts.coordinates)


def test_wide_rows_have_a_smaller_sample():
    wide = np.random.default_rng(1).normal(size=(600, 20_000))
    held = sample(CappedMSG(2).partial_fit(wide))
    assert 2**21 // 20_000 <= len(held.numbers) <= 2**21 // 20_000 + LARGEST_ROWS


def test_the_frame_turns_with_a_chunk_that_gives_no_row():
    before = int(FRAME_GROWTH**27)  # the next row makes the frame turn
    held = RowSample(3)
    held.add(np.zeros((before, 3)), np.zeros(before), np.eye(3)[:2], np.zeros(3))
    numbers = held.numbers
    held.add(np.ones((1, 3)), np.zeros(1), np.eye(3)[1:], np.zeros(3))
    np.testing.assert_array_equal(held.numbers, numbers)
    np.testing.assert_array_equal(held.directions, np.eye(3)[1:])
    assert held.coordinates.shape == (SAMPLE_ROWS, 2)


@pytest.mark.parametrize("kind", [PCA, CappedMSG])
def test_rows_with_gaps_keep_their_numbers(kind):
    """They wait for others, and rows without any entry are passed over."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2500, 9)) * [9, 7, *[0.3] * 7]
    X[(rng.random((2500, 1)) < 0.07) & (rng.random(X.shape) < 0.2)] = np.nan
    X[[300, 301, 900]] = np.nan
    far = [400, 777, 1500, 2300]
    X[far] = np.nan_to_num(X[far])
    X[far, 5] = [200, 210, 220, 230]
    X[[400, 1500], 7] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole, parts = kind(2).fit(X), [kind(2).fit(X[:1100]), kind(2).fit(X[1100:])]
        merged = onepass.merge(*parts)
    for model in (whole, merged):
        sample = model._model().sample
        assert sorted(sample.numbers[sample.largest()[:4]]) == far


@pytest.mark.parametrize(
    "model", [Incremental(2), CappedMSG(2), MSG(2), Oja(2, random_state=0)], ids=str
)
def test_rows_before_there_are_directions_do_not_stand_out(model):
    rows = np.random.default_rng(0).normal(size=(300, 5)) * [30, 9, 1, 1, 1] + 100.0
    model = clone(model).partial_fit(rows)
    errors = model.reconstruction_error(rows)
    assert sample(model).errors.max() < 1.5 * errors.max()


@pytest.mark.parametrize("place", [0, 40, 127, 128])
@pytest.mark.parametrize("center", [True, False])
def test_an_outlier_among_the_first_rows_is_found(place, center):
    """It turns a direction of the first rows to itself, along which it has no error."""
    rows = np.random.default_rng(0).normal(size=(1000, 8)) * [5, 3, 1, 1, 1, 1, 1, 1]
    rows[place, 6] += 60.0
    held = sample(PCA(2, center=center).partial_fit(rows))
    first, second = held.largest()[:2]
    assert held.numbers[first] == place
    assert 0.7 < held.errors[first] / 60.0**2 < 1.4
    assert held.errors[second] < 100.0


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("scale", [None, np.arange(2.0, 11.0)])
def test_crossed_errors_are_from_the_directions_of_the_other_half(center, scale):
    rng = np.random.default_rng(1)
    values, weights = rng.normal(size=(31, 9)) * np.arange(1.0, 10.0) + 1.0, rng.uniform(1, 2, 31)
    rows = values / (1.0 if scale is None else scale)
    expected = np.empty(31)
    for seen, held_out in ((slice(0, 15), slice(15, 31)), (slice(15, 31), slice(0, 15))):
        point = np.average(rows[seen], axis=0, weights=weights[seen]) if center else np.zeros(9)
        weighted = np.sqrt(weights[seen])[:, None] * (rows[seen] - point)
        directions, about = np.linalg.svd(weighted)[2][:3], rows[held_out] - point
        expected[held_out] = (about**2).sum(axis=1) - ((about @ directions.T) ** 2).sum(axis=1)
    origin = np.full(9, float(center))
    found = crossed_errors(rows_about(values, weights, origin, scale), 3, center)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_too_few_first_rows_have_no_errors():
    rows = rows_about(np.random.default_rng(2).normal(size=(9, 5)), np.ones(9), np.zeros(5))
    assert crossed_errors(rows, 4, True) is None
    zeros = rows_about(np.zeros((20, 5)), np.ones(20), np.zeros(5))
    assert not crossed_errors(zeros, 4, True).any()
