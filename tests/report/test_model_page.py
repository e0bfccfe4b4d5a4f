"""The page about a model."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest

from onepass import ERM, CappedMSG
from onepass.report import model_page
from tests.cli.commands import rows


class Pictures(HTMLParser):
    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        if tag == "img":
            self.found.append(dict(attrs)["src"])


def test_a_page_holds_all_of_it(tmp_path):
    model = CappedMSG(3).fit(rows())
    model_page(model, tmp_path / "page.html", title="<digits>", data=["a.npy"])
    text = (tmp_path / "page.html").read_text()
    assert "&lt;digits&gt;" in text
    assert "3 components of 6 columns" in text
    assert "300 rows (a.npy)" in text
    for share in model.explained_variance_ratio_:
        assert f"{share:.3%}" in text
    pictures = Pictures()
    pictures.feed(text)
    assert len(pictures.found) == 2
    assert all(source.startswith("data:image/png;base64,") for source in pictures.found)
    assert not re.search(r"(src|href)=.(http|/)", text)


@pytest.mark.parametrize(("n", "d", "k"), [(300, 70, 30), (1, 1, 1), (5, 3, 3)])
def test_any_shape(tmp_path, n, d, k):
    model_page(ERM(k).fit(np.random.default_rng(0).normal(size=(n, d))), tmp_path / "p", title="")
    assert (tmp_path / "p").stat().st_size > 10_000


def test_names_that_look_like_formulas(tmp_path):
    import pandas as pd

    table = pd.DataFrame(rows(d=3), columns=["$\\frac{", "a_b^c", "<b>&"])
    model_page(ERM(2).fit(table), tmp_path / "page.html", title="names")


def test_from_the_command_line(tmp_path):
    from tests.cli.commands import onepass as run

    np.save(tmp_path / "a.npy", rows())
    words = ["fit", tmp_path / "a.npy", "-k", 2, "--algorithm", "erm", "-o", tmp_path / "m"]
    said = run(*words, "--report", tmp_path / "page.html").stdout
    assert f"{tmp_path / 'page.html'}: a page about it" in said
    assert "2 components of 6 columns" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize("package", ["matplotlib", "jinja2"])
def test_a_missing_package_is_named_before_the_work(tmp_path, monkeypatch, package):
    import sys

    from tests.cli.commands import onepass as run

    monkeypatch.setitem(sys.modules, package, None)
    np.save(tmp_path / "a.npy", rows())
    words = ["fit", tmp_path / "a.npy", "-k", 2, "-o", tmp_path / "m", "--report", tmp_path / "p"]
    result = run(*words, code=2)
    assert f"needs {package}: pip install 'onepass[report]'" in result.stderr
    assert not (tmp_path / "m").exists()
