"""What people pass to `fit`: it works, or the error says in one line what to write instead."""

import datetime
import pathlib
import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pytest
from scipy import sparse

from onepass import ERM, PCA, CappedMSG, IncrementalPCA
from onepass.sources import Source

N, D = 300, 4
NAMES = [*"abcd"]
X = np.random.default_rng(0).normal(size=(N, D)) * [4, 2, 1, 0.5] + 1
Y = np.arange(N) % 3
SIZES = [120, 1, 100, 79]


def blocks():
    return np.split(X, np.cumsum(SIZES)[:-1])


def pairs(kind=np.asarray):
    """Batches of rows and labels."""
    stops = np.cumsum(SIZES)[:-1]
    return [(kind(x), kind(y)) for x, y in zip(np.split(X, stops), np.split(Y, stops), strict=True)]


class OnlyDLPack:
    """An array of a library that NumPy knows by DLPack alone."""

    def __init__(self, array):
        self._array = array

    def __dlpack__(self, **options):
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


class OnlyArray:
    """An array of a library that NumPy knows by __array__ alone."""

    def __array__(self, dtype=None, copy=None):
        return np.asarray(X, dtype)


class Pairs:
    """Rows with labels, by their numbers, as in PyTorch's TensorDataset."""

    def __len__(self):
        return N

    def __getitem__(self, number):
        return X[number], Y[number]


def torch_inputs():
    torch = pytest.importorskip("torch")
    data = pytest.importorskip("torch.utils.data")
    rows, labels = torch.from_numpy(X), torch.from_numpy(Y)
    both, alone = data.TensorDataset(rows, labels), data.TensorDataset(rows)
    yield "tensor", rows
    yield "tensors", list(torch.split(rows, SIZES))
    yield "loader of pairs", data.DataLoader(both, batch_size=64)
    yield "loader of rows", data.DataLoader(alone, batch_size=64)
    yield "data set of pairs", (both[i] for i in range(N))
    yield (
        "loader of dicts",
        data.DataLoader([dict(zip(NAMES, row, strict=True)) for row in X], batch_size=64),
    )


def hugging_face_inputs():
    datasets = pytest.importorskip("datasets")
    table = datasets.Dataset.from_dict(dict(zip(NAMES, X.T, strict=True)))
    rows = datasets.Dataset.from_dict({"embedding": X, "label": Y})
    yield "data set", table
    yield "data set as a stream", table.to_iterable_dataset()
    yield "one column of vectors", rows.select_columns("embedding")


def xarray_inputs():
    xarray = pytest.importorskip("xarray")
    yield "data set", xarray.Dataset({name: ("t", X[:, i]) for i, name in enumerate(NAMES)})
    yield "array", xarray.DataArray(X, dims=("t", "column"))
    yield "data set of one matrix", xarray.Dataset({"x": (("t", "column"), X)})


def arrow_inputs():
    table = pa.table(dict(zip(NAMES, X.T, strict=True)))
    yield "data set", pyarrow.dataset.dataset(table)
    yield "scanner", pyarrow.dataset.dataset(table).scanner()
    yield "reader", pa.RecordBatchReader.from_batches(table.schema, table.to_batches(64))
    yield "record batch", table.to_batches()[0]


def polars_inputs():
    yield "lazy frame", pl.LazyFrame(X, schema=NAMES)
    yield "lazy query", pl.LazyFrame({**dict(zip(NAMES, X.T, strict=True)), "y": Y}).select(NAMES)


def dask_inputs():
    da, dd = pytest.importorskip("dask.array"), pytest.importorskip("dask.dataframe")
    rows = da.from_array(X, chunks=(64, D))
    yield "array", rows
    yield "array split into columns", rows.rechunk((70, 3))
    yield "array of unknown length", rows[rows[:, 0] > -np.inf]
    yield "tables of dask", dd.from_pandas(pd.DataFrame(X, columns=NAMES), npartitions=3)


