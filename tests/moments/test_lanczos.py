"""Eigenpairs found by iteration are LAPACK's, or there are none."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onepass.moments.lanczos import _proven, leading_pairs

D = 60


def matrix_of(spectrum, seed=0):
    """Return a symmetric matrix with some eigenvalues; below the diagonal it is not to be read."""
    turn = np.linalg.qr(np.random.default_rng(seed).normal(size=(D, D)))[0]
    whole = (turn * np.resize(spectrum, D)) @ turn.T
    return np.asfortranarray(np.triu(whole) + np.tril(np.full((D, D), np.nan), -1)), whole


SPECTRA = {
    "decaying": 0.7 ** np.arange(D),
    "gapped": np.r_[[9.0, 8.0, 7.0], np.linspace(0.1, 0.01, D - 3)],
    "flat": np.ones(D),
    "ties": np.repeat([5.0, 3.0, 1.0, 0.5], D // 4),
    "a pair": np.r_[2.0, 2.0, 0.9 ** np.arange(D - 2)],
    "few": np.r_[[3.0, 2.0], np.zeros(D - 2)],
    "zero": np.zeros(D),
}


@pytest.mark.parametrize("scale", [1e-200, 1e-100, 1.0, 1e100, 1e200])
@pytest.mark.parametrize("k", [1, 2, 3, 8])
@pytest.mark.parametrize("name", SPECTRA)
def test_right_or_none(name, k, scale):
    upper, whole = matrix_of(scale * SPECTRA[name])
    found = leading_pairs(upper, k, 40)
    if found is not None:
        values, vectors = found
        right = np.linalg.eigvalsh(whole)[::-1][:k]
        np.testing.assert_allclose(values, right, atol=1e-13 * right[0])
        np.testing.assert_allclose(vectors @ vectors.T, np.eye(k), atol=1e-12)
        left = vectors @ whole - values[:, None] * vectors
        np.testing.assert_allclose(left, 0.0, atol=1e-13 * right[0])


@pytest.mark.parametrize("name", ["decaying", "gapped"])
def test_what_is_easy_is_found(name):
    assert leading_pairs(matrix_of(SPECTRA[name])[0], 3, 40) is not None


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.sampled_from([0.0, 1e-8, 0.5, 0.5, 1.0, 1.0 - 1e-9, 2.0]), min_size=D, max_size=D),
    st.integers(1, 6),
    st.integers(0, 99),
)
def test_no_larger_eigenvalue_is_ever_missed(spectrum, k, seed):
    """Whatever is equal, nearly equal or zero."""
    spectrum = np.sort(spectrum)[::-1]
    found = leading_pairs(matrix_of(spectrum, seed)[0], k, 50)
    if found is not None:
        np.testing.assert_allclose(found[0], spectrum[:k], atol=1e-11)


@pytest.mark.parametrize("missed", [True, False])
def test_a_missed_one_is_noticed(missed):
    upper, whole = matrix_of(SPECTRA["gapped"])
    values, vectors = np.linalg.eigh(whole)
    first = D - 2 if missed else D - 1
    kept = [first, first - 1]
    assert _proven(upper, values[kept], vectors.T[kept]) is not missed
