"""Text: csv by many tools, np.savetxt, svmlight files; R's, Excel's and others' ways imitated."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from benchmarks.files.case import Case, Writer
from benchmarks.files.rows import counts, mixed, mostly_zeros, table, values

Make = Callable[[], pd.DataFrame]
MISSING = ["", "NA", "nan", "null", "None", "-", "N/A", "#N/A", "NULL"]
SHORT = {"float_format": "%.10g"}  # of to_csv


def gapped() -> pd.DataFrame:
    """Return a table with missing values."""
    return table(missing=0.1)


def csv(make: Make, *, back: dict[str, Any] | None = None, **options: Any) -> Writer:
    """Return the writer of a csv file by pandas; `back` are the options it is read with."""

    def write(path: Path) -> pd.DataFrame:
        make().to_csv(path, **{"index": False, **options})
        alike = {key: options[key] for key in ("sep", "decimal", "encoding") if key in options}
        return pd.read_csv(path, **{**alike, **(back or {})})

    return write


def text(content: str, expected: Any, encoding: str = "utf-8") -> Writer:
    """Return the writer of a text as it stands."""

    def write(path: Path) -> Any:
        path.write_bytes(content.encode(encoding))
        return expected

    return write


def packed(pack: Callable[[bytes], bytes]) -> Writer:
    """Return the writer of a compressed csv file."""

    def write(path: Path) -> pd.DataFrame:
        path.write_bytes(pack(gapped().to_csv(index=False).encode()))
        return gapped()

    return write


def zstd(content: bytes) -> bytes:
    """Return the content of a .zst file."""
    return pa.Codec("zstd").compress(content, asbytes=True)


PACKS = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "zst": zstd}


def quoted() -> pd.DataFrame:
    """Return a table with text that needs quotation marks."""
    return table().assign(note='a "quoted", text\nof two lines; and more')


def truth() -> pd.DataFrame:
    """Return a table with a column of True and False."""
    return table().assign(flag=[True, False] * 75)


def from_pandas() -> Iterator[Case]:
    """Yield what DataFrame.to_csv writes."""
    plain: dict[str, Writer] = {
        "defaults, with its index": csv(gapped, index=True, back={"index_col": 0}),
        "no index": csv(gapped),
        "text, dates, categories": csv(mixed),
        "text, dates, categories, index": csv(mixed, index=True, back={"index_col": 0}),
        "text with commas and line breaks": csv(quoted),
        "truth values": csv(truth),
        "quotes around all": csv(gapped, quoting=1),
        "quotes around text": csv(mixed, quoting=2),
        "lines end with CRLF": csv(gapped, lineterminator="\r\n"),
        "lines end with CR": csv(gapped, lineterminator="\r"),
        "six digits": csv(gapped, float_format="%.6f"),
        "three digits and exponents": csv(gapped, float_format="%.3e"),
        "utf-8 with BOM": csv(gapped, encoding="utf-8-sig"),
        "utf-16": csv(gapped, encoding="utf-16"),
        "utf-32": csv(gapped, encoding="utf-32"),
        "one column": csv(lambda: table(150, 1)),
        "one row": csv(lambda: table(1, 5)),
        "one row of 20,000 columns": csv(lambda: table(1, 20_000)),
        "5 rows of 70,000 columns": csv(lambda: table(5, 70_000), **SHORT),
        "mostly zeros": csv(mostly_zeros),
        "a column without any value": csv(lambda: table().assign(empty=np.nan)),
        "dates alone beside a number": csv(lambda: mixed()[["when", "a"]]),
        "text in the first column": csv(lambda: mixed()[["id", "a", "b"]]),
        "names with blanks and commas": csv(lambda: table().rename(columns={"x1": "a, b (kg)"})),
        **{f"missing as {na!r}": csv(gapped, na_rep=na, back={"na_values": "-"}) for na in MISSING},
    }
    for name, write in plain.items():
        yield Case("pandas", f"csv: {name}", "a.csv", write)
    for name, sep in {"tab": "\t", "semicolon": ";", "bar": "|", "space": " "}.items():
        yield Case("pandas", f"csv: {name}", "a.csv", csv(gapped, sep=sep, na_rep="NA"))
    yield Case("pandas", "csv: tab, .tsv", "a.tsv", csv(gapped, sep="\t"))
    yield Case("pandas", "csv: tab, .txt", "a.txt", csv(mixed, sep="\t"))
    bare = csv(gapped, header=False, back={"header": None})
    yield Case("pandas", "csv: no header", "a.csv", bare)
    for suffix, pack in PACKS.items():
        yield Case("pandas", f"csv: {suffix}", f"a.csv.{suffix}", packed(pack))
    comma = csv(gapped, sep=";", decimal=",")
    latin = csv(lambda: mixed().assign(id="Å"), encoding="latin-1")
    for name, write, options in (
        ("decimal comma", comma, {"decimal": ","}),
        ("latin-1", latin, {"encoding": "latin-1"}),
    ):
        yield Case("pandas", f"csv: {name}", "a.csv", write, options)
    word = csv(lambda: table().assign(x1=[*range(149), "oops"]), back={"na_values": "oops"})
    for name, write, refused, then in (
        ("decimal comma, not said", comma, "decimal", {"decimal": ","}),
        ("latin-1, not said", latin, "encoding", {"encoding": "latin-1"}),
        ("a word among numbers", word, "oops", {"na": ["oops"]}),
        ("infinite values", csv(lambda: table().assign(x1=np.inf)), "x1", None),
    ):
        yield Case("pandas", f"csv: {name}", "a.csv", write, {}, "", refused, then)


def polar(**options: Any) -> Writer:
    """Return the writer of a csv file by polars."""

    def write(path: Path) -> pd.DataFrame:
        pl.from_pandas(mixed()).write_csv(path, **options)
        return mixed()

    return write


def query(options: str) -> Writer:
    """Return the writer of a csv file by duckdb."""

    def write(path: Path) -> pd.DataFrame:
        select = "select i, 'r' || i as name, case when i % 7 > 0 then sin(i) end as x"
        duckdb.sql(f"copy ({select} from range(300) t(i)) to '{path}' (format csv, {options})")
        return duckdb.sql(f"{select} from range(300) t(i)").df()

    return write


def by_arrow(**options: Any) -> Writer:
    """Return the writer of a csv file by pyarrow."""

    def write(path: Path) -> pd.DataFrame:
        made = pa.Table.from_pandas(gapped())
        pa.csv.write_csv(made, path, pa.csv.WriteOptions(**options))
        return gapped()

    return write


def from_frames() -> Iterator[Case]:
    """Yield what polars, duckdb and pyarrow write."""
    for name, options in {
        "defaults": {},
        "semicolon": {"separator": ";"},
        "BOM": {"include_bom": True},
        "all quoted": {"quote_style": "always"},
        "numbers not quoted": {"quote_style": "non_numeric"},
        "four digits": {"float_precision": 12},
        "CRLF": {"line_terminator": "\r\n"},
    }.items():
        yield Case("polars", f"csv: {name}", "a.csv", polar(**options))
    for name, sql in {
        "defaults": "header",
        "tab": "header, delim '\t'",
        "NA": "header, nullstr 'NA'",
        "bar, quoted": "header, delim '|', quote '\"', force_quote (name)",
    }.items():
        yield Case("duckdb", f"csv: {name}", "a.csv", query(sql))
    yield Case("duckdb", "csv: gz", "a.csv.gz", query("header, compression gzip"))
    yield Case("pyarrow", "csv: defaults", "a.csv", by_arrow())
    yield Case("pyarrow", "csv: semicolon", "a.csv", by_arrow(delimiter=";"))
    yield Case("pyarrow", "csv: no quotes", "a.csv", by_arrow(quoting_style="none"))


def savetxt(rows: Any = None, **options: Any) -> Writer:
    """Return the writer of text by np.savetxt, which np.loadtxt reads."""

    def write(path: Path) -> Any:
        np.savetxt(path, values() if rows is None else rows, **options)
        delimiter = options.get("delimiter", "").strip(" ") or None
        return np.loadtxt(path, delimiter=delimiter, ndmin=2)

    return write


FORMATS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "columns of fixed width": {"fmt": "%14.6f"},
    "fixed width, blanks first": {"fmt": "%20.10e"},
    "general": {"fmt": "%g"},
    "comma": {"delimiter": ","},
    "comma and blank": {"delimiter": ", ", "fmt": "%.6f"},
    "tab": {"delimiter": "\t"},
    "semicolon": {"delimiter": ";"},
    "two blanks": {"delimiter": "  ", "fmt": "%.6f"},
    "CRLF": {"newline": "\r\n"},
    "one column": {"rows": values(150, 1)},
    "300 columns": {"rows": values(50, 300)},
    "whole numbers": {"rows": np.arange(600).reshape(100, 6) * 7 % 100, "fmt": "%5d"},
}


def from_numpy() -> Iterator[Case]:
    """Yield what np.savetxt writes."""
    for name, options in FORMATS.items():
        yield Case("numpy", f"savetxt: {name}", "a.txt", savetxt(**options), {"header": False})
    for suffix in ("csv", "txt.gz", "txt.bz2", "txt.xz"):
        yield Case("numpy", f"savetxt: .{suffix}", f"a.{suffix}", savetxt())
    for suffix in ("dat", "data", "text", "out"):
        yield Case(
            "numpy", f"savetxt: .{suffix}", f"a.{suffix}", savetxt(), {}, "",
            "format", {"format": "csv"},
        )  # fmt: skip
    for name, options in {
        "names behind a mark": {"header": "a b c d e"},
        "a remark at the end": {"footer": "made by hand"},
    }.items():
        yield Case(
            "numpy", f"savetxt: {name}", "a.txt", savetxt(**options), {"header": False}, "",
            "comment", {"comment": "#"},
        )  # fmt: skip


def svmlight(X: Any, **options: Any) -> Writer:
    """Return the writer of an svmlight file by scikit-learn."""

    def write(path: Path) -> Any:
        several = options.get("multilabel", False)
        labels = np.eye(X.shape[0], 3) if several else np.arange(X.shape[0]) % 2
        pack = {".gz": gzip.compress, ".bz2": bz2.compress, ".zst": zstd}.get(path.suffix)
        plain = path.with_name("plain") if pack else path
        dump_svmlight_file(X, labels, str(plain), **options)
        read = load_svmlight_file(str(plain), multilabel=several)[0]
        if pack:
            path.write_bytes(pack(plain.read_bytes()))
            plain.unlink()
        return read

    return write


def from_sklearn() -> Iterator[Case]:
    """Yield what dump_svmlight_file writes."""
    plain: dict[str, Writer] = {
        "counted from 0": svmlight(counts()),
        "counted from 1": svmlight(counts(), zero_based=False),
        "float64": svmlight(counts(dtype=np.float64)),
        "dense": svmlight(values()),
        "a comment": svmlight(counts(), comment="of the corpus"),
        "query ids": svmlight(counts(), query_id=np.arange(150)),
        "several labels": svmlight(counts(), multilabel=True),
        "empty rows": svmlight(counts(share=0.02)),
        "200,000 columns": svmlight(counts(300, 200_000, 0.0005)),
        "a row of 50,000 numbers": svmlight(counts(2, 50_000, 1.0)),
    }
    for name, write in plain.items():
        yield Case("scikit-learn", f"svmlight: {name}", "a.svmlight", write)
    for suffix in ("gz", "bz2", "zst"):
        yield Case(
            "scikit-learn", f"svmlight: {suffix}", f"a.svmlight.{suffix}", svmlight(counts())
        )
    for suffix in ("libsvm", "svm"):
        yield Case(
            "scikit-learn", f"svmlight: .{suffix}", f"a.{suffix}", svmlight(counts()), {}, "",
            "format", {"format": "svmlight"},
        )  # fmt: skip


def lines(*rows: str, end: str = "\n") -> str:
    """Return a text of these lines."""
    return "".join(row + end for row in rows)


def cars(sep: str, *, names: bool = True, point: str = ".", na: str = "NA", mark: str = "") -> str:
    """Return R's mtcars in small: a name, three numbers, one of them missing, a factor."""
    head = ["mpg", "cyl", "disp", "kind"]
    rows = [["Mazda RX4", "21", "6", "160.5", "a"], ["Datsun", "22.8", "4", na, "b"],
            ["Valiant", "18.1", "6", "225", "a"]] * 5  # fmt: skip
    body = []
    for count, (name, *cells) in enumerate(rows):
        cells = [cell.replace(".", point) for cell in cells]
        cells[-1] = f"{mark}{cells[-1]}{mark}"
        body.append(sep.join([f"{mark}{name} {count}{mark}"] * names + cells))
    return lines(sep.join(f"{mark}{name}{mark}" for name in head), *body)


