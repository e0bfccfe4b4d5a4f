"""Parquet: the same rows whatever the writer did, and the memory that they take."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet
import pytest

import onepass
from onepass.sources import SourceError, open_source
from onepass.warning import OnepassWarning
from tests.sources.files.written import arrow_table

ROWS = np.random.default_rng(0).standard_normal((100, 4))


def test_blocks_are_full_across_row_groups(tmp_path):
    """So that they end where the chunks of estimators end."""
    pa.parquet.write_table(arrow_table(ROWS), tmp_path / "a.parquet", row_group_size=30)
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
    odd = arrow_table(ROWS).replace_schema_metadata({"pandas": "[1"})
    pa.parquet.write_table(odd, tmp_path / "b.parquet")
    assert open_source(tmp_path / "b.parquet").n_features == 4


def test_names_of_folders_are_left_out_and_pyarrow_takes_them(tmp_path):
    rng = np.random.default_rng(0)
    x, year = rng.normal(size=400), np.repeat([2023, 2024], 200)
    table = pa.table({"x": x, "y": x + rng.normal(size=400), "year": year})
    folder = str(tmp_path / "events")
    parts = {"partitioning": ["year"], "partitioning_flavor": "hive"}
    pyarrow.dataset.write_dataset(table, folder, format="parquet", **parts)
    for exclude in (None, ["year"]):
        source = open_source(folder, exclude=exclude)
        assert source.feature_names == ["x", "y"]
        assert source.notes == ["the names of folders are not read as columns: 'year'"]
    with pytest.raises(SourceError, match="column 'year': it is in the name of a folder"):
        open_source(folder, columns=["x", "year"])
    model = onepass.PCA(2).fit(pyarrow.dataset.dataset(folder, partitioning="hive"))
    assert model.feature_names_in_.tolist() == ["x", "y", "year"]
    np.testing.assert_allclose(model.mean_[2], 2023.5)
