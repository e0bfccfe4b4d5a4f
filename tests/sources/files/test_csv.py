"""csv: delimiters, quotation marks, headers, kinds of columns, encodings, standard input."""

import codecs
import io
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from onepass.cli.outputs import Columns
from onepass.sources import SourceError, csv, open_source
from onepass.warning import OnepassWarning

MANY = 70_000  # rows of a few bytes, beyond those that decide about columns


def opened(path, content, **keywords):
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return open_source(path, **keywords)


def rows_of(path, content, **keywords):
    names, rows = array_of(path, content, **keywords)
    return names, rows.tolist()


def array_of(path, content, **keywords):
    source = opened(path, content, **keywords)
    return source.feature_names, np.vstack(list(source))


GOOD = {
    "header": ("a,b\n1,2\n3,4\n", ["a", "b"], [[1, 2], [3, 4]]),
    "no header": ("2.5,1\n3,4\n", None, [[2.5, 1], [3, 4]]),
    "no last line break": ("a,b\n1,2\n3,4", ["a", "b"], [[1, 2], [3, 4]]),
    "CRLF": ("a,b\r\n1,2\r\n3,4\r\n", ["a", "b"], [[1, 2], [3, 4]]),
    "CR": ("a,b\r1,2\r3,4\r", ["a", "b"], [[1, 2], [3, 4]]),
    "CR after the header": ("a,b\r1,2\n3,4\n5,6\n", ["a", "b"], [[1, 2], [3, 4], [5, 6]]),
    "semicolon": ("a;b\n1;2\n", ["a", "b"], [[1, 2]]),
    "tab": ("a\tb\n1\t2\n", ["a", "b"], [[1, 2]]),
    "bar": ("a|b\n1|2\n", ["a", "b"], [[1, 2]]),
    "space": ("a b\n1 2\n", ["a", "b"], [[1, 2]]),
    "semicolons in text": ("a,b,c\n1,x;y,2\n3,z;z,4\n", ["a", "c"], [[1, 2], [3, 4]]),
    "one column": ("a\n1\n2\n", ["a"], [[1], [2]]),
    "empty lines": ("\n\na,b\n\n1,2\n\n\n3,4\n\n", ["a", "b"], [[1, 2], [3, 4]]),
    "quoted": ('"a","b,\nc"\n"1","2"\n3,"4"\n', ["a", "b,\nc"], [[1, 2], [3, 4]]),
    "spaces": (" a , b\n 1 , 2\n3,4 \n", ["a", "b"], [[1, 2], [3, 4]]),
    "exponents": ("1e3,-.5\n+2.,1E-2\n", None, [[1000, -0.5], [2, 0.01]]),
    "many rows": ("a,b\n" + "1,2\n" * 1000, ["a", "b"], [[1, 2]] * 1000),
    "a later fraction": (
        "a,b\n" + "1,2\n" * 50 + "1.5,2\n",
        ["a", "b"],
        [[1, 2]] * 50 + [[1.5, 2]],
    ),
    "several blanks": ("a   b\n 1  2 \n\t3 \t4\n5 6", ["a", "b"], [[1, 2], [3, 4], [5, 6]]),
    "words of several": (
        "id,kind,where\n1,a,Region 1\n2,b,Region 2\n",
        ["id"],
        [[1], [2]],
    ),
    "inches": ('a,b\n1,5" pipe\n2,6" pipe\n3,7" rod\n', ["a"], [[1], [2], [3]]),
    "not UTF-8": (b"a,b\n1,caf\xe9\n2,x\n", ["a"], [[1], [2]]),
    "zeros first": ("0,0\n0.5,1\n", None, [[0, 0], [0.5, 1]]),
}


@pytest.mark.parametrize("case", GOOD)
def test_good(case, tmp_path):
    content, names, rows = GOOD[case]
    assert rows_of(tmp_path / "a.csv", content) == (names, rows)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32", "utf-16-be", "utf-32-be"])
