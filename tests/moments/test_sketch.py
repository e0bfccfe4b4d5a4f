"""A sketch of the scatter: exact as long as it has room, and nothing gets lost beyond that."""

import numpy as np
import pytest
from scipy import sparse

from onepass.moments import sketch as module
from onepass.moments.chunk import chunk_about
from onepass.moments.sketch import Sketch
from tests import reference

N, D = 60, 40
RNG = np.random.default_rng(0)
LOW_RANK = RNG.normal(size=(N, 5)) @ RNG.normal(size=(5, D)) + 2
FULL = RNG.normal(size=(N, D)) * 0.8 ** np.arange(D) * 3 + 2
WEIGHTS = RNG.uniform(0.5, 2, N)


def sketch_of(rows, weights, rank, center=True, kind=np.asarray, scale=None, parts=3):
    """Return the sketch of rows that are added in parts."""
    sketch = Sketch(D, rank, center)
    for part in np.array_split(np.arange(len(rows)), parts):
        origin = sketch.mean if sketch.weight else rows[part[0]] * center
        chunk = chunk_about(kind(rows[part]), weights[part], origin)
        sketch.add(chunk if scale is None else chunk.scaled(scale), weights[part])
    return sketch


@pytest.fixture(params=["gram", "iteration"])
def way(request, monkeypatch):
    """Decompose through the Gram matrix of the rows, or by iteration."""
    if request.param == "iteration":
        monkeypatch.setattr(module, "GRAM_ROWS", 0)
        monkeypatch.setattr(module, "FIRST_POWER_STEPS", 12)
        monkeypatch.setattr(module, "POWER_STEPS", 12)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_it_is_exact_where_it_has_room(center, kind):
    found = sketch_of(LOW_RANK, WEIGHTS, 12, center, kind)
    mean, S = reference.scatter(LOW_RANK, WEIGHTS, center=center)
    total = np.trace(S)
    np.testing.assert_allclose(found.mean, mean, atol=1e-12)
    np.testing.assert_allclose(found.compress(np.eye(D)) / total, S / total, atol=1e-8)
    np.testing.assert_allclose(found.columns, np.diag(S))
    assert found.trace == pytest.approx(total, rel=1e-8)
    assert found.weight == pytest.approx(WEIGHTS.sum())
    directions, sums = found.leading(3)
    np.testing.assert_allclose(sums, np.linalg.eigvalsh(S)[::-1][:3], rtol=1e-8)
    np.testing.assert_allclose(directions @ directions.T, np.eye(3), atol=1e-9)


@pytest.mark.usefixtures("way")
def test_no_energy_is_lost_beyond_that():
    found = sketch_of(FULL, WEIGHTS, 8)
    mean, S = reference.scatter(FULL, WEIGHTS, center=True)
    np.testing.assert_allclose(found.mean, mean, atol=1e-12)
    np.testing.assert_allclose(found.columns, np.diag(S))
    assert found.trace == pytest.approx(np.trace(S))
    assert found.basis.shape == (8, D)
    np.testing.assert_allclose(found.basis @ found.basis.T, np.eye(8), atol=1e-9)
    sums = found.leading(4)[1]
    np.testing.assert_allclose(sums, np.linalg.eigvalsh(S)[::-1][:4], rtol=0.1)
    assert found.level > 0


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("scale", [None, RNG.uniform(0.5, 2, D)])
def test_merged_they_are_that_of_all_rows(center, scale):
    one, other = (
        sketch_of(LOW_RANK[part], WEIGHTS[part], 12, center, scale=scale)
        for part in (slice(0, 20), slice(20, N))
    )
    before = other.compress(np.eye(D))
    one.merge(other, scale)
    divided = LOW_RANK if scale is None else LOW_RANK / scale
    _, S = reference.scatter(divided, WEIGHTS, center=center)
    total = np.trace(S)
    np.testing.assert_allclose(one.compress(np.eye(D)) / total, S / total, atol=1e-8)
    raw_mean, raw = reference.scatter(LOW_RANK, WEIGHTS, center=center)
    np.testing.assert_allclose(one.mean, raw_mean, atol=1e-12)
    np.testing.assert_allclose(one.columns, np.diag(raw))
    assert one.weight == pytest.approx(WEIGHTS.sum())
    assert one.trace == pytest.approx(total, rel=1e-8)
    np.testing.assert_array_equal(other.compress(np.eye(D)), before)


def test_levels_add_up_when_merged():
    one, other = sketch_of(FULL[:30], WEIGHTS[:30], 8), sketch_of(FULL[30:], WEIGHTS[30:], 8)
    levels = one.level + other.level
    one.merge(other)
    assert one.level >= levels
    _, S = reference.scatter(FULL, WEIGHTS, center=True)
    np.testing.assert_allclose(one.leading(3)[1], np.linalg.eigvalsh(S)[::-1][:3], rtol=0.1)
    assert one.trace == pytest.approx(np.trace(S))


def test_what_fades_counts_less():
    found = sketch_of(FULL, WEIGHTS, 8)
    before = found.compress(np.eye(D)), found.columns, found.trace, found.weight
    found.fade(0.25)
    after = found.compress(np.eye(D)), found.columns, found.trace, found.weight
    for one, other in zip(after, before, strict=True):
        np.testing.assert_allclose(one, 0.25 * np.asarray(other))