def plain_inputs():
    rows = [dict(zip(NAMES, row, strict=True)) for row in X.tolist()]
    yield "pairs", iter(pairs())
    yield "list of pairs", pairs()
    yield "lists of pairs", [list(pair) for pair in pairs()]
    yield "one-hot targets", ((x, np.eye(3)[y]) for x, y in pairs())
    yield "dict batches", (dict(zip(NAMES, x.T, strict=True)) for x in blocks())
    yield (
        "dict batches with a target",
        ((dict(zip(NAMES, x.T, strict=True)), y) for x, y in pairs()),
    )
    yield "dict batches of one matrix", ({"x": x} for x in blocks())
    yield "dict of columns", dict(zip(NAMES, X.T, strict=True))
    yield "DLPack", OnlyDLPack(X)
    yield "__array__", OnlyArray()
    yield "single rows", iter(X)
    yield "rows as lists", (row.tolist() for row in X)
    yield "rows as tuples", (tuple(row.tolist()) for row in X)
    yield "rows as dicts", iter(rows)
    yield "list of dicts", rows
    yield "rows as dicts with a target", zip(rows, Y, strict=True)
    yield "rows with a target", zip(X, Y, strict=True)
    yield "blocks as lists", (x.tolist() for x in blocks())
    yield "blocks as lists of tuples", ([*map(tuple, x.tolist())] for x in blocks())
    yield "tables", [pd.DataFrame(x, columns=NAMES) for x in blocks()]
    yield "rows by number", Pairs()


INPUTS = [plain_inputs, torch_inputs, hugging_face_inputs, xarray_inputs]
INPUTS += [arrow_inputs, polars_inputs, dask_inputs]
NAMED = {"dict", "data set", "lazy", "scanner", "reader", "record batch", "tables", "vectors"}


@pytest.mark.filterwarnings("ignore:X has feature names")
@pytest.mark.parametrize("inputs", INPUTS)
def test_what_works(inputs):
    expected = ERM(2).fit(X)
    for (name, given), (_, again) in zip(inputs(), inputs(), strict=True):
        model = ERM(2).fit(given)
        assert model.n_samples_seen_ == N, name
        np.testing.assert_array_equal(model.components_, expected.components_, err_msg=name)
        np.testing.assert_array_equal(
            model.explained_variance_, expected.explained_variance_, err_msg=name
        )
        named = any(word in name for word in NAMED) and "matrix" not in name and "pairs" not in name
        assert hasattr(model, "feature_names_in_") == named, name
        if named:
            lists = [f"embedding_{j}" for j in range(4)]
            assert list(model.feature_names_in_) == (lists if "vectors" in name else NAMES), name
        coordinates = expected.transform(again)
        np.testing.assert_allclose(coordinates, expected.transform(X), atol=1e-12, err_msg=name)


def bad_torch():
    torch = pytest.importorskip("torch")
    yield torch.from_numpy(X).requires_grad_(), "Tensor"
    yield torch.from_numpy(X).to_sparse(), "Tensor"


def bad_tables():
    times = pd.date_range("2020", periods=N)
    table = pd.DataFrame(X, columns=NAMES)
    mixed = table.astype(object)
    mixed.loc[7, "c"] = "n/a"
    yield mixed, r"'c' contains text \('n/a' in row 7\).*select_dtypes\(\"number\"\)"
    for column in ("Oslo", times, X[:, 0] + 1j, pd.Categorical(["x"] * N)):
        yield table.assign(other=column), "column 'other' contains .* in row 0"
    frame = pl.DataFrame(X, schema=NAMES)
    for column in ("Oslo", datetime.date(2020, 1, 1)):
        yield frame.with_columns(other=pl.lit(column)), "column 'other' contains .* in row 0"
    columns = dict(zip(NAMES, X.T, strict=True))
    for column in (["Oslo"] * N, times.to_numpy()):
        yield pa.table({**columns, "other": column}), "column 'other' contains .* in row 0"
    yield pl.LazyFrame({"a": [1.0], "other": ["Oslo"]}), "column 'other' contains text"
    lists = [[1.0, 2.0], [3.0]]
    yield pd.DataFrame({"e": lists}), "column 'e', row 1: a list of 1 numbers"


