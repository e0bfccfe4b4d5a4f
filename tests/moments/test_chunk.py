"""Products with rows are those with (rows - origin) / scale, dense or sparse, in any tiles."""

import numpy as np
import pytest
from scipy import sparse

from onepass.moments import chunk as module
from onepass.moments.chunk import chunk_about, sparse_gram

R, D = 23, 7
RNG = np.random.default_rng(0)
# Of the columns of sparse rows, some are stored by most rows and some by few: these are centred in
# two ways.
STORED = np.array([1.0, 0.9, 0.8, 0.6, 0.3, 0.2, 0.05])
VALUES = np.where(RNG.random((R, D)) < STORED, 3 * RNG.normal(size=(R, D)), 0.0)
WEIGHTS = np.where(RNG.random(R) < 0.2, 0.0, RNG.uniform(0.5, 2, R))
ORIGIN, SCALE = RNG.normal(size=D), RNG.uniform(0.5, 2, D)
DIRECTIONS, COEFFICIENTS = RNG.normal(size=(3, D)), RNG.normal(size=(4, R))
SINGLE = 1e-5  # relative: several times the rounding of float32 in sums of so many terms


@pytest.fixture(params=["one tile", "tiles", "split columns"])
def tiles(request, monkeypatch):
    """Have all rows in one tile, or a few rows in each; products by blocks of columns, or not."""
    if request.param != "one tile":
        monkeypatch.setattr(module, "TILE_BYTES", 4 * 8 * D)
        monkeypatch.setattr(module, "OUTER_BYTES", 4 * 8 * D)
        monkeypatch.setattr(module, "FEW_ROWS", 3)
    if request.param == "split columns":
        monkeypatch.setattr(module, "SPLIT_COLUMNS", D)
        monkeypatch.setattr(module, "SPLIT_BLOCKS", 3)


@pytest.fixture(params=["dense", "sparse"])
def hold(request):
    """Return how rows are held."""
    return sparse.csr_array if request.param == "sparse" else np.asarray


@pytest.fixture(params=["as they are", "about a point", "scaled", "both"])
def made(request, tiles, hold):
    """Return rows, and the dense array (r, d) that they stand for."""
    origin = np.zeros(D) if request.param in ("as they are", "scaled") else ORIGIN
    scale = SCALE if request.param in ("scaled", "both") else None
    rows = chunk_about(hold(VALUES), np.ones(R), origin, scale)
    return rows, (VALUES - origin) / (1.0 if scale is None else scale)


def close(found, wanted, tolerance=1e-12):
    assert found.dtype == np.float64
    size = max(1.0, np.abs(wanted).max(initial=0.0))
    np.testing.assert_allclose(found, wanted, rtol=0, atol=tolerance * size)


def outer(rows, weights, start=None):
    """Return the matrix to which the outer products of rows were added."""
    matrix = np.zeros((rows.d, rows.d), order="F") if start is None else start
    rows.add_outer(weights, matrix)
    return matrix


def assert_products(rows, plain, tolerance=1e-12):
    """Demand all products that there are of rows which stand for a dense array (r, d)."""
    assert len(rows) == len(plain)
    assert rows.d == plain.shape[1]
    close(rows.energies, (plain**2).sum(axis=1), tolerance)
    close(rows.inner(DIRECTIONS), plain @ DIRECTIONS.T, tolerance)
    close(rows.combine(COEFFICIENTS), COEFFICIENTS @ plain, tolerance)
    close(rows.gram, plain @ plain.T, tolerance)
    for weights in (WEIGHTS, np.ones(R), np.full(R, 0.25)):
        close(rows.column_squares(weights), weights @ plain**2, tolerance)
        wanted = np.eye(D) + plain.T @ (weights[:, None] * plain)
        start = np.eye(D, order="F")
        close(np.tril(outer(rows, weights, start)), np.tril(wanted), tolerance)


def test_products(made):
    assert_products(*made)


