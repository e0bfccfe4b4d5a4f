"""The whole reproduction on a small scale: files, claims, continuing, the same numbers again."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from reproduction import command, figure1, figure2, figure3, theorem1
from reproduction.claims import claims_of
from reproduction.command import run
from reproduction.page import page as render
from reproduction.runs import QUICK
from tests.reproduction.idx import write_folder

TINY = replace(
    QUICK,
    figure1_rows=300,
    figure2_rows=200,
    figure2_sequences=3,
    toy_rows=50,
    toy_sequences=20,
    horizons=(10, 30),
    excess_sequences=2,
    exhibit_sequences=2,
    train_rows=60,
    marks=6,
    every_image=1,
)
# Claims that are about one reading.
ONLY_READING = {
    "toy incremental": {"toy"},
    "toy capped": {"toy"},
    "long rows": {"s_j sqrt(d)"},
}
PICTURES = ["figure1", "figure2", "figure2-mean", "theorem1", "figure3", "figure3-runtime"]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    patch = pytest.MonkeyPatch()
    patch.setattr(command, "QUICK", TINY)
    patch.setattr(figure2, "SEQUENCES_PER_RUN", 2)
    folder = tmp_path_factory.mktemp("paper")
    write_folder(folder / "mnist")
    yield folder
    patch.undo()


@pytest.fixture(scope="module")
def first(tiny):
    return run(tiny / "first", mnist=tiny / "mnist", quick=True, markdown=tiny / "page.md")


def test_everything_is_written(tiny, first):
    out = tiny / "first"
    for stem in PICTURES:
        assert (out / f"{stem}.png").read_bytes()[:4] == b"\x89PNG"
        assert (out / f"{stem}.svg").stat().st_size > 1000
    assert json.loads((out / "claims.json").read_text())["claims"] == first
    html, markdown = (out / "index.html").read_text(), (tiny / "page.md").read_text()
    for page, folder in ((html, ""), (markdown, "first/")):
        assert "python -m reproduction --quick --mnist DIR" in page
        assert all(f"{folder}{stem}.png" in page for stem in PICTURES)
        assert "{" not in page.split("</style>")[-1].replace("{1,4}", "").replace("{4,8}", "")


def test_every_claim_is_judged_under_every_reading_that_applies(first):
    steep_and_flat = {"p ~ tau^-i", "p ~ tau^(-i/2)"}
    readings = {
        "figure1": steep_and_flat,
        "figure2": steep_and_flat,
        "theorem1": {"tr M = k, M(1) .. M(T) averaged"},
        "figure3": {"s_j d", "s_j sqrt(d)", "one scale"},
    }
    judged = {}
    for entry in first:
        judged.setdefault((entry["part"], entry["name"]), set()).add(entry["reading"])
        assert entry["verdict"] in ("holds", "fails", "undecided")
        assert entry["measured"]
        assert all(m["low"] <= m["value"] <= m["high"] for m in entry["measured"])
    expected = {
        (part, name): ONLY_READING.get(name, names)
        for part, names in readings.items()
        for name in claims_of(part)
    }
    assert judged == expected


@pytest.fixture
def undrawn(monkeypatch):
    """Leave out the drawing, which takes long and is tested above."""
    for module in (figure1, figure2, figure3, theorem1):
        monkeypatch.setattr(module, "draw", lambda *args: None)


@pytest.mark.usefixtures("undrawn")
def test_the_same_seed_gives_the_same_numbers_and_another_seed_others(tiny, first):
    again = run(tiny / "again", mnist=tiny / "mnist", quick=True, jobs=2)
    assert again == first
    for path in sorted((tiny / "first" / "runs").glob("*.npz")):
        with np.load(path) as one, np.load(tiny / "again" / "runs" / path.name) as other:
            for name in set(one.files) - {"cpu_seconds"}:
                np.testing.assert_array_equal(one[name], other[name])
    other = run(tiny / "other", figures=["1"], quick=True, seed=1)
    assert other != first[: len(other)]


@pytest.fixture
def no_mnist(monkeypatch):
    offline = Mock(side_effect=OSError("no route"))
    monkeypatch.setattr("sklearn.datasets.fetch_openml", offline)


@pytest.mark.usefixtures("undrawn", "no_mnist")
def test_without_mnist_the_rest_is_made_and_the_page_says_what_is_left_out(tiny, first, capsys):
    claims = run(tiny / "without", quick=True)
    assert claims == [entry for entry in first if entry["part"] != "figure3"]
    said = "Figure 3 is left out. MNIST is not here and could not be downloaded (no route)"
    assert said in capsys.readouterr().err
    for name in ("index.md", "index.html", "claims.json"):
        assert said in (tiny / "without" / name).read_text()
    assert "## Figure 3" not in (tiny / "without" / "index.md").read_text()


@pytest.mark.usefixtures("no_mnist")
@pytest.mark.parametrize("given", [{"figures": ["3"]}, {"mnist": "nowhere"}, {"figures": ["4"]}])
def test_what_cannot_be_done_is_refused(tiny, given):
    with pytest.raises((OSError, ValueError), match=r"--mnist DIR|neither train|among 1, 2, 3"):
        run(tiny / "refused", quick=True, **given)


@pytest.mark.usefixtures("undrawn")
def test_a_page_can_be_made_from_the_runs_that_are_finished(tiny, first):
    out = tiny / "part"
    shutil.copytree(tiny / "first" / "runs", out / "runs")
    for name in ("figure1-steep-0", "figure2-flat-MSG-2"):
        (out / "runs" / f"{name}.npz").unlink()
    claims = run(out, figures=["2"], quick=True, so_far=True)
    expected = {entry["name"] for entry in first if entry["part"] in ("figure2", "theorem1")}
    assert {entry["name"] for entry in claims} == expected
    page = (out / "index.md").read_text()
    assert "runs were finished" in page
    assert "MSG: 2; Capped MSG: 3" in page


def test_the_page_of_the_docs_is_made_from_its_claims():
    docs = Path(__file__).parents[2] / "docs"
    document = json.loads((docs / "paper" / "claims.json").read_text("utf-8"))
    assert (docs / "paper.md").read_text("utf-8") == render(document, "paper")
    assert not document["quick"]
