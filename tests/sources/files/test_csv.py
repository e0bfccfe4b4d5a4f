"""csv: delimiters, quotation marks, headers, encodings, standard input, and errors."""

import codecs
import gzip
import io
import sys

import numpy as np
import pandas as pd
import pytest

from onepass.sources import SourceError, csv, open_source, plain_text
from onepass.sources.files import FileSource
from onepass.sources.tables import ReadOptions
from onepass.warning import OnepassWarning


@pytest.fixture(params=[64, 1 << 20], ids=["small", "large"])
def block_bytes(request, monkeypatch):
    """Blocks that hold a row or two, or all."""
    monkeypatch.setattr(plain_text, "BLOCK_BYTES", request.param)


def rows_of(path, content, **keywords):
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    source = open_source(path, **keywords)
    return source.feature_names, np.vstack(list(source)).tolist()


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
    "inches": ('a,b\n1,5" pipe\n2,6" pipe\n3,7\n', ["a"], [[1], [2], [3]]),
    "not UTF-8": (b"a,b\n1,caf\xe9\n2,x\n", ["a"], [[1], [2]]),
    "zeros first": ("0,0\n0.5,1\n", None, [[0, 0], [0.5, 1]]),
}


@pytest.mark.usefixtures("block_bytes")
@pytest.mark.parametrize("case", GOOD)
def test_good(case, tmp_path):
    content, names, rows = GOOD[case]
    found = rows_of(tmp_path / "a.csv", content, skip_non_numeric=True)
    assert found == (names, rows)


@pytest.mark.usefixtures("block_bytes")
@pytest.mark.parametrize("batch_rows", [1, 7, 64])
def test_blocks_are_full(tmp_path, batch_rows):
    """So that they end where the chunks of estimators end."""
    (tmp_path / "a.csv").write_text("a,b\n" + "".join(f"{i},0.5\n" for i in range(150)))
    blocks = [block for _, block in open_source(tmp_path / "a.csv", batch_rows=batch_rows).blocks()]
    assert {len(block) for block in blocks[:-1]} == {batch_rows}
    assert np.vstack(blocks)[:, 0].tolist() == list(range(150))


def test_values_survive_exactly(tmp_path):
    values = np.random.default_rng(0).standard_normal((50, 3)) * 10.0 ** np.array([-90, 0, 90])
    content = "\n".join(",".join(map(repr, row)) for row in values.tolist())
    assert rows_of(tmp_path / "a.csv", content, header=False)[1] == values.tolist()


@pytest.mark.usefixtures("block_bytes")
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


def test_a_given_delimiter_counts(tmp_path):
    assert rows_of(tmp_path / "a.csv", "a:b\n1:2\n", delimiter=":") == (["a", "b"], [[1, 2]])
    assert open_source(tmp_path / "a.csv", delimiter=":").notes == []
    with pytest.raises(SourceError, match=r"column 'a:b': contains text \('1:2' in line 2\)"):
        open_source(tmp_path / "a.csv")
    with pytest.raises(ValueError, match="delimiter=';;' must be one ASCII character"):
        open_source(tmp_path / "a.csv", delimiter=";;")


def test_a_given_delimiter_that_separates_nothing_is_named(tmp_path):
    for content in ("a,b\n1,2\n", "1.5,2\n3,4\n5,6\n", "a,b\n1,5\n"):
        with pytest.raises(SourceError, match="the delimiter ';' separates nothing in its first"):
            rows_of(tmp_path / "a.csv", content, delimiter=";")
    assert rows_of(tmp_path / "a.csv", "a\n1\n2\n", delimiter=";") == (["a"], [[1], [2]])


def test_a_decimal_comma_is_refused_with_a_remedy(tmp_path, monkeypatch):
    remedy = r"; if it is a decimal comma, pass decimal=',' \(--decimal ,\)"
    with pytest.raises(SourceError, match=r"contains text \('1,5' in line 2\)" + remedy):
        rows_of(tmp_path / "a.csv", "a;b\n1,5;2,5\n3,25;4,5\n")
    monkeypatch.setattr(csv, "_SAMPLE_BYTES", 64)
    late = "a;b\n" + "1;2\n" * 100 + "1,5;2\n"
    with pytest.raises(SourceError, match=r"line 102, column 'a': '1,5' is not a number" + remedy):
        rows_of(tmp_path / "a.csv", late)
    with pytest.raises(SourceError, match=r"contains text \('x,y' in line 2\); choose columns"):
        rows_of(tmp_path / "a.csv", "a;b\nx,y;2\nz;4\n")


