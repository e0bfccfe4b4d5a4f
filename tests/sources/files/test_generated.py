"""Generated files give the numbers that pandas and pyarrow read from them, or a clear refusal."""

import decimal
import warnings

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

from onepass.sources import SourceError, open_source, plain_text

WORDS = [
    "Oslo",
    'Rio "de" J',
    '5" pipe',
    "a,b",
    "x;y",
    "tab\there",
    "two\nlines",
    "größe",
    "",
    "a|b",
]
LINE_BREAKS = {"LF": "\n", "CRLF": "\r\n", "CR": "\r"}
# What both pandas and pyarrow take for a missing value by default.
MISSING = ["", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND"]
MISSING += ["1.#QNAN", "N/A", "NA", "NULL", "NaN", "n/a", "nan", "null"]


def number_text(rng, value):
    """One of the ways to write a number, or a missing one, that read it back exactly."""
    value = float(value)
    if np.isnan(value):
        return str(rng.choice(MISSING))
    if value == int(value) and rng.random() < 0.5:
        return str(int(value))
    return rng.choice([repr(value), f"{value:.17g}", f"{value:.17e}", f"{value:.17E}"])


def quoted(rng, text, delimiter, always):
    special = any(mark in text for mark in (delimiter, "\n", "\r")) or text.startswith('"')
    if special or always or rng.random() < 0.1:
        return '"' + text.replace('"', '""') + '"'
    return text


def make_csv(rng, path):
    """Write a file; return how it was written, its numbers and the names of its columns."""
    n, d = int(rng.integers(1, 60)), int(rng.integers(1, 6))
    is_text = rng.random(d) < 0.3
    is_text[rng.integers(d)] = False
    scale = 10.0 ** rng.integers(-5, 6, size=d)
    numbers = rng.standard_normal((n, d)) * scale
    whole = rng.random(d) < 0.3
    numbers[:, whole] = numbers[:, whole].round()
    numbers[1:][rng.random((n - 1, d)) < rng.choice([0, 0.3])] = np.nan
    delimiter = str(rng.choice([",", ";", "\t", "|"]))
    line_break = LINE_BREAKS[str(rng.choice(list(LINE_BREAKS)))]
    encoding = str(rng.choice(["utf-8", "utf-8-sig", "utf-16", "latin-1"]))
    header = bool(rng.random() < 0.7)
    always = bool(rng.random() < 0.2)
    lines = []
    names = [str(rng.choice(["x", "the name", "a.b", "c_"])) + str(j) for j in range(d)]
    if header:
        lines.append(delimiter.join(quoted(rng, name, delimiter, always) for name in names))
    for row in numbers:
        cells = [
            quoted(
                rng, str(rng.choice(WORDS)) if text else number_text(rng, value), delimiter, always
            )
            for text, value in zip(is_text, row, strict=True)
        ]
        if d == 1 and cells[0] == "":
            cells[0] = '""'
        lines.append(delimiter.join(cells))
        if rng.random() < 0.03:
            lines.append("")
    content = line_break.join(lines) + (line_break if rng.random() < 0.8 else "")
    path.write_bytes(content.encode(encoding))
    options = {"sep": delimiter, "encoding": encoding, "header": 0 if header else None}
    return options, numbers[:, ~is_text], [j for j in range(d) if not is_text[j]], names


def by_pandas(path, options, columns):
    table = pd.read_csv(path, dtype=str, keep_default_na=False, **options).iloc[:, columns]
    return table.map(lambda text: np.nan if text in MISSING else float(text)).to_numpy()


def check_csv(rng, path):
    options, numbers, columns, names = make_csv(rng, path)
    if "\r" not in path.read_bytes().decode(options["encoding"]).replace("\r\n", "\n"):
        # With CR alone pandas loses an empty value at the beginning of a row.
        np.testing.assert_array_equal(by_pandas(path, options, columns), numbers)
    keywords = {"columns": columns}
    if rng.random() < 0.5:
        keywords |= {"delimiter": options["sep"], "header": options["header"] == 0}
    refused = 0
    try:
        source = open_source(path, **keywords)
    except SourceError as error:
        if "names or data" not in str(error):
            raise
        refused = 1
        source = open_source(path, columns, header=options["header"] == 0)
    expected = [names[j] for j in columns] if options["header"] == 0 else [str(j) for j in columns]
    assert source.feature_names == expected
    np.testing.assert_array_equal(np.vstack(list(source)), numbers)
    start = int(rng.integers(len(numbers)))
    rest = [block for _, block in source.blocks((0, start))]
    np.testing.assert_array_equal(np.vstack(rest), numbers[start:])
    return refused


@pytest.mark.parametrize("count", [60, pytest.param(2000, marks=pytest.mark.long)])
def test_csv(tmp_path, monkeypatch, count):
    rng = np.random.default_rng(count)
    refused = 0
    for number in range(count):
        # Rows of a block, so that pieces are cut at every place.
        monkeypatch.setattr(plain_text, "BLOCK_BYTES", int(rng.integers(400, 2000)))
        try:
            refused += check_csv(rng, tmp_path / "a.csv")
        except Exception as error:
            error.add_note(f"file {number}: {(tmp_path / 'a.csv').read_bytes()[:2000]!r}")
            raise
    assert refused < count / 4


@pytest.mark.parametrize("line_break", LINE_BREAKS)
@pytest.mark.parametrize("mark", ["", '"'])
def test_csv_cut_at_every_place(tmp_path, monkeypatch, line_break, mark):
    """Whatever the block, nothing is lost or made up where it ends."""
    words = [f"{mark}{word}{mark}" for word in ("a", 'b"c', "d")]
    words = [word.replace('b"c', 'b""c') if mark else word for word in words]
    lines = ["x,y,z", *(f"{i},{words[i % 3]},{i / 8}" for i in range(40))]
    (tmp_path / "a.csv").write_bytes(LINE_BREAKS[line_break].join(lines).encode())
    expected = [[i, i / 8] for i in range(40)]
    for size in range(130, 330):
        monkeypatch.setattr(plain_text, "BLOCK_BYTES", size)
        source = open_source(tmp_path / "a.csv", columns=["x", "z"])
        assert np.vstack(list(source)).tolist() == expected


def a_column(rng, n):
    """Return values of a random type, and the type."""
    kind = str(rng.choice(["double", "float", "int8", "int64", "uint16", "bool", "decimal", "few"]))
    values = rng.standard_normal(n) * 100
    if kind == "decimal":
        scale = int(rng.integers(0, 6))
        digits = rng.integers(-(10**12), 10**12, size=n).tolist()
        return [decimal.Decimal(digit).scaleb(-scale) for digit in digits], pa.decimal128(18, scale)
    if kind == "few":
        return (values > 0).astype(np.float64) / 3, pa.float64()
    if kind == "bool":
        return values > 0, pa.bool_()
    dtype = {"double": "f8", "float": "f4", "int8": "i1", "int64": "i8", "uint16": "u2"}[kind]
    return np.abs(values).astype(dtype), pa.from_numpy_dtype(np.dtype(dtype))


def write_parquet(rng, table, path, writer):
    group = int(rng.integers(1, 60))
    codec = str(rng.choice(["snappy", "zstd", "gzip", "none"]))
    if writer == "pandas":
        index = None
        if rng.random() < 0.5:
            index = pd.Index(rng.integers(100, size=len(table)), name=rng.choice(["id", None]))
        frame = table.to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get)
        if index is not None:
            frame.index = index
        compression = None if codec == "none" else codec
        frame.to_parquet(path, compression=compression, row_group_size=group)
    elif writer == "polars":
        codec = "uncompressed" if codec == "none" else codec
        size = int(rng.integers(1, 500))
        pl.from_arrow(table).write_parquet(
            path, compression=codec, row_group_size=group, data_page_size=size
        )
    elif writer == "duckdb":
        codec = "uncompressed" if codec == "none" else codec
        with duckdb.connect() as connection:
            connection.register("rows", table)
            given = f"FORMAT parquet, COMPRESSION {codec}, ROW_GROUP_SIZE {group}"
            connection.execute(f"COPY rows TO '{path}' ({given})")
    else:
        floats = [f.name for f in table.schema if pa.types.is_floating(f.type)]
        encoding = None
        if floats and rng.random() < 0.3:
            encoding = dict.fromkeys(floats, "BYTE_STREAM_SPLIT")
        pa.parquet.write_table(
            table,
            path,
            compression=codec,
            row_group_size=group,
            data_page_size=int(rng.integers(1, 500)),
            data_page_version=str(rng.choice(["1.0", "2.0"])),
            use_dictionary=encoding is None and bool(rng.random() < 0.5),
            column_encoding=encoding,
            write_batch_size=int(rng.integers(1, 30)),
        )


