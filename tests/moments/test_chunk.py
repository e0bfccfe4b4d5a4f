"""Products with a chunk of rows are those with (rows - origin) / scale, dense or sparse."""

import numpy as np
import pytest
from scipy import sparse

from onepass.moments import chunk as chunk_module
from onepass.moments.chunk import Chunk

R, D = 9, 7
RNG = np.random.default_rng(0)
ROWS = np.where(RNG.random((R, D)) < 0.5, RNG.normal(size=(R, D)) * 3, 0)
WEIGHTS = RNG.uniform(0.5, 2, R)
ORIGIN, SCALE = RNG.normal(size=D), RNG.uniform(0.5, 2, D)
DIRECTIONS, COEFFICIENTS = RNG.normal(size=(3, D)), RNG.normal(size=(4, R))


@pytest.fixture(params=["dense", "sparse", "dense float32", "sparse float32"])
def rows(request):
    """Return rows of some kind and what they are."""
    kind, _, narrow = request.param.partition(" ")
    values = ROWS.astype(np.float32 if narrow else np.float64)
    return (sparse.csr_array(values) if kind == "sparse" else values), values.astype(float)


@pytest.fixture(params=[False, True], ids=["about zero", "about a point"])
def origin(request):
    return ORIGIN if request.param else np.zeros(D)


@pytest.fixture(params=[False, True], ids=["plain", "divided"])
def made(request, rows, origin):
    """Return a chunk and the dense rows (r, d) that it stands for."""
    chunk, plain = Chunk(rows[0], WEIGHTS, origin), rows[1] - origin
    return (chunk.divided(SCALE), plain / SCALE) if request.param else (chunk, plain)


def close(found, wanted):
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


def test_products(made):
    chunk, plain = made
    assert len(chunk) == R
    assert chunk.d == D
    close(chunk.energies, (plain**2).sum(axis=1))
    close(chunk.inner(DIRECTIONS), plain @ DIRECTIONS.T)
    close(chunk.combine(COEFFICIENTS), COEFFICIENTS @ plain)
    close(chunk.gram, plain @ plain.T)
    close(chunk.sums(WEIGHTS)[1], plain.T @ (WEIGHTS[:, None] * plain))
    close(chunk.sums(np.ones(R))[1], plain.T @ plain)
    close(chunk.sums(WEIGHTS)[0], WEIGHTS @ plain)
    close(chunk.column_squares(WEIGHTS), WEIGHTS @ plain**2)


def test_distances(made):
    chunk, plain = made
    wanted = ((plain[:, None] - DIRECTIONS) ** 2).sum(axis=2)
    close(chunk.distances(DIRECTIONS), wanted)
    close(chunk.distances(DIRECTIONS, plain @ DIRECTIONS.T), wanted)
    assert (chunk.distances(plain) >= 0).all()


def test_parts(made):
    chunk, plain = made
    for start, stop in ((0, R), (2, 5), (R - 1, R)):
        part = chunk.part(start, stop)
        assert len(part) == stop - start
        np.testing.assert_array_equal(part.weights, WEIGHTS[start:stop])
        close(part.gram, plain[start:stop] @ plain[start:stop].T)
        close(part.energies, (plain[start:stop] ** 2).sum(axis=1))
        close(part.inner(DIRECTIONS), plain[start:stop] @ DIRECTIONS.T)


def test_a_chunk_knows_what_it_was_divided_by():
    chunk = Chunk(ROWS, WEIGHTS, ORIGIN)
    assert chunk.scale == 1.0
    assert chunk.divided(SCALE).scale is SCALE


def test_rows_that_are_given_stay_as_they_are(rows):
    given = rows[0].copy()
    chunk = Chunk(rows[0], WEIGHTS, ORIGIN).divided(SCALE)
    _ = chunk.gram, chunk.sums(WEIGHTS), chunk.energies
    kept, before = (x.toarray() if sparse.issparse(x) else x for x in (rows[0], given))
    np.testing.assert_array_equal(kept, before)


def test_wide_rows_are_the_same_in_panels(monkeypatch, made):
    chunk, plain = made
    monkeypatch.setattr(chunk_module, "PANEL_COLUMNS", D)
    close(chunk.inner(DIRECTIONS), plain @ DIRECTIONS.T)
    close(chunk.combine(COEFFICIENTS), COEFFICIENTS @ plain)
    close(chunk.part(0, R).gram, plain @ plain.T)
    turned = Chunk(np.asfortranarray(plain), WEIGHTS, np.zeros(D))
    close(turned.combine(COEFFICIENTS), COEFFICIENTS @ plain)