def test_thousands_are_not_called_decimals(tmp_path):
    with pytest.raises(SourceError, match=r"pandas\.read_csv\(path, thousands=','\)"):
        rows_of(tmp_path / "a.csv", 'a,b\n"1,000",2\n"12,345,678.5",4\n')


@pytest.mark.parametrize("first", ["NA,-", "null,None", "N/A,"])
def test_a_first_row_of_missing_values_is_no_header(tmp_path, first):
    with pytest.raises(SourceError, match=f"names or data: '{first}'"):
        rows_of(tmp_path / "a.csv", f"{first}\n1.5,2\n3,4\n")
    assert rows_of(tmp_path / "a.csv", "NA,SA\n1.5,2\n") == (["NA", "SA"], [[1.5, 2]])


def test_content_that_is_compressed_is_called_so(tmp_path):
    with pytest.raises(SourceError, match="it is compressed, and its name does not end in"):
        rows_of(tmp_path / "a.csv", gzip.compress(b"a,b\n1,2\n"))


def test_a_quotation_mark_that_opens_in_the_first_rows_of_a_long_file(tmp_path):
    text = 'a,b\n1,"2\n' + "1.25,2.75\n" * 100_000
    with pytest.raises(SourceError, match="a quotation mark is never closed"):
        rows_of(tmp_path / "a.csv", text)


def test_what_separates_nothing_is_no_delimiter(tmp_path):
    with pytest.raises(SourceError, match="line 2: there are 1 values, and 3 names in the header"):
        rows_of(tmp_path / "a.csv", "a,b,c\n1.5")
    assert rows_of(tmp_path / "a.csv", "a\n1.5\n") == (["a"], [[1.5]])


def test_rows_longer_than_the_sample_show_the_delimiter(tmp_path):
    width = 20_000
    row = ";".join(["1.25"] * width)
    found = rows_of(tmp_path / "a.csv", f"{row}\n" * 7)
    assert found == (None, [[1.25] * width] * 7)


def test_more_columns_than_pyarrow_has_memory_for(tmp_path, monkeypatch):
    monkeypatch.setattr(csv, "_MOST_COLUMNS", 3)
    with pytest.raises(SourceError, match="4 columns are too many for a file of text"):
        rows_of(tmp_path / "a.csv", "a,b,c,d\n1,2,3,4\n")


def test_a_decimal_comma_is_not_a_delimiter(tmp_path):
    with pytest.raises(SourceError, match=r"column 'a': contains text \('1,5' in line 2\)"):
        rows_of(tmp_path / "a.csv", "a;b\n1,5;2,5\n3,25;4,5\n")
    with pytest.raises(SourceError, match="names or data: '1,5;2,5'"):
        rows_of(tmp_path / "a.csv", "1,5;2,5\n3,25;4,5\n")


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
    options = {"skip_non_numeric": True}
    names, rows = rows_of(tmp_path / "a.csv", content, header=True, **options)
    text = content.count("Oslo")
    assert names == shown.split(",")[text:]
    assert len(rows) == len(content.splitlines()) - 1
    if "x" not in content and "id" not in content:
        names, more = rows_of(tmp_path / "a.csv", content, header=False, **options)
        assert more[1:] == rows
        assert more[0] == [float(value) for value in shown.split(",")[text:]]


def test_header_must_be_one_of_three(tmp_path):
    with pytest.raises(ValueError, match="header='yes' must be True, False or 'auto'"):
        open_source(tmp_path / "a.csv", header="yes")


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


@pytest.mark.usefixtures("block_bytes")
def test_text_columns(tmp_path):
    path = tmp_path / "a.csv"
    message = r"a\.csv, column 'city': contains text \('Oslo' in line 2\); choose columns"
    with pytest.raises(SourceError, match=message):
        rows_of(path, TEXT)
    expected = (["x", "y"], [[1, 2], [3, 4], [5, 6]])
    assert rows_of(path, TEXT, skip_non_numeric=True) == expected
    assert rows_of(path, TEXT, columns=["x", "y"]) == expected
    assert rows_of(path, TEXT, columns=["y"]) == (["y"], [[2], [4], [6]])
    assert (
        "left out what is not numeric: 'city'" in open_source(path, skip_non_numeric=True).notes[0]
    )


