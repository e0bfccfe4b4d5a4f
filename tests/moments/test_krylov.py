"""Leading eigenpairs, by block Krylov iteration and by LAPACK, against matrices whose are known."""

import numpy as np
import pytest

from onepass.moments.exact import SecondMoment
from onepass.moments.krylov import SMALL, Krylov, improved, with_random


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


def test_what_is_lost_is_bounded():
    values = 1.0 / np.arange(1, 201)
    krylov = iterated(matrix_with(values), 4, 3)
    lost = values[:4].sum() - krylov.captured(4)
    assert 1e-9 < lost < krylov.lost(4) < 10 * lost


def test_previous_directions_save_steps_and_hide_nothing():
    """Rows along columns that were zero before leave no trace in products with what was found."""
    values = np.r_[1.0, 0.5, np.full(298, 0.01), 3.0, 2.0]
    A = np.diag(values)
    np.testing.assert_allclose(iterated(A, 2, 4, np.eye(2, 302)).values[:2], [3.0, 2.0], rtol=1e-6)
    V = iterated(A, 2, 6).directions(2) + 1e-4 * np.eye(2, 302)
    assert 5.0 - iterated(A, 2, 2, V).captured(2) < 1e-9


def moment_with(A):
    """Return the second moment whose scatter is a matrix."""
    moment = SecondMoment(len(A), center=False)
    moment.squares, moment.weight = np.asfortranarray(np.tril(A)), 1.0
    return moment


@pytest.mark.parametrize("size", [1e-250, 1e-100, 1.0, 1e100, 1e250])
@pytest.mark.parametrize(
    ("values", "k"),
    [
        (1.0 / np.arange(1, 6), 5),
        (1.0 / np.arange(1, 41), 3),
        (1.0 / np.arange(1, SMALL + 41), 60),
        (1.0 / np.arange(1, SMALL + 41), 3),
        (np.r_[np.full(8, 2.0), np.linspace(1, 0.1, SMALL)], 8),  # equal ones
        (np.r_[2.0, 1.5, np.full(SMALL, 1.0)], 6),
        (np.r_[5.0, 4.0, np.zeros(SMALL)], 6),
        (np.sort(np.random.default_rng(0).gamma(9, size=600))[::-1], 40),
        (np.zeros(SMALL + 10), 2),
    ],
)
def test_an_exact_moment_is_read_to_the_last_digits_at_any_size(values, k, size):
    A = matrix_with(values)
    directions, sums = moment_with(A * size).leading(k)
    unit = max(values[0], 1e-300)
    np.testing.assert_allclose(sums / size / unit, values[:k] / unit, atol=1e-9)
    np.testing.assert_allclose(directions @ directions.T, np.eye(k), atol=1e-12)
    captured = np.trace(directions @ A @ directions.T)
    assert values[:k].sum() - captured <= 1e-10 * values[:k].sum()
    assert directions.flags.c_contiguous


def test_directions_near_the_leading_ones_are_improved():
    values = 1.0 / np.arange(1, 401) ** 2
    A = matrix_with(values)
    V = np.linalg.eigh(A)[1][:, :-4:-1].T
    noise = np.random.default_rng(1).normal(size=V.shape) / np.sqrt(V.shape[1])
    start = np.linalg.qr((V + 0.3 * noise).T)[0].T
    found, _ = improved(lambda columns: A @ columns, start)
    np.testing.assert_allclose(found @ found.T, np.eye(3), atol=1e-12)
    lost, before = (1 - np.trace(W @ A @ W.T) / values[:3].sum() for W in (found, start))
    assert before > 0.02
    assert lost < 1e-3


@pytest.mark.parametrize("scale", [0.0, 1e-300, 1.0, 1e300])
def test_of_few_rows_improved_directions_are_orthonormal(scale):
    row = np.random.default_rng(0).normal(size=300)
    A = scale * np.outer(row, row) / (row @ row)
    found, sums = improved(lambda columns: A @ columns, np.eye(3, 300))
    np.testing.assert_allclose(found @ found.T, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(sums, [scale, 0, 0], rtol=1e-9, atol=1e-9 * scale)
