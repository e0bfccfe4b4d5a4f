"""Every format: the rows that were written are the rows that are read, from any position."""

import json
import pickle
import re

import numpy as np
import pytest
import scipy.sparse

from onepass import ERM
from onepass.sources import SourceError, open_source
from tests.sources.files.written import SVMLIGHT, TEXT, WRITERS

RNG = np.random.default_rng(0)
ROWS = RNG.standard_normal((30, 5)).round(3) * (RNG.random((30, 5)) < 0.8)
KNOW_NO_TYPE = (*TEXT, *SVMLIGHT)
HAVE_NO_NAMES = (".npy", ".npz", ".csv.gz", ".h5", ".zarr", *SVMLIGHT)


def dense(block):
    return block.toarray() if scipy.sparse.issparse(block) else block


def knows_its_rows(name):
    return not name.endswith(TEXT) and "stream" not in name


def stacked(blocks, width=5):
    return np.vstack([np.empty((0, width)), *map(dense, blocks)])


@pytest.fixture(params=WRITERS)
def written(request, tmp_path):
    """A function that writes rows and returns the path."""

    def write(rows, prefix=""):
        path = tmp_path / (prefix + request.param)
        WRITERS[request.param](path, rows)
        return path

    write.name = request.param
    return write


@pytest.mark.parametrize("batch_rows", [None, 1, 4, 1000])
def test_round_trip(written, batch_rows):
    source = open_source(written(ROWS), batch_rows=batch_rows)
    assert source.n_features == 5
    assert source.n_rows == (30 if knows_its_rows(written.name) else None)
    named = not written.name.endswith(HAVE_NO_NAMES)
    assert source.feature_names == ([f"c{j}" for j in range(5)] if named else None)
    for _ in range(2):
        blocks = list(source)
        np.testing.assert_array_equal(stacked(blocks), ROWS)
        for block in blocks:
            assert block.dtype == np.float64
            assert 1 <= block.shape[0] <= (batch_rows or 30)
            if scipy.sparse.issparse(block):
                assert block.format == "csr"
                assert block.has_canonical_format
            else:
                assert block.flags.c_contiguous
                assert block.flags.writeable


@pytest.mark.parametrize("dtype", ["f4", "i2", "u1", "i8"])
def test_types(written, dtype):
    rows = (ROWS * 50).astype(dtype)
    rows[0] = 0  # whole numbers that differ may be names
    blocks = list(open_source(written(rows)))
    narrow = dtype == "f4" and not written.name.endswith(KNOW_NO_TYPE)
    assert {block.dtype for block in blocks} == {np.dtype("f4" if narrow else "f8")}
    np.testing.assert_array_equal(stacked(blocks), rows)


def test_goes_on_from_every_position(written):
    source = open_source([written(ROWS[:13], "1"), written(ROWS[13:], "2")], batch_rows=4)
    if knows_its_rows(written.name):
        assert source.n_rows == 30
    seen = [(0, 0), (0, 1), (1, 0), *(position for position, _ in source.blocks())]
    assert seen[-1] == (1, 17)
    for file, row in seen:
        saved = json.loads(json.dumps((file, row)))
        rest = stacked(block for _, block in source.blocks(saved))
        np.testing.assert_array_equal(rest, ROWS[13 * file + row :])
    for position in [(0, -1), (2, 0), (-1, 0)]:
        with pytest.raises(SourceError, match="no position"):
            list(source.blocks(position))


def test_slices(written):
    source = open_source([written(ROWS[:13], "1"), written(ROWS[13:], "2")], batch_rows=4)
    for begin, end in [((0, 5), (0, 9)), ((0, 5), (1, 3)), ((1, 2), None), (None, (0, 13))]:
        first, last = (at and 13 * at[0] + at[1] for at in (begin, end))
        np.testing.assert_array_equal(stacked(source[begin:end]), ROWS[first:last])
        if knows_its_rows(written.name):
            np.testing.assert_array_equal(stacked(source[first:last]), ROWS[first:last])
    if not knows_its_rows(written.name):
        with pytest.raises(SourceError, match="its rows are not counted"):
            source[3:20]


def test_columns(written):
    """Of a source that was sent elsewhere."""
    path = written(ROWS)
    names = [*"01234"] if written.name.endswith(HAVE_NO_NAMES) else [f"c{j}" for j in range(5)]
    source = pickle.loads(pickle.dumps(open_source(path, columns=[3, 0])))
    np.testing.assert_array_equal(stacked(source, 2), ROWS[:, [3, 0]])
    assert source.feature_names == [names[3], names[0]]
    np.testing.assert_array_equal(stacked(open_source(path, columns=names[4:]), 1), ROWS[:, [4]])


@pytest.mark.parametrize("bad", [np.inf, -np.inf, 1e101])
def test_the_place_of_a_bad_number_is_named(written, bad):
    """By the estimator, which checks each entry once, with the place that the source knows."""
    rows = ROWS.copy()
    rows[17, 3] = bad
    path = written(rows)
    source = open_source(path, columns=[4, 3], batch_rows=4)
    name = r"\[3\]" if written.name.endswith(HAVE_NO_NAMES) else r"'c3'"
    place, value = "row 18", re.escape(f"{bad:g}")
    if any(kind in written.name for kind in (".csv", ".tsv", ".txt", ".svmlight")):
        place = "line 18" if written.name.endswith(HAVE_NO_NAMES) else "line 19"
    with pytest.raises(SourceError, match=rf"{path}, {place}, column {name}: {value}; all ent"):
        ERM(1).fit(source)


def test_missing_entries_and_numbers_that_stand_for_them(written):
    rows = ROWS.copy()
    rows[[3, 17], [1, 3]] = -999
    rows[17, 4] = np.nan
    path = written(rows)
    rows[[3, 17], [1, 3]] = np.nan
    for na in ([-999], ["-999"], ["-999.0", 7777]):
        source = open_source(path, na=na, columns=[4, 3, 1], batch_rows=4)
        np.testing.assert_array_equal(stacked(source, 3), rows[:, [4, 3, 1]])


PLAIN = (".csv", ".tsv", ".txt", ".svmlight", ".zarr")
BINARY = [name for name in WRITERS if not name.endswith(PLAIN)]


@pytest.mark.parametrize("written", BINARY, indirect=True)
@pytest.mark.parametrize("share", [0.1, 0.5, 0.95])
def test_cut_off(written, share):
    path = written(ROWS)
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(SourceError, match=path.name):
        list(open_source(path))


@pytest.mark.parametrize("written", [*BINARY, "a.csv", "a.svmlight"], indirect=True)
def test_empty(written):
    path = written(ROWS)
    path.write_bytes(b"")
    with pytest.raises(SourceError, match="empty"):
        open_source(path)


def test_no_rows(written):
    with pytest.raises(SourceError, match=r"no rows|empty"):
        list(open_source(written(ROWS[:0])))
