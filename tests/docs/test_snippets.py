"""Every Python snippet of README and the site runs as it stands, from top to bottom of its page."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^```python\n(.*?)^```\n(?:\n^```text\n(.*?)^```)?", re.DOTALL | re.MULTILINE)
PAGES = ["README.md", "docs/index.md", "docs/get-started.md", "docs/algorithms.md"]
PAGES += ["docs/coming-from-scikit-learn.md"]
PAGES += sorted(str(page.relative_to(ROOT)) for page in (ROOT / "docs" / "guide").glob("*.md"))


def snippets(page):
    text = (ROOT / page).read_text()
    return [
        (text[: found.start()].count("\n") + 1, *found.groups()) for found in FENCE.finditer(text)
    ]


# A page is about this warning: one column hides the others.
@pytest.mark.filterwarnings("ignore:column .* of the variance")
@pytest.mark.parametrize("page", [page for page in PAGES if snippets(page)])
def test_snippets_run_and_print_what_the_page_shows(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__main__"}
    for line, code, output in snippets(page):
        # Blank lines before it give errors the line number of the page.
        exec(compile("\n" * line + code, str(ROOT / page), "exec"), names)
        printed = capsys.readouterr().out
        assert output is None or printed == output


def test_pages_have_snippets():
    assert len([page for page in PAGES if snippets(page)]) >= 10


def anchors(page):
    """Return the anchors of the headings of a page, as GitHub makes them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_links_between_pages_and_files_exist():
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    assert len(pages) > 20
    for page in pages:
        for target, anchor in re.findall(r"\]\(([^)#]*)(?:#([^)]*))?\)", page.read_text()):
            if "://" in target:
                continue
            path = page.parent / target if target else page
            assert path.exists(), f"{page.name} links to {target}"
            # Sphinx checks those of pages that include others.
            if anchor and "{include}" not in path.read_text():
                assert anchor in anchors(path), f"{page.name} links to {target}#{anchor}"
