"""scikit-learn's own contract, and its tools."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

import onepass
from tests.contracts.variants import ESTIMATORS, build

EVERY = pytest.mark.parametrize("algorithm", ESTIMATORS)
# Not all of them are part of `check_estimator`, which leaves out some for other libraries.
EXPLICIT = [
    "check_estimators_partial_fit_n_features",
    "check_dataframe_column_names_consistency",
    "check_set_output_transform_pandas",
    "check_set_output_transform_polars",
    "check_transformer_get_feature_names_out",
    "check_transformer_get_feature_names_out_pandas",
    "check_param_validation",
]


@parametrize_with_checks([getattr(onepass, name)(2) for name in ESTIMATORS])
def test_check_estimator(estimator, check):
    check(estimator)


# Some of these checks fit a table and transform an array, or the other way round.
@pytest.mark.filterwarnings("ignore:X (has|does not have valid) feature names")
@pytest.mark.parametrize("check", EXPLICIT)
@EVERY
def test_explicit_checks(algorithm, check):
    getattr(estimator_checks, check)(algorithm, getattr(onepass, algorithm)(2))


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:400] / 16, y[:400]


@EVERY
def test_in_a_pipeline(algorithm, digits):
    X, y = digits
    learner = build(algorithm, 16, random_state=0)
    pipeline = make_pipeline(StandardScaler(), learner, LogisticRegression(max_iter=2000))
    assert cross_val_score(pipeline, X, y, cv=3).mean() > 0.5  # chance is 0.1


@EVERY
def test_in_a_grid_search(algorithm, digits):
    """`score` needs no y, and more components capture more."""
    X, _ = digits
    grid = {"n_components": [1, 4, 16]}
    search = GridSearchCV(build(algorithm, 2, random_state=0), grid, cv=3).fit(X)
    scores = search.cv_results_["mean_test_score"]
    assert (np.diff(scores) > 0).all()
    assert 0 < scores[0] < scores[-1] <= 1
    assert search.best_params_ == {"n_components": 16}


@EVERY
def test_parameters_are_keyword_only_after_the_first(algorithm):
    with pytest.raises(TypeError):
        getattr(onepass, algorithm)(2, True)
    assert getattr(onepass, algorithm)(7).get_params()["n_components"] == 7
