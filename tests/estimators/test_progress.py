"""verbose=1: a line on standard error while blocks are read."""

import re

import numpy as np
import pytest

from onepass import ERM, CappedMSG
from tests.contracts.variants import ESTIMATORS, build

X = np.random.default_rng(0).normal(size=(600, 5)) * [4, 2, 1, 1, 0.5]


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr("onepass.progress.LOOK_SECONDS", 0.0)
    monkeypatch.setattr("onepass.progress.LOG_SECONDS", 0.0)
    monkeypatch.setattr("onepass.progress.NOTEBOOK_SECONDS", 0.0)


@pytest.mark.parametrize("algorithm", ESTIMATORS)
def test_silent_by_default(algorithm, capfd):
    build(algorithm, 2, random_state=0).fit([X, X])
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("algorithm", [name for name in ESTIMATORS if name != "IncrementalPCA"])
def test_rows_speed_share_and_time(algorithm, capsys):
    build(algorithm, 2, random_state=0, verbose=1).fit([X[:200], X, X, X])
    out, err = capsys.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert re.fullmatch(r"fit 200 of 2,000 rows  [\d,]+ rows/s .*0:00:\d\d left", lines[0])
    last = r"fit 2,000 of 2,000 rows  [\d,]+ rows/s  \d+\.\d% captured  0:00:\d\d"
    assert re.fullmatch(last, lines[-1])


def test_without_a_number_of_rows_it_is_the_time_that_has_passed(capsys):
    CappedMSG(2, verbose=1).fit(block for block in (X, X))
    assert re.search(
        r"fit 1,200 rows  [\d,]+ rows/s  .*captured  0:00:\d\d\n$", capsys.readouterr().err
    )


def test_arrays_show_nothing(capsys):
    ERM(2, verbose=1).fit(X)
    assert capsys.readouterr().err == ""


def test_looking_changes_no_bit(capsys):
    quiet, loud = CappedMSG(2).fit([X, X]), CappedMSG(2, verbose=1).fit([X, X])
    np.testing.assert_array_equal(quiet.components_, loud.components_)
    assert capsys.readouterr().err


def test_an_error_ends_the_line(capsys):
    with pytest.raises(ValueError, match="inf"):
        ERM(2, verbose=1).fit([X, np.full((3, 5), np.inf)])
    assert capsys.readouterr().err.endswith("\n")


def test_verbose_may_change_and_merges(capsys):
    model = ERM(2).fit(X)
    model.verbose = 1
    model.partial_fit([X])
    assert "fit 600 of 600 rows" in capsys.readouterr().err
    assert ERM(2).fit(X).merge(ERM(2, verbose=1).fit(X)).n_samples_seen_ == 1200