def check_parquet(rng, path):
    n, d = int(rng.integers(1, 150)), int(rng.integers(1, 6))
    columns = [a_column(rng, n) for _ in range(d)]
    arrays = [pa.array(values, kind) for values, kind in columns]
    missing = None
    if rng.random() < 0.2:
        missing = int(rng.integers(n)), int(rng.integers(d))
        values = arrays[missing[1]].to_pylist()
        values[missing[0]] = None
        arrays[missing[1]] = pa.array(values, arrays[missing[1]].type)
    table = pa.table(arrays, names=[f"c{j}" for j in range(d)])
    if rng.random() < 0.3:
        words = [str(rng.choice(WORDS)) for _ in range(n)]
        table = table.add_column(int(rng.integers(d + 1)), "word", pa.array(words))
    writer = str(rng.choice(["pandas", "polars", "duckdb", "pyarrow"]))
    write_parquet(rng, table, path, writer)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of an index that is left out
        source = open_source(path, skip_non_numeric=True, batch_rows=int(rng.integers(1, 40)))
    assert source.feature_names == [name for name in table.column_names if name != "word"]
    assert source.n_rows == n
    # What pyarrow reads, as exact numbers.
    read = pa.parquet.read_table(path)
    exact = [
        [np.nan if value is None else float(value) for value in read.column(f"c{j}").to_pylist()]
        for j in range(d)
    ]
    expected = np.array(exact).T
    np.testing.assert_array_equal(np.vstack(list(source)), expected)
    start = int(rng.integers(n))
    rest = [block for _, block in source.blocks((0, start))]
    np.testing.assert_array_equal(np.vstack(rest), expected[start:])


@pytest.mark.parametrize("count", [40, pytest.param(500, marks=pytest.mark.long)])
def test_parquet(tmp_path, count):
    rng = np.random.default_rng(count)
    for number in range(count):
        try:
            check_parquet(rng, tmp_path / f"{number}.parquet")
        except Exception as error:
            error.add_note(f"file {number}")
            raise
