"""svmlight: what scikit-learn does not write, counting from 0 or 1, errors, lines."""

import gzip

import numpy as np
import pytest

from onepass.sources import SourceError, open_source


def rows_of(path, content, **keywords):
    path.write_text(content)
    return np.vstack([block.toarray() for block in open_source(path, **keywords)]).tolist()


GOOD = {
    "CR LF": ("1 1:2 3:4\r\n0\r\n", [[2, 0, 4], [0, 0, 0]]),
    "notes": ('# "a note 9:9\n1 1:2 # 8:8\n\n2 2:3', [[2, 0], [0, 3]]),
    "no label": ("1:2\n2:3 \n", [[2, 0], [0, 3]]),
    "numbers": ("-1 1:1e-3 2:-.5\n", [[0.001, -0.5]]),
}


@pytest.mark.parametrize("case", GOOD)
def test_good(tmp_path, case):
    content, expected = GOOD[case]
    assert rows_of(tmp_path / "a.svmlight", content) == expected


BAD = {
    "no number": ("1 1:2\n1 2:x\n", "line 2: '1 2:x' is not label"),
    "no colon": ("1 1:2\n1 2 3:4\n", "line 2: '1 2 3:4' is not label"),
    "a negative index": ("1 1:2\n1 -2:3\n", "line 2: '1 -2:3' is not label"),
    "a label of text": ("1 1:2\na 2:3\n", "line 2: 'a 2:3' is not label"),
    "a large index": ("1 999999999999:1\n", "an index of 999,999,999,999 in it, the limit is 2,14"),
    "no lines": ("# nothing\n\n", "no rows"),
    "csv": ("a,b\n1,2\n", "there is no index:value in it"),
    "an index twice": ("1 1:2\n1 1:2 1:3\n", "line 2: .* unique"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad(tmp_path, case):
    content, message = BAD[case]
    with pytest.raises(SourceError, match=rf"a\.svmlight(, |: ).*{message}"):
        rows_of(tmp_path / "a.svmlight", content)


def test_files_agree_on_width_and_base(tmp_path):
    (tmp_path / "1.svmlight").write_text("1 1:1\n")
    (tmp_path / "2.svmlight.gz").write_bytes(gzip.compress(b"1 0:1 4:2\n"))
    source = open_source([tmp_path / "1.svmlight", tmp_path / "2.svmlight.gz"])
    first, second = (block.toarray().tolist() for block in source)
    assert [first, second] == [[[0, 1, 0, 0, 0]], [[1, 0, 0, 0, 2]]]


def test_columns_beyond_the_largest_index_are_zero_and_only_stored_entries_missing(tmp_path):
    found = rows_of(tmp_path / "a.svmlight", "1 1:0 2:5\n1 2:-1\n", na=[0, -1], columns=[3, 0, 1])
    np.testing.assert_array_equal(found, [[0, np.nan, 5], [0, 0, np.nan]])


@pytest.mark.parametrize("empty", [1, 3 << 20])
def test_lines_are_those_of_an_editor(tmp_path, empty):
    (tmp_path / "a.svmlight").write_text("# a note\n1 1:1\n" + "\n" * empty + "1 1:1 # one\n1 x\n")
    with pytest.raises(SourceError, match=f"line {empty + 4}: '1 x' is not label"):
        list(open_source(tmp_path / "a.svmlight"))
