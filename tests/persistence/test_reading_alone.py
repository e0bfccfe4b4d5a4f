"""A model file that is only read: the same numbers, without what only learning needs."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import onepass
from onepass.estimators.saving import open_model
from tests.contracts.variants import build

X = np.random.default_rng(0).normal(size=(700, 6)) * [5, 4, 3, 1, 1, 0.5]
TABLE = pd.DataFrame(X, columns=list("abcdef"))
READ = ["components_", "explained_variance_", "components_error_", "angle_", "mean_"]
READ += ["missing_share_", "feature_names_in_"]


@pytest.mark.parametrize("learns", [True, False])
@pytest.mark.parametrize("name", onepass.ESTIMATORS)
def test_all_attributes_are_those_of_the_estimator(name, learns, tmp_path):
    model = build(name, 2, random_state=0).fit(TABLE)
    model = model if learns else model.for_transform()
    model.save(tmp_path / "m")
    read = open_model(tmp_path / "m")
    for attribute in READ:
        np.testing.assert_array_equal(getattr(read, attribute), getattr(model, attribute))
    assert read.algorithm_ == name
    assert read.get_params() == model.get_params()
    assert read.captured_ == model.captured_
    assert read.n_samples_seen_ == 700
    assert list(read.get_feature_names_out()) == list(model.get_feature_names_out())
    source = onepass.sources.ArraySource(X)
    assert read.score(source) == model.score(source)


def test_scikit_learn_is_not_imported(tmp_path):
    onepass.PCA(2, scale=True, robust=True).fit(X).save(tmp_path / "m")
    code = (
        "import sys; from onepass.estimators.saving import open_model; "
        "open_model(sys.argv[1]).captured_; assert 'sklearn' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code, tmp_path / "m"], check=True)
