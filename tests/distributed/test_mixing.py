"""No row leaves its worker."""

import numpy as np
import pytest
import scipy.sparse as sp

from onepass import PCA, CappedMSG, Incremental, Oja
from onepass.distributed.learning import join, learn
from onepass.distributed.mixing import mix
from onepass.estimators.pca import EXACT_COLUMNS
from onepass.estimators.persistence import pack
from tests.distributed.models import made_rows

D = EXACT_COLUMNS + 100  # from where on there is a sample
X = made_rows(600, d=D)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("weighted", [False, True])
def test_mixtures_say_what_the_rows_have_said(kind, weighted):
    learner = PCA(3).fit(kind(X))._learner.settled()
    second, mean, sample = learner.second, learner.mean, learner.second._sample
    if weighted:
        sample.weights = np.linspace(0.5, 2.0, len(sample.weights))
    directions = np.linalg.qr(np.random.default_rng(0).normal(size=(D, 5)))[0].T
    before = second.compress(directions, mean)
    rows, weights = sample.rows, sample.weights
    mix(second)
    assert type(sample.rows) is type(rows)
    np.testing.assert_allclose(second.compress(directions, mean), before, rtol=1e-10)
    for sums in (lambda r: weights @ r, lambda r: (r.T * weights) @ r):
        ours, theirs = (sums(r.toarray() if sp.issparse(r) else r) for r in (sample.rows, rows))
        np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-8 * np.abs(theirs).max())


@pytest.mark.parametrize("estimator", [PCA(3), CappedMSG(3), Incremental(3), Oja(3)], ids=repr)
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_no_array_of_a_model_has_a_row_in_it(estimator, kind):
    parts = [learn(estimator, None, kind(part), "shard") for part in np.split(X, 3)]
    for learned in (*parts, join(*parts)):
        for array in _wide_arrays(learned.model):
            for rows in (X, X - X.mean(axis=0)):
                assert _largest_cosine(array, rows) < 0.999


def _wide_arrays(model):
    """Yield everything of a model that could hold rows."""
    arrays = pack(model)[1]
    yield from (a for a in arrays.values() if a.ndim == 2 and a.shape[1] == D)
    sample = getattr(model._learner.second, "_sample", None)
    if sample is not None and sp.issparse(sample.rows):
        yield sample.rows.toarray()


def _largest_cosine(array, rows):
    lengths = np.linalg.norm(array, axis=1), np.linalg.norm(rows, axis=1)
    cosines = array @ rows.T / np.maximum(np.outer(*lengths), 1e-300)
    return np.abs(cosines).max(initial=0.0)
