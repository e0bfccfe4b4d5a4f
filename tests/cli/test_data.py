"""The number of rows, for the time left."""

import pytest

from onepass import open_source
from onepass.cli.data import expected_rows
from tests.cli.commands import rows
from tests.sources.files.written import WRITERS


@pytest.mark.parametrize("name", WRITERS)
def test_every_format(tmp_path, name):
    WRITERS[name](tmp_path / name, rows(5000))
    expected = expected_rows(open_source(str(tmp_path / name)))
    if name == "stream.arrow":
        assert expected is None or expected > 0  # a stream does not say
    else:
        assert expected == pytest.approx(5000, rel=0.05)


@pytest.mark.parametrize("header", [True, False])
def test_a_header_is_no_row(tmp_path, header):
    (tmp_path / "a.csv").write_text("a,b\n" * header + "1,2\n3,4\n5,7\n")
    assert expected_rows(open_source(str(tmp_path / "a.csv"), header=header)) == 3
