"""Bad input raises a ValueError that says what and where, and leaves the estimator as it was."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

import onepass
from tests.contracts.variants import ESTIMATORS, build

D, K, N = 7, 3, 900
EVERY = pytest.mark.parametrize("algorithm", ESTIMATORS)
WHEN = pytest.mark.parametrize("when", ["first", "later"])
METHOD = pytest.mark.parametrize("method", ["fit", "partial_fit"])


def good(n=N):
    return np.random.default_rng(0).normal(size=(n, D))


def spoiled(value, dtype=float):
    """Good rows, but for one entry far into the array."""
    rows = good().astype(dtype)
    rows[877, 5] = value
    return rows


INFINITY = r"(?is)(?=.*inf)(?=.*\b877\b)(?=.*\b(5|f)\b)"
TABLE = pd.DataFrame(good(4), columns=[*"abcdefg"])
# What is wrong -> (X, sample_weight, what the message must say).
BAD = {
    "infinity": (spoiled(np.inf), None, INFINITY),
    "infinity in sparse rows": (sp.csr_array(spoiled(np.inf)), None, INFINITY),
    "infinity in sparse columns": (sp.csc_matrix(spoiled(np.inf)), None, INFINITY),
    "a number that is too large": (spoiled(1e153), None, "row 877, column 5"),
    "one that is too large in sparse rows": (sp.csr_array(spoiled(1e153)), None, "row 877, col"),
    "infinity in a table": (pd.DataFrame(spoiled(np.inf), columns=[*"abcdefg"]), None, INFINITY),
    "text": (good(4).astype(str).astype(object) + "x", None, r"(?i)string|text|float|numeric"),
    "text in a table": (TABLE.assign(g="spam"), None, r"(?i)string|text|float|numeric|\bg\b"),
    "a list of lazy tables": ([pl.LazyFrame(good(4))], None, r"LazyFrame.*collect it first"),
    "no rows": (good(0), None, r"(?i)0 sample|no rows|empty|minimum of 1"),
    "no columns": (np.ones((4, 0)), None, r"(?i)0 feature|no columns|empty"),
    "three dimensions": (good(4)[None], None, r"(?i)2D|2d|dim 3|3D|three"),
    "a number that no float holds": ([[1.0] * 7, [1.0] * 6 + [10**400]], None, "row 1, column 6"),
    "a negative weight": (good(4), [1, 1, -0.5, 1], r"(?i)weight.*(negative|2)|negative.*weight"),
    "a NaN weight": (good(4), [1, 1, np.nan, 1], r"(?i)weight"),
    "a masked weight": (good(4), np.ma.masked_equal([1, 1, 5, 1], 5), "sample_weight.*row 2"),
    "a weight that no float holds": (good(4), [1, 1, 10**400, 1], "sample_weight"),
    "a huge weight": (good(4), [1, 1e300, 1, 1], r"sample_weight is 1e.300 at row 1"),
    "a huge weight in float32": (good(4).astype("f4"), [1, 1e300, 1, 1], "sample_weight .* row 1"),
    "a tiny weight": (good(4), [1e-308, 1, 1, 1], "at row 0; weights must be .* between 1e-50"),
    "weights of blocks": ([good(2), good(2)], np.ones(4), "call partial_fit with each block"),
    "too few weights": (good(4), [1, 1, 1], r"(?i)weight"),
}  # fmt: skip

# What is wrong -> (which estimators, parameters, what the message must say).
STOCHASTIC = ["MSG", "CappedMSG", "MEG", "Oja", "Grouse"]
BAD_PARAMETERS = {
    "k > d": (ESTIMATORS, {"n_components": D + 1}, r"n_components.*(8.*7|7.*8)"),
    "k = 0": (ESTIMATORS, {"n_components": 0}, "n_components"),
    "k is not whole": (ESTIMATORS, {"n_components": 1.5}, "n_components"),
    "k is a word": (ESTIMATORS, {"n_components": "mle"}, "n_components.*whole number"),
    "k is a bool": (ESTIMATORS, {"n_components": True}, "n_components"),
    "k is NaN": (ESTIMATORS, {"n_components": float("nan")}, "n_components"),
    "a half-life of no row": (["PCA"], {"half_life": 0.0099}, r"half_life.*at least 0\.01"),
    "a half-life that is NaN": (["PCA"], {"half_life": float("nan")}, "half_life"),
    "max_rank < k": (["CappedMSG", "Incremental"], {"max_rank": K - 1}, "max_rank"),
    "max_rank is a word": (["CappedMSG"], {"max_rank": "many"}, "max_rank"),
    "a negative step": (STOCHASTIC, {"step_size": -1.0}, "step_size"),
    "a step that is NaN": (STOCHASTIC, {"step_size": float("nan")}, "step_size"),
    "a step that is a word": (STOCHASTIC, {"step_size": "large"}, "step_size"),
    "no rows per step": (["MSG", "CappedMSG", "MEG", "Oja"], {"batch_size": 0}, "batch_size"),
    "a trace unheard of": (["MSG", "CappedMSG"], {"trace": "at_least"}, "trace"),
    "a rounding unheard of": (["MSG", "CappedMSG"], {"rounding": "up"}, "rounding"),
    "init is too wide": (["Oja", "Grouse"], {"init": np.eye(K, D + 1)}, "init"),
    "init has dependent rows": (["Oja", "Grouse"], {"init": np.ones((K, D))}, "init"),
    "init has NaN": (["Oja", "Grouse"], {"init": np.full((K, D), np.nan)}, "init"),
}


def refuse(estimator, method, rows, weights, message):
    """Demand a ValueError with this message, and not a bit changed."""
    before = pickle.dumps(estimator)
    with pytest.raises(ValueError, match=message):
        getattr(estimator, method)(rows, sample_weight=weights)
    assert pickle.dumps(estimator) == before


def ready(algorithm, when, **params):
    """An estimator that has seen nothing, or some rows of which a few wait for their block."""
    estimator = build(algorithm, **{"k": K, "random_state": 0, **params})
    return estimator.partial_fit(good(101)) if when == "later" else estimator


@pytest.mark.filterwarnings("ignore:X has feature names")
@WHEN
@METHOD
@pytest.mark.parametrize("wrong", BAD)
@EVERY
def test_bad_rows_and_weights(algorithm, wrong, method, when):
    refuse(ready(algorithm, when), method, *BAD[wrong])


@WHEN
@METHOD
@pytest.mark.parametrize(
    ("algorithm", "wrong"),
    [(name, wrong) for wrong, (names, *_) in BAD_PARAMETERS.items() for name in names],
)
def test_bad_parameters(algorithm, wrong, method, when):
    """Found at the first call already, and when they are changed between calls."""
    if (wrong.startswith("init"), method, when) == (True, "partial_fit", "later"):
        pytest.skip("a start is no matter of a stream that has started")
    _, params, message = BAD_PARAMETERS[wrong]
    if when == "later":
        message = message.split(".*")[0]  # there it is enough to name what was changed
    estimator = ready(algorithm, when).set_params(**params)
    refuse(estimator, method, good(), None, message)


@EVERY
def test_other_rows_later(algorithm):
    estimator = ready(algorithm, "later")
    before = pickle.dumps(estimator)
    for rows, message in (
        (np.ones((3, D - 1)), rf"(?s){D - 1}.*{D}|{D}.*{D - 1}"),
        (np.ones((3, D + 1)), rf"(?s){D + 1}.*{D}|{D}.*{D + 1}"),
        (spoiled(np.inf), "(?i)inf"),
    ):
        for name in ("partial_fit", "transform", "score"):
            with pytest.raises(ValueError, match=message):
                getattr(estimator, name)(rows)
    assert pickle.dumps(estimator) == before


@pytest.mark.parametrize("bad", [np.inf, -np.inf, 1e200])
@pytest.mark.parametrize("d", [5, 30, 300, 2500])
@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("as_sparse", [False, True])
def test_a_bad_entry_deep_inside_is_found_and_changes_nothing(bad, d, center, as_sparse):
    """Rows are looked at when they are learned from, or by learning itself."""
    X = np.random.default_rng(0).normal(size=(700, d))
    worse = X.copy()
    worse[613, 3] = bad
    kind = sp.csr_array if as_sparse else np.asarray
    for name in ("CappedMSG", "PCA", "ERM") if d < 2500 else ("CappedMSG", "PCA"):
        model = getattr(onepass, name)(2, center=center)
        model.fit(kind(X[:400]))
        before = model.components_
        with pytest.raises(ValueError, match=r"at row 613, column 3"):
            model.partial_fit(kind(worse))
        assert model.n_samples_seen_ == 400
        np.testing.assert_array_equal(model.components_, before)
