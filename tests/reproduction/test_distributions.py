"""The paper's distributions draw what they say."""

import numpy as np
import pytest

from reproduction.distributions import Orthogonal


@pytest.mark.parametrize("signed", [False, True])
def test_orthogonal_rows_have_the_second_moment_of_the_paper(signed):
    i, n = np.arange(1, 33), 100_000
    p = 1.1**-i if signed else 1.1 ** (-i / 2)
    source = Orthogonal(signed=signed)
    np.testing.assert_allclose(source.probabilities, p / p.sum(), rtol=1e-13)
    rows = source.sample(n, np.random.default_rng(0))
    deviations = np.sqrt(source.probabilities / n)
    assert (np.abs((rows**2).mean(axis=0) - source.probabilities) < 5 * deviations).all()
    assert (np.abs(rows).sum(axis=1) == 1).all()
    assert bool((rows < 0).any()) is signed
