"""scikit-learn-intelex's own tests of IncrementalPCA, read from the installed package.

They run with only the import changed, where the package is installed. It is in no extra: it takes
the place of classes of scikit-learn in other tests. What is about its own insides is left out, with
the reason.
"""

import importlib
from importlib.util import find_spec

import pytest

import onepass

if not find_spec("sklearnex"):
    pytest.skip("scikit-learn-intelex is not installed", allow_module_level=True)

pytestmark = pytest.mark.long

INSIDE = "about its own class: private attributes, or attributes that can be set"
DEVICES = "about arrays on other devices"
LEFT_OUT = {
    "test_sklearnex_import": INSIDE,
    "test_create_model_behavior": INSIDE,
    "test_changed_estimated_attributes": INSIDE,
    "test_sklearnex_incremental_estimatior_pickle": INSIDE,
    "test_incpca_error_on_incompatible_devices": DEVICES,
    "test_transform_output_matches_default": DEVICES,
    "test_transform_output_dpnp_no_array_api": DEVICES,
    "test_transform_output_target_offload": DEVICES,
}


class IncrementalPCA(onepass.IncrementalPCA):
    """IncrementalPCA with intelex's `var_`, divided by n - 1: scikit-learn's and ours is by n."""

    @property
    def var_(self):
        return super().var_ * self.n_samples_seen_ / (self.n_samples_seen_ - 1)


suite = importlib.import_module("sklearnex.preview.decomposition.tests.test_incremental_pca")
suite.IncrementalPCA = IncrementalPCA
TESTS = {name: test for name, test in vars(suite).items() if name.startswith("test_")}


def on_arrays(test):
    """Let a test run with arrays of NumPy and tables of pandas, which need no other device."""
    marks = []
    for mark in getattr(test, "pytestmark", []):
        if mark.name == "parametrize" and mark.args[0] == "dataframe,queue":
            values = [value for value in mark.args[1] if value.values[0] in ("numpy", "pandas")]
            mark = pytest.mark.parametrize(mark.args[0], values).mark
        marks.append(mark)
    test.pytestmark = marks
    return test


for _name in sorted(TESTS.keys() - LEFT_OUT.keys()):
    globals()[f"test_of_intelex__{_name}"] = on_arrays(TESTS[_name])


def test_there_are_tests():
    assert len(TESTS.keys() - LEFT_OUT.keys()) >= 4
