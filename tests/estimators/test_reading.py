"""What is read from a fitted estimator: coordinates and back, precision, arrays of one's own."""

import warnings

import numpy as np
import pytest
from scipy import sparse

import onepass
from onepass import PCA, CappedMSG
from tests.contracts.variants import build

NAMES = tuple(onepass.ESTIMATORS)
RNG = np.random.default_rng(0)
X = RNG.normal(size=(700, 6)) * [5, 4, 3, 1, 1, 0.5]


@pytest.mark.parametrize("whiten", [False, True])
def test_errors_of_inverse_transform_speak_of_components(whiten):
    model = PCA(2, whiten=whiten).fit(X)
    with pytest.raises(ValueError, match=r"X has shape \(700, 6\), and there are 2 components"):
        model.inverse_transform(X)
    with pytest.raises(ValueError, match=r"^X (contains|has) NaN"):
        model.inverse_transform([[0.0, np.nan]])
    Z = model.transform(X)
    np.testing.assert_allclose(
        model.inverse_transform(sparse.csr_matrix(Z)), model.inverse_transform(Z)
    )


def test_parameters_set_later_do_not_change_what_was_learned():
    model = PCA(2).fit(X + 100)
    before = model.transform(X + 100)
    np.testing.assert_array_equal(model.set_params(center=False).transform(X + 100), before)
    assert CappedMSG(2).fit(X).set_params(n_components=3).transform(X).shape == (700, 2)


def test_what_is_published_can_be_written_to():
    model = PCA(2).fit(X)
    model.components_[:] = 0
    model.explained_variance_[:] = 0
    assert model.components_.any()
    assert model.explained_variance_.any()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("k", [2, 5, 7])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_without_variance_in_a_direction_there_is_no_precision(name, k, dtype):
    """What rounding leaves of a variance is none: its inverse would be 1e14."""
    rows = np.hstack([X, X[:, :1]]).astype(dtype) / 7  # of rank six in seven columns
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PCA says that there are fewer components
        model = build(name, k, random_state=0).fit(rows)
    if k < 6:
        precision, d = model.get_precision(), rows.shape[1]
        np.testing.assert_allclose(precision @ model.get_covariance(), np.eye(d), atol=1e-3)
        assert np.isfinite(model.score_samples(rows[:3])).all()
        return
    with pytest.raises(ValueError, match="directions without any variance"):
        model.get_precision()
    assert np.isfinite(model.score_samples(rows)).all()
