"""Merged estimators are as good as one pass. The contracts say what is exact about them."""

import numpy as np
import pytest
from sklearn import decomposition

import onepass
from onepass import PCA


def test_a_model_of_another_library_is_named():
    X = np.random.default_rng(0).normal(size=(30, 3))
    with pytest.raises(ValueError, match="model 2 is sklearn's PCA, the first is onepass's PCA"):
        PCA(2).fit(X).merge(decomposition.PCA(2).fit(X))


def test_the_same_rows_do_not_count_twice():
    X = np.random.default_rng(0).normal(size=(30, 3))
    one, other = PCA(2).fit(X), PCA(2).fit(X)
    for models in ((one, one), (one, other, one), (one, other, other)):
        with pytest.raises(ValueError, match=r"is the same object as model.* count twice"):
            onepass.merge(*models)
    assert one.merge(other).n_samples_seen_ == 60
