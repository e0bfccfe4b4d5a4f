"""csv files as people have them: missing values, comments, other encodings, R, Excel, booleans."""

import codecs
import re
import shlex

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from onepass.cli.kept import RowNumbers
from onepass.sources import SourceError, csv, open_source, plain_text
from onepass.warning import OnepassWarning

NAN = np.nan


@pytest.fixture(params=[64, 1 << 20], ids=["small", "large"])
def block_bytes(request, monkeypatch):
    """Blocks that hold a row or two, or all."""
    monkeypatch.setattr(plain_text, "BLOCK_BYTES", request.param)


def opened(path, content, **keywords):
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return open_source(path, **keywords)


def rows_of(path, content, **keywords):
    source = opened(path, content, **keywords)
    return source.feature_names, np.vstack(list(source))


@pytest.mark.usefixtures("block_bytes")
@pytest.mark.parametrize("text", [*csv._MISSING, " ", " NA", "NA  ", '"NA"', '""', "       -"])
def test_what_is_missing_is_nan(tmp_path, text):
    content = f"a,b\n1,2\n{text},4\n" + "5,6\n" * 50 + f"7,{text}\n"
    names, rows = rows_of(tmp_path / "a.csv", content)
    assert names == ["a", "b"]
    assert np.argwhere(np.isnan(rows)).tolist() == [[1, 0], [52, 1]]


@pytest.mark.parametrize("text", [text for text in csv._MISSING if text != "-"])
def test_pandas_calls_the_same_texts_missing(tmp_path, text):
    (tmp_path / "a.csv").write_text(f"a,b\n1,2\n{text},4\n")
    assert pd.read_csv(tmp_path / "a.csv")["a"].isna().tolist() == [False, True]


def test_other_texts_for_what_is_missing(tmp_path):
    path = tmp_path / "a.csv"
    content = "a,b\n1,?\n-999,4\n5,-999.0\n5,6\n"
    with pytest.raises(SourceError, match=r"'b': contains text \('\?' in line 2\); if it stands f"):
        opened(path, content)
    _, rows = rows_of(path, content, na=["?", -999])
    np.testing.assert_array_equal(rows, [[1, NAN], [NAN, 4], [5, NAN], [5, 6]])
    with pytest.raises(ValueError, match="na has None, neither a text nor a number"):
        opened(path, content, na=[None])


def test_a_number_that_may_stand_for_what_is_missing_is_warned_of(tmp_path):
    path = tmp_path / "a.csv"
    content = "x,y,z,v\n1,2,-999,-999\n-999,4,-999,3\n3,-999,600,1\n-999.0,5,1,-999\n"
    with pytest.warns(OnepassWarning) as found:
        opened(path, content)
    note = str(found[0].message)
    assert "a.csv: -999 recurs in 'x', 'v', far from all other values; if it" in note
    assert note.endswith("pass na=[-999] (--na -999)")
    opened(path, content, na=["-999"])  # a warning would be an error
    opened(path, content, columns=["y"])
    opened(path, "x\n-999\n-999\n", header=True)


def test_texts_that_stand_for_missing_entries_are_for_files_of_text(tmp_path):
    np.save(tmp_path / "a.npy", np.eye(3))
    with pytest.raises(ValueError, match=r"na does not apply to \.npy files"):
        open_source(tmp_path / "a.npy", na=["?"])


def test_a_column_counts_as_text_only_if_its_values_are_text(tmp_path):
    path = tmp_path / "a.csv"
    content = "x,y,city\n1,2,Oslo\nNA,4,Rome\n5,,NA\n"
    names, rows = rows_of(path, content, skip_non_numeric=True)
    assert names == ["x", "y"]
    np.testing.assert_array_equal(rows, [[1, 2], [NAN, 4], [5, NAN]])
    decimal = "x;y\n1;2\n3,5;4\n5;6\n"
    with pytest.raises(SourceError, match=r"'x': contains text \('3,5' in line 3\).*decimal=','"):
        opened(path, decimal, skip_non_numeric=True)
    word = "x,y\n1,2\n3,oops\n5,6\n"
    with pytest.raises(SourceError, match=r"'y': contains text \('oops' in line 3\)"):
        opened(path, word, skip_non_numeric=True)
    assert rows_of(path, word, exclude=["y"])[0] == ["x"]