def test_the_leading_directions_survive_a_long_stream():
    """Truncation without anything taken off would hold on to the directions of the first rows."""
    rng = np.random.default_rng(1)
    spread = np.r_[2.0, 1.7, 1.5, np.ones(D - 3)]
    found = Sketch(D, 12, True)
    for _ in range(40):
        rows = rng.normal(size=(50, D)) * spread
        found.add(chunk_about(rows, np.ones(50), np.zeros(D)), np.ones(50))
    cosines = np.linalg.svd(found.leading(3)[0][:, :3], compute_uv=False)
    assert cosines.min() > 0.97


# -- the decomposition itself ----------------------------------------------------------------------


def stack_of(rows, factor, center=True):
    """Return the stack [factor; rows about their mean], and the same as a matrix."""
    shares = np.full(len(rows), 1.0 / len(rows)) * center
    chunk = chunk_about(rows, np.ones(len(rows)), np.zeros(rows.shape[1]))
    extra = np.zeros((0, rows.shape[1]))
    stack = module._Stack(factor, chunk, np.ones(len(rows)), shares, extra)
    return stack, np.vstack([factor, rows - shares @ rows])


def subspace_error(found, wanted):
    """Return the sine of the largest angle between the spans of orthonormal rows."""
    return np.linalg.norm(wanted - (wanted @ found.T) @ found, 2)


@pytest.mark.usefixtures("way")
def test_directions_without_energy_are_left_out():
    factor = 100 * np.eye(3, D)
    factor[2] = 1e-7 * np.eye(D)[2]  # 1e-18 of the energy: rounding
    stack, _ = stack_of(np.tile(np.eye(D)[3], (9, 1)), factor, center=False)
    basis, values, _ = module._leading(stack, 6)
    np.testing.assert_allclose(values, [1e4, 1e4, 9.0])
    np.testing.assert_allclose(np.abs(basis[2]), np.eye(D)[3], atol=1e-9)


def test_one_step_of_the_iteration_goes_on_from_the_sketch(monkeypatch):
    """The directions held are nearly right: one step with them finds what a cold start cannot."""
    monkeypatch.setattr(module, "GRAM_ROWS", 0)
    spectrum = np.r_[np.full(4, 1.0), np.full(D - 4, 0.9)]
    rows = np.random.default_rng(1).normal(size=(400, D)) * spectrum
    _, _, wanted = np.linalg.svd(rows)
    warm, _ = stack_of(rows, 1e-3 * wanted[:4], center=False)
    cold, _ = stack_of(rows, np.zeros((0, D)), center=False)
    errors = [subspace_error(module._leading(stack, 4)[0], wanted[:4]) for stack in (warm, cold)]
    assert errors[0] < 1e-3 < errors[1]


@pytest.mark.parametrize("size", [1e-200, 1e-6, 1.0, 1e6])
@pytest.mark.parametrize("skew", [1.0, 0.02, 1e-3, 1e-5, 3e-7, 1e-9, 0.0])
def test_whitened_rows_are_orthonormal_and_span_those_given(skew, size):
    """By one Cholesky factor, by two, or by QR: how close rows are decides, not how large."""
    rows = np.random.default_rng(2).normal(size=(5, D))
    rows[4] = rows[0] + skew * rows[4]
    kept = rows.copy()
    spanning, whitening = module._whitened(size * rows)
    found = whitening @ spanning
    np.testing.assert_array_equal(rows, kept)
    np.testing.assert_allclose(found @ found.T, np.eye(5), atol=1e-13 if skew < 0.01 else 1e-11)
    outside = rows - (rows @ found.T) @ found
    assert np.abs(outside).max() < 1e-12


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("sizes", [[1, 0.5, 1e-4], [1, 0.5, 1e-5, 0.9e-5], [1e5, 2, 1], [1, 1e-4]])
def test_directions_of_little_energy_are_orthonormal_too(sizes):
    """A Gram matrix knows them to fewer digits, so that they have to be made orthonormal."""
    rng, k = np.random.default_rng(4), len(sizes)
    left, right = (np.linalg.qr(rng.normal(size=(size, k)))[0] for size in (N, D))
    stack, _ = stack_of((left * sizes) @ right.T, np.zeros((0, D)), center=False)
    basis, values, _ = module._leading(stack, k)
    np.testing.assert_allclose(basis @ basis.T, np.eye(k), atol=1e-13)
    np.testing.assert_allclose(np.sqrt(values) / sizes, 1.0, rtol=1e-3)


@pytest.mark.parametrize("rank", [8, D - 1])
@pytest.mark.parametrize("unit", [1e-3, 1.0])
def test_every_reading_gives_back_what_was_taken_off(rank, unit):
    found = sketch_of(unit * FULL, WEIGHTS, rank, parts=1)
    values = unit**2 * np.linalg.eigvalsh(reference.scatter(FULL, WEIGHTS, center=True)[1])[::-1]
    level = module.TAKEN_OFF * values[rank:].sum() / (D - rank)
    assert found.level == pytest.approx(level)
    kept = np.maximum(values[:rank] - level, 0.0)
    np.testing.assert_allclose(found.values, kept, atol=1e-12 * values[0])
    for reading in (
        found.spectrum(),
        found.leading(rank)[1],
        found.compress(found.basis).diagonal(),
    ):
        np.testing.assert_allclose(reading, kept + level, atol=1e-12 * values[0])
    outside = np.linalg.svd(found.basis)[2][rank:]
    np.testing.assert_allclose(
        found.compress(outside), level * np.eye(D - rank), atol=1e-12 * values[0]
    )
