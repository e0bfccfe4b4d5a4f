"""Every distribution: what it draws has the second moment that it claims."""

import numpy as np
import pytest

from onepass.sources.synthetic import Gaussian, Orthogonal, StudentT, Toy

SPECTRUM = [5.0, 2.0, 1.0, 0.25]
MEAN = [1.0, -2.0, 0.5, 0.0, 3.0, 0.0]
DISTRIBUTIONS = {
    "toy": Toy(),
    "orthogonal": Orthogonal(),
    "orthogonal signed": Orthogonal(8, 1.5, signed=True),
    "gaussian": Gaussian(SPECTRUM),
    "gaussian noise": Gaussian(SPECTRUM, d=6, noise=0.5),
    "gaussian rotated": Gaussian(SPECTRUM, d=6, noise=0.5, rotation=3),
    "gaussian mean": Gaussian(SPECTRUM, d=6, noise=0.5, rotation=3, mean=MEAN),
    "gaussian mean full": Gaussian([*SPECTRUM, 1.0, 1.0], rotation=3, mean=MEAN),
    "student": StudentT(SPECTRUM, 9, d=6, noise=0.5, rotation=4),
    "student mean": StudentT(SPECTRUM, 9, d=6, mean=MEAN),
}


@pytest.fixture(params=DISTRIBUTIONS.values(), ids=DISTRIBUTIONS.keys())
def distribution(request):
    return request.param


def test_sampled_second_moment(distribution):
    n = 200_000
    rows = distribution.sample(n, np.random.default_rng(0))
    assert rows.shape == (n, distribution.d)
    assert rows.dtype == np.float64
    assert rows.flags.c_contiguous
    claimed = distribution.second_moment().to_dense()
    entries = np.einsum("ni,nj->nij", rows[:20_000], rows[:20_000])
    deviation = entries.std(axis=0) / np.sqrt(n)
    assert (np.abs(rows.T @ rows / n - claimed) <= 5.5 * deviation + 1e-12).all()


def test_second_moment_is_a_subspace(distribution):
    moment = distribution.second_moment()
    np.testing.assert_allclose(moment.basis @ moment.basis.T, np.eye(moment.rank), atol=1e-14)
    assert (moment.weights >= 0).all()


def test_optimum(distribution):
    eigenvalues = np.linalg.eigvalsh(distribution.second_moment().to_dense())[::-1]
    for k in range(1, distribution.d + 1):
        assert distribution.optimum(k) == pytest.approx(eigenvalues[:k].sum(), rel=1e-12)


def test_stream_rows_depend_on_the_seed_alone(distribution):
    rows = np.vstack(list(distribution.stream(2500, seed=5)))
    again = distribution.stream(2500, seed=5, block_rows=377)
    assert rows.shape == (2500, distribution.d)
    for _ in range(2):
        np.testing.assert_array_equal(np.vstack(list(again)), rows)
    assert not np.array_equal(np.vstack(list(distribution.stream(2500, seed=6))), rows)
    assert not np.array_equal(rows[:1024], rows[1024:2048])


@pytest.mark.parametrize("block_rows", [1, 7, 1024, 1500, 5000])
def test_stream_goes_on_from_any_position(block_rows):
    source = Toy().stream(3000, seed=1, block_rows=block_rows)
    rows = np.vstack(list(source))
    positions = [position for position, _ in source.blocks()]
    assert positions[-1] == (0, 3000)
    for position in positions[:: max(1, len(positions) // 5)]:
        rest = [block for _, block in source.blocks(list(position))]
        np.testing.assert_array_equal(np.vstack([rows[:0], *rest]), rows[position.row :])


def test_covariance_is_the_given_spectrum():
    for distribution in (
        Gaussian(SPECTRUM, d=6, noise=0.5, rotation=1, mean=MEAN),
        StudentT(SPECTRUM, 2.5, d=6, noise=0.5, rotation=1, mean=MEAN),
    ):
        eigenvalues = np.linalg.eigvalsh(distribution.covariance().to_dense())
        np.testing.assert_allclose(eigenvalues, sorted([*SPECTRUM, 0.5, 0.5]), rtol=1e-13)
        difference = distribution.second_moment().to_dense() - distribution.covariance().to_dense()
        np.testing.assert_allclose(difference, np.outer(MEAN, MEAN), atol=1e-13)


def test_student_has_one_radius_per_row_and_heavy_tails():
    rows = StudentT(np.ones(400), 5).sample(20_000, np.random.default_rng(0))
    # |x|^2 / 400 is close to the squared radius 3 / chi2(5); the median of chi2(5) is 4.3515.
    radii2 = (rows**2).mean(axis=1)
    assert radii2.mean() == pytest.approx(1, abs=0.1)
    assert np.median(radii2) == pytest.approx(3 / 4.3515, rel=0.05)


def test_orthogonal_probabilities():
    i = np.arange(1, 33)
    sigma = 1.1**-i / (1.1**-i).sum()
    text = np.sqrt(sigma / np.linalg.norm(sigma))
    np.testing.assert_allclose(Orthogonal().probabilities, text / text.sum(), rtol=1e-13)
    np.testing.assert_allclose(Orthogonal(signed=True).probabilities, sigma, rtol=1e-13)
    rows = Orthogonal(signed=True).sample(500, np.random.default_rng(0))
    assert set(np.unique(rows)) == {-1.0, 0.0, 1.0}
    assert (np.abs(rows).sum(axis=1) == 1).all()


@pytest.mark.parametrize(
    "make",
    [
        lambda: Orthogonal(tau=1.0),
        lambda: StudentT([1.0], df=2),
        lambda: Gaussian([1.0, 2.0], d=1),
        lambda: Gaussian([1.0, -2.0]),
        lambda: Gaussian([1.0, np.nan]),
        lambda: Gaussian([1.0], mean=[0.0, 0.0]),
        lambda: Toy().stream(0),
    ],
)
def test_impossible_distributions_are_refused(make):
    with pytest.raises(ValueError):
        make()
