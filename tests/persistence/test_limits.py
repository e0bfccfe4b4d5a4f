"""What is saved can be loaded, however wild the rows are."""

import numpy as np
import pytest
from scipy import sparse

import onepass
from tests.contracts.variants import build

SCALES = 10.0 ** np.where(np.arange(1500) < 700, -95, 98)[:, None]
CONSTANT = 0.1 * np.arange(9) + 0.7
CHANGES = {
    "tiny, then huge": lambda rows: rows * SCALES,
    "huge, then tiny": lambda rows: rows * SCALES[::-1],
    "the same": lambda rows: 0.0 * rows + CONSTANT,
    "the same at first": lambda rows: np.where(np.arange(1500)[:, None] < 900, rows[0], rows),
    "mostly zero": lambda rows: np.where(np.arange(1500)[:, None] % 9 > 0, 0.0, rows),
    "far": lambda rows: rows + 1e9,
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of overflow, which is limited afterwards
@pytest.mark.parametrize(
    ("name", "is_sparse"), [("PCA", True), *((name, False) for name in onepass.ESTIMATORS)]
)
@pytest.mark.parametrize("change", CHANGES)
def test_a_model_of_wild_rows_is_loaded_again(tmp_path, name, is_sparse, change):
    rng = np.random.default_rng(0)
    rows = CHANGES[change](rng.normal(size=(1500, 9)) * np.linspace(3, 1, 9))
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
    rows = sparse.csr_array(np.tile(CONSTANT, (1000, 1)))
    assert np.isnan(onepass.PCA(2).partial_fit(rows).captured_.mean)
