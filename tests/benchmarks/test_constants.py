"""Constants are changed wherever they are used, and put back."""

import json
import sys
from types import ModuleType

import numpy as np
import pytest

from benchmarks import constants
from benchmarks.constants import Constant, above_one, bound, one, share, times

# That a robust candidate answers, and how much is missing, is not what these tests are about.
pytestmark = pytest.mark.filterwarnings("ignore::onepass.OnepassWarning")


@pytest.fixture
def home(monkeypatch):
    """Two modules with one constant, and one with another of the same name."""
    first, second, other = (ModuleType(f"onepass.made_{i}") for i in range(3))
    first.LIMIT = second.LIMIT = 17.5
    first.BOUNDS = {"mild": 16.0, "plain": np.inf}
    other.LIMIT = 3.5
    for module in (first, second, other):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    return first, second, other


def test_a_constant_is_changed_wherever_it_is_used_and_put_back(home):
    first, second, other = home
    constant = one("onepass.made_0.LIMIT")
    assert constant.name == "made_0.LIMIT"
    with constant.at(2.0):
        assert (first.LIMIT, second.LIMIT, other.LIMIT) == (35.0, 35.0, 3.5)
    assert (first.LIMIT, second.LIMIT) == (17.5, 17.5)


def test_a_constant_is_put_back_after_an_error(home):
    with pytest.raises(ZeroDivisionError), one("onepass.made_0.LIMIT").at(0.5):
        raise ZeroDivisionError
    assert home[0].LIMIT == 17.5


def test_a_constant_in_two_places_is_changed_in_both(home):
    first = home[0]
    places = (("onepass.made_0", "BOUNDS", bound("mild")), ("onepass.made_0", "LIMIT", times))
    with Constant("mild", places).at(0.5):
        assert first.BOUNDS["mild"] == 8.0
        assert first.BOUNDS["plain"] == np.inf
        assert first.LIMIT == 8.75
    assert first.BOUNDS["mild"] == 16.0


def test_changes():
    assert times(16, 0.5) == 8
    assert isinstance(times(16, 0.5), int)
    assert share(0.75, 2.0) == 1.0
    assert above_one(1.25, 2.0) == 1.5


def test_the_command_measures_as_they_are_then_half_then_twice(home, monkeypatch, tmp_path):
    monkeypatch.setattr(constants, "CONSTANTS", [one("onepass.made_0.LIMIT")])
    monkeypatch.setattr(constants, "measured", lambda seed, quick: {"t5": home[0].LIMIT})
    path = tmp_path / "constants.json"
    constants.main(["--quick", "--output", str(path)])
    rows = json.loads(path.read_text())["rows"]
    assert [(row["at"], row["measured"]["t5"]) for row in rows] == [
        ("", 17.5),
        ("half", 8.75),
        ("twice", 35.0),
    ]


def test_studies_and_coverage_are_measured():
    found = constants.measured(3, quick=True)
    assert set(found) <= {"t3-500", "decay-600 held"}
    assert 0 < found["t3-500"] < 2


@pytest.mark.parametrize("constant", constants.CONSTANTS, ids=lambda constant: constant.name)
def test_every_constant_exists(constant):
    for home, attribute, change in constant.places:
        pytest.importorskip(home)
        value = getattr(sys.modules[home], attribute)
        assert np.any(change(value, 0.5) != value)
        with constant.at(2.0):
            assert getattr(sys.modules[home], attribute) is not value
