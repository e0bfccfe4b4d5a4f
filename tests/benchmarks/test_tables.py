"""Tables of README and docs are those of the results."""

import json

import pytest

from benchmarks import tables

ABOUT = {
    "command": "python -m benchmarks.accuracy --first-seed 3",
    "date": "2026-01-02",
    "commit": "0123456789abcdef",
    "machine": "a machine",
    "versions": {"numpy": "2.0"},
}
STUDY = {"title": "Student t3", "promised": {"mean": 0.09, "worst": None}, "runs": 60}
ROWS = [
    {**STUDY, "name": "t3", "measured": {"mean": 0.0384, "worst": 12.0}, "met": True},
    {**STUDY, "name": "late", "measured": {"in 95%": 0.31}, "met": False},
]


@pytest.fixture
def results(tmp_path):
    (tmp_path / "accuracy.json").write_text(json.dumps({**ABOUT, "rows": ROWS}))
    return tmp_path


@pytest.mark.parametrize("page", tables.pages(), ids=lambda page: page.name)
def test_the_pages_of_the_project_are_rendered(page):
    text = page.read_text()
    assert tables.rendered(text) == text, "the results have changed: run `make tables`"


def test_a_block_has_the_rows_and_where_they_come_from(results):
    page = "before\n\n<!-- table: accuracy t* -->\nold\n<!-- end -->\n\nafter\n"
    text = tables.rendered(page, results)
    lines = [[cell.strip() for cell in line.split("|")] for line in text.splitlines()]
    assert ["", "Student t3", "0.090", "0.038 / 12.00", "60", "yes", ""] in lines
    assert "commit 0123456789;" in text
    assert "old" not in text
    assert "31%" not in text
    assert text.startswith("before\n\n<!-- table: accuracy t* -->\n\n| rows")
    assert text.endswith("<!-- end -->\n\nafter\n")
    assert "**no**" in tables.rendered(page.replace(" t*", ""), results)


@pytest.mark.parametrize(
    ("block", "message"),
    [("accuracy nothing", "no row 'nothing'"), ("nothing", "no table 'nothing'")],
)
def test_unknown_tables_and_rows_are_refused(results, block, message):
    with pytest.raises(ValueError, match=message):
        tables.rendered(f"<!-- table: {block} -->\n<!-- end -->", results)


def test_what_was_not_measured_says_so(tmp_path):
    text = tables.rendered("<!-- table: accuracy -->\n<!-- end -->", tmp_path)
    assert "Not measured yet" in text