def bad_plain():
    for nothing in (None, [], ()):
        yield nothing, "array"
    for path in ("rows.csv", pathlib.Path("rows.csv")):
        yield path, r"open_source\('rows.csv'\)"
        yield [path, path], r"open_source\(\['rows.csv', "
    yield [(x, x) for x in blocks()], r"not clear which are the rows: write fit\(x for x, y in X\)"
    yield [(x, y[:-1]) for x, y in pairs()], "not clear which are the rows"
    yield (X, Y), r"both blocks of rows and single rows; .* write fit\(x, y\)"
    yield ({"x": x, "y": y} for x, y in pairs()), "'x'.*'y'.*choose one"
    yield ({"a": 1.0, "b": "Oslo"} for _ in range(3)), r"column 'b' contains text \('Oslo' in row 0"
    yield iter([{"a": 1.0, "b": 2.0}, {"a": 1.0, "c": 2.0}]), r"row 1 has \['a', 'c'\]"
    yield iter([[1.0, 2.0], [1.0]]), r"row 0 has \(2,\) and row 1 has \(1,\)"
    yield iter([1.0, 2.0]), r"(?i)scalar|2D|2 dim"
    yield {"a": 1.0, "b": 2.0}, r"one row: write \[X\]"
    for dtype in ("M8[D]", "m8[s]", str):
        yield X.astype(dtype), "not numbers"
    yield np.ones(3, [("a", float), ("b", float)]), "not numbers"
    yield [["1", "2"], ["x", "3"]], r"text \('x'\) at row 1, column 0"

    dates = X.astype(object)
    dates[3, 1] = datetime.datetime(2020, 1, 1)
    yield dates, r"datetime \('2020-01-01 00:00:00'\) at row 3, column 1"


class BFloat16:
    """A tensor of PyTorch whose type NumPy has not."""

    dtype, shape = "torch.bfloat16", X.shape

    def float(self):
        return X.astype(np.float32)


def test_tensors_of_half_precision_are_read_in_single_precision():
    half = X.astype(np.float16)
    for given in (BFloat16(), half, OnlyDLPack(half), [half[:100], half[100:]]):
        assert PCA(2).fit(given).components_.dtype == np.float32


@pytest.mark.parametrize("bad", [bad_plain, bad_tables, bad_torch])
def test_what_does_not_work_says_what_to_write(bad):
    for given, message in bad():
        model = CappedMSG(1)
        with pytest.raises((ValueError, TypeError), match=message):
            model.fit(given)
        assert not hasattr(model, "n_features_in_")


def test_dict_batches_are_matched_by_name():
    model = ERM(1).fit(iter([dict(zip(NAMES, X.T, strict=True))]))
    turned = dict(zip(NAMES[::-1], X.T[::-1], strict=True))
    np.testing.assert_array_equal(model.transform(turned), ERM(1).fit(X).transform(X))
    np.testing.assert_array_equal(
        model.partial_fit(iter([turned])).components_, ERM(1).fit([X, X]).components_
    )
    with pytest.raises(ValueError, match="the estimator was fitted with"):
        model.transform({**turned, "e": X[:, 0]})


def test_chunks_of_dask_are_read_one_by_one():
    da = pytest.importorskip("dask.array")
    rows = da.random.default_rng(0).normal(size=(50_000, 40), chunks=(1000, 40))  # 50 of 320 kB
    PCA(2).fit(rows[:3000])  # what is imported and allocated once
    tracemalloc.start()
    try:
        model = PCA(2).fit(rows)
        held = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert model.n_samples_seen_ == 50_000
    assert held < 12e6  # all rows are 16 MB


def test_rows_that_can_be_read_once_are_refused_before_the_pass():
    """`fit_transform` needs them twice: reading them for nothing may take hours."""
    X, model = iter(blocks()), CappedMSG(1)
    with pytest.raises(ValueError, match=r"reads X twice.* write fit\(X\).*transform"):
        model.fit_transform(X)
    assert not hasattr(model, "n_features_in_")
    assert len(list(X)) == len(blocks())
    np.testing.assert_array_equal(
        CappedMSG(1).fit_transform(blocks()), CappedMSG(1).fit(blocks()).transform(blocks())
    )


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("empty", [0, 1, 2])
def test_blocks_without_rows_are_passed_over(kind, empty):
    X = np.random.default_rng(0).normal(size=(90, 4))
    blocks = [kind(block) for block in np.array_split(X, 2)]
    blocks.insert(empty, kind(X[:0]))
    found = PCA(2).fit(iter(blocks))
    np.testing.assert_array_equal(found.components_, PCA(2).fit(kind(X)).components_)
    with pytest.raises(ValueError, match="The source has no rows"):
        PCA(2).fit(iter([kind(X[:0])]))


MASKED = np.ma.masked_array(X[:50].copy())
MASKED[17, 1] = np.ma.masked


