"""Code for scikit-learn runs here: IncrementalPCA, variance explained, coordinates and back."""

import contextlib
import inspect
import io
import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import decomposition
from sklearn.base import clone
from sklearn.decomposition import PCA as BatchPCA
from sklearn.pipeline import Pipeline

import onepass
from onepass import ERM, PCA, CappedMSG
from tests.contracts.variants import build

PAGE = Path(__file__).parents[2] / "docs" / "coming-from-scikit-learn.md"
THEIRS = "from sklearn.decomposition import IncrementalPCA"
OURS = "from onepass import IncrementalPCA"
X = np.random.default_rng(0).normal(size=(300, 6)) * [5, 4, 3, 1, 0.5, 0.1]


def run(script):
    """Return what a script prints and the names that it leaves."""
    printed, names = io.StringIO(), {}
    with contextlib.redirect_stdout(printed):
        exec(compile(script, str(PAGE), "exec"), names)
    return printed.getvalue(), names


def test_the_script_of_the_page_runs_with_only_the_import_changed():
    page = PAGE.read_text()
    assert OURS in page
    (script,) = [s for s in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if THEIRS in s]
    assert len(script.splitlines()) >= 50
    (before, theirs), (after, ours) = run(script), run(script.replace(THEIRS, OURS))
    assert isinstance(ours["stream"], onepass.IncrementalPCA)
    assert len(before.splitlines()) == len(after.splitlines())
    assert before.splitlines()[0] == after.splitlines()[0]
    for name in ("coordinates", "rebuilt"):
        assert ours[name].shape == theirs[name].shape
    assert ours["lost"] <= theirs["lost"] * 1.001
    stream, other = ours["stream"], theirs["stream"]
    np.testing.assert_allclose(stream.mean_, other.mean_, atol=1e-9)
    np.testing.assert_allclose(stream.var_, other.var_, atol=1e-9)
    exact = BatchPCA(8).fit(ours["X"])  # which IncrementalPCA approximates
    for name in ("explained_variance_", "singular_values_"):
        wanted = getattr(exact, name)
        np.testing.assert_allclose(getattr(stream, name), wanted, rtol=1e-9)
        np.testing.assert_allclose(getattr(other, name), wanted, rtol=0.25)
    assert len(ours["names"]) == 16
    assert ours["again"].n_samples_seen_ == stream.n_samples_seen_ + 100


def test_the_page_names_only_what_exists():
    page, model = PAGE.read_text(), PCA(2).fit(X)
    for name in set(re.findall(r"`([a-z]\w*_)`", page)) - {"feature_names_in_", "n_samples_"}:
        assert hasattr(model, name), name
    for name in ("merge", "save", "score_samples", "reconstruction_error"):
        assert f"`{name}" in page
        assert hasattr(model, name)


def test_no_number_of_components_is_as_many_as_there_are():
    for kind in (PCA, onepass.IncrementalPCA):
        assert kind().fit(X).n_components_ == kind(None).fit(X).n_components_ == 6
        assert kind(n_components=None).partial_fit(X[:4]).n_components_ == 4


@pytest.mark.filterwarnings("ignore::onepass.OnepassWarning", "ignore:invalid value")
@pytest.mark.parametrize("rows", [X[:4], np.repeat(X[:2], 2, axis=0), np.ones((4, 6))])
def test_all_components_are_as_many_as_rows_though_some_have_no_variance(rows):
    model, again = PCA(None).fit(rows), PCA(None).fit(rows)
    assert model.n_components_ == BatchPCA().fit(rows).n_components_ == 4
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(4), atol=1e-12)
    np.testing.assert_array_equal(model.components_, again.components_)
    wanted = BatchPCA().fit(rows).explained_variance_
    np.testing.assert_allclose(model.explained_variance_, wanted, atol=1e-12)
    np.testing.assert_allclose(model.inverse_transform(model.transform(rows)), rows, atol=1e-12)


@pytest.mark.parametrize("model", [PCA(None), PCA(6), ERM(6), CappedMSG(6)])
def test_every_row_fits_components_that_span_all_columns(model):
    model.fit(X)
    assert model.error_threshold(0.99) == 0.0
    np.testing.assert_array_equal(model.reconstruction_error(1e6 * X[:3]), np.zeros(3))


def test_every_argument_of_theirs_is_taken():
    for name in ("__init__", "fit", "partial_fit", "transform", "inverse_transform"):
        theirs, ours = (
            set(inspect.signature(getattr(kind, name)).parameters)
            for kind in (decomposition.IncrementalPCA, onepass.IncrementalPCA)
        )
        assert theirs <= ours, name


@pytest.mark.parametrize("whiten", [False, True])
def test_errors_of_inverse_transform_speak_of_components(whiten):
    model = PCA(2, whiten=whiten).fit(X)
    with pytest.raises(ValueError, match=r"X has shape \(300, 6\), and there are 2 components"):
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
    assert CappedMSG(2).fit(X).set_params(n_components=3).transform(X).shape == (300, 2)


def test_what_is_published_can_be_written_to():
    model = PCA(2).fit(X)
    model.components_[:] = 0
    model.explained_variance_[:] = 0
    assert model.components_.any()
    assert model.explained_variance_.any()


@pytest.mark.parametrize("name", tuple(onepass.ESTIMATORS))
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