CARS = pd.DataFrame({"mpg": [21, 22.8, 18.1], "cyl": [6, 4, 6], "disp": [160.5, np.nan, 225]})
CARS = pd.concat([CARS] * 5)
NAMED = '"",' + cars(",", mark='"')
REGIONS = lines("id,kind,taste,where", *(f"{i},a,x,Region {i % 9}" for i in range(1, 32)))
BLANKS = lines("name,score,city", *(f"Ann B{i},{i},New York {i}" for i in range(40)))


def from_r() -> Iterator[Case]:
    """Yield what R writes."""
    logical = lines('"x","yes"', *(f"{i},{'TRUE' if i % 2 else 'FALSE'}" for i in range(20)))
    flags = pd.DataFrame({"x": range(20), "yes": [i % 2 for i in range(20)]})
    plain = {
        "write.table": (cars(" ", mark='"'), CARS),
        "write.table, tab": (cars("\t", mark='"'), CARS),
        "write.table, no row names": (cars(" ", names=False, mark='"'), CARS),
        "write.csv": (NAMED, CARS),
        "write.csv, no row names": (cars(",", names=False, mark='"'), CARS),
        "write.csv, not quoted": ("," + cars(","), CARS),
        "write.csv, na is empty": ('"",' + cars(",", mark='"', na=""), CARS),
        "write.csv, logical": (logical, flags),
        "a factor with blanks": (REGIONS, pd.DataFrame({"id": range(1, 32)})),
        "text with blanks and numbers": (BLANKS, pd.DataFrame({"score": range(40)})),
        "fwrite": (cars(",", names=False, na=""), CARS),
        "write_tsv": (cars("\t", names=False), CARS),
    }
    for name, (content, expected) in plain.items():
        suffix = "tsv" if "tsv" in name else "txt" if "table" in name else "csv"
        yield Case("R", name, f"a.{suffix}", text(content, expected))
    second = text('"";' + cars(";", mark='"', point=","), CARS)
    yield Case("R", "write.csv2", "a.csv", second, {"decimal": ","})


