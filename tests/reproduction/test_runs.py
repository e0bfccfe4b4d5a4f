"""Runs are done once, kept whole, and done again only if something is different."""

import numpy as np
import pytest

import onepass
from reproduction.runs import Run, complete

CALLS = []


def work(number, fail=False):
    CALLS.append(number)
    if fail:
        raise KeyboardInterrupt
    return {"square": np.array(number**2)}


def runs(count, failing=None):
    return [Run(f"run-{i}", work, {"number": i}, data={"fail": i == failing}) for i in range(count)]


@pytest.fixture(autouse=True)
def no_calls():
    CALLS.clear()


def test_an_interrupted_sequence_goes_on_where_it_was(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        complete(runs(4, failing=2), tmp_path, 1)
    assert CALLS == [0, 1, 2]
    results = complete(runs(4), tmp_path, 1)
    assert CALLS == [0, 1, 2, 2, 3]
    assert [int(results[f"run-{i}"]["square"]) for i in range(4)] == [0, 1, 4, 9]
    complete(runs(4), tmp_path, 1)
    assert len(CALLS) == 5


def test_other_settings_are_another_run(tmp_path):
    complete([Run("one", work, {"number": 3})], tmp_path, 1)
    result = complete([Run("one", work, {"number": 5})], tmp_path, 1)["one"]
    assert int(result["square"]) == 25
    assert str(result["version"]) == onepass.__version__
    assert result["cpu_seconds"] >= 0


@pytest.mark.parametrize("damage", [b"", b"PK\x03\x04 cut short", b"not an archive"])
def test_a_damaged_file_is_no_result(tmp_path, damage):
    run = Run("one", work, {"number": 3})
    complete([run], tmp_path, 1)
    assert run.kept(tmp_path) is not None
    (tmp_path / "one.npz").write_bytes(damage)
    assert run.kept(tmp_path) is None
    complete([run], tmp_path, 1)
    assert int(run.kept(tmp_path)["square"]) == 9
