"""Rivals are compared on the same rows, each in a process of its own."""

import json

import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import PCA as BatchPCA

from benchmarks.floor.target import Effort
from benchmarks.losses import batch_pca
from benchmarks.rivals import __main__ as rivals
from benchmarks.rivals import environments, worker
from benchmarks.rivals.environments import Library, libraries
from benchmarks.rivals.problems import PROBLEMS, Exact, Problem
from benchmarks.rivals.solver import Solver, batches, in_memory, read

# That a robust candidate answers, and how much is missing, is not what these tests are about.
pytestmark = pytest.mark.filterwarnings("ignore::onepass.OnepassWarning")

QUICK = Effort(quick=True, seed=3, folder=None)
HERE = [library for library in libraries() if not library.requires]
SOLVERS = [solver for library in HERE for solver in library.solvers]
SMALL = Problem("small", "small rows", 600, 30, 3)


def strong_rows():
    rng = np.random.default_rng(0)
    return rng.normal(size=(600, 30)) * np.r_[9.0, 7.0, 5.0, np.ones(27)]


@pytest.mark.parametrize("solver", [s for s in SOLVERS if s.dense], ids=lambda s: s.name)
def test_solvers_find_the_directions_of_dense_rows(solver, tmp_path):
    X = strong_rows()
    exact = Exact(X, 3)
    assert exact.lost(np.asarray(solver.fit(X, 3)[0])) < 0.02
    problem = Problem("file", "from a file", 600, 30, 3, from_file=True)
    path, few = problem.write(X, tmp_path)
    components, variances = solver.fit_file(path, 3)
    assert exact.lost(np.asarray(components)) < 0.02
    assert abs(variances[0] / exact.first - 1) < 0.05
    assert len(read(few)) == worker.WARM_UP


@pytest.mark.parametrize("solver", [s for s in SOLVERS if s.sparse], ids=lambda s: s.name)
def test_solvers_find_the_directions_of_sparse_rows(solver):
    X = sparse.csr_matrix(strong_rows())
    assert Exact(X, 3).lost(np.asarray(solver.fit(X, 3)[0])) < 0.02


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".parquet", ".h5ad"])
def test_what_is_written_is_read(suffix, tmp_path):
    kind = "counts" if suffix in (".npz", ".h5ad") else "dense"
    from_file = suffix in (".parquet", ".h5ad")
    problem = Problem("p", "rows", 600, 30, 3, "float32", kind, from_file=from_file)
    X = problem.rows(QUICK)
    if suffix == ".h5ad":
        pytest.importorskip("anndata")
    path, _ = problem.write(X, tmp_path)
    assert path.suffix == suffix
    found = read(path)
    assert found.dtype == np.float32
    assert abs(found - X).max() == 0
    if suffix == ".parquet":
        assert [len(batch) for batch in batches(path, 250)] == [250, 250, 100]


def test_exact_pca_loses_nothing_and_others_do():
    X = np.random.default_rng(1).normal(size=(400, 20)) * np.linspace(4, 1, 20) + 5.0
    for rows in (X, sparse.csr_matrix(X)):
        exact = Exact(rows, 2)
        model = BatchPCA(2).fit(X)
        assert exact.first == pytest.approx(model.explained_variance_[0])
        assert abs(exact.lost(model.components_)) < 1e-12
        assert exact.lost(3.0 * np.eye(20)[-2:]) == pytest.approx(
            1 - X[:, -2:].var(axis=0, ddof=1).sum() / model.explained_variance_.sum()
        )


def test_exact_pca_is_exact_far_from_zero():
    problem = next(problem for problem in PROBLEMS if problem.name == "mean-float64")
    X = problem.rows(QUICK)
    exact = Exact(X, 2)
    near = X - 1e8
    assert abs(exact.lost(batch_pca(near, 2))) < 1e-12
    assert exact.first == pytest.approx(np.linalg.eigvalsh(np.cov(near.T))[-1])


