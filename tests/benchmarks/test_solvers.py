"""Every solver finds the directions that it is timed for finding."""

import warnings

import numpy as np
import pytest
from scipy import sparse

import benchmarks.solvers
from benchmarks.registry import discover
from onepass import CappedMSG, metrics
from onepass.sources.synthetic import Gaussian

# Libraries that are compared with warn of their own future when they are imported.
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    SOLVERS, _ = discover(benchmarks.solvers, "SOLVERS")

POPULATION = Gaussian([50.0, 40.0, 30.0], d=40, noise=0.5, rotation=0)
ROWS = POPULATION.sample(600, np.random.default_rng(2))


def lost(solver, rows):
    directions = solver.fit(solver.prepare(rows, 3), 3)
    assert directions.shape == (3, 40)
    best = POPULATION.optimum(3)
    return 1 - metrics.captured(np.asarray(directions, float), POPULATION) / best


@pytest.mark.parametrize("name", [n for n, s in SOLVERS.items() if s.dense and n != "floor"])
def test_finds_the_directions_of_dense_rows(name):
    assert lost(SOLVERS[name], ROWS) < 0.05


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [n for n, s in SOLVERS.items() if s.sparse and n != "floor"])
def test_finds_the_directions_of_sparse_rows(name):
    assert lost(SOLVERS[name], sparse.csr_array(ROWS)) < 0.05


def test_the_naive_solver_is_capped_msg():
    naive = SOLVERS["naive"].fit(ROWS, 3)
    ours = CappedMSG(3, average=False, center=False).fit(ROWS).components_
    assert metrics.principal_angles(naive, ours).max() < 1e-6
