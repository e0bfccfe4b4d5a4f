"""Which estimate `PCA` answers with, judged by what it loses: nothing here knows the candidates.

*Excess* is what is lost of the best k directions of the population, divided by what batch PCA of
the same rows loses. Each stream is one that a single part of the choice is there for.
"""

import numpy as np
import pytest
from sklearn import decomposition

from onepass import PCA, OnepassWarning, metrics

# A robust answer is what these tests ask for.
pytestmark = pytest.mark.filterwarnings("ignore:Some rows are longer")

D, K = 50, 5
SPECTRUM = 1 / np.arange(1, D + 1)
SEEDS = range(100, 104)  # nothing was chosen by these


def lost(components, population):
    """Return the share of the optimum that components lose; the population is (d, d) or (d,)."""
    matrix = np.diag(population) if np.ndim(population) == 1 else population
    moment = metrics.from_dense(matrix)
    best = np.sort(moment.weights)[::-1][: len(components)].sum()
    return metrics.suboptimality(components, moment) / best


def excesses(stream, population, k=K, seeds=SEEDS):
    """Return the excess of `PCA` on a stream(rng) for each seed."""
    found = []
    for seed in seeds:
        rows = stream(np.random.default_rng(seed))
        batch = decomposition.PCA(k, svd_solver="full").fit(rows).components_
        found.append(lost(PCA(k).fit(rows).components_, population) / lost(batch, population))
    return np.array(found)


def mean(values):
    """Return the geometric mean."""
    return float(np.exp(np.mean(np.log(values))))


def gaussian(rng, n, spectrum=SPECTRUM):
    return rng.normal(size=(n, len(spectrum))) * np.sqrt(spectrum)


def student(rng, n, degrees, spectrum=SPECTRUM):
    return gaussian(rng, n, spectrum) / np.sqrt(rng.chisquare(degrees, (n, 1)) / degrees)


# -- clean rows ------------------------------------------------------------------------------------

FLAT = np.r_[np.full(20, 1.5), np.ones(280)]  # next to no gap: every wrong choice costs


@pytest.mark.parametrize("n", [600, 3000, 9000])
def test_clean_rows_are_left_to_batch_pca(n):
    found = excesses(lambda rng: gaussian(rng, n) + 7, SPECTRUM)
    assert found.max() < 1.02
    assert mean(found) < 1.005


def test_clean_rows_with_small_gaps_are_left_to_batch_pca():
    found = excesses(lambda rng: gaussian(rng, 6000, FLAT), FLAT, k=20, seeds=[2, 100, 101])
    assert found.max() < 1.02


def test_one_hot_rows_are_left_to_batch_pca():
    """The orthogonal distribution of the paper, with frequencies 1/i."""
    shares = SPECTRUM / SPECTRUM.sum()

    def one_hot(rng):
        return np.eye(D)[rng.choice(D, 3000, p=shares)]

    population = np.diag(shares) - np.outer(shares, shares)
    assert excesses(one_hot, population).max() < 1.3


def test_rare_directions_are_no_outliers():
    """One row in a hundred is large, in the same few directions: these are the components."""
    rare = np.r_[np.full(3, 0.25), np.zeros(D - 3)][::-1]
    population = 0.09 * SPECTRUM + rare

    def stream(rng):
        rows = 0.3 * gaussian(rng, 8000)
        large = rng.random(8000) < 0.01
        rows[large] += 10 * gaussian(rng, large.sum(), rare)
        return rows

    assert excesses(stream, population, k=3).max() < 1.05


@pytest.mark.parametrize("seed", SEEDS)
def test_one_monstrous_row_does_not_drown_what_other_huge_rows_say(seed):
    """Huge rows have a direction in common, large ones another; one row has nearly all energy."""
    rng, n = np.random.default_rng(seed), 8000
    rows, kind = rng.normal(size=(n, 10)), rng.random(n)
    signs = rng.choice([-1, 1], n)
    rows[:, 1] += np.where(kind < 0.06, signs * rng.uniform(8, 20, n), 0)
    rows[:, 0] = np.where(kind > 0.99, signs * rng.uniform(60, 200, n), rows[:, 0])
    rows[int(0.97 * n), 0] = 1e6
    with pytest.warns(OnepassWarning, match="column 0 has 100.0% of the variance"):
        model = PCA(1).fit(rows)
    assert model.chosen_.name == "plain"
    assert abs(model.components_[0, 0]) > 0.999


# -- heavy tails and outliers ----------------------------------------------------------------------


@pytest.mark.parametrize(("degrees", "bound"), [(2.5, 0.25), (3, 0.35), (5, 0.6)])
def test_heavy_tails_are_better_than_batch_pca(degrees, bound):
    found = excesses(lambda rng: student(rng, 6000, degrees) + 3, SPECTRUM)
    assert mean(found) < bound
    assert found.max() < 1.02


@pytest.mark.parametrize(("n", "bound"), [(500, 0.5), (2000, 0.2)])
def test_heavy_tails_are_noticed_early(n, bound):
    assert mean(excesses(lambda rng: student(rng, n, 3), SPECTRUM)) < bound


def contaminated(rng, share, size, n=6000):
    """Rows of which a share is many times as large, in all directions, and where these are."""
    rows = gaussian(rng, n)
    large = np.flatnonzero(rng.random(int(0.8 * n)) < share)
    typical = np.sqrt(SPECTRUM.sum())
    rows[large] = size * typical * rng.normal(size=(len(large), D)) / np.sqrt(D)
    return rows