NOT_READ = {
    "a minus that is none": (
        "x,y\n1,2\n\u22127.5,3\n4,5\n",
        r"U\+2212\) is not the minus '-': replace",
    ),
    "parentheses": (
        "x,y\n1,2\n(0.0),3\n4,5\n",
        r"parentheses are not read as a minus: write -0\.0 ",
    ),
    "all in parentheses": (
        "x,y\n(1),2\n(2.5),3\n",
        r"parentheses are not read as a minus: write -1 ",
    ),
    "commas between thousands": (
        'x,y\n"2,510.93",2\n"1,000,000",3\n',
        r"path, thousands=','\) and",
    ),
    "a comma that may be either": (
        "x;y\n19,506;2\n20,117;3\n",
        r"; if it is a decimal comma, pass decimal=',' .*; if not, marks between thousands",
    ),
    "points between thousands": (
        "x;y\n2.931,00;2\n-5.761,00;3\n",
        r"thousands='\.', decimal=',', sep=';'\)",
    ),
    "units": ("id,x\n-,kg\n1,2\n3,4\n", r"\('kg' in line 2\); if that line has units, remove it"),
    "units under each name": (
        "id,x\nno,kg\n1,2\n3,4\n",
        r"names of the columns are in line 2, pass skip_lines=1 .*; if that line has units, remove",
    ),
    "a total": (
        "id,x\n1,2\n3,4\n5,6\nTotal,12\n",
        r"at the end: if that line is no row, remove it from the file, or pass comment='Total'",
    ),
    "a total below an empty row": ("id,x\n1,2\n3,4\n5,6\n,\nSum,12\n", "if that line is no row"),
    "a note at the end": (
        "id,x\n1,2\n3,4\n5,sum\n",
        "if that line is no row, remove it from the file; c",
    ),
    "a mark at the end": ("id,x\n1,2\n3,4\n5,?\n", r"pass na=\['\?'\]"),
    "an error of Excel": ("id,x\n1,2\n3,#DIV/0!\n5,6\n", r"pass na=\['#DIV/0!'\]"),
    "a mark": ("id,x\n1,2\n3,oops\n5,6\n", r"pass na=\['oops'\]"),
    "a value": ("id,x\n1,2\n3,4kg\n5,6\n", r"\('4kg' in line 3\); choose columns"),
}


@pytest.mark.parametrize("skip_non_numeric", [False, True])
@pytest.mark.parametrize("case", NOT_READ)
def test_what_is_not_read_is_called_what_it_is(tmp_path, case, skip_non_numeric):
    content, message = NOT_READ[case]
    with pytest.raises(SourceError, match=message) as error:
        opened(tmp_path / "a.csv", content, header=True, skip_non_numeric=skip_non_numeric)
    assert ("(--na)" in str(error.value)) == ("na=" in message)


def test_marks_between_thousands_and_decimal_commas(tmp_path):
    content = "id;a;b\n" + "1;6,31;2.931,00\n2;-7,3;761,00\n3;1,5;1.234\n" * 9
    for options in ({}, {"skip_non_numeric": True}):
        with pytest.raises(
            SourceError, match=r"thousands='\.', decimal=',', sep=';'\) and write it again; c"
        ):
            opened(tmp_path / "a.csv", content, decimal=",", **options)
    with pytest.raises(SourceError, match=r"if it is a decimal point, pass decimal='\.'"):
        opened(tmp_path / "a.csv", "a;b\n1,5;2\n1.234;3\n3;4\n", decimal=",")
    with pytest.raises(SourceError, match="if it is a decimal point, do not pass decimal=','"):
        opened(tmp_path / "a.csv", "a;b\n1,5;2\n1.5;3\n3;4\n", decimal=",")
    # Three groups of digits with blanks are telephone numbers.
    phones = "a,b\n1,555 123 456\n2,555 123 457\n"
    assert rows_of(tmp_path / "a.csv", phones, delimiter=",", skip_non_numeric=True)[0] == ["a"]


