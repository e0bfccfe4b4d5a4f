"""An ONNX file computes what `transform` does, in another program's arithmetic."""

import json
import sys

import numpy as np
import onnxruntime
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

import onepass
from onepass.estimators import onnx_export
from tests.contracts.variants import CENTERINGS, build

D, K = 6, 2
EPSILON = {np.float64: 1e-13, np.float32: 1e-5}


def rows(n=400, dtype=np.float64, offset=3.0):
    made = np.random.default_rng(0).normal(size=(n, D)) * np.arange(D, 0, -1) + offset
    return made.astype(dtype)


def run(path, X):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    (coordinates,) = session.run(None, {"X": X})
    return coordinates


@pytest.mark.parametrize(("algorithm", "center"), CENTERINGS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_every_estimator(tmp_path, algorithm, center, dtype):
    X = rows(dtype=dtype)
    model = build(algorithm, K, center=center, random_state=0).fit(X)
    model.to_onnx(tmp_path / "a.onnx")
    for n in (1, 3, 400):
        found, expected = run(tmp_path / "a.onnx", X[:n]), model.transform(X[:n])
        assert found.dtype == expected.dtype == dtype
        assert found.shape == (n, K)
        np.testing.assert_allclose(found, expected, rtol=0, atol=30 * EPSILON[dtype])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n_components", [K, 0.9])
def test_whitened(tmp_path, dtype, n_components):
    X = rows(dtype=dtype)
    model = onepass.PCA(n_components, whiten=True).fit(X)
    model.to_onnx(tmp_path / "a.onnx")
    found = run(tmp_path / "a.onnx", X)
    np.testing.assert_allclose(found.std(axis=0, ddof=1), 1.0, rtol=1e-3)
    np.testing.assert_allclose(found, model.transform(X), rtol=0, atol=10 * EPSILON[dtype])


def test_no_variance_is_not_divided_by(tmp_path):
    X = np.zeros((50, D)) + np.arange(D)
    X[:, 0] += np.arange(50)
    with pytest.warns(UserWarning, match="span 1 direction only: there is 1 component"):
        model = onepass.PCA(K, whiten=True).fit(X)
    model.to_onnx(tmp_path / "a.onnx")
    np.testing.assert_allclose(run(tmp_path / "a.onnx", X), model.transform(X), atol=1e-12)


@settings(deadline=None, max_examples=20)
@given(st.floats(0, 8), st.integers(0, 2**32 - 1))
def test_rows_far_from_zero_keep_their_digits(tmp_path_factory, power, seed):
    offset = 10.0**power * np.random.default_rng(seed).choice([-1, 1], size=D)
    X = np.random.default_rng(seed).normal(size=(300, D)) + offset
    model = onepass.PCA(K).fit(X)
    path = tmp_path_factory.mktemp("onnx") / "a.onnx"
    model.to_onnx(path)
    exact = (X.astype(np.longdouble) - model.mean_) @ model.components_.T.astype(np.longdouble)
    # The difference of neighbours is exact: what is left are roundings of numbers of size one.
    np.testing.assert_allclose(run(path, X), exact.astype(np.float64), rtol=0, atol=1e-14)


def test_parameters_that_are_changed_later_mean_what_they_mean_to_transform(tmp_path):
    model = onepass.PCA(K).fit(rows()).set_params(center=False, whiten=True)
    model.to_onnx(tmp_path / "a.onnx")
    np.testing.assert_allclose(run(tmp_path / "a.onnx", rows()), model.transform(rows()), atol=1e-9)


def test_another_number_of_columns_is_refused(tmp_path):
    onepass.PCA(K).fit(rows()).to_onnx(tmp_path / "a.onnx")
    with pytest.raises(Exception, match=f"Expected: {D}"):
        run(tmp_path / "a.onnx", rows()[:, :-1])


def test_names_of_columns_are_kept(tmp_path):
    table = pd.DataFrame(rows(), columns=[*"abcdeé"])
    onepass.PCA(K).fit(table).to_onnx(tmp_path / "a.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "a.onnx", providers=["CPUExecutionProvider"])
    kept = session.get_modelmeta().custom_metadata_map["feature_names"]
    assert json.loads(kept) == [*"abcdeé"]


def test_it_must_be_fitted(tmp_path):
    with pytest.raises(NotFittedError):
        onepass.PCA(K).to_onnx(tmp_path / "a.onnx")
    assert not list(tmp_path.iterdir())


def test_without_onnx_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    model = onepass.PCA(K).fit(rows())
    with pytest.raises(
        ImportError, match=r'writing ONNX files needs onnx: .* pip install "\.\[onnx\]"'
    ):
        model.to_onnx(tmp_path / "a.onnx")


def test_what_does_not_fit_leaves_the_old_file(tmp_path, monkeypatch):
    model, path = onepass.PCA(K).fit(rows()), tmp_path / "a.onnx"
    path.write_bytes(b"old")
    monkeypatch.setattr(onnx_export, "MOST_BYTES", 100)
    with pytest.raises(ValueError, match="at most 2 GB"):
        model.to_onnx(path)
    assert [file.read_bytes() for file in tmp_path.iterdir()] == [b"old"]
