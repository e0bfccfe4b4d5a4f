"""A share of the variance is one of all rows, whichever candidate answers."""

import numpy as np
import pytest

from onepass import PCA

rng = np.random.default_rng(0)
X = rng.normal(size=(3000, 20)) * 0.8 ** np.arange(20)
X[::100] += 20.0 * rng.normal(size=(30, 20))


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
@pytest.mark.parametrize("scale", [False, True])
def test_robust_components_capture_the_share_with_as_few_as_they_can(share, scale):
    model = PCA(share, robust=True, scale=scale).partial_fit(X)
    ratios = model.explained_variance_ratio_
    assert model.chosen_.name == "bounded"
    assert ratios.sum() >= share
    assert ratios[:-1].sum() < share
