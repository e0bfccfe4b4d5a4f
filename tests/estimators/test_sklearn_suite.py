"""scikit-learn's own tests of IncrementalPCA, PCA and TruncatedSVD, from the installed package.

They run with only the import changed. What differs is listed here with the reason.
"""

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest
import sklearn.decomposition

import onepass

TESTS = Path(sklearn.decomposition.__file__).parent / "tests"

# Tests that fail, with the error: one that passes after all is noticed.
DIFFERENT = {
    "test_incremental_pca_sparse": (
        pytest.fail.Exception,
        "all of it passes but the end: partial_fit takes sparse rows here",
    ),
    "test_incremental_pca_partial_fit_float_division": (
        AttributeError,
        "n_samples_seen_ is read from the model and cannot be set",
    ),
    "test_incremental_pca_validation": (
        AssertionError,
        "messages are our own, and a first call may have fewer rows than components",
    ),
    "test_pca_n_components_mostly_explained_variance_ratio": (
        AssertionError,
        "a share of the variance is reached here, where scikit-learn goes beyond it",
    ),
    "test_explained_variance": (
        AssertionError,
        "with center=False variances are about zero; TruncatedSVD has those about the mean",
    ),
}

# Tests of PCA and TruncatedSVD that do not apply: there is no svd_solver and no "mle" to choose,
# score is the share captured, and arpack cannot find as many components as columns. Others are of
# private functions or of arrays on other devices.
LEFT_OUT = re.compile(
    "solver_error|test_pca_validation|svd_solver_auto|mle|pca_dim|pca_score3?$|assess_dimension"
    "|array_api|too_many_components"
)

OF_SOLVERS = {"svd_solver", "iterated_power", "tol", "power_iteration_normalizer", "n_oversamples"}
OF_SOLVERS |= {"algorithm", "n_iter"}  # of TruncatedSVD


class PCA(onepass.PCA):
    """PCA with scikit-learn's name for the number of rows, which is `n_samples_seen_` here."""

    n_samples_ = onepass.PCA.n_samples_seen_


def pca(*args, **kwargs):
    """Return ordinary PCA, as scikit-learn's is, with the parameters of solvers left out."""
    known = {name: value for name, value in kwargs.items() if name not in OF_SOLVERS}
    return PCA(*args, robust=False, **known)


def truncated_svd(n_components=2, **kwargs):
    """Return PCA about zero, which is what TruncatedSVD does."""
    return pca(n_components, center=False, **kwargs)


@pytest.fixture
def global_random_seed():
    return 42  # scikit-learn's default


@pytest.fixture(params=[np.float64, np.float32])
def global_dtype(request):
    return request.param


def suite(name, **imports):
    """Return the tests in a file of scikit-learn, with other things imported."""
    spec = importlib.util.spec_from_file_location(f"sklearn_{name}", TESTS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    vars(module).update(imports)
    return {
        key: value
        for key, value in vars(module).items()
        if (key.startswith("test_") and not LEFT_OUT.search(key)) or key == "X_sparse"
    }


def with_one_solver(test):
    """Let a test run with one solver, the full one if it is there: here all are the same."""
    marks = []
    for mark in getattr(test, "pytestmark", []):
        if mark.name == "parametrize" and "solver" in mark.args[0].split(",")[0]:
            values = list(mark.args[1])
            full = [value for value in values if "full" in (value, value[0])]
            mark = pytest.mark.parametrize(mark.args[0], full or values[:1]).mark
        marks.append(mark)
    test.pytestmark = marks
    return test


def adapted(name, test):
    """Return a test of scikit-learn, expected to fail where something is different."""
    if name not in DIFFERENT:
        return test
    error, reason = DIFFERENT[name]
    return pytest.mark.xfail(raises=error, reason=reason, strict=True)(test)


INCREMENTAL = suite("test_incremental_pca", IncrementalPCA=onepass.IncrementalPCA)
# Rows that span fewer directions than there are components.
FEWER = pytest.mark.filterwarnings("ignore:.* rows? spans? .* directions? only")
# As many rows as components cannot determine the last one.
ARBITRARY = pytest.mark.filterwarnings("ignore:.* can only determine .* of n_components")
for _name, _test in INCREMENTAL.items():
    globals()[f"test_of_incremental_pca__{_name}"] = FEWER(ARBITRARY(adapted(_name, _test)))

BATCH = suite("test_pca", PCA=pca)
for _name in BATCH:
    globals()[f"test_of_pca__{_name}"] = FEWER(adapted(_name, with_one_solver(BATCH[_name])))

SVD = suite("test_truncated_svd", TruncatedSVD=truncated_svd)
X_sparse = SVD.pop("X_sparse")  # a fixture of that file
for _name in SVD:
    globals()[f"test_of_truncated_svd__{_name}"] = FEWER(adapted(_name, SVD[_name]))


def test_there_are_tests():
    assert len(INCREMENTAL) >= 20
    assert len(BATCH) >= 20
    assert len(SVD) >= 10
    assert DIFFERENT.keys() <= INCREMENTAL.keys() | BATCH.keys() | SVD.keys()