def test_the_advice_for_thousands_reads_the_file(tmp_path):
    path = tmp_path / "a.csv"
    content = "P;F\n1,015.334;2.5\n1,016.100;-\n998.500;2.7\n?;2.6\n-;2.6\n"
    given = {"na": ["?"], "skip_lines": 2, "encoding": "latin-1"}
    with pytest.raises(SourceError, match="between thousands") as error:
        opened(path, f"M\u00e4rz\n\n{content}".encode("latin-1"), **given)
    advice = re.search(r"pandas\.(read_csv\(.*?\)) and write", str(error.value))[1]
    table = eval(advice, {"path": path, "read_csv": pd.read_csv})
    expected = [[1015.334, 2.5], [1016.1, NAN], [998.5, 2.7], [NAN, 2.6], [NAN, 2.6]]
    np.testing.assert_array_equal(table, expected)


def test_a_first_row_of_thousands_is_no_header(tmp_path):
    with pytest.raises(SourceError, match="the first row may be names or data"):
        opened(tmp_path / "a.csv", '"1,234.5","2,345.6"\n1.5,2.5\n3.5,4.5\n')


def test_a_total_far_behind_is_called_so(tmp_path, monkeypatch):
    monkeypatch.setattr(csv, "_SAMPLE_BYTES", 64)
    many = "id,x\n" + "1,2\n" * 100
    for end, remedy in (("Total,9\n", "at the end"), ("Total,9\n" + "1,2\n" * 9, r"na=\['Total'")):
        with pytest.raises(SourceError, match=rf"line 102, column 'id': 'Total' is .*{remedy}"):
            rows_of(tmp_path / "a.csv", many + end)


@pytest.mark.parametrize("ids", ["123", "abc"])
def test_a_total_is_warned_of_if_its_column_is_left_out(tmp_path, ids):
    content = "id,x,y\n" + "".join(f"{id},{i}.5,{i % 2}\n" for i, id in enumerate(ids))
    with pytest.warns(OnepassWarning) as found:
        opened(tmp_path / "a.csv", f"{content}Total,4.5,1\n", exclude=["id"])
    assert [str(warning.message) for warning in found] == [
        f"{tmp_path / 'a.csv'}, line 5: 'Total'; it is at the end: if that line is no row, remove "
        "it from the file, or pass comment='Total' (--comment Total) to leave it out"
    ]
    opened(tmp_path / "a.csv", content, exclude=["id"])  # a warning would be an error


@pytest.mark.parametrize("ids", ["1 2 3 4 5", "2024-05-01 2024-05-02 2024-05-03", "P-1 P-2 P-7"])
@pytest.mark.parametrize("words", ["Summe", "Sum:", "Mean Gesamtsumme"])
def test_words_below_numbered_rows_are_warned_of(tmp_path, ids, words):
    content = "x,id\n" + "".join(f"{i}.5,{id}\n" for i, id in enumerate(ids.split()))
    opened(tmp_path / "a.csv", content, exclude=["id"])  # a warning would be an error
    for more in ("", ",\n"):
        rows = more + "".join(f"9.5,{word}\n" for word in words.split())
        with pytest.warns(OnepassWarning) as found:
            opened(tmp_path / "a.csv", content + rows, exclude=["id"])
        assert len(found) == len(words.split())
        for warning, word in zip(found, words.split(), strict=True):
            assert f"{word!r}; it is at the end: if that line is no row" in str(warning.message)


@pytest.mark.parametrize(
    "ids", ["1 2 NA", "1 0 True", "A1 B C", "a b c", "1 - - - x", "1 2 x1", "1 x"]
)
def test_other_words_in_a_last_row_are_no_sums(tmp_path, ids):
    content = "x,id\n" + "".join(f"{i}.5,{id}\n" for i, id in enumerate(ids.split()))
    opened(tmp_path / "a.csv", content, exclude=["id"])  # a warning would be an error


@pytest.mark.parametrize("sample_bytes", [64, 1 << 16])
@pytest.mark.parametrize(
    ("label", "mark"),
    [
        ("Total", "Total"),
        ('"Total"', "'\"Total'"),
        ("Gesamtsumme", "Gesamtsu"),
        ('  "Sum of all"', "'\"Sum of '"),
    ],
)
def test_the_advice_for_a_last_line_leaves_it_out(tmp_path, monkeypatch, label, mark, sample_bytes):
    monkeypatch.setattr(csv, "_SAMPLE_BYTES", sample_bytes)
    content = "id;x\n" + "1;2\n" * 30 + f"{label};60\n"
    with pytest.raises(SourceError) as error:
        rows_of(tmp_path / "a.csv", content)
    assert f"(--comment {mark}) to leave it out" in str(error.value)
    (comment,) = shlex.split(mark)
    assert len(rows_of(tmp_path / "a.csv", content, comment=comment)[1]) == 30