@pytest.mark.parametrize(("share", "size"), [(0.01, 5), (0.01, 30), (0.001, 30)])
def test_gross_outliers_cost_next_to_nothing(share, size):
    for seed in SEEDS:
        model = PCA(K).fit(contaminated(np.random.default_rng(seed), share, size))
        assert lost(model.components_, SPECTRUM) < 0.03


@pytest.mark.parametrize("seed", SEEDS)
def test_rare_directions_are_found_among_single_huge_rows(seed):
    """Bounding all large rows loses what is rare; the others are led astray by eight rows."""
    rng, d, k, n = np.random.default_rng(seed), 100, 20, 8000
    directions = np.linalg.qr(rng.normal(size=(d, d)))[0]
    signal, stray = directions[:k], directions[k : k + 8]
    rows = rng.normal(size=(n, d)) / np.sqrt(d)
    large = np.flatnonzero(rng.random(n) < 0.1)
    rows[large] += 5 * rng.normal(size=(len(large), 1)) * signal[rng.integers(0, k, len(large))]
    rows[rng.choice(int(0.8 * n), 8, replace=False)] += 30 * stray
    population = np.eye(d) / d + 0.1 / k * 25 * signal.T @ signal
    assert lost(PCA(k).fit(rows).components_, population) < 0.01


@pytest.mark.parametrize("at", [10, 3000])
def test_one_huge_row_costs_next_to_nothing(at):
    spectrum = np.r_[3.0, 2.0, 1.2, 0.8, 0.5, np.full(D - 5, 0.05)]
    rows = gaussian(np.random.default_rng(100), 6000, spectrum)
    rows[at] *= 1000
    model = PCA(3).fit(rows)
    assert lost(model.components_, spectrum) < 0.03
    # Order and rotation are as robust as the subspace.
    np.testing.assert_array_less(0.97, np.abs(np.diag(model.components_)))


def test_robust_false_is_batch_pca_whatever_the_rows_are():
    rows = student(np.random.default_rng(100), 4000, 2.5)
    rows[7] *= 100
    model = PCA(K, robust=False).fit(rows)
    batch = decomposition.PCA(K, svd_solver="full").fit(rows)
    np.testing.assert_allclose(np.abs(model.components_), np.abs(batch.components_), atol=1e-8)
    np.testing.assert_allclose(model.explained_variance_, batch.explained_variance_, rtol=1e-9)
    np.testing.assert_allclose(model.mean_, batch.mean_, atol=1e-9)


def test_robust_true_does_not_wait_for_evidence():
    """The last row of a stream is huge: nothing that follows can tell."""
    rows = gaussian(np.random.default_rng(100), 3000)
    rows[-1] = 1e4 * np.eye(D)[-1]
    assert lost(PCA(K, robust=True).fit(rows).components_, SPECTRUM) < 0.03
    with pytest.warns(OnepassWarning, match="has 100.0% of the variance"):
        assert lost(PCA(K, robust=False).fit(rows).components_, SPECTRUM) > 0.05


def test_large_numbers_and_a_row_at_the_centre():
    """Its weight is one, without a division by zero."""
    X = 1e6 * np.random.default_rng(0).normal(size=(300, 5))
    X[7] = 0.0
    assert np.isfinite(PCA(2, center=False, robust=True).fit(X).components_).all()


# -- streams that change ---------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_rows_in_the_order_of_their_classes_are_left_to_batch_pca(seed):
    """Each class is new to what was learned from the others, and the bounded steps lag behind."""
    rng = np.random.default_rng(seed)
    classes = 2 * rng.normal(size=(12, 30)) * np.sqrt(SPECTRUM[:30])
    rows = gaussian(rng, 8000, SPECTRUM[:30]) + classes[np.arange(8000) * 12 // 8000]
    assert lost(PCA(4).fit(rows).components_, np.cov(rows.T)) < 0.02


def test_what_was_better_once_does_not_answer_in_the_end():
    """Heavy tails first; then a few large rows that are the signal, and that will come again.

    The evidence of a few rows is not sure: one stream in fifty is lost.
    """
    losses = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        rows, signal = gaussian(rng, 12_000), np.eye(D)[-1]
        rows[:6000] = student(rng, 6000, 2.5)
        large = 6000 + np.flatnonzero(rng.random(6000) < 0.02)
        rows[large] += 15 * rng.normal(size=(len(large), 1)) * signal
        now = np.diag(SPECTRUM) + 0.02 * 15**2 * np.outer(signal, signal)
        losses.append(lost(PCA(4).fit(rows).components_, now))
    assert np.count_nonzero(np.array(losses) > 0.1) <= 1


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("place", [2500, 3700])
def test_one_huge_row_is_noticed_by_the_rows_that_follow(seed, place):
    """It is the last one of its piece of a chunk, so that the rest of the chunk is evidence."""
    rng = np.random.default_rng(seed)
    rows = gaussian(rng, 4000)
    rows[place] = 1000 * np.sqrt(SPECTRUM.sum() / D) * rng.normal(size=D)
    model = PCA(4).fit(rows)
    assert model.chosen_.name != "plain"
    assert lost(model.components_, np.diag(SPECTRUM)) < 0.03


def test_outliers_are_not_taken_for_drift():
    """The running mean walks back after each of them, always in the same direction."""

    def stream(rng):
        rows = student(rng, 6000, 2.5)
        rows[rng.random(6000) < 0.001] *= 50
        return rows

    assert mean(excesses(stream, SPECTRUM, seeds=range(100, 108))) < 0.25
