"""svmlight: labels, notes, query numbers, counting from 0 or 1, errors."""

import gzip

import numpy as np
import pytest

from onepass.sources import SourceError, open_source


def rows_of(path, content, **keywords):
    path.write_text(content)
    return np.vstack([block.toarray() for block in open_source(path, **keywords)]).tolist()


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("1 1:2 3:4\n0 2:5\n", [[2, 0, 4], [0, 5, 0]]),
        ("1 0:2 3:4\n", [[2, 0, 0, 4]]),
        ("1 1:2 3:4\r\n0\r\n", [[2, 0, 4], [0, 0, 0]]),
        ('# "a note 9:9\n1 1:2 # 8:8\n\n2 2:3', [[2, 0], [0, 3]]),
        ("1 qid:7 1:2\n2 qid:7 2:3\n", [[2, 0], [0, 3]]),
        ("1,2 1:2\n3 2:3\n", [[2, 0], [0, 3]]),
        ("1:2\n2:3 \n", [[2, 0], [0, 3]]),
        ("-1 1:1e-3 2:-.5\n", [[0.001, -0.5]]),
    ],
)
def test_good(tmp_path, content, expected):
    assert rows_of(tmp_path / "a.svmlight", content) == expected


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("1 1:2\n1 2:x\n", "line 2: '1 2:x' is not label"),
        ("1 1:2\n1 2 3:4\n", "line 2: '1 2 3:4' is not label"),
        ("1 1:2\n1 -2:3\n", "line 2: '1 -2:3' is not label"),
        ("1 1:2\na 2:3\n", "line 2: 'a 2:3' is not label"),
        (
            "1 999999999999:1\n",
            "an index of 999,999,999,999 in it, the limit is 2,147,483,647",
        ),
        ("# nothing\n\n", "no rows"),
        ("a,b\n1,2\n", "there is no index:value in it"),
        ("1 1:2\n1 1:2 1:3\n", "line 2: .* unique"),
    ],
)
def test_bad(tmp_path, content, message):
    with pytest.raises(SourceError, match=rf"a\.svmlight(, |: ).*{message}"):
        rows_of(tmp_path / "a.svmlight", content)


def test_files_agree_on_width_and_base(tmp_path):
    (tmp_path / "1.svmlight").write_text("1 1:1\n")
    (tmp_path / "2.svmlight.gz").write_bytes(gzip.compress(b"1 0:1 4:2\n"))
    source = open_source([tmp_path / "1.svmlight", tmp_path / "2.svmlight.gz"])
    assert source.n_features == 5
    assert source.n_rows == 2
    dense = np.vstack([block.toarray() for block in source])
    assert dense.tolist() == [[0, 1, 0, 0, 0], [1, 0, 0, 0, 2]]


def test_columns_beyond_the_largest_index_are_zero(tmp_path):
    rows = rows_of(tmp_path / "a.svmlight", "1 1:5\n", columns=[3, 0])
    assert rows == [[0, 5]]


def test_where_columns_begin_is_said(tmp_path):
    for content, said in (("1 1:2\n", ["columns are counted from 1"]), ("1 0:2\n", [])):
        (tmp_path / "a.svmlight").write_text(content)
        notes = open_source(tmp_path / "a.svmlight").notes
        assert [note.partition(": ")[2].partition(",")[0] for note in notes] == said


def test_lines_are_those_of_an_editor(tmp_path):
    content = "# a note\n1 1:2\n\n0 2:1 # another\n1 1:2\n1 2:x\n"
    with pytest.raises(SourceError, match="line 6: '1 2:x' is not label index:value"):
        rows_of(tmp_path / "a.svmlight", content)
    (tmp_path / "a.svmlight").write_text(content.replace("x", "7"))
    (table,) = open_source(tmp_path / "a.svmlight").tables
    assert np.concatenate(list(table.lines())).tolist() == [2, 4, 5, 6]


def test_only_stored_entries_can_be_missing(tmp_path):
    found = rows_of(tmp_path / "a.svmlight", "1 1:0 2:5\n1 2:-1\n", na=[0, -1])
    np.testing.assert_array_equal(found, [[np.nan, 5], [0, np.nan]])


def test_lines_after_very_many_empty_ones(tmp_path):
    (tmp_path / "a.svmlight").write_text("1 1:1\n" + "\n" * (3 << 20) + "1 1:1\n1 x\n")
    with pytest.raises(SourceError, match="line 3145731: '1 x' is not label"):
        list(open_source(tmp_path / "a.svmlight"))