@pytest.mark.usefixtures("block_bytes")
def test_rows_behind_quoted_line_breaks_are_found_again(tmp_path):
    (tmp_path / "a.csv").write_text(TEXT * 1 + '7,"a\n\nb",8\n' * 20)
    source = open_source(tmp_path / "a.csv", columns=["x"], batch_rows=1)
    whole = np.vstack(list(source))
    assert len(whole) == 23
    for position, _ in source.blocks():
        rest = [block for _, block in source.blocks(position)]
        np.testing.assert_array_equal(np.vstack([whole[:0], *rest]), whole[position.row :])


def test_columns_without_names_keep_their_numbers(tmp_path):
    content = "0.5,a,2,1\n1.5,b,4,3\n"
    path = tmp_path / "a.csv"
    assert rows_of(path, content, skip_non_numeric=True)[0] == ["0", "2", "3"]
    assert rows_of(path, content, columns=[3, 0]) == (["3", "0"], [[1, 0.5], [3, 1.5]])
    with pytest.raises(SourceError, match=r"column \[3\]: contains text \('x' in line 3\)"):
        rows_of(path, content + "1,c,2,x\n" * 9, columns=["2", "3"])


def test_what_is_left_out_is_not_collected_for_every_column(tmp_path):
    """Files of tens of thousands of columns took many seconds to open."""

    class Counted(dict):
        times = 0

        def __iter__(self):
            Counted.times += 1
            return super().__iter__()

    path = tmp_path / "a.csv"
    path.write_text(",".join(f"c{j}" for j in range(50)) + "\n" + ",".join(["1", "t"] * 25) + "\n")
    table = csv.CsvTable(str(path), ReadOptions())
    table.not_numeric = Counted(table.not_numeric)
    assert FileSource([table], skip_non_numeric=True).n_features == 25
    assert 0 < Counted.times < 10


def test_columns_by_number_where_there_are_names(tmp_path):
    content = "a,b,1\n10,20,30\n"
    assert rows_of(tmp_path / "a.csv", content, columns=["0", "b"], header=True)[1] == [[10, 20]]
    assert rows_of(tmp_path / "a.csv", content, columns=["1"], header=True) == (["1"], [[30]])
    assert rows_of(tmp_path / "a.csv", content, columns=[1], header=True) == (["b"], [[20]])


BAD = {
    "text in a number": ("a,b\n1,2\n3,x4\n", r"column 'b': contains text \('x4' in line 3\)"),
    "too few": ("a,b\n1,2\n3\n", r"line 3: 1 values, not 2"),
    "too many": ("a,b\n1,2\n3,4\n5,6,7\n", r"line 4: 3 values, not 2"),
    "two and one": ("a,b,c\n1,2,3\n4,5\n6,7,8,9\n", r"line 3: 2 values, not 3"),
    "header too short": ("a\n1,2,3\n", r"line 2: there are 3 values, and 1 names"),
    "no names of rows": ("a,b\n1.5,2,3\n", r"line 2: there are 3 values, and 2 names"),
    "a delimiter too many": (
        "a,b\n1,2,\n3,4,\n",
        r"line 2: there are 3 values, and 2 names in the header; rows end with ',': add one to the",
    ),
    "open quotation mark": ('a,b\n1,2\n3,"4\n', r"line 3, column 'b': a quotation mark is never"),
    "open at first": ('a,b\n1,2\n"3,4\n', r"line 3: 1 values, not 2"),
    "header only": ("a,b\n", r"there is a header but there are no rows"),
    "empty lines only": ("\n\n\n", r"there are no rows"),
}


@pytest.mark.usefixtures("block_bytes")
@pytest.mark.parametrize("case", BAD)
def test_bad(case, tmp_path):
    content, message = BAD[case]
    with pytest.raises(SourceError, match=r"a\.csv(, |: )" + message):
        rows_of(tmp_path / "a.csv", content)


NOT_NUMBERS = ["x", "1_0", "\u0661", "0x10", "na", "1e", "--1", "1d3", "1 2", "'1'", "#1", "\0"]


@pytest.mark.usefixtures("block_bytes")
@pytest.mark.parametrize("text", NOT_NUMBERS)
def test_a_text_far_behind_is_named(tmp_path, monkeypatch, text):
    monkeypatch.setattr(csv, "_SAMPLE_BYTES", 100)
    content = "a,b\n" + "1,2\n" * 2000 + f"3,{text}\n" + "1,2\n" * 10
    with pytest.raises(SourceError) as error:
        rows_of(tmp_path / "a.csv", content)
    assert f"a.csv, line 2002, column 'b': {text!r} is not a number" in str(error.value)