def test_products_are_the_same_in_halves(monkeypatch, made):
    chunk, plain = made
    monkeypatch.setattr(chunk_module, "HALVED_COLUMNS", D)
    close(chunk.inner(DIRECTIONS), plain @ DIRECTIONS.T)
    close(chunk.sums(WEIGHTS)[1], plain.T @ (WEIGHTS[:, None] * plain))
    close(chunk.part(0, 1).sums(np.ones(1))[1], plain[:1].T @ plain[:1])


def test_long_sparse_chunks_are_made_dense_piece_by_piece(monkeypatch, made):
    chunk, plain = made
    monkeypatch.setattr(chunk_module, "DENSE_PIECE_BYTES", 2 * 8 * D)
    total, second = chunk.sums(WEIGHTS)
    close(total, WEIGHTS @ plain)
    close(second, plain.T @ (WEIGHTS[:, None] * plain))


def test_rows_are_copied_only_where_they_have_to_be():
    """A chunk is as large as what is learned from at once: a copy of it costs memory and time."""
    assert np.shares_memory(Chunk(ROWS, WEIGHTS, np.zeros(D)).near, ROWS)
    assert not np.shares_memory(Chunk(ROWS, WEIGHTS, ORIGIN).near, ROWS)
    rows = sparse.csr_array(ROWS)
    assert np.shares_memory(Chunk(rows, WEIGHTS, ORIGIN).near.data, rows.data)
    assert sparse.issparse(Chunk(rows, WEIGHTS, ORIGIN).divided(SCALE).near)


def test_products_that_are_known_are_not_taken_again(made):
    chunk, plain = made
    inner = RNG.normal(size=(R, 3))
    wanted = (plain**2).sum(axis=1)[:, None] - 2 * inner + (DIRECTIONS**2).sum(axis=1)
    close(chunk.distances(DIRECTIONS, inner), np.maximum(wanted, 0.0))


def test_small_rows_have_small_squares(made):
    chunk, plain = made
    assert chunk.distances(plain).diagonal().max() < 1e-12
    tiny = Chunk(1e-6 * ROWS, WEIGHTS, 1e-6 * ORIGIN)
    sparse_tiny = Chunk(sparse.csr_array(1e-6 * ROWS), WEIGHTS, 1e-6 * ORIGIN)
    for each in (tiny, sparse_tiny):
        np.testing.assert_allclose(
            each.column_squares(WEIGHTS), 1e-12 * (WEIGHTS @ (ROWS - ORIGIN) ** 2), rtol=1e-12
        )
        np.testing.assert_allclose(
            each.energies, 1e-12 * ((ROWS - ORIGIN) ** 2).sum(axis=1), rtol=1e-12
        )


def test_constant_columns_have_no_negative_squares():
    """Those of sparse rows are a difference, of which rounding is left."""
    constant = RNG.normal(size=200)
    chunk = Chunk(sparse.csr_array(np.tile(constant, (R, 1))), WEIGHTS, constant)
    assert (chunk.column_squares(WEIGHTS) >= 0).all()
    assert chunk.column_squares(WEIGHTS).max() < 1e-12
    assert (chunk.energies >= 0).all()


@pytest.mark.parametrize("weight", [2.0, 0.25])
def test_rows_of_one_weight(made, weight):
    chunk, plain = made
    close(chunk.sums(np.full(R, weight))[1], weight * plain.T @ plain)


@pytest.mark.parametrize("wide", [False, True])
def test_products_are_split_into_as_many_pieces_everywhere(monkeypatch, wide):
    """The number of pieces decides the last bits: it depends on the number of columns alone."""
    pieces = []

    def run_all(work, jobs):
        pieces.append(len(jobs))
        return [work(job) for job in jobs]

    monkeypatch.setattr(chunk_module, "run_all", run_all)
    monkeypatch.setattr(chunk_module, "PANEL_COLUMNS", D if wide else D + 1)
    monkeypatch.setattr(chunk_module, "HALVED_COLUMNS", D if wide else D + 1)
    chunk = Chunk(ROWS, WEIGHTS, np.zeros(D))
    chunk.inner(DIRECTIONS)
    chunk.combine(COEFFICIENTS)
    chunk.sums(WEIGHTS)
    assert pieces == ([chunk_module.PANELS, chunk_module.PANELS, 2] if wide else [1, 1])
    _ = Chunk(ROWS, WEIGHTS, np.ones(D))
    assert pieces[-1] == (2 if wide else 1)
    _ = chunk.gram
    assert pieces[-1] == (chunk_module.PANELS if wide else 1)
