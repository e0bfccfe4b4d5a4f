"""LAPACK's own ratios on many rank-one updates, and values that are right to the last digits.

The incremental algorithm in d dimensions that drops nothing is the update itself: from
M = diag(d) and the row z it comes to the eigenvalues and eigenvectors of diag(d) + z z'.
"""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onepass import _core

EPS = np.finfo(float).eps
CASES = 15_000
KINDS = {
    "plain": lambda rng, n: (rng.random(n), rng.standard_normal(n)),
    "ties": lambda rng, n: (rng.integers(0, 4, n) / 3, rng.standard_normal(n)),
    "zeros": lambda rng, n: (
        rng.integers(0, 4, n) / 3, rng.standard_normal(n) * (rng.random(n) < 0.4),
    ),
    "one-hot": lambda rng, n: (rng.random(n).round(1), np.eye(n[1])[rng.integers(0, n[1], n[0])]),
    "near ties": lambda rng, n: (1.0 + EPS * rng.integers(-3, 4, n), rng.standard_normal(n)),
    "graded": lambda rng, n: (10.0 ** rng.integers(-20, 21, n), 10.0 ** rng.integers(-10, 11, n)),
    "tiny entries": lambda rng, n: (
        1.0 + 10.0 ** rng.integers(-17, 0, n),
        rng.standard_normal(n) * 10.0 ** rng.integers(-30, 1, n),
    ),
    "any sign": lambda rng, n: (rng.standard_normal(n), rng.standard_normal(n)),
    "far scales": lambda rng, n: (
        rng.random(n).round(1) * 10.0 ** rng.integers(-300, 301, (n[0], 1)),
        rng.standard_normal(n) * 10.0 ** rng.integers(-150, 150, (n[0], 1)),
    ),
    "small eigenvalues": lambda rng, n: (
        rng.random(n) * 10.0 ** rng.integers(-300, 1, n),
        rng.standard_normal(n) * 10.0 ** rng.integers(-150, 1, n),
    ),
}  # fmt: skip


def spectra(kind):
    """Yield (diagonals, zs) of shape (cases of one width, n)."""
    rng = np.random.default_rng(0)
    for n in range(1, 15):
        d, z = KINDS[kind](rng, (CASES // (14 * len(KINDS)), n))
        d[::2] = -np.sort(-d[::2], axis=1)
        yield d, z


def solve(d, z):
    """Return the eigenvalues (n,) and eigenvectors (n, n) of diag(d) + z z'."""
    d, z = np.array(d, dtype=float), np.array(z, dtype=float)
    rule = _core.Rule("incremental", 1, max_rank=len(d))
    out = _core.advance(rule, np.eye(len(d)), d, 0.0, z[None], None)
    return out.weights, out.basis


@pytest.mark.parametrize("kind", KINDS)
def test_ratios_stay_small_on_many_updates(kind):
    """Test |A - V'LV| / (n eps |A|), |I - VV'| / (n eps) and the order of the values."""
    for diagonals, zs in spectra(kind):
        n = diagonals.shape[1]
        pairs = [solve(d, z) for d, z in zip(diagonals, zs, strict=True)]
        values, vectors = (np.stack(parts) for parts in zip(*pairs, strict=True))
        scale = np.maximum(abs(diagonals).max(axis=1), (zs**2).max(axis=1))[:, None]
        scale[scale == 0.0] = 1.0
        unit = zs / np.sqrt(scale)
        wanted = unit[:, :, None] * unit[:, None, :]
        wanted += (diagonals / scale)[:, :, None] * np.eye(n)
        got = np.einsum("cpi,cp,cpj->cij", vectors, values / scale, vectors)
        # 1 is the size of the larger summand, which a negative diagonal may cancel.
        size = np.maximum(np.linalg.norm(wanted, axis=(1, 2)), 1.0)
        residual = np.linalg.norm(got - wanted, axis=(1, 2)) / size
        tilt = np.linalg.norm(vectors @ vectors.transpose(0, 2, 1) - np.eye(n), axis=(1, 2))
        assert residual.max() < 5 * n * EPS
        assert tilt.max() < 5 * n * EPS
        assert (np.diff(values, axis=1) <= 0).all()


def count_above(d, z, x):
    """Return how many eigenvalues of diag(d) + zz' exceed x, by Sylvester, in exact arithmetic."""
    x = Fraction(x)
    kept = [(Fraction(a), Fraction(b)) for a, b in zip(d, z, strict=True)]
    above = sum(a > x for a, _ in kept)
    if any(a == x for a, _ in kept):
        raise ZeroDivisionError
    return above + (1 + sum(b * b / (a - x) for a, b in kept) < 0)


poles = st.floats(0, 1) | st.sampled_from([0.0, 0.25, 0.5, 1.0])
entries = st.floats(-1, 1) | st.sampled_from([0.0, 1.0, 1e-9, 1e-20])
problems = st.integers(1, 6).flatmap(
    lambda n: st.tuples(
        st.lists(poles, min_size=n, max_size=n), st.lists(entries, min_size=n, max_size=n)
    )
)


@given(problems, st.sampled_from([0, 3, 20, 150]))
def test_small_values_keep_their_digits_beside_a_huge_z(problem, exponent):
    d, z = problem
    z = [entry * 10.0**exponent for entry in z]
    values, _ = solve(d, z)
    for i, value in enumerate(values):
        margin = 1e-14 * max(1.0, abs(value) if i == 0 else 0.0) * len(d)
        for x, wanted in ((value - margin, i + 1), (value + margin, i)):
            while x in d:
                x += margin * (-1e-3 if wanted == i + 1 else 1e-3)
            count = count_above(d, z, x)
            assert count >= wanted if wanted == i + 1 else count <= wanted
