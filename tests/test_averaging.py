"""The average of iterates is the same whether they come as a matrix or as directions."""

import numpy as np
import pytest

from onepass.averaging import Average
from onepass.subspace import Subspace

D = 12


def iterates(seed, count):
    """Return random iterates of rank 3."""
    rng = np.random.default_rng(seed)
    return [
        Subspace(np.linalg.qr(rng.normal(size=(D, 3)))[0].T, rng.uniform(0.3, 1.0, 3), 0.1)
        for _ in range(count)
    ]


def averaged(found, as_matrix, rank=D):
    """Return the average of some iterates."""
    average = Average(D, rank, np.dtype(np.float64))
    if as_matrix:
        lifted = sum(s.to_dense() - s.rest * np.eye(D) for s in found)
        average.add_matrix(lifted, sum(s.rest for s in found), len(found))
    else:
        for iterate in found:
            average.add([iterate], 1)
    return average


@pytest.mark.parametrize("ways", [(True, True), (True, False), (False, True), (False, False)])
def test_a_merged_average_is_that_of_all_iterates(ways):
    ours, theirs = iterates(0, 30), iterates(1, 20)
    average = averaged(ours, ways[0])
    average.merge(averaged(theirs, ways[1]))
    expected = sum(s.to_dense() for s in ours + theirs) / 50
    assert average.count == 50
    np.testing.assert_allclose(average.value().to_dense(), expected, atol=1e-12)


@pytest.mark.parametrize("as_matrix", [True, False])
def test_what_fades_counts_less(as_matrix):
    average = averaged(iterates(2, 30), as_matrix)
    average.fade(0.25)
    average.add(iterates(3, 1), 1)
    old, new = (sum(s.to_dense() for s in iterates(*which)) for which in ((2, 30), (3, 1)))
    np.testing.assert_allclose(
        average.value().to_dense(), (0.25 * old + new) / (0.25 * 30 + 1), atol=1e-12
    )


@pytest.mark.parametrize("as_matrix", [True, False])
def test_a_copy_goes_on_by_itself(as_matrix):
    average = averaged(iterates(4, 5), as_matrix)
    before, twin = average.value().to_dense(), average.copy()
    twin.add_matrix(np.eye(D), 0.0, 1)
    twin.add(iterates(5, 20), 20)
    np.testing.assert_array_equal(average.value().to_dense(), before)
    assert not np.allclose(twin.value().to_dense(), before)


def test_a_matrix_is_truncated_only_where_it_is_looked_at():
    found = iterates(6, 40)
    average = averaged(found[:20], True, rank=4)
    assert average.value().rank <= 4
    average.merge(averaged(found[20:], True, rank=4))
    values, vectors = np.linalg.eigh(sum(s.to_dense() for s in found) / 40)
    leading = average.directions(3)
    np.testing.assert_allclose(abs(leading @ vectors[:, ::-1][:, :3]), np.eye(3), atol=1e-10)
    np.testing.assert_allclose(average.value().weights, values[::-1][:4], rtol=1e-12)