def test_encodings_with_a_byte_order_mark(tmp_path, encoding):
    mark = {"utf-16-be": codecs.BOM_UTF16_BE, "utf-32-be": codecs.BOM_UTF32_BE}.get(encoding, b"")
    content = "größe,b\n" + "1,2\n" * 500
    found = rows_of(tmp_path / "a.csv", mark + content.encode(encoding))
    assert found == (["größe", "b"], [[1, 2]] * 500)


def test_names_that_are_no_text_are_refused(tmp_path):
    with pytest.raises(SourceError, match="the names of its columns are not UTF-8"):
        rows_of(tmp_path / "a.csv", b"gr\xf6\xdfe,b\n1,2\n")


def test_the_delimiter_is_said_if_it_is_not_the_comma(tmp_path):
    for content, said in (("a,b\n1,2\n", []), ("a;b\n1;2\n", ["values are separated by ';'"])):
        (tmp_path / "a.csv").write_text(content)
        notes = open_source(tmp_path / "a.csv").notes
        assert [note.partition(": ")[2] for note in notes] == said
    (tmp_path / "a.tsv").write_text("a\tb\n1\t2\n")
    assert open_source(tmp_path / "a.tsv").notes == []


@pytest.mark.parametrize("first", ["NA,-", "null,None", "N/A,"])
def test_a_first_row_of_missing_values_is_no_header(tmp_path, first):
    with pytest.raises(SourceError, match=f"names or data: '{first}'"):
        rows_of(tmp_path / "a.csv", f"{first}\n1.5,2\n3,4\n")
    assert rows_of(tmp_path / "a.csv", "NA,SA\n1.5,2\n") == (["NA", "SA"], [[1.5, 2]])


def test_a_given_delimiter_counts(tmp_path):
    assert rows_of(tmp_path / "a.csv", "a:b\n1:2\n", delimiter=":") == (["a", "b"], [[1, 2]])
    assert open_source(tmp_path / "a.csv", delimiter=":").notes == []
    with pytest.raises(ValueError, match="delimiter=';;'"):
        open_source(tmp_path / "a.csv", delimiter=";;")


AMBIGUOUS = {
    "pandas": pd.DataFrame(np.eye(3), columns=[773869, 17, 40]).to_csv(index=False),
    "counted": pd.DataFrame(np.eye(3)).to_csv(index=False),
    "years": "2019,2020,2021\n3,1,2\n5,6,4\n",
    "wavelengths": "400.5,401.2,402.9\n0.7,0.2,0.1\n0.1,0.2,0.05\n",
    "falling wavelengths": "0.9,0.5,0.2\n0.7,0.2,0.1\n0.1,0.2,0.05\n",
    "whole above fractions": "7,2,7.0\n0.5,0.25,0.1\n",
    "far away": "900.5,800.5,700.5\n" + "0.5,0.25,0.125\n" * 4,
    "one column": "0\n1.5\n2.5\n",
    "half a header": "id,2019\n1,2\n",
    "years behind text": "city,2019,2020\nOslo,0.5,0.2\nRome,0.1,0.7\n",
    "a text among numbers": "1.5,x\n0.5,0.25\n",
}


@pytest.mark.parametrize("case", AMBIGUOUS)
def test_a_first_row_that_may_be_a_header_is_refused(case, tmp_path):
    content = AMBIGUOUS[case]
    shown = content.splitlines()[0]
    with pytest.raises(SourceError) as error:
        rows_of(tmp_path / "a.csv", content)
    assert f"names or data: {shown!r}" in str(error.value)
    assert "--header" in str(error.value)
    assert "--no-header" in str(error.value)
    names, rows = rows_of(tmp_path / "a.csv", content, header=True)
    text = content.count("Oslo")
    assert names == shown.split(",")[text:]
    assert len(rows) == len(content.splitlines()) - 1
    if "x" not in content and "id" not in content:
        names, more = rows_of(tmp_path / "a.csv", content, header=False)
        assert more[1:] == rows
        assert more[0] == [float(value) for value in shown.split(",")[text:]]


