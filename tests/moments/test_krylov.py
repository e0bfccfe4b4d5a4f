"""Block Krylov iteration against eigenpairs of dense matrices."""

import numpy as np
import pytest

from onepass.moments.krylov import Krylov, with_random


def matrix_with(values, seed=0):
    d = len(values)
    Q = np.linalg.qr(np.random.default_rng(seed).normal(size=(d, d)))[0]
    return (Q * values) @ Q.T


def iterated(A, k, steps, start=None):
    d = len(A)
    start = np.zeros((0, d)) if start is None else start
    krylov = Krylov(with_random(start, min(k + 8, d), d))
    for _ in range(steps):
        if krylov.block.shape[1]:
            krylov.add(A @ krylov.block)
    return krylov


@pytest.mark.parametrize(
    ("values", "k", "steps"),
    [
        (1.0 / np.arange(1, 301) ** 2, 5, 8),
        (np.r_[np.full(8, 2.0), np.linspace(1, 0.1, 292)], 8, 12),  # eight equal ones
        (np.r_[5.0, 4.0, 3.0, np.zeros(57)], 6, 4),  # of low rank: nothing is left
        (10.0 ** -np.arange(0.0, 100.0), 3, 10),
        (np.ones(20), 4, 3),
        (1e-200 / np.arange(1.0, 31), 4, 6),
        (np.zeros(30), 2, 3),
        (np.array([3.0]), 1, 2),
    ],
)
def test_finds_the_leading_eigenpairs(values, k, steps):
    A = matrix_with(values)
    krylov = iterated(A, k, steps)
    directions, unit = krylov.directions(k), max(values[0], 1e-300)
    np.testing.assert_allclose(krylov.values[:k] / unit, values[:k] / unit, atol=1e-8)
    np.testing.assert_allclose(directions @ directions.T, np.eye(k), atol=1e-9)
    errors = (A @ directions.T - directions.T * krylov.values[:k]) / unit
    np.testing.assert_allclose(np.linalg.norm(errors, axis=0), 0.0, atol=1e-4)
    np.testing.assert_allclose(krylov.residuals(k) / unit, 0.0, atol=1e-4)


def test_residuals_are_those_of_the_directions():
    A = matrix_with(1.0 / np.arange(1, 201))
    krylov = iterated(A, 4, 3)
    V = krylov.directions(4)
    true = np.linalg.norm(A @ V.T - V.T * krylov.values[:4], axis=0)
    assert true.min() > 1e-6
    np.testing.assert_allclose(krylov.residuals(4), true, rtol=1e-6)


def test_previous_directions_save_steps_and_hide_nothing():
    """Rows along columns that were zero before leave no trace in products with what was found."""
    values = np.r_[1.0, 0.5, np.full(298, 0.01), 3.0, 2.0]
    A = np.diag(values)
    np.testing.assert_allclose(iterated(A, 2, 4, np.eye(2, 302)).values[:2], [3.0, 2.0], rtol=1e-6)
    V = iterated(A, 2, 6).directions(2) + 1e-4 * np.eye(2, 302)
    assert 5.0 - iterated(A, 2, 2, V).captured(2) < 1e-9