@pytest.mark.usefixtures("block_bytes")
@pytest.mark.parametrize("end", ["3\n", "3,4,5\n"])
def test_a_row_of_another_length_far_behind_is_counted(tmp_path, end):
    values = end.count(",") + 1
    with pytest.raises(SourceError, match=f"line 5002: {values} values, not 2"):
        rows_of(tmp_path / "a.csv", "a,b\n" + "1,2\n" * 5000 + end)


@pytest.mark.usefixtures("block_bytes")
def test_an_open_quotation_mark_in_text_swallows_no_rows(tmp_path):
    content = "a,b\n1,x\n2,y\n" + '3,"z\n4,u\n'
    with pytest.raises(SourceError, match="line 4: a quotation mark is never closed"):
        rows_of(tmp_path / "a.csv", content, columns=["a"])


def test_a_row_without_end(tmp_path, monkeypatch):
    monkeypatch.setattr(plain_text, "BLOCK_BYTES", 1000)
    monkeypatch.setattr(csv, "_SAMPLE_BYTES", 100)
    message = "line 102: a row of more than 0 MB, or a quotation mark that is never closed"
    with pytest.raises(SourceError, match=message):
        rows_of(tmp_path / "a.csv", "a,b\n" + "1,2\n" * 100 + '3,"' + "4,5\n" * 1000)
    monkeypatch.setattr(csv, "_FIRST_ROWS_LIMIT_BYTES", 1000)
    with pytest.raises(SourceError, match="its first rows have more than 0 MB, or a quotation"):
        rows_of(tmp_path / "a.csv", 'a,b\n1,"2' + "4,5\n" * 1000)


def test_rows_longer_than_a_block(tmp_path, monkeypatch):
    monkeypatch.setattr(plain_text, "BLOCK_BYTES", 1 << 16)  # a sixteenth, to be quick
    rows = np.random.default_rng(0).normal(size=(3, 4_000))
    content = "\n".join(",".join(map(repr, row)) for row in rows.tolist())
    assert len(content) > 3 << 16
    np.testing.assert_array_equal(rows_of(tmp_path / "a.csv", content)[1], rows)


def test_damaged_gzip(tmp_path):
    path = tmp_path / "a.csv.gz"
    content = gzip.compress(b"1,2\n" * 100_000)
    path.write_bytes(content[:-20])
    with pytest.raises(SourceError, match=r"a\.csv\.gz"):
        list(open_source(path))
    path.write_bytes(b"1,2\n3,4\n")
    with pytest.raises(SourceError, match=r"a\.csv\.gz.*gzip"):
        list(open_source(path))


class Stdin:
    def __init__(self, content):
        self.buffer = io.BytesIO(content)


@pytest.mark.usefixtures("block_bytes")
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
    monkeypatch.setattr(csv, "_SAMPLE_BYTES", 64)
    monkeypatch.setattr(sys, "stdin", Stdin(b"a,b\n" + b"1,2\n" * 1000 + b"3,x\n"))
    with pytest.raises(
        SourceError, match="standard input, row 1001, column 'b': 'x' is not a number"
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
    found = np.vstack(list(open_source(path, skip_non_numeric=True)))
    np.testing.assert_array_equal(found[:, 0], np.arange(200_000))


def test_the_line_of_a_row_that_never_ends_is_not_held(tmp_path, monkeypatch):
    monkeypatch.setattr(plain_text, "LONGEST_LINE_BYTES", 1 << 21)
    taken = []

    def chunks():
        for _ in range(100):
            taken.append(1 << 20)
            yield b"1," * (1 << 19)

    with pytest.raises(ValueError, match="a line of more than 2 MB"):
        list(plain_text.whole_lines(chunks()))
    assert len(taken) == 3  # and no more was read
    with gzip.open(tmp_path / "a.csv.gz", "wb", compresslevel=1) as file:
        file.write(b"a,b\n1,2\n")
        file.writelines([b"1," * (1 << 19)] * 8)
    with pytest.raises(SourceError, match=r"a.csv.gz, (row|line) \d+: "):
        list(open_source(tmp_path / "a.csv.gz"))