@pytest.mark.parametrize("hold", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("scale", [None, SCALE])
def test_products_of_single_precision(tiles, hold, scale):
    values = VALUES.astype(np.float32)
    origin = ORIGIN.astype(np.float32).astype(np.float64)
    rows = chunk_about(hold(values), np.ones(R), origin, scale)
    assert_products(rows, (values - origin) / (1.0 if scale is None else scale), SINGLE)


def test_measures(made):
    """Distances from a point, and from it plus the span of directions."""
    rows, plain = made
    point, directions = RNG.normal(size=D), np.linalg.qr(RNG.normal(size=(D, 2)))[0].T
    distances, errors = rows.measure(point, directions)
    close(distances, ((plain - point) ** 2).sum(axis=1))
    close(errors, distances - (((plain - point) @ directions.T) ** 2).sum(axis=1))
    for found in rows.measure(point):
        close(found, distances)


@pytest.mark.parametrize("length", [3, 30])
def test_sums_of_parts_are_about_the_means_of_the_parts(made, length):
    rows, plain = made
    weights = np.random.default_rng(3).uniform(0.5, 2.0, R)
    edges, frame = [0, *range(2, R, length), R], DIRECTIONS
    whole, framed = (rows.part_sums(weights, edges, each) for each in (np.eye(D), frame))
    for i, part in enumerate(map(slice, edges[:-1], edges[1:])):
        mean = np.average(plain[part], axis=0, weights=weights[part])
        centred = plain[part] - mean
        scatter = (centred * weights[part][:, None]).T @ centred
        close(whole.products[i], scatter)
        close(framed.products[i], scatter @ frame.T)
        for found in (whole, framed):
            close(found.weights[i], weights[part].sum())
            close(found.means[i], mean)
            close(found.squares[i], scatter.diagonal())


def test_distances_from_a_subspace(made):
    rows, plain = made
    directions = np.linalg.qr(RNG.normal(size=(D, 3)))[0].T
    inner, distances = rows.outside(directions)
    close(inner, plain @ directions.T)
    close(distances, ((plain - plain @ directions.T @ directions) ** 2).sum(axis=1))
    _, distances = rows.outside(np.eye(D))
    np.testing.assert_array_equal(distances, np.zeros(R))


def test_small_distances_from_a_subspace_keep_their_digits(hold, tiles):
    """They are those of residuals, not differences of squares."""
    inside = RNG.normal(size=(R, 2)) * 1e6
    values = np.zeros((R, D))
    values[:, :2], values[:, 2] = inside, 1e-4
    rows = chunk_about(hold(values), np.ones(R), np.zeros(D))
    np.testing.assert_allclose(rows.outside(np.eye(2, D))[1], 1e-8, rtol=1e-6)


@pytest.mark.parametrize("d", [9, module.SPLIT_COLUMNS])
def test_the_number_of_threads_changes_no_bit(monkeypatch, d):
    """Neither do the rows of a tile depend on it."""
    values = RNG.normal(size=(5000 if d < 100 else 600, d))
    monkeypatch.setattr(module, "TILE_BYTES", 2**16)
    monkeypatch.setattr(module, "OUTER_BYTES", 2**16)

    def results():
        rows = chunk_about(values, np.ones(len(values)), values[0])
        return [
            *rows.measure(values[1], values[3:5]),
            outer(rows, np.ones(len(values))),
            rows.energies,
            rows.combine(np.ones((1, len(values)))),
        ]

    one = results()
    monkeypatch.setattr("onepass.threads._allowed", 3)
    for found, wanted in zip(results(), one, strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_sparse_columns_far_from_zero_keep_their_digits():
    """Of a column that all rows store, the origin is subtracted from the entries themselves."""
    values = np.zeros((R, D))
    values[:, 0] = 1e8 + RNG.normal(size=R)
    values[3, 5] = 1.0
    origin = np.zeros(D)
    origin[0], origin[5] = 1e8, 1.0 / R
    rows, plain = chunk_about(sparse.csr_array(values), np.ones(R), origin), values - origin
    np.testing.assert_allclose(rows.energies, (plain**2).sum(axis=1), rtol=1e-12)
    close(np.tril(outer(rows, np.ones(R))), np.tril(plain.T @ plain))


@pytest.mark.parametrize("shape", [(0, 0), (0, 5), (5, 0), (1, 1), (7, 40), (40, 7), (300, 900)])
def test_products_of_any_number_of_sparse_rows(shape):
    rows = sparse.random_array(shape, density=0.2, format="csr", random_state=0)
    found = sparse_gram(rows)
    np.testing.assert_allclose(found, (rows @ rows.T).toarray(), rtol=1e-13, atol=1e-15)
    np.testing.assert_array_equal(found, found.T)


def test_sparse_rows_without_entries():
    rows = chunk_about(sparse.csr_array((R, D)), np.ones(R), ORIGIN, SCALE)
    assert_products(rows, np.tile(-ORIGIN / SCALE, (R, 1)))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_products_of_sparse_rows_with_each_other(dtype, index):
    rows = sparse.csr_array(VALUES.astype(dtype))
    rows.indices, rows.indptr = rows.indices.astype(index), rows.indptr.astype(index)
    wide = VALUES.astype(dtype).astype(np.float64)
    close(sparse_gram(rows), wide @ wide.T)
