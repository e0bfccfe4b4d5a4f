"""Timing, judging and the command line."""

import json
import time
import types

import numpy as np
import pytest

import benchmarks.datasets
from benchmarks.command import main
from benchmarks.dataset import Problem, Size
from benchmarks.growth import exponent
from benchmarks.memory import of as peak_memory
from benchmarks.objective import Judge, batch_pca
from benchmarks.registry import choose, discover
from benchmarks.runner import measure
from benchmarks.solver import Solver
from benchmarks.targets import Target


def best(X, k):
    return batch_pca(X, k)


def test_solvers_take_turns_and_warm_up_outside_of_the_timing():
    calls = []

    def slow_at_first(X, k):
        if "slow" not in calls:
            end = time.process_time() + 0.2
            while time.process_time() < end:
                pass
        calls.append("slow")
        return best(X, k)

    def other(X, k):
        calls.append("other")
        return best(X, k)

    problem = Problem("made", np.random.default_rng(0).normal(size=(50, 5)), 2)
    solvers = [Solver("slow", slow_at_first, streams=False), Solver("other", other, streams=False)]
    found = measure(problem, solvers, repeat=3)
    assert calls == ["slow", "other"] + 3 * ["slow", "other"]
    assert len(found[0].cpu) == len(found[0].wall) == 3
    assert max(found[0].cpu) * 50 < 0.1
    assert abs(found[0].lost) < 1e-12


def test_what_streams_gets_as_many_rows_as_there_is_time_for():
    def a_millisecond_per_row(X, k):
        end = time.process_time() + 1e-3 * len(X)
        while time.process_time() < end:
            pass

    problem = Problem("made", np.ones((1000, 5)), 2)
    (found,) = measure(problem, [Solver("s", a_millisecond_per_row, at_least=10)], budget=0.05)
    assert 25 <= found.n <= 51
    assert 0.9e-3 < found.seconds < 2e-3
    assert np.isnan(found.lost)


@pytest.mark.parametrize("shape", [(40, 7), (7, 40)])
def test_batch_pca_is_the_leading_right_singular_vectors(shape):
    X = np.random.default_rng(1).normal(size=shape)
    vectors = np.linalg.svd(X, full_matrices=False)[2][:3]
    np.testing.assert_allclose(np.abs(batch_pca(X, 3) @ vectors.T), np.eye(3), atol=1e-10)


def test_lost_is_the_share_that_batch_pca_captures_more():
    X = np.diag([3.0, 2.0, 1.0])
    judge = Judge(Problem("made", X, 1))
    assert judge.lost(np.eye(3)[:1], 3) == pytest.approx(0)
    assert judge.lost(np.eye(3)[1:2], 3) == pytest.approx(1 - 4 / 9)


def test_peak_memory_is_that_of_the_copy_that_a_solver_makes():
    rows, columns = 2000, 1000  # 16 MB
    peak = peak_memory("sklearn-pca-covariance", "synthetic", Size(2, columns, rows), None)
    assert 8e6 < peak < 64e6


def test_sizes_are_read_from_the_right():
    assert Size.parse("30x20x4") == Size(4, 20, 30)
    assert str(Size.parse("20x4")) == "20x4"
    with pytest.raises(ValueError, match="NxDxK"):
        Size.parse("1x2x3x4")


def test_sizes_that_do_not_fit_a_data_set_are_left_out():
    datasets, _ = discover(benchmarks.datasets, "DATASETS")
    sizes = [Size(4), Size(3, 64), Size(3, 100)]
    assert datasets["digits"].fitting(sizes) == sizes[:2]
    assert datasets["synthetic"].fitting(sizes) == sizes[1:]


def test_patterns_choose_and_unknown_names_are_refused():
    assert choose({"a-1": 1, "b": 2, "a-2": 3}, "b,a-*") == [2, 1, 3]
    with pytest.raises(SystemExit, match="no 'c'"):
        choose({"a": 1}, "c")


def test_a_module_whose_package_is_not_installed_is_noted(tmp_path, monkeypatch):
    folder = tmp_path / "folder_of_solvers"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "absent.py").write_text("import a_package_that_nobody_has\n")
    (folder / "present.py").write_text(
        "from types import SimpleNamespace\nTHINGS = [SimpleNamespace(name='one')]\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    package = __import__("folder_of_solvers")
    assert isinstance(package, types.ModuleType)
    found, (note,) = discover(package, "THINGS")
    assert list(found) == ["one"]
    assert "a_package_that_nobody_has" in note


@pytest.mark.parametrize(("at_least", "met"), [(True, [False, True]), (False, [True, False])])
def test_a_target_is_met_on_its_side_of_the_limit(at_least, met):
    targets = [Target("speed", 2.0, measured, at_least=at_least) for measured in (1.0, 3.0)]
    assert [target.met for target in targets] == met


def test_the_exponent_of_a_power_is_its_exponent():
    sizes = np.array([1.0, 5.0, 60.0])
    assert exponent(sizes, 7 * sizes**1.5) == pytest.approx(1.5)


def test_the_command_prints_a_table_and_writes_numbers_and_a_picture(tmp_path, capsys):
    numbers, picture = tmp_path / "numbers.json", tmp_path / "picture.png"
    what = ["--solvers", "capped-msg,floor", "--datasets", "digits", "--sizes", "300x64x3"]
    main([*what, "--repeat", "1", "--json", str(numbers), "--plot", str(picture)])
    printed = capsys.readouterr().out
    assert "digits, n=300, d=64, k=3" in printed
    results = json.loads(numbers.read_text())["results"]
    assert {result["solver"] for result in results} == {"capped-msg", "floor"}
    assert picture.stat().st_size > 1000
