"""Parquet and arrow files: indices of pandas, folders, and columns of lists, which are many."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from onepass.sources import SourceError, open_source
from onepass.warning import OnepassWarning
from tests.sources.files.written import arrow_table

ROWS = np.random.default_rng(0).standard_normal((50, 6)).astype(np.float32)
LISTS = {
    "fixed": lambda kind: pa.list_(kind, 6),
    "list": lambda kind: pa.list_(kind),
    "large": lambda kind: pa.large_list(kind),
}
NAMES = [f"embedding_{j}" for j in range(6)]


@pytest.fixture(params=["a.parquet", "a.feather", "a.arrow"])
def write(request, tmp_path):
    """A function that writes a table of these columns in pieces and returns the path."""

    def write(**columns):
        path, table = tmp_path / request.param, pa.table(columns)
        if path.suffix == ".parquet":
            pa.parquet.write_table(table, path, row_group_size=20)
        elif path.suffix == ".feather":
            pa.feather.write_feather(table, str(path), chunksize=20)
        else:
            with pa.ipc.new_stream(path, table.schema) as writer:
                writer.write_table(table, max_chunksize=20)
        return path

    return write


@pytest.mark.parametrize("number", [pa.float32(), pa.float16(), pa.float64(), pa.int8()])
@pytest.mark.parametrize("kind", LISTS)
def test_each_number_is_a_column(write, kind, number):
    rows = (ROWS * 10).astype(number.to_pandas_dtype())
    embedding = pa.array(list(rows), LISTS[kind](number))
    path = write(id=range(50), embedding=embedding, text=["x"] * 50)
    source = open_source(path, columns=["embedding"], batch_rows=7)
    assert source.feature_names == NAMES
    assert source.n_features == 6
    blocks = list(source)
    dtype = np.float32 if number in (pa.float16(), pa.float32()) else np.float64
    assert all(block.dtype == dtype and block.flags.c_contiguous for block in blocks)
    np.testing.assert_array_equal(np.vstack(blocks), rows)
    rest = np.vstack([block for _, block in source.blocks((0, 31))])
    np.testing.assert_array_equal(rest, rows[31:])


def test_lists_beside_other_columns(write):
    two = pa.array(list(ROWS[:, :2]), pa.list_(pa.float32(), 2))
    numbers = pa.array([None, *np.arange(1.0, 50)])
    path = write(id=numbers, embedding=pa.array(list(ROWS)), text=["x"] * 50, other=two)
    source = open_source(path)
    assert source.feature_names == ["id", *NAMES, "other_0", "other_1"]
    expected = np.column_stack([[np.nan, *range(1, 50)], ROWS, ROWS[:, :2]])
    np.testing.assert_array_equal(np.vstack(list(source)), expected)
    source = open_source(path, columns=["embedding_4", "other", "id", "embedding_0"])
    assert source.feature_names == ["embedding_4", "other_0", "other_1", "id", "embedding_0"]
    np.testing.assert_array_equal(np.vstack(list(source)), expected[:, [5, 7, 8, 0, 1]])


@pytest.mark.parametrize("kind", ["list", "large"])
def test_lists_of_another_length(write, kind):
    rows = ROWS.tolist()
    rows[33] = rows[33][:5]
    message = "row 34, column 'embedding': a list of 5 numbers, and the first one has 6"
    with pytest.raises(SourceError, match=message):
        list(open_source(write(embedding=pa.array(rows, LISTS[kind](pa.float32())))))


def test_files_whose_lists_are_not_equally_long(tmp_path):
    for width in (6, 5):
        table = pa.table({"embedding": ROWS[:, :width].tolist()})
        pa.parquet.write_table(table, tmp_path / f"{9 - width}.parquet")
    with pytest.raises(SourceError, match="it is missing 'embedding_5'"):
        open_source(tmp_path)


def test_lists_that_cannot_be_columns(write):
    empty = pa.array([[]] * 3, pa.list_(pa.float32()))
    path = write(empty=empty, none=pa.array([None] * 3), words=[["a"]] * 3, x=[1.0, 2.0, 3.0])
    assert open_source(path).feature_names == ["x"]
    with pytest.raises(SourceError, match="column 'empty': contains values of type list"):
        open_source(path, columns=["empty", "x"])


@pytest.mark.parametrize("kind", LISTS)
def test_missing_lists_and_numbers_are_missing_entries(write, kind):
    """The first list that is there says how long they are."""
    rows = [None] * 3000 + ROWS.tolist()
    rows[3021], rows[3030][4] = None, None
    source = open_source(write(embedding=pa.array(rows, LISTS[kind](pa.float32()))))
    assert source.feature_names == NAMES
    found = np.vstack(list(source))
    assert found.dtype == np.float32
    expected = ROWS.copy()
    expected[21] = expected[30, 4] = np.nan
    np.testing.assert_array_equal(found, [*np.full((3000, 6), np.nan), *expected])


def test_blocks_are_full_across_row_groups(tmp_path):
    """So that they end where the chunks of estimators end."""
    pa.parquet.write_table(arrow_table(ROWS), tmp_path / "a.parquet", row_group_size=30)
    lengths = [len(block) for block in open_source(tmp_path / "a.parquet", batch_rows=16)]
    assert lengths == [16] * 3 + [2]


def test_names_with_dots_and_nested_columns(tmp_path):
    table = pa.table({"a.b": [1.0, 2.0], "a": [{"b": 1.0}, {"b": 2.0}], "a.c": [5.0, 6.0]})
    pa.parquet.write_table(table, tmp_path / "a.parquet")
    source = open_source(tmp_path / "a.parquet", skip_non_numeric=True)
    assert source.feature_names == ["a.b", "a.c"]
    assert np.vstack(list(source)).tolist() == [[1, 5], [2, 6]]


@pytest.mark.parametrize("suffix", ["parquet", "feather"])
@pytest.mark.parametrize("name", [None, "day"])
def test_the_index_of_pandas_is_left_out(tmp_path, suffix, name):
    path, column = tmp_path / f"a.{suffix}", name or "__index_level_0__"
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]}, index=pd.Index([7, 9], name=name))
    write = pa.parquet.write_table if suffix == "parquet" else pa.feather.write_feather
    write(pa.Table.from_pandas(frame), str(path))
    with pytest.warns(OnepassWarning, match=rf"left out .*, column '{column}'; keep_ind"):
        assert open_source(path).feature_names == ["a", "b"]
    source = open_source(path, keep_index=True)
    assert source.feature_names == ["a", "b", column]
    assert np.vstack(list(source)).tolist() == [[1, 3, 7], [2, 4, 9]]
    assert open_source(path, columns=[column, "a"]).n_features == 2