def test_no_advice_for_a_last_line_would_leave_out_other_lines(tmp_path):
    names = "id,x\nSummit,1\nSummary,2\nSum,3\n"
    for content, options in ((names, {}), ("id,x\n1,2\n3,4\nTotal,6\n", {"comment": "#"})):
        with pytest.warns(OnepassWarning, match="line is no row, remove it from the file$"):
            opened(tmp_path / "a.csv", content, columns=["x"], **options)


@pytest.mark.parametrize("options", [{}, {"skip_non_numeric": True}, {"columns": ["age"]}])
@pytest.mark.parametrize(
    "title",
    [
        "Survey 2024\nmade by me, by hand\n",
        "Plant export,\n",
        "Plant export,\n,\n",
        "Plant export,\nMade in May,\n",
        "Plant export\nMade in May\n",
    ],
)
@pytest.mark.parametrize("ids", ["123", "xyz"])
def test_a_title_is_recognised_whatever_is_chosen(tmp_path, options, title, ids):
    if ids == "xyz" and not options:
        options = {"exclude": [0]}
    content = f"{title}id,age\n" + "".join(f"{id},{i}.5\n" for i, id in enumerate(ids))
    count = title.count("\n")
    remedy = rf"are in line {count + 1}, pass skip_lines={count} \(--skip-lines\)"
    with pytest.raises(SourceError, match=remedy):
        opened(tmp_path / "a.csv", content, **options)
    assert rows_of(tmp_path / "a.csv", content, skip_lines=count, **options)[0][-1] == "age"


@pytest.mark.parametrize("titles", ["Plant export;;\n", "Plant export;;\nWorks A;;\n"])
@pytest.mark.parametrize("units", [";C;bar\n", "-;C;bar\n", "no;C;bar\n", ";C;\n"])
@pytest.mark.parametrize("ids", ["1234", "wxyz"])
@pytest.mark.parametrize("options", [{}, {"skip_non_numeric": True}, {"exclude": [0]}])
def test_a_title_above_names_and_units(tmp_path, titles, units, ids, options):
    rows = "".join(f"{id};{i}.5;{i}\n" for i, id in enumerate(ids))
    count = titles.count("\n")
    with pytest.raises(
        SourceError, match=rf"are in line {count + 1}, pass skip_lines={count} "
    ) as e:
        opened(tmp_path / "a.csv", f"{titles}id;T;P\n{units}{rows}", **options)
    assert "units" not in str(e.value)


@pytest.mark.usefixtures("block_bytes")
def test_decimal_commas(tmp_path):
    path = tmp_path / "a.csv"
    content = "a;b\n1,5;2\n-3,25e2;NA\n"
    names, rows = rows_of(path, content, decimal=",")
    assert names == ["a", "b"]
    np.testing.assert_array_equal(rows, [[1.5, 2], [-325, NAN]])
    np.testing.assert_array_equal(rows, pd.read_csv(path, sep=";", decimal=","))
    assert rows_of(path, "1,5\t2\n0,5\t3\n", decimal=",", header=False)[1].tolist() == [
        [1.5, 2],
        [0.5, 3],
    ]
    with pytest.raises(SourceError, match=r"'1\.5' in line 2"):
        opened(path, "a;b\n1.5;2\n1,5;3\n2;2\n", decimal=",")
    for wrong in ({"decimal": ";"}, {"decimal": ",", "delimiter": ","}):
        with pytest.raises(ValueError, match="decimal"):
            opened(path, content, **wrong)


@pytest.mark.usefixtures("block_bytes")
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


BEGINNINGS = {
    "comments": ("# made by\n# hand\na,b\n1,2\n3,4\n", "comment='#'"),
    "a title": (
        "My title\n\na,b\n1,2\n3,4\n",
        "names of the columns are in line 3, pass skip_lines=2",
    ),
    "a title of two": ("May, 2024\na,b\n1,2\n3,4\n", "are in line 2, pass skip_lines=1"),
}


