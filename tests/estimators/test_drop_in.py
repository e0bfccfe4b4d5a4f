"""Code for scikit-learn's IncrementalPCA runs here; shares of the variance are explained."""

import contextlib
import inspect
import io
import re
from pathlib import Path

import numpy as np
import pytest
from sklearn import decomposition
from sklearn.decomposition import PCA as BatchPCA

import onepass
from onepass import ERM, PCA, CappedMSG

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
    rows = np.random.default_rng(0).normal(size=(60, 5))
    for name in ("__init__", "fit", "partial_fit", "transform", "inverse_transform"):
        theirs, ours = (
            set(inspect.signature(getattr(kind, name)).parameters)
            for kind in (decomposition.IncrementalPCA, onepass.IncrementalPCA)
        )
        assert theirs <= ours, name
    model = onepass.IncrementalPCA(2).partial_fit(rows, check_input=False)
    with pytest.raises(ValueError, match="contains inf"):
        model.partial_fit(np.full((2, 5), np.inf), check_input=False)
