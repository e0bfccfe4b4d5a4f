"""What `to_sklearn` returns does what the estimator does, without onepass."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA as BatchPCA
from sklearn.pipeline import Pipeline

import onepass

X = np.random.default_rng(0).normal(size=(400, 6)) * [5, 4, 3, 2, 1, 0.5] + 3
PARAMETERS = [
    ("PCA", {}),
    ("PCA", {"n_components": 6, "whiten": True}),
    ("PCA", {"center": False}),
    ("PCA", {"scale": True, "whiten": True}),
    ("PCA", {"scale": True, "center": False}),
    ("IncrementalPCA", {"whiten": True}),
    *((name, {}) for name in ("CappedMSG", "MEG", "Incremental", "Grouse", "ERM")),
]


@pytest.mark.parametrize(("name", "params"), PARAMETERS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_it_transforms_and_scores_as_the_estimator(name, params, dtype):
    rows, tolerance = X.astype(dtype), 1e-10 if dtype == np.float64 else 1e-4
    model = getattr(onepass, name)(**{"n_components": 3, **params}).fit(rows)
    theirs = model.to_sklearn()
    assert isinstance(theirs, Pipeline if params.get("scale") else BatchPCA)
    coordinates = model.transform(rows)
    np.testing.assert_allclose(theirs.transform(rows), coordinates, atol=50 * tolerance)
    back = model.inverse_transform(coordinates)
    np.testing.assert_allclose(theirs.inverse_transform(coordinates), back, atol=50 * tolerance)
    if params.get("whiten"):  # scikit-learn's densities are those of another covariance
        return
    scores = model.score_samples(rows)
    if params.get("scale"):  # densities of scaled rows
        scores = scores + np.log(model.scale_).sum()
    np.testing.assert_allclose(theirs.score_samples(rows), scores, rtol=100 * tolerance)
    clone(theirs).fit(rows)


def test_it_knows_the_names_of_columns_and_changes_nothing_here():
    table = pd.DataFrame(X, columns=[*"abcdef"])
    model = onepass.PCA(2, scale=True).fit(table)
    theirs, before = model.to_sklearn(), model.components_
    theirs[-1].components_[:] = 0.0
    np.testing.assert_array_equal(model.components_, before)
    assert list(theirs[0].feature_names_in_) == [*"abcdef"]
    assert list(theirs.get_feature_names_out()) == ["pca0", "pca1"]
