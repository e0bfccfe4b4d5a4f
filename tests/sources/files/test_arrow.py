"""Parquet and arrow files: indices of pandas, folders, and columns of lists, which are many."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet
import pytest

from onepass.sources import SourceError, open_source
from onepass.warning import OnepassWarning
from tests.sources.files.written import arrow_table

RNG = np.random.default_rng(0)
ROWS = RNG.standard_normal((50, 6)).astype(np.float32)
NUMBERS = RNG.standard_normal((100, 4))
LISTS = {
    "fixed": lambda kind: pa.list_(kind, 6),
    "list": lambda kind: pa.list_(kind),
    "large": lambda kind: pa.large_list(kind),
}
NAMES = [f"embedding_{j}" for j in range(6)]


def write(path, table):
    if path.suffix == ".parquet":
        pa.parquet.write_table(table, path, row_group_size=20)
    elif path.suffix == ".feather":
        pa.feather.write_feather(table, str(path), chunksize=20)
    else:
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
            writer.write_table(table, max_chunksize=20)


def lists(rows, kind):
    return pa.array(list(rows), kind)


@pytest.fixture(params=["a.parquet", "a.feather", "a.arrow"])
def path(request, tmp_path):
    return tmp_path / request.param


@pytest.mark.parametrize("kind", LISTS)
def test_each_number_is_a_column(path, kind):
    column = lists(ROWS, LISTS[kind](pa.float32()))
    write(path, pa.table({"id": range(50), "embedding": column, "text": ["x"] * 50}))
    source = open_source(path, columns=["embedding"], batch_rows=7)
    assert source.feature_names == NAMES
    assert source.n_features == 6
    blocks = list(source)
    assert all(block.dtype == np.float32 and block.flags.c_contiguous for block in blocks)
    np.testing.assert_array_equal(np.vstack(blocks), ROWS)
    rest = np.vstack([block for _, block in source.blocks((0, 31))])
    np.testing.assert_array_equal(rest, ROWS[31:])


def test_lists_beside_other_columns(path):
    numbers = np.arange(50.0)
    table = {"id": numbers, "embedding": lists(ROWS, pa.list_(pa.float32())), "text": ["x"] * 50}
    write(path, pa.table({**table, "other": lists(ROWS[:, :2], pa.list_(pa.float32(), 2))}))
    source = open_source(path, skip_non_numeric=True)
    assert source.feature_names == ["id", *NAMES, "other_0", "other_1"]
    expected = np.column_stack([numbers, ROWS, ROWS[:, :2]])
    np.testing.assert_array_equal(np.vstack(list(source)), expected)
    source = open_source(path, columns=["embedding_4", "other", "id", "embedding_0"])
    assert source.feature_names == ["embedding_4", "other_0", "other_1", "id", "embedding_0"]
    np.testing.assert_array_equal(np.vstack(list(source)), expected[:, [5, 7, 8, 0, 1]])


@pytest.mark.parametrize("kind", LISTS)
@pytest.mark.parametrize("number", [pa.float16(), pa.float64(), pa.int8()])
def test_types(path, kind, number):
    rows = (ROWS * 10).astype(number.to_pandas_dtype())
    write(path, pa.table({"embedding": lists(rows, LISTS[kind](number))}))
    blocks = list(open_source(path))
    np.testing.assert_array_equal(np.vstack(blocks), rows)
    assert blocks[0].dtype == (np.float32 if number == pa.float16() else np.float64)


def test_columns_of_half_precision(path):
    rows = ROWS.astype(np.float16)
    write(path, pa.table({f"c{j}": rows[:, j] for j in range(6)}))
    blocks = list(open_source(path))
    assert blocks[0].dtype == np.float32
    np.testing.assert_array_equal(np.vstack(blocks), rows)


@pytest.mark.parametrize("kind", ["list", "large"])
def test_lists_of_another_length(path, kind):
    rows = [row.tolist() for row in ROWS]
    rows[33] = rows[33][:5]
    write(path, pa.table({"embedding": pa.array(rows, LISTS[kind](pa.float32()))}))
    message = "row 34, column 'embedding': a list of 5 numbers, and the first one has 6"
    with pytest.raises(SourceError, match=message):
        list(open_source(path))


def test_files_whose_lists_are_not_equally_long(tmp_path):
    for name, width in (("a", 6), ("b", 5)):
        column = lists(ROWS[:, :width], pa.list_(pa.float32()))
        write(tmp_path / f"{name}.parquet", pa.table({"embedding": column}))
    with pytest.raises(SourceError, match="it is missing 'embedding_5'"):
        open_source(tmp_path)


def test_lists_that_cannot_be_columns(path):
    table = {"empty": pa.array([[]] * 3, pa.list_(pa.float32())), "none": pa.array([None] * 3)}
    table["words"] = pa.array([["a"]] * 3)
    write(path, pa.table({**table, "x": [1.0, 2.0, 3.0]}))
    assert open_source(path).feature_names == ["x"]
    with pytest.raises(SourceError, match="column 'empty': contains values of type list"):
        open_source(path, columns=["empty", "x"])


def test_lists_whose_first_ones_are_missing(path):
    """The type says that they are lists; how long they are, the first one does."""
    rows = [None] * 3000 + [row.tolist() for row in ROWS]
    write(path, pa.table({"embedding": pa.array(rows, pa.list_(pa.float32()))}))
    source = open_source(path)
    assert source.feature_names == NAMES
    found = np.vstack(list(source))
    assert np.isnan(found[:3000]).all()
    np.testing.assert_array_equal(found[3000:], ROWS)


def test_numbers_that_are_stored_in_another_way(path):
    numbers = pa.array([1.5, 1.5, None, 3.0])
    table = {"index": numbers.dictionary_encode()}
    if path.suffix != ".parquet":
        table["runs"] = pa.RunEndEncodedArray.from_arrays(pa.array([2, 4], pa.int32()), [7.0, 8.0])
    lists = pa.FixedSizeListArray.from_arrays(np.arange(16.0), 4)
    kind = pa.fixed_shape_tensor(pa.float64(), [2, 2])
    table["tensor"] = pa.ExtensionArray.from_storage(kind, lists)
    write(path, pa.table(table))
    found = np.vstack(list(open_source(path)))
    np.testing.assert_array_equal(found[:, 0], [1.5, 1.5, np.nan, 3.0])
    np.testing.assert_array_equal(found[:, -4:], np.arange(16.0).reshape(4, 4))
    if "runs" in table:
        assert found[:, 1].tolist() == [7, 7, 8, 8]


@pytest.mark.parametrize("kind", LISTS)
def test_missing_lists_and_numbers_are_missing_entries(path, kind):
    rows = [row.tolist() for row in ROWS]
    rows[0] = rows[21] = None
    rows[30][4] = None
    write(path, pa.table({"embedding": pa.array(rows, LISTS[kind](pa.float32()))}))
    expected = ROWS.copy()
    expected[[0, 21]] = expected[30, 4] = np.nan
    found = np.vstack(list(open_source(path, batch_rows=7)))
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, expected)


def test_missing_numbers_beside_lists(path):
    rows, numbers = lists(ROWS, pa.list_(pa.float32())), [None, *range(49)]
    write(path, pa.table({"embedding": rows, "count": pa.array(numbers, pa.int64())}))
    found = np.vstack(list(open_source(path)))
    assert np.isnan(found[0, 6])
    np.testing.assert_array_equal(found[1:, 6], np.arange(49))


def test_blocks_are_full_across_row_groups(tmp_path):
    """So that they end where the chunks of estimators end."""
    pa.parquet.write_table(arrow_table(NUMBERS), tmp_path / "a.parquet", row_group_size=30)
    lengths = [len(block) for block in open_source(tmp_path / "a.parquet", batch_rows=16)]
    assert lengths == [16] * 6 + [4]


def test_names_with_dots_and_nested_columns(tmp_path):
    nested = pa.array([{"b": 1.0}, {"b": 2.0}])
    table = pa.table({"a.b": [1.0, 2.0], "a": nested, "a.c": [5.0, 6.0]})
    pa.parquet.write_table(table, tmp_path / "a.parquet")
    source = open_source(tmp_path / "a.parquet", skip_non_numeric=True)
    assert source.feature_names == ["a.b", "a.c"]
    assert np.vstack(list(source)).tolist() == [[1, 5], [2, 6]]


@pytest.mark.parametrize("suffix", ["parquet", "feather"])
def test_the_index_of_pandas_is_left_out(tmp_path, suffix):
    path = tmp_path / f"a.{suffix}"
    table = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]}, index=[7, 9])
    if suffix == "parquet":
        table.to_parquet(path)
    else:
        pa.feather.write_feather(pa.Table.from_pandas(table), str(path))
    with pytest.warns(OnepassWarning, match=r"left out .*, column '__index_level_0__'; keep_ind"):
        source = open_source(path)
    assert source.feature_names == ["a", "b"]
    assert np.vstack(list(source)).tolist() == [[1, 3], [2, 4]]
    source = open_source(path, keep_index=True)
    assert source.feature_names == ["a", "b", "__index_level_0__"]
    assert np.vstack(list(source)).tolist() == [[1, 3, 7], [2, 4, 9]]
    assert open_source(path, columns=["__index_level_0__", "a"]).n_features == 2


def test_an_index_with_a_name_is_left_out(tmp_path):
    table = pd.DataFrame({"a": [1.0, 2.0], "day": [3.0, 4.0]}).set_index("day")
    table.to_parquet(tmp_path / "a.parquet")
    with pytest.warns(OnepassWarning, match="column 'day'"):
        assert open_source(tmp_path / "a.parquet").feature_names == ["a"]


def test_no_index_is_said_where_there_is_none(tmp_path):
    pd.DataFrame({"a": [1.0, 2.0]}).to_parquet(tmp_path / "a.parquet")  # a range, in the metadata
    assert open_source(tmp_path / "a.parquet").feature_names == ["a"]
    odd = arrow_table(NUMBERS).replace_schema_metadata({"pandas": "[1"})
    pa.parquet.write_table(odd, tmp_path / "b.parquet")
    assert open_source(tmp_path / "b.parquet").n_features == 4