@pytest.mark.parametrize("names", [["x", "y"], [0, 1]])
def test_the_index_of_pandas_is_left_out(tmp_path, names):
    path = tmp_path / "a.csv"
    rows = np.array([[0.5, 2.5], [1.5, 0.25]])
    pd.DataFrame(rows, columns=names).to_csv(path)
    with pytest.warns(
        OnepassWarning, match=r"left out the index of pandas or R, column ''; keep_index=True"
    ):
        source = open_source(path)
    assert source.feature_names == [str(name) for name in names]
    np.testing.assert_array_equal(np.vstack(list(source)), rows)
    source = open_source(path, keep_index=True)
    assert source.feature_names == ["", *map(str, names)]
    np.testing.assert_array_equal(np.vstack(list(source)), np.column_stack([[0, 1], rows]))
    assert open_source(path, columns=[0, 2]).feature_names == ["", str(names[1])]


TEXT = 'x,city,y\n1,Oslo,2\n3,"Rio\nde ""J""",4\n5,,6\n'


def test_columns_without_a_number_are_left_out(tmp_path):
    path = tmp_path / "a.csv"
    expected = (["x", "y"], [[1, 2], [3, 4], [5, 6]])
    assert rows_of(path, TEXT) == expected
    assert "left out columns that are not numbers: 'city'" in open_source(path).notes[0]
    assert rows_of(path, TEXT, columns=["y"]) == (["y"], [[2], [4], [6]])
    with pytest.raises(SourceError, match=r"column 'city': contains text .*--exclude"):
        open_source(path, columns=["x", "city"])
    dates = "2024-01-02,12:30,1.5\n2024-01-03,12:31,2.5\n"
    assert rows_of(path, dates, header=False) == (["2"], [[1.5], [2.5]])


def test_columns_of_numbers_and_text(tmp_path):
    path = tmp_path / "a.csv"
    content = "x,y\n1,2\n3,oops\n5,some\n"
    with pytest.raises(SourceError, match=r"'y': .*'oops' in line 3.*--skip-non-numeric") as error:
        opened(path, content)
    assert "na=['oops']" not in str(error.value)  # which would be a guess
    for options in ({"skip_non_numeric": True}, {"exclude": ["y"]}):
        assert rows_of(path, content, **options) == (["x"], [[1], [3], [5]])
    assert "'y'" in open_source(path, skip_non_numeric=True).notes[0]
    _, rows = rows_of(path, content, na=["oops", "some"])
    np.testing.assert_array_equal(rows, [[1, 2], [3, np.nan], [5, np.nan]])


def test_the_first_rows_decide_what_a_column_is(tmp_path):
    """A column without entries so far is one of numbers."""
    first = "a,b,c\n" + "1,,x\n" * MANY
    names, rows = rows_of(tmp_path / "a.csv", first + "2,3,4\n")
    assert names == ["a", "b"]
    assert rows[-1] == [2, 3]
    with pytest.raises(SourceError, match=f"line {MANY + 2}, column 'b': 'late' is not a number"):
        rows_of(tmp_path / "a.csv", first + "2,late,y\n")


def test_a_later_file_in_which_a_column_is_text_is_refused(tmp_path):
    (tmp_path / "1.csv").write_text("a,b,c\n1,2,x\n")
    (tmp_path / "2.csv").write_text("a,b,c\n3,low,5\n")
    with pytest.raises(SourceError, match=r"2\.csv, column 'b': contains text"):
        open_source(tmp_path)
    assert np.vstack(list(open_source(tmp_path, columns=["a"]))).tolist() == [[1], [3]]
    (tmp_path / "2.csv").write_text("a,b,c,d\n3,4,5,x\n")
    assert open_source(tmp_path).feature_names == ["a", "b"]