def test_a_run_is_a_process_that_returns_times_memory_and_directions(tmp_path):
    library = next(library for library in HERE if library.name == "scikit_learn")
    solver = next(s for s in library.solvers if s.name == "scikit-learn PCA covariance_eigh")
    X = SMALL.rows(QUICK)
    found = rivals.once(library, solver, SMALL, SMALL.write(X, tmp_path))
    assert found["components"].shape == (3, 30)
    assert found["cpu"] > 0
    assert found["wall"] > 0
    assert Exact(X, 3).lost(found["components"]) < 1e-9


def test_memory_is_that_of_the_copy_that_a_solver_makes(tmp_path):
    def copies(X, k):
        return np.eye(k, X.shape[1]), (X + 1.0).sum(axis=0)

    path = tmp_path / "rows.npy"
    np.save(path, np.ones((4000, 1000)))  # 32 MB
    found = worker.timed(Solver("copies", copies, in_memory(copies)), path, 2, from_file=False)
    if found["memory"] is None:
        pytest.skip("the system does not tell")
    assert 25 < found["memory"] < 45
    assert found["variance"] == 8000


def test_fits_are_repeated_until_they_have_taken_long_enough(tmp_path, monkeypatch):
    fits = []

    def fit(X, k):
        fits.append(k)
        return np.eye(k, X.shape[1]), None

    path = tmp_path / "rows.npy"
    np.save(path, np.ones((9, 4)))
    solver = Solver("counts", fit, in_memory(fit))
    worker.timed(solver, path, 2, from_file=False, turns=3)
    assert fits == [2, 2, 2]
    monkeypatch.setattr(worker, "ENOUGH", 1.5)
    monkeypatch.setattr(worker.time, "perf_counter", iter(range(100)).__next__)
    found = worker.timed(solver, path, 3, from_file=False, turns=3)
    assert fits[3:] == [3, 3]
    assert found["wall"] == 1


def test_what_fails_is_reported_and_does_not_end_the_others(monkeypatch, capsys):
    def once(library, solver, problem, files, turns):
        if solver.name == "onepass PCA":
            raise RuntimeError("over 300 s")
        return {"wall": 2.0, "cpu": 1.0, "memory": 3.0, "variance": None, "version": "v", **wrong}

    wrong = {"components": np.eye(3, 30)[::-1]}
    monkeypatch.setattr(rivals, "once", once)
    contenders = [(HERE[0], solver) for solver in HERE[0].solvers[:2]]
    row = rivals.measure(SMALL, contenders, QUICK)
    assert row["failed"] == {"onepass PCA": "over 300 s"}
    (other,) = row["solvers"]
    assert other["solver"] == "onepass PCA robust=False"
    assert 0 < other["lost"] < 0.2
    assert other["variance_error"] is None
    assert "over 300 s" in capsys.readouterr().err


def test_a_library_that_does_not_install_is_noted(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(environments, "HOME", tmp_path)
    monkeypatch.setattr(environments, "ROOT", tmp_path)
    monkeypatch.setattr(environments.venv, "create", lambda home, **how: home.mkdir())

    def fails(command, **how):
        assert command[-1] == "a-package"
        return type("Run", (), {"returncode": 1, "stderr": "looking\nnothing found\n\n"})

    monkeypatch.setattr(environments.subprocess, "run", fails)
    library = Library("absent", ["a-package"], [])
    with pytest.raises(RuntimeError, match="absent does not install: nothing found"):
        library.python()
    assert "installing absent" in capsys.readouterr().err


def test_every_library_says_what_it_requires():
    names = {library.name for library in libraries()}
    assert {"onepass", "scikit_learn", "intelex", "dask_ml", "gensim", "scanpy"} <= names
    solvers = [solver.name for library in libraries() for solver in library.solvers]
    assert len(solvers) == len(set(solvers))
    assert libraries()[0].name == "onepass"


def test_the_command_writes_a_row_for_each_problem(tmp_path, capsys):
    path = tmp_path / "rivals.json"
    words = ["--quick", "--only", "mean-float64", "--solvers", "onepass PCA,*eigh"]
    rivals.main([*words, "--output", str(path)])
    (row,) = json.loads(path.read_text())["rows"]
    found = {solver["solver"]: solver for solver in row["solvers"]}
    assert set(found) == {"onepass PCA", "scikit-learn PCA covariance_eigh"}
    assert found["onepass PCA"]["variance_error"] < 1e-6
    assert row["failed"] == {}
