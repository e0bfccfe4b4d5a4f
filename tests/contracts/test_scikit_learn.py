"""scikit-learn's own contract, and its tools."""

import numpy as np
import pytest
import sklearn
from sklearn.datasets import load_digits
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
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
]


# A weight of 2 is the row twice where the result is a function of sums over the rows. The others
# step once with a heavy row and twice with two rows, and PCA chooses on rows in their order.
WEIGHT_CHECKS = [
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
]


def expected_failures(estimator):
    """Return the checks that an estimator is known to fail, with the reason."""
    if isinstance(estimator, onepass.ERM | onepass.PCA | onepass.IncrementalPCA):
        return {}
    return dict.fromkeys(WEIGHT_CHECKS, "results depend on the order of the rows")


@parametrize_with_checks(
    [getattr(onepass, name)(2) for name in ESTIMATORS],
    expected_failed_checks=expected_failures,
)
def test_check_estimator(estimator, check):
    check(estimator)


@EVERY
def test_metadata_routing_passes_weights_through_a_pipeline(algorithm):
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(300, 5)) + [0, 1, 2, 3, 4], rng.integers(0, 4, size=300)
    with sklearn.config_context(enable_metadata_routing=True):
        step = build(algorithm, 2, random_state=0).set_fit_request(sample_weight=True)
        pipeline = make_pipeline(FunctionTransformer(), step).fit(X, sample_weight=weights)
        unweighted = make_pipeline(FunctionTransformer(), build(algorithm, 2, random_state=0))
        with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
            unweighted.fit(X, sample_weight=weights)
    expected = build(algorithm, 2, random_state=0).fit(X, sample_weight=weights)
    np.testing.assert_array_equal(pipeline[-1].components_, expected.components_)
    assert pipeline[-1].n_samples_seen_ == (weights > 0).sum()


# Some of these checks fit a table and transform an array, or the other way round.
@pytest.mark.filterwarnings("ignore:X (has|does not have valid) feature names")
@pytest.mark.parametrize("check", EXPLICIT)
@EVERY
def test_explicit_checks(algorithm, check):
    getattr(estimator_checks, check)(algorithm, getattr(onepass, algorithm)(2))


@EVERY
def test_in_a_grid_search(algorithm):
    """`score` needs no y, and more components capture more."""
    X = load_digits().data[:400] / 16
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