def from_excel() -> Iterator[Case]:
    """Yield what Excel saves."""
    english, german = cars(",", names=False, na=""), cars(";", names=False, point=",", na="")
    tabs = cars("\t", names=False, na="")
    contents = {
        "CSV UTF-8": ("a.csv", english, "utf-8-sig", {}),
        "CSV": ("a.csv", english, "cp1252", {}),
        "CSV, Macintosh": ("a.csv", english.replace("\n", "\r"), "utf-8", {}),
        "Unicode text": ("a.txt", tabs, "utf-16", {}),
        "text with tabs": ("a.txt", tabs, "cp1252", {}),
        "CSV in Germany": ("a.csv", german, "utf-8-sig", {"decimal": ","}),
        "CSV with sep=": ("a.csv", "sep=;\n" + german, "utf-8-sig", {"decimal": ","}),
        "empty columns on the right": (
            "a.csv", "".join(f"{row},,\n" for row in english.splitlines()), "utf-8-sig",
            {"columns": ["mpg", "cyl", "disp"]},
        ),
        "empty rows at the end": ("a.csv", english + ",,,\n" * 3, "utf-8-sig", {}),
    }  # fmt: skip
    for name, (file, content, encoding, options) in contents.items():
        rows = content if encoding == "utf-16" else content.replace("\n", "\r\n")
        expected = CARS
        if "rows" in name:
            expected = pd.concat(
                [CARS, pd.DataFrame(np.full((3, 3), np.nan), columns=CARS.columns)]
            )
        yield Case("Excel", name, file, text(rows, expected, encoding), options)
    thousands = lines("name;value", *(f"a{i};1.{i:03d},5" for i in range(20)))
    yield Case(
        "Excel", "marks between thousands", "a.csv",
        text(thousands, None), {"decimal": ","}, "", "value", None,
    )  # fmt: skip