@pytest.mark.parametrize(
    "given",
    [
        MASKED,
        [MASKED[:20], MASKED[20:]],
        [(MASKED, np.zeros(50))],
        [{"a": MASKED[:, 0], "b": MASKED[:, 1]}],
        [{"a": row[0], "b": row[1]} for row in MASKED],
    ],
    ids=["array", "blocks", "pairs", "columns", "dicts"],
)
@pytest.mark.filterwarnings("ignore:.*converting a masked element to nan")
def test_masked_entries_are_missing_however_rows_come(given):
    """They were taken with the numbers that the mask hides."""
    model = ERM(1).fit(given)
    expected = [0.02 * (column == 1) for column in range(model.n_features_in_)]
    np.testing.assert_allclose(model.missing_share_, expected)


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"a": pd.Series([1, pd.NA, 3], dtype=object), "b": [1.0, 2.0, None]}),
        pd.DataFrame({"a": pd.array([1, None, 3], dtype="Int64"), "b": [1.0, 2.0, None]}),
        pl.DataFrame({"a": [1, None, 3], "b": [1.0, 2.0, None]}),
        pa.table({"a": [1, None, 3], "b": [1.0, 2.0, None]}),
    ],
    ids=["objects of pandas", "integers of pandas", "polars", "arrow"],
)
def test_missing_values_of_tables_are_nan(table):
    model = IncrementalPCA(1).partial_fit(table)
    expected = IncrementalPCA(1).partial_fit([[1.0, 1.0], [np.nan, 2.0], [3.0, np.nan]])
    np.testing.assert_array_equal(model.mean_, expected.mean_)
    np.testing.assert_allclose(model.missing_share_, 1 / 3)


LISTS = {
    "pandas": lambda rows: pd.DataFrame({"e": list(rows)}),
    "pandas, arrow": lambda rows: pd.DataFrame({"e": list(rows)}).astype(
        {"e": pd.ArrowDtype(pa.list_(pa.float32()))}
    ),
    "polars": lambda rows: pl.DataFrame({"e": rows}),
    "polars, lists": lambda rows: pl.DataFrame({"e": rows}).with_columns(
        pl.col("e").cast(pl.List(pl.Float32))
    ),
    "pyarrow": lambda rows: pa.table({"e": list(rows)}),
}


@pytest.mark.parametrize("library", LISTS)
def test_each_number_of_a_list_is_a_column(library):
    rows = X.astype(np.float32)
    table = LISTS[library](rows)
    model, expected = ERM(2).fit(table), ERM(2).fit(rows)
    assert model.feature_names_in_.tolist() == ["e_0", "e_1", "e_2", "e_3"]
    np.testing.assert_array_equal(model.components_, expected.components_)
    assert model.components_.dtype == np.float32
    np.testing.assert_array_equal(model.transform(table), expected.transform(rows))
    np.testing.assert_array_equal(model.transform(rows), expected.transform(rows))  # no warning


TABLE = pd.DataFrame(X, columns=NAMES)
TURNED = TABLE[NAMES[::-1]]


class Named(Source):
    """A source of one block whose columns have names."""

    def __init__(self, table):
        self.table, self.n_features, self.n_rows = table, table.shape[1], len(table)
        self.feature_names = list(table.columns)

    def blocks(self, start=None):
        yield (0, len(self.table)), self.table.to_numpy()


def test_columns_of_sources_are_known_by_name():
    model = PCA(2).fit(Named(TABLE))
    assert list(model.feature_names_in_) == NAMES
    assert model.score(Named(TABLE)) == pytest.approx(model.score(TABLE))
    for use in (model.transform, model.score, model.partial_fit):
        with pytest.raises(ValueError, match="feature names"):
            use(Named(TURNED))
        with pytest.raises(ValueError, match="feature names"):
            use(iter([TURNED]))
    blocks = PCA(2).fit([TABLE[:200], TABLE[200:]])
    assert list(blocks.feature_names_in_) == NAMES
    with pytest.raises(ValueError, match="feature names"):
        PCA(2).fit([TABLE[:200], TURNED[200:]])


def test_an_error_says_after_how_many_rows_its_block_came():
    bad = np.ones((5, 3))
    bad[4, 1] = np.inf
    with pytest.raises(
        ValueError, match=r"The block after 10 rows contains inf at row 4, column 1"
    ):
        PCA(1).fit(iter([np.eye(10, 3), bad]))