@pytest.mark.parametrize("case", BEGINNINGS)
def test_what_to_do_about_lines_before_the_header_is_said(tmp_path, case):
    content, remedy = BEGINNINGS[case]
    with pytest.raises(SourceError, match=remedy):
        opened(tmp_path / "a.csv", content, header=True)
    options = {"comment": "#"} if "#" in content else {"skip_lines": int(remedy[-1])}
    names, rows = rows_of(tmp_path / "a.csv", content, **options)
    assert (names, rows.tolist()) == (["a", "b"], [[1, 2], [3, 4]])


@pytest.mark.parametrize(
    ("start", "remedy", "options"),
    [
        ("# made by hand\n", r"comment='#' \(--comment\)", {"comment": "#"}),
        ("May\n", r"in line 2, pass skip_lines=1 \(--skip-lines\)", {"skip_lines": 1}),
    ],
)
def test_a_line_before_the_header_that_has_fewer_values(tmp_path, start, remedy, options):
    content = start + "a,b,c\n" + "1.5,2,3\n" * 40
    with pytest.raises(SourceError, match=f"3 values, and 1 names in the header; .*{remedy}"):
        opened(tmp_path / "a.csv", content)
    assert rows_of(tmp_path / "a.csv", content, **options)[0] == ["a", "b", "c"]


def test_several_blanks_are_not_columns(tmp_path):
    with pytest.raises(SourceError, match="values are separated by several blanks"):
        opened(tmp_path / "a.txt", "a  b\n1  2\n3  4\n")


def test_more_lines_are_skipped_than_there_are(tmp_path):
    with pytest.raises(SourceError, match="there are no rows"):
        opened(tmp_path / "a.csv", "a,b\n1,2\n", skip_lines=9)


def test_latin_1(tmp_path):
    content = "größe,b\n1,2\n".encode("latin-1")
    with pytest.raises(SourceError, match=r"not UTF-8: pass encoding='latin-1' \(--encoding\)"):
        opened(tmp_path / "a.csv", content)
    names, rows = rows_of(tmp_path / "a.csv", content, encoding="latin-1")
    assert (names, rows.tolist()) == (["größe", "b"], [[1, 2]])
    with_mark = codecs.BOM_UTF8 + "größe,b\n1,2\n".encode()
    assert rows_of(tmp_path / "a.csv", with_mark, encoding="utf-8")[0] == ["größe", "b"]
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
    assert rows_of(tmp_path / "a.csv", "sep=^\na^b\n1^2\n")[0] == ["a", "b"]


R_TABLE = '"x" "y"\n"1" 1.5 2\n"2" NA 4\n"3" 5 6\n'
R_NAMES = '"x" "y" "z"\n"Mazda RX4" 1.5 2 0\n"Fiat 128" 2.5 4 1\n'


def test_r_writes_one_name_fewer_than_columns(tmp_path):
    path = tmp_path / "a.txt"
    with pytest.warns(OnepassWarning, match="left out the index of pandas or R"):
        names, rows = rows_of(path, R_TABLE)
    assert names == ["x", "y"]
    np.testing.assert_array_equal(rows, [[1.5, 2], [NAN, 4], [5, 6]])
    with pytest.warns(OnepassWarning, match="left out the index of pandas or R"):
        names, rows = rows_of(path, R_NAMES)
    assert (names, rows.tolist()) == (["x", "y", "z"], [[1.5, 2, 0], [2.5, 4, 1]])
    assert rows_of(path, R_TABLE, keep_index=True)[0] == ["", "x", "y"]


def test_names_that_come_twice_are_numbered(tmp_path):
    content = "x,y,x,x.1,x\n1,2,3,4,5\n"
    source = opened(tmp_path / "a.csv", content)
    assert source.feature_names == ["x", "y", "x.2", "x.1", "x.3"]
    assert source.notes[0].endswith("names that come twice are numbered: 'x'")
    assert rows_of(tmp_path / "a.csv", content, columns=["x.3", "x"])[1].tolist() == [[5, 1]]
    names = opened(tmp_path / "a.csv", "x,x,y\n1,2,3\n").feature_names
    assert names == pd.read_csv(tmp_path / "a.csv").columns.tolist() == ["x", "x.1", "y"]


