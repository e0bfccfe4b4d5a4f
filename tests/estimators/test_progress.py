"""verbose=1: a line on standard error while blocks are read."""

import re

import numpy as np
import pytest

from onepass import ERM, CappedMSG
from tests.contracts.variants import ESTIMATORS, build

X = np.random.default_rng(0).normal(size=(600, 5)) * [4, 2, 1, 1, 0.5]


@pytest.mark.parametrize("algorithm", ESTIMATORS)
def test_rows_speed_and_time_and_nothing_by_default(algorithm, capfd):
    quiet = build(algorithm, 2, random_state=0).fit([X, X])
    assert capfd.readouterr() == ("", "")
    if algorithm == "IncrementalPCA":  # has scikit-learn's parameters
        return
    loud = build(algorithm, 2, random_state=0, verbose=1).fit([X, X])
    out, err = capfd.readouterr()
    assert out == ""
    last = r"fit 1,200 of 1,200 rows  [\d,]+ rows/s  .*0:00:\d\d"
    assert re.fullmatch(last, err.splitlines()[-1])
    np.testing.assert_array_equal(loud.components_, quiet.components_)


def test_arrays_and_rows_of_no_known_number(capsys):
    ERM(2, verbose=1).fit(X)
    assert capsys.readouterr().err == ""
    CappedMSG(2, verbose=1).fit(block for block in (X, X))
    assert re.match(r"fit 1,200 rows  [\d,]+ rows/s  ", capsys.readouterr().err)


def test_an_error_ends_the_line(capsys):
    with pytest.raises(ValueError, match="inf"):
        ERM(2, verbose=1).fit([X, np.full((3, 5), np.inf)])
    assert capsys.readouterr().err.endswith("\n")
