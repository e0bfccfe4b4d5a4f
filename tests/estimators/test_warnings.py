"""Warnings are of one category and say what to do."""

import ast
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import onepass
from onepass import OnepassWarning
from tests.contracts.results import published
from tests.contracts.variants import CENTERINGS, ESTIMATORS, build

# What so few rows say nothing about.
UNKNOWN = ("explained_variance_ratio_", "components_error_", "explained_variance_error_")
UNKNOWN += ("angle_", "degrees_of_freedom_", "captured_")
RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 6)) * [2, 1.9, 1.8, 1.7, 1.6, 1.5]


def test_every_warning_is_ours():
    """All calls of warnings.warn in the package name OnepassWarning."""
    found = 0
    for path in Path(onepass.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "warnings.warn":
                found += 1
                assert "OnepassWarning" in ast.unparse(node), f"{path}:{node.lineno}"
    assert found
    assert issubclass(OnepassWarning, UserWarning)


@pytest.mark.parametrize("rows", [1, 2, 3])
@pytest.mark.parametrize(("algorithm", "center"), CENTERINGS)
def test_fewer_rows_than_components(algorithm, center, rows):
    model = build(algorithm, 3, center=center, random_state=0)
    if rows - center < 3:
        with pytest.warns(OnepassWarning, match=rf"^{rows} row"):
            model.fit(X[:rows])
    else:
        model.partial_fit(X[:rows])
    for name, value in published(model).items():
        assert name.startswith(UNKNOWN) or np.isfinite(value).all(), name
    if algorithm != "PCA":  # which has as many components as there are directions
        assert model.components_.shape == (3, 6)
        np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(3), atol=1e-9)


@pytest.mark.parametrize("d", [6, 300])
@pytest.mark.parametrize("value", [0.0, 0.1])
@pytest.mark.parametrize(("algorithm", "center"), CENTERINGS)
def test_rows_that_do_not_vary(algorithm, value, center, d):
    value = value if center else 0.0
    model = build(algorithm, 3, center=center, random_state=0)
    with pytest.warns(OnepassWarning, match="nothing varies.*arbitrary") as caught:
        model.fit(np.full((700, d), value))
    assert len(caught) == 1
    assert caught[0].filename == __file__


@pytest.mark.parametrize("algorithm", ESTIMATORS)
def test_rows_one_by_one_do_not_warn(algorithm):
    model = build(algorithm, 3, random_state=0)
    for row in X[:20] * [1, 1, 1, 100, 1, 1]:
        model.partial_fit(row[None])
    assert model.n_samples_seen_ == 20


@pytest.mark.parametrize("algorithm", ESTIMATORS)
def test_a_warning_that_is_an_error_leaves_the_estimator_as_it_was(algorithm):
    model = build(algorithm, 3, random_state=0).fit(X)
    before = model.components_
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(OnepassWarning):
            model.fit(X[:1])
    np.testing.assert_array_equal(model.components_, before)
    assert model.n_samples_seen_ == len(X)


@pytest.mark.parametrize(
    "kind", [np.asarray, sparse.csr_array, lambda rows: [rows[:50], rows[50:]]]
)
def test_a_column_with_nearly_all_of_the_variance(kind):
    X = RNG.normal(size=(400, 6)) * [4, 3, 2, 1, 1, 1]
    rows = X * [1, 1, 1, 100, 1, 1]
    with pytest.warns(OnepassWarning, match=r"column 3 has 99\.\d% of the variance.*scale=True"):
        onepass.PCA(2, robust=False).fit(kind(rows))
    with pytest.warns(OnepassWarning, match=r"column 3 has 8\d\.\d% of the variance"):
        onepass.PCA(2, robust=False).fit(kind(X * [1, 1, 1, 14, 1, 1]))
    onepass.PCA(2, scale=True).fit(kind(rows))
    onepass.PCA(2, robust=False).fit(kind(X * [1, 1, 1, 8, 1, 1]))  # 67%
    onepass.PCA(1).fit(kind(rows[:, 3:4]))  # there is no other column


@pytest.mark.parametrize("first", [0, 1])
def test_columns_that_count_the_rows_are_named_with_the_one_that_dominates(first):
    numbers = np.arange(first, first + len(X))
    table = pd.DataFrame({"rownames": numbers, "b": X[:, 1], "c": X[:, 2]})
    with pytest.warns(OnepassWarning, match="'rownames' counts the rows and has") as caught:
        onepass.PCA(2).fit(table)
    assert len(caught) == 1
    with pytest.warns(OnepassWarning, match="column 'id' has.*--exclude id,rownames"):
        onepass.PCA(2).fit(table.assign(id=1e6 * X[:, 0]))


@pytest.mark.parametrize("algorithm", ["CappedMSG", "Oja"])
def test_variances_of_components_that_still_turn(algorithm):
    """Wide rows with weak directions: the earlier components had far less of the variance."""
    rng, d, k = np.random.default_rng(0), 2000, 5
    weak, strong = (np.r_[np.full(k, v), np.ones(d - k)] for v in (5.0, 2000.0))
    with pytest.warns(OnepassWarning, match="still turning at the last rows.*more rows"):
        build(algorithm, k, random_state=0).fit(rng.normal(size=(3000, d)) * np.sqrt(weak))
    model = build(algorithm, k, random_state=0)
    rows = rng.normal(size=(3000, d)) * np.sqrt(strong)
    exact = np.sum(np.var(model.fit(rows).transform(rows), axis=0))
    assert np.sum(model.explained_variance_) == pytest.approx(exact, rel=0.05)


@pytest.mark.parametrize("kind", [onepass.PCA, onepass.IncrementalPCA])
def test_that_not_all_components_are_kept_of_wide_rows_is_said(kind):
    """Few rows are kept until they are saved: then all components are there."""
    wide = RNG.normal(size=(300, 4100)).astype(np.float32)
    with pytest.warns(OnepassWarning, match="299 (components|of n_components)"):
        kind(300).fit(wide)
    for k, said in ((None, "kept of 4,100 columns: pass n_com"), (0.99, "less than n_components")):
        if k and kind is onepass.IncrementalPCA:
            continue
        model = kind(k).partial_fit(wide)
        assert not model.doubts()
        (message,) = onepass.from_bytes(model.to_bytes()).doubts()
        assert said in message