def from_others() -> Iterator[Case]:
    """Yield what databases, MATLAB, SAS and others write."""
    rows = values(20, 3).round(4)
    named = pd.DataFrame(rows, columns=["a", "b", "c"])

    def grid(sep: str) -> str:
        return lines(*(sep.join(repr(float(v)) for v in row) for row in rows))

    holes = named.copy()
    holes.loc[holes.index % 4 == 1, "b"] = np.nan

    def with_holes(sep: str, hole: str) -> str:
        cells = [[hole if np.isnan(v) else repr(v) for v in row] for row in holes.values.tolist()]
        return lines(sep.join("abc"), *(sep.join(row) for row in cells))

    plain = {
        "PostgreSQL, COPY csv": ("a.csv", with_holes(",", ""), holes),
        "MATLAB, writematrix": ("a.csv", grid(","), rows),
        "MATLAB, writematrix, NaN": ("a.csv", with_holes(",", "NaN"), holes),
        "MATLAB, save -ascii": (
            "a.txt", lines(*("".join(f"{v:20.11e}" for v in row) for row in rows)), rows
        ),
        "Julia, CSV.write": ("a.csv", with_holes(",", ""), holes),
        "Fortran, fixed width": (
            "a.txt", lines(*("".join(f"{v:12.4f}" for v in row) for row in rows)), rows
        ),
        "sqlite3, column": (
            "a.txt", lines(*("".join(f"{v:<12}" for v in r) for r in ["abc", *rows])), named
        ),
        "Stata, outsheet": ("a.tsv", with_holes("\t", ""), holes),
        "C, no end of the last line": ("a.csv", grid(",")[:-1], rows),
        "Spark, quoted names": ("a.csv", '"a","b","c"\n' + grid(","), named),
    }  # fmt: skip
    for name, (file, content, expected) in plain.items():
        tool, _, rest = name.partition(", ")
        yield Case(tool, rest, file, text(content, expected))
    remark = "# a b c\n# made by an instrument\n" + grid(" ")
    for tool, name, file, content, expected, word, then in (
        ("MySQL", "\\N", "a.tsv", with_holes("\t", "\\N"), holes, "\\N", {"na": ["\\N"]}),
        ("SAS", "a dot", "a.csv", with_holes(",", "."), holes, "'.'", {"na": ["."]}),
        ("UCI", "?", "a.csv", with_holes(",", "?"), holes, "'?'", {"na": ["?"]}),
        ("Julia", "missing", "a.csv", with_holes(",", "missing"), holes, "'missing'",
         {"na": ["missing"]}),
        ("MATLAB", "writematrix, 1 to 60", "a.csv", lines(*(f"{i},{i + 1}" for i in range(60))),
         np.column_stack([range(60), range(1, 61)]), "header", {"header": False}),
        ("UCI", ".data", "a.data", grid(","), rows, "format", {"format": "csv"}),
        ("gnuplot", ".dat", "a.dat", grid(" "), rows, "format", {"format": "csv"}),
        ("gnuplot", "remarks", "a.txt", remark, rows, "comment", {"comment": "#"}),
        ("an instrument", "a title", "a.csv", "Run 7\nof May\n" + with_holes(",", ""), holes,
         "skip_lines", {"skip_lines": 2}),
        ("jq", "JSON lines", "a.jsonl", '{"a": 1}\n' * 5, None, "jsonl", None),
        ("Weka", "ARFF", "a.arff", "@relation x\n@data\n1,2\n", None, "arff", None),
    ):  # fmt: skip
        yield Case(tool, name, file, text(content, expected), {}, "", word, then)


def cases() -> Iterator[Case]:
    """Yield all files of text."""
    yield from from_pandas()
    yield from from_frames()
    yield from from_numpy()
    yield from from_sklearn()
    yield from from_r()
    yield from from_excel()
    yield from from_others()
