"""All of it on a small scale: files, claims, going on, the same numbers again."""

import json
from dataclasses import replace

import numpy as np
import pytest

from onepass.paper import reproduction, run, runs
from tests.paper.idx import write_folder

TINY = replace(
    reproduction.QUICK,
    figure1_rows=300,
    figure2_rows=200,
    figure2_sequences=2,
    toy_rows=50,
    toy_sequences=20,
    regret_sequences=1,
    horizons=(10, 30),
    train_rows=60,
    marks=6,
    every_image=1,
    splits=1,
)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    patch = pytest.MonkeyPatch()
    patch.setattr(reproduction, "QUICK", TINY)
    folder = tmp_path_factory.mktemp("paper")
    write_folder(folder / "mnist")
    yield folder
    patch.undo()


@pytest.fixture(scope="module")
def first(tiny):
    return run(tiny / "first", mnist=tiny / "mnist", quick=True)


def test_everything_is_written(tiny, first):
    out = tiny / "first"
    pictures = ["figure1", "figure2", "theorem1"]
    pictures += [f"figure3{a}{b}" for a in ("", "-whole") for b in ("", "-beyond")]
    for stem in pictures:
        assert (out / f"{stem}.png").read_bytes()[:4] == b"\x89PNG"
        assert (out / f"{stem}.svg").stat().st_size > 1000
    for table in ("figure1", "figure2", "figure2-summary", "figure3", "toy", "theorem1"):
        assert len((out / f"{table}.csv").read_text().splitlines()) >= 3
    entries = json.loads((out / "claims.json").read_text())
    assert len(entries) == len(first) >= 12
    assert all(set(e) == {"claim", "where", "expected", "measured", "holds"} for e in entries)
    assert all(isinstance(entry["holds"], bool) for entry in entries)
    page = (out / "index.html").read_text()
    assert "quick version" in page
    assert all(f'src="{stem}.png"' in page for stem in pictures)
    assert (out / "index.md").read_text().count("\n| ") > len(entries)
    assert page.count("<td>yes</td>") + page.count("<td>NO</td>") == len(entries)


@pytest.fixture
def undrawn(monkeypatch):
    """Leave out what takes long and has been looked at."""
    monkeypatch.setattr("onepass.report.style.save", lambda *args: None)


@pytest.mark.usefixtures("undrawn")
def test_kept_runs_are_not_done_again(tiny, first, monkeypatch):
    def never(*args):
        raise AssertionError("done before")

    monkeypatch.setattr(runs, "execute", never)
    assert run(tiny / "first", mnist=tiny / "mnist", quick=True) == first


@pytest.mark.usefixtures("undrawn")
def test_the_same_seed_gives_the_same_numbers_and_another_seed_others(tiny, first):
    again = run(tiny / "again", mnist=tiny / "mnist", quick=True)
    assert again == first
    for path in sorted((tiny / "first" / "runs").glob("*.npz")):
        with np.load(path) as one, np.load(tiny / "again" / "runs" / path.name) as other:
            for name in one.files:
                if not name.endswith("seconds"):
                    np.testing.assert_array_equal(one[name], other[name])
    other = run(tiny / "other", figures=["1"], quick=True, seed=1)
    assert other != first[: len(other)]


@pytest.mark.usefixtures("undrawn")
def test_processes_change_nothing(tiny, first):
    results = run(tiny / "parallel", figures=[1], quick=True, jobs=2)
    assert results == first[: len(results)]


@pytest.mark.usefixtures("undrawn")
def test_other_images_are_other_runs(tiny, first):
    write_folder(tiny / "more", n=600)
    results = run(tiny / "first", figures=["3"], mnist=tiny / "more", quick=True)
    assert results != [claim for claim in first if claim.where.startswith("Figure 3")]


def test_unknown_figures_are_refused(tmp_path):
    with pytest.raises(ValueError, match="among 1, 2, 3"):
        run(tmp_path, figures=["4"])