BAD = {
    "text in a number": ("a,b\n1,2\n3,x4\n", r"column 'b': contains text \('x4' in line 3\).*--na"),
    "decimal commas": ("a;b\n1;2,5\n3;4,5\n", r"column 'b': .*'2,5' in line 2.*--decimal ,"),
    "commas and blanks": ("a b\n1,5 2,5\n3,2 4,5\n", r"column 'a': .*'1,5' in line 2.*--decimal ,"),
    "titles": ("Run 7\nof May\na,b\n1,2\n3,4\n", r"line 3: there are 2 values, and 1 .*--skip-l"),
    "title": ("My title\na,b,c\n1,2,3\n", r"line 2: there are 3 values, and 1 .*--skip-lines"),
    "savetxt": ("# a b\n1 2\n", r"line 2: there are 2 values, and 3 .*--comment '#'"),
    "text only": ("a,b\nx,y\n", r"no column is numeric"),
    "too few": ("a,b\n1,2\n3\n", r"line 3: 1 values, not 2"),
    "too many": ("a,b\n1,2\n3,4\n5,6,7\n", r"line 4: 3 values, not 2"),
    "two and one": ("a,b,c\n1,2,3\n4,5\n6,7,8,9\n", r"line 3: 2 values, not 3"),
    "header too short": ("a\n1,2,3\n", r"line 2: there are 3 values, and 1 names"),
    "a delimiter too many": ("a,b\n1,2,\n3,4,\n", r"line 2: there are 3 values, and 2 .* add one"),
    "open quotation mark": ('a,b\n1,2\n3,"4\n', r"line 3, column 'b': a quotation mark is never"),
    "open at first": ('a,b\n1,2\n"3,4\n', r"line 3: 1 values, not 2"),
    "header only": ("a,b\n", r"there is a header but there are no rows"),
    "empty lines only": ("\n\n\n", r"there are no rows"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad(case, tmp_path):
    content, message = BAD[case]
    with pytest.raises(SourceError, match=r"a\.csv(, |: )" + message):
        rows_of(tmp_path / "a.csv", content)


NOT_NUMBERS = ["x", "1_0", "\u0661", "0x10", "na", "1e", "--1", "1d3", "1 2", "'1'", "#1", "\0"]


@pytest.mark.parametrize("text", NOT_NUMBERS)
def test_a_text_far_behind_is_named(tmp_path, text):
    content = "a,b\n" + "1,2\n" * MANY + f"3,{text}\n" + "1,2\n" * 10
    with pytest.raises(SourceError) as error:
        rows_of(tmp_path / "a.csv", content)
    assert f"a.csv, line {MANY + 2}, column 'b': {text!r} is not a number" in str(error.value)


class Stdin:
    def __init__(self, content):
        self.buffer = io.BytesIO(content)


def test_standard_input(monkeypatch):
    content = b"a,b\n" + b"".join(b"%d,%d\n" % (i, -i) for i in range(30_000))
    monkeypatch.setattr(sys, "stdin", Stdin(content))
    source = open_source("-")
    assert source.feature_names == ["a", "b"]
    assert np.vstack(list(source)).tolist() == [[i, -i] for i in range(30_000)]
    with pytest.raises(SourceError, match="standard input: it can be read only once"):
        list(source)
    monkeypatch.setattr(sys, "stdin", Stdin(content))
    rest = [block for _, block in open_source("-").blocks((0, 29_990))]
    assert np.vstack(rest).tolist() == [[i, -i] for i in range(29_990, 30_000)]
    monkeypatch.setattr(sys, "stdin", Stdin(b""))
    with pytest.raises(SourceError, match="standard input: there are no rows"):
        open_source("-")


def test_errors_on_standard_input_have_a_place_too(monkeypatch):
    monkeypatch.setattr(sys, "stdin", Stdin(b"a,b\n" + b"1,2\n" * MANY + b"3,x\n"))
    with pytest.raises(
        SourceError, match=f"standard input, row {MANY + 1}, column 'b': 'x' is not a number"
    ):
        list(open_source("-"))


@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\r"])
def test_long_files_go_on_with_any_line_break(tmp_path, line_break):
    path = tmp_path / "a.csv"
    lines = ["a,b", *(f"{i},0.5" for i in range(200_000))]
    path.write_bytes(line_break.join(lines).encode())
    rest = [block for _, block in open_source(path).blocks((0, 131_072))]
    np.testing.assert_array_equal(np.vstack(rest)[:, 0], np.arange(131_072, 200_000))


def test_stray_quotation_marks_make_up_no_rows(tmp_path):
    path = tmp_path / "a.csv"
    # An odd number of marks, and line breaks between others.
    words = ['"1\n2,3"', '5" pipe']
    lines = ["a,b", *(f"{i},{words[i == 10]}" for i in range(200_000))]
    path.write_text("\n".join(lines))
    found = np.vstack(list(open_source(path)))
    np.testing.assert_array_equal(found[:, 0], np.arange(200_000))


@pytest.mark.parametrize("text", [*csv.MISSING, " ", " NA", "NA  ", '"NA"', '""', "       -"])
def test_what_is_missing_is_nan(tmp_path, text):
    content = f"a,b\n1,2\n{text},4\n" + "5,6\n" * 50 + f"7,{text}\n"
    names, rows = array_of(tmp_path / "a.csv", content)
    assert names == ["a", "b"]
    assert np.argwhere(np.isnan(rows)).tolist() == [[1, 0], [52, 1]]


def test_decimal_commas(tmp_path):
    path = tmp_path / "a.csv"
    content = "a;b\n1,5;2\n-3,25e2;NA\n"
    names, rows = array_of(path, content, decimal=",")
    assert names == ["a", "b"]
    np.testing.assert_array_equal(rows, [[1.5, 2], [-325, np.nan]])
    np.testing.assert_array_equal(rows, pd.read_csv(path, sep=";", decimal=","))
    assert array_of(path, "1,5\t2\n0,5\t3\n", decimal=",", header=False)[1].tolist() == [
        [1.5, 2],
        [0.5, 3],
    ]
    with pytest.raises(SourceError, match=r"'1\.5' in line 2.*--decimal ,"):
        opened(path, "a;b\n1.5;2\n1,5;3\n2;2\n", decimal=",")
    for wrong in ({"decimal": ";"}, {"decimal": ",", "delimiter": ","}):
        with pytest.raises(ValueError, match="decimal"):
            opened(path, content, **wrong)


@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\r"])
def test_lines_before_the_header_and_comments(tmp_path, line_break):
    lines = [
        "Measured in May, by hand",
        'the "second" line',
        "# units: m, s",
        "a,b",
        "  # nothing",
        "1,2",
        '#3,"4',
        "5,6",
        "7,inf",
    ]
    content = line_break.join(lines)
    source = opened(tmp_path / "a.csv", content, skip_lines=2, comment="#")
    assert source.feature_names == ["a", "b"]
    np.testing.assert_array_equal(np.vstack(list(source)), [[1, 2], [5, 6], [7, np.inf]])
    (position, _), *_ = source.blocks()
    assert "line 9, column 'b': " in str(source.error("inf", position._replace(row=2), 1))
    for wrong in ({"skip_lines": -1}, {"skip_lines": 1.5}, {"comment": ""}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            opened(tmp_path / "a.csv", content, **wrong)


def test_latin_1(tmp_path):
    content = "größe,b\n1,2\n".encode("latin-1")
    with pytest.raises(SourceError, match=r"not UTF-8: pass encoding='latin-1' \(--encoding\)"):
        opened(tmp_path / "a.csv", content)
    names, rows = array_of(tmp_path / "a.csv", content, encoding="latin-1")
    assert (names, rows.tolist()) == (["größe", "b"], [[1, 2]])
    with_mark = codecs.BOM_UTF8 + "größe,b\n1,2\n".encode()
    assert array_of(tmp_path / "a.csv", with_mark, encoding="utf-8")[0] == ["größe", "b"]
    with pytest.raises(ValueError, match="encoding='latin-one' is not known"):
        opened(tmp_path / "a.csv", content, encoding="latin-one")


@pytest.mark.parametrize("line_break", ["\n", "\r\n"])
def test_the_first_line_of_excel(tmp_path, line_break):
    content = line_break.join(["sep=;", "a;b", "1;2", "3;x4", "5;6", ""])
    source = opened(tmp_path / "a.csv", content, columns=["a"])
    assert np.vstack(list(source)).tolist() == [[1], [3], [5]]
    assert source.notes == []
    with pytest.raises(SourceError, match="'x4' in line 4"):
        opened(tmp_path / "a.csv", content)
    assert array_of(tmp_path / "a.csv", "sep=^\na^b\n1^2\n")[0] == ["a", "b"]


R_TABLE = '"x" "y"\n"1" 1.5 2\n"2" NA 4\n"3" 5 6\n'


R_NAMES = '"x" "y" "z"\n"Mazda RX4" 1.5 2 0\n"Fiat 128" 2.5 4 1\n'


def test_r_writes_one_name_fewer_than_columns(tmp_path):
    path = tmp_path / "a.txt"
    with pytest.warns(OnepassWarning, match="left out the index of pandas or R"):
        names, rows = array_of(path, R_TABLE)
    assert names == ["x", "y"]
    np.testing.assert_array_equal(rows, [[1.5, 2], [np.nan, 4], [5, 6]])
    with pytest.warns(OnepassWarning, match="left out the index of pandas or R"):
        names, rows = array_of(path, R_NAMES)
    assert (names, rows.tolist()) == (["x", "y", "z"], [[1.5, 2, 0], [2.5, 4, 1]])
    assert array_of(path, R_TABLE, keep_index=True)[0] == ["", "x", "y"]


def test_names_that_come_twice_are_numbered(tmp_path):
    content = "x,y,x,x.1,x\n1,2,3,4,5\n"
    source = opened(tmp_path / "a.csv", content)
    assert source.feature_names == ["x", "y", "x.2", "x.1", "x.3"]
    assert source.notes[0].endswith("names that come twice are numbered: 'x'")
    assert array_of(tmp_path / "a.csv", content, columns=["x.3", "x"])[1].tolist() == [[5, 1]]
    names = opened(tmp_path / "a.csv", "x,x,y\n1,2,3\n").feature_names
    assert names == pd.read_csv(tmp_path / "a.csv").columns.tolist() == ["x", "x.1", "y"]


def test_true_and_false_are_one_and_zero_as_in_parquet(tmp_path):
    content = "a,ok,b\n1,True,2\n2,false,3\n3,,4\n4,TRUE,5\n5,0,6\n" + "6,True,7\n" * 50
    expected = [[1, 1, 2], [2, 0, 3], [3, np.nan, 4], [4, 1, 5], [5, 0, 6], *[[6, 1, 7]] * 50]
    names, rows = array_of(tmp_path / "a.csv", content)
    assert names == ["a", "ok", "b"]
    np.testing.assert_array_equal(rows, expected)
    only = array_of(tmp_path / "a.csv", content, columns=["ok"])[1]
    np.testing.assert_array_equal(only, np.array(expected)[:, [1]])


def test_a_delimiter_at_the_end_of_each_line_makes_no_column(tmp_path):
    source = opened(tmp_path / "a.csv", "a,b,\n1,2,\n3,4,\n")
    assert source.feature_names == ["a", "b"]
    assert np.vstack(list(source)).tolist() == [[1, 2], [3, 4]]
    assert "left out the last column, which is empty" in source.notes[0]


WIDE = "id,x1,x2,x3,gene_a,gene_b,3-4\n1,2,3,4,5,6,7\n"


@pytest.mark.parametrize(
    ("columns", "exclude", "expected"),
    [
        (["x1:x3"], None, ["x1", "x2", "x3"]),
        (["1-3"], None, ["x1", "x2", "x3"]),
        (["3-4"], None, ["3-4"]),  # a name comes first
        (["gene_*", "id"], None, ["gene_a", "gene_b", "id"]),
        (["x?"], ["x2"], ["x1", "x3"]),
        (["x[13]"], None, ["x1", "x3"]),
        (["gene_a", "gene_*"], None, ["gene_a", "gene_b"]),
        (None, ["id", "gene_*"], ["x1", "x2", "x3", "3-4"]),
        (None, [0, "4-6"], ["x1", "x2", "x3"]),
        (["x3:5"], None, ["x3", "gene_a", "gene_b"]),
    ],
)
def test_ranges_patterns_and_what_is_left_out(tmp_path, columns, exclude, expected):
    names, rows = array_of(tmp_path / "a.csv", WIDE, columns=columns, exclude=exclude)
    assert names == expected
    every = WIDE.splitlines()[0].split(",")
    assert rows.tolist() == [[every.index(name) + 1 for name in expected]]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"columns": ["y*"]}, r"no column name matches 'y\*'"),
        ({"columns": ["x3:x1"]}, "the range 'x3:x1' ends before it begins"),
        ({"columns": ["x1:y"]}, "column 'y': there is no such column"),
        ({"columns": ["5-9"]}, r"column \[9\]: there is no such column"),
        ({"columns": ["x1", "x1"]}, "a column is chosen twice: x1, x1"),
        ({"exclude": ["y"]}, "column 'y': there is no such column"),
        ({"exclude": ["0-6"]}, "no column is chosen"),
        ({"exclude": "x1"}, r"exclude='x1' must be a list, such as \['x1'\]"),
        ({"exclude": [1.5]}, "exclude has 1.5, neither a name nor a whole number"),
    ],
)
def test_bad_choices_of_columns(tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        opened(tmp_path / "a.csv", WIDE, **options)


def test_the_lines_of_rows(tmp_path):
    """Against Python's csv, which counts lines."""
    plain = "a,b\n\n1,x\n\n\n" + "2,y\n" * 40
    for content in (
        plain,
        plain + '3,"z\nz"\n\n4,"""\n"\n5,5" pipe\n',
        plain.replace("\n", "\r\n"),
    ):
        source = opened(tmp_path / "a.csv", content, columns=["a"])
        (table,) = source.tables
        found = np.concatenate(list(table.lines()))
        lines = (tmp_path / "a.csv").read_bytes().decode().splitlines()
        values = np.vstack(list(source))[:, 0]
        assert [lines[line - 1].split(",")[0] for line in found] == [f"{v:g}" for v in values]


@pytest.mark.parametrize("batch_rows", [1, 3, 1000])
def test_rows_are_numbered_as_an_editor_numbers_lines(tmp_path, batch_rows):
    (tmp_path / "1.csv").write_text('a,b\n\n1,x\n2,"y\n\n"\n' + "3,z\n" * 9)
    (tmp_path / "2.csv").write_text("# a note\na,b\n4,x\n")
    source = open_source(tmp_path, columns=["a"], comment="#", batch_rows=batch_rows)
    numbers = Columns(source, [], ["a"], numbered=True)
    taken = [numbers.add(end, block) for end, block in source.blocks()]
    assert numbers.numbering == ["file", "line"]
    assert pa.concat_tables(taken)["line"].to_pylist() == [3, 4, *range(7, 16), 3]


@pytest.mark.parametrize("name", ["a.dat", "a.data", "a.text", "a.dat.gz"])
def test_what_savetxt_writes(tmp_path, name):
    rows = np.random.default_rng(0).standard_normal((50, 3))
    for options in (
        {},
        {"fmt": "%12.5f"},
        {"fmt": "%10.3e", "delimiter": "  "},
        {"delimiter": ","},
    ):
        np.savetxt(tmp_path / name, rows, **options)
        found = np.vstack(list(open_source(tmp_path / name, header=False)))
        expected = np.loadtxt(
            tmp_path / name, delimiter=options.get("delimiter", "").strip() or None
        )
        np.testing.assert_array_equal(found, expected)


def test_a_format_for_any_name(tmp_path):
    for name in ("a.log", "noname", "x.npy"):
        (tmp_path / name).write_text("a,b\n1,2\n")
        assert open_source(tmp_path / name, format="csv").feature_names == ["a", "b"]
    assert len(open_source(tmp_path, format="csv").paths) == 3
    with pytest.raises(SourceError, match=r"format is unknown.*--format csv"):
        open_source(tmp_path / "a.log")
    (tmp_path / "b.libsvm").write_text("1 1:2\n")
    assert next(iter(open_source(tmp_path / "b.libsvm", format="svmlight"))).toarray() == [[2]]
    with pytest.raises(ValueError, match="format='xls'"):
        open_source(tmp_path / "a.log", format="xls")
