"""What is saved can be loaded, however wild the rows are."""

import numpy as np
import pytest
from scipy import sparse

import onepass
from tests.contracts.variants import build


def tiny_then_huge(rows):
    rows[:700] *= 1e-95
    rows[700:] *= 1e98


def huge_then_tiny(rows):
    tiny_then_huge(rows[::-1])


def the_same(rows):
    rows[:] = 0.1 * np.arange(rows.shape[1]) + 0.7


def the_same_at_first(rows):
    rows[:900] = rows[0]


def mostly_zero(rows):
    rows[np.arange(len(rows)) % 9 > 0] = 0.0


def far(rows):
    rows += 1e9


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of overflow, which is limited afterwards
@pytest.mark.parametrize(
    ("name", "is_sparse"), [("PCA", True), *((name, False) for name in onepass.ESTIMATORS)]
)
@pytest.mark.parametrize(
    "change", [tiny_then_huge, huge_then_tiny, the_same, the_same_at_first, mostly_zero, far]
)
def test_a_model_of_wild_rows_is_loaded_again(tmp_path, name, is_sparse, change):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(1500, 9)) * np.linspace(3, 1, 9)
    change(rows)
    rows = sparse.csr_array(rows) if is_sparse else rows
    for weights in np.ones(1500), 10.0 ** rng.uniform(-50, 50, 1500):
        model = build(name, 2)
        for part in np.split(np.arange(1500), 3):
            model.partial_fit(rows[part], sample_weight=weights[part])
            model.save(tmp_path / "model")
            loaded = onepass.load(tmp_path / "model")
            np.testing.assert_array_equal(loaded.components_, model.components_)
            model = loaded


def test_captured_is_unknown_where_nothing_varies():
    rows = sparse.csr_array(np.tile(0.1 * np.arange(9) + 0.7, (1000, 1)))
    assert np.isnan(onepass.PCA(2).partial_fit(rows).captured_.mean)