@pytest.mark.usefixtures("block_bytes")
def test_true_and_false_are_one_and_zero_as_in_parquet(tmp_path):
    content = "a,ok,b\n1,True,2\n2,false,3\n3,,4\n4,TRUE,5\n5,0,6\n" + "6,True,7\n" * 50
    expected = [[1, 1, 2], [2, 0, 3], [3, NAN, 4], [4, 1, 5], [5, 0, 6], *[[6, 1, 7]] * 50]
    names, rows = rows_of(tmp_path / "a.csv", content)
    assert names == ["a", "ok", "b"]
    np.testing.assert_array_equal(rows, expected)
    only = rows_of(tmp_path / "a.csv", content, columns=["ok"])[1]
    np.testing.assert_array_equal(only, np.array(expected)[:, [1]])


def test_what_is_neither_true_nor_false_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(csv, "_SAMPLE_BYTES", 64)
    content = "a,ok\n" + "1,True\n" * 100 + "2,maybe\n"
    with pytest.raises(SourceError, match="line 102, column 'ok': 'maybe' is neither True nor Fal"):
        rows_of(tmp_path / "a.csv", content)


@pytest.mark.usefixtures("block_bytes")
def test_an_open_quotation_mark_among_true_and_false(tmp_path):
    content = "ok,t\n" + "True,x\n" * 9 + 'False,"x\nTrue,y\n'
    with pytest.raises(SourceError, match="line 11: a quotation mark is never closed"):
        rows_of(tmp_path / "a.csv", content, columns=["ok"])


@pytest.mark.parametrize("first", ["5;6", "5 6", "1,5|2", "5;x"])
def test_a_single_column_that_may_be_several_loses_no_row(tmp_path, first):
    with pytest.raises(SourceError, match="the first row may be names or data"):
        opened(tmp_path / "a.csv", f"{first}\n1.5\n2.5\n")
    assert rows_of(tmp_path / "a.csv", "body mass\n1.5\n2.5\n")[0] == ["body mass"]


def test_true_and_false_in_the_first_row_are_no_names(tmp_path):
    with pytest.raises(SourceError, match="the first row may be names or data"):
        opened(tmp_path / "a.csv", "True,False\nFalse,True\n")


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
    names, rows = rows_of(tmp_path / "a.csv", WIDE, columns=columns, exclude=exclude)
    assert names == expected
    every = WIDE.splitlines()[0].split(",")
    assert rows.tolist() == [[every.index(name) + 1 for name in expected]]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"columns": ["y*"]}, r"no name of a column matches 'y\*'"),
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


def test_the_lines_of_rows(tmp_path, monkeypatch):
    """Against Python's csv, which counts lines."""
    monkeypatch.setattr(plain_text, "BLOCK_BYTES", 64)
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
    numbers = RowNumbers(source)
    taken = [numbers.take(end, len(block)) for end, block in source.blocks()]
    assert numbers.names == ["file", "line"]
    assert pa.concat_tables(taken)["line"].to_pylist() == [3, 4, *range(7, 16), 3]


def test_rows_without_lines_are_counted_from_one(tmp_path):
    for name in "ab":
        np.save(tmp_path / f"{name}.npy", np.eye(4))
    source = open_source(tmp_path, batch_rows=3)
    numbers = RowNumbers(source)
    taken = [numbers.take(end, len(block)) for end, block in source.blocks()]
    assert numbers.names == ["file", "row"]
    assert pa.concat_tables(taken)["row"].to_pylist() == [1, 2, 3, 4, 1, 2, 3, 4]


def test_the_names_of_folders_are_said_to_be_no_columns(tmp_path):
    for year in (2024, 2025):
        (tmp_path / f"year={year}" / "month=1").mkdir(parents=True)
        (tmp_path / f"year={year}" / "month=1" / "a.csv").write_text(f"a,b\n1,{year}\n")
    source = open_source(tmp_path)
    assert source.feature_names == ["a", "b"]
    assert "the names of folders are not read as columns: 'month', 'year'" in source.notes
