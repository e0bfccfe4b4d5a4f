"""Generated tables with gaps: pandas, pyarrow and we agree on which entries are missing."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
import scipy.sparse

from onepass.sources import open_source
from tests.sources.files.written import WRITERS

# What both pandas and pyarrow take for a missing value by default.
MISSING = ["", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND"]
MISSING += ["1.#QNAN", "N/A", "NA", "NULL", "NaN", "n/a", "nan", "null"]


def table_with_gaps(rng, least_rows=2, least_columns=1):
    """Return rows (n, d) of whole numbers, fractions, or zeros and ones in each column."""
    n, d = int(rng.integers(least_rows, 13)), int(rng.integers(least_columns, 6))
    kinds = [
        rng.integers(-9, 10, size=n).astype(float),
        rng.normal(size=n).round(int(rng.integers(1, 12))),
        rng.integers(0, 2, size=n).astype(float),
    ]
    rows = np.column_stack([kinds[rng.integers(len(kinds))] for _ in range(d)])
    rows[rng.random((n, d)) < rng.choice([0.05, 0.3, 0.7])] = np.nan
    return rows


def cell(rng, value):
    """Return an entry as someone may write it."""
    if np.isnan(value):
        text = str(rng.choice(MISSING))
    else:
        text = str(rng.choice([repr(float(value)), f"{value:.17g}"]))
    return f'"{text}"' if rng.random() < 0.1 else text


def csv_of(rng, rows, delimiter):
    """Return a table as the text of a csv file."""
    end = str(rng.choice(["\n", "\r\n"]))
    lines = [delimiter.join(cell(rng, value) for value in row) for row in rows.tolist()]
    # A line without any character is no row to pandas, pyarrow and us.
    lines = [line or '""' for line in lines]
    return end.join([delimiter.join(f"c{j}" for j in range(rows.shape[1])), *lines, ""])


def dense(source):
    blocks = [block.toarray() if scipy.sparse.issparse(block) else block for block in source]
    return np.vstack(blocks)


def check_rest(rng, source, rows):
    """Compare what is read from a position on."""
    start = int(rng.integers(len(rows)))
    rest = dense(block for _, block in source.blocks((0, start)))
    np.testing.assert_array_equal(rest, rows[start:])


def check_csv(rng, path):
    rows, delimiter = table_with_gaps(rng), str(rng.choice([",", ";", "\t", "|"]))
    path.write_text(csv_of(rng, rows, delimiter), newline="")
    source = open_source(path, delimiter=delimiter, header=True, batch_rows=int(rng.integers(1, 9)))
    np.testing.assert_array_equal(dense(source), rows)
    check_rest(rng, source, rows)
    of_pandas = pd.read_csv(path, sep=delimiter)
    np.testing.assert_array_equal(of_pandas.isna(), np.isnan(rows))
    parsing = pa.csv.ParseOptions(delimiter=delimiter)
    columns = pa.csv.read_csv(path, parse_options=parsing).columns
    nulls = [column.is_null(nan_is_null=True).to_numpy() for column in columns]
    np.testing.assert_array_equal(np.column_stack(nulls), np.isnan(rows))


def arrow_columns(rng, rows):
    """Return columns of various types, in which a missing entry is a null or NaN."""
    columns = []
    for column in rows.T:
        present = column[~np.isnan(column)]
        kinds = [pa.float64()]
        if (present % 1 == 0).all():
            kinds += [pa.int8(), pa.int64(), pa.float32()]
        if np.isin(present, [0, 1]).all():
            kinds += [pa.bool_()]
        kind = kinds[rng.integers(len(kinds))]
        is_nan = pa.types.is_floating(kind) and rng.random() < 0.5
        gap = np.nan if is_nan else None
        values = [gap if np.isnan(value) else value for value in column]
        columns.append(pa.array(values, pa.float64()).cast(kind))
    return columns


def check_arrow(rng, folder):
    rows = table_with_gaps(rng)
    table = pa.table(arrow_columns(rng, rows), names=[f"c{j}" for j in range(rows.shape[1])])
    parquet, nullable, feather = (folder / f"{name}.parquet" for name in "abc")
    feather = feather.with_suffix(".feather")
    pa.parquet.write_table(table, parquet, row_group_size=int(rng.integers(1, 14)))
    table.to_pandas(types_mapper=pandas_type).to_parquet(nullable)
    pa.feather.write_feather(table, feather)
    for path in (parquet, nullable, feather):
        source = open_source(path, batch_rows=int(rng.integers(1, 9)))
        np.testing.assert_array_equal(dense(source), rows)
        check_rest(rng, source, rows)
    np.testing.assert_array_equal(pd.read_parquet(parquet).isna(), np.isnan(rows))


def pandas_type(kind):
    """Return the type of pandas that has missing values for an Arrow type."""
    if pa.types.is_boolean(kind):
        return pd.BooleanDtype()
    if pa.types.is_integer(kind):
        return pd.Int64Dtype() if kind == pa.int64() else pd.Int8Dtype()
    return None


def check_format(rng, path, write):
    rows = table_with_gaps(rng, 5, 2)  # the shape of chunks in the h5 file
    rows[0, -1] = 1.0  # so that svmlight knows the number of columns
    write(path, rows)
    keywords = {"header": False} if path.name == "a.csv.gz" else {}
    source = open_source(path, batch_rows=int(rng.integers(1, 9)), **keywords)
    found = dense(source)
    np.testing.assert_array_equal(found, rows)
    check_rest(rng, source, rows)


@pytest.mark.parametrize("count", [300, pytest.param(1000, marks=pytest.mark.long)])
def test_csv(tmp_path, count):
    rng = np.random.default_rng(count)
    for number in range(count):
        try:
            check_csv(rng, tmp_path / f"{number}.csv")
        except Exception as error:
            error.add_note(f"file {number}")
            raise


@pytest.mark.parametrize("count", [60, pytest.param(1000, marks=pytest.mark.long)])
def test_parquet_and_arrow(tmp_path, count):
    rng = np.random.default_rng(count)
    for number in range(count):
        (tmp_path / str(number)).mkdir()
        try:
            check_arrow(rng, tmp_path / str(number))
        except Exception as error:
            error.add_note(f"folder {number}")
            raise


@pytest.mark.filterwarnings("ignore:.*chunks are not stored")  # as all of them is zero
@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("count", [4, pytest.param(1000, marks=pytest.mark.long)])
def test_every_format(tmp_path, name, count):
    rng = np.random.default_rng(count)
    for number in range(count):
        (tmp_path / str(number)).mkdir()
        try:
            check_format(rng, tmp_path / str(number) / name, WRITERS[name])
        except Exception as error:
            error.add_note(f"folder {number}")
            raise
