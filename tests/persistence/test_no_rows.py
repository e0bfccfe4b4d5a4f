"""A model file holds no row of the data, not even those that wait for a chunk."""

import numpy as np
import pytest
from scipy import sparse

import onepass
from onepass import ESTIMATORS
from onepass.estimators.saving import pack
from onepass.persistence import archive

RNG = np.random.default_rng(0)
FEW, MANY = RNG.normal(size=(43, 6)), RNG.normal(size=(43, 300))
GAPS = FEW.copy()
GAPS[::3, 4] = np.nan
ROWS = {
    "many columns": MANY,
    "single precision": FEW.astype(np.float32),
    "sparse": sparse.csr_array(FEW),
    "gaps": GAPS,
}


@pytest.mark.parametrize("given", ROWS)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_no_row_is_in_a_model_file(name, given):
    rows = ROWS[given]
    dense = rows.toarray() if sparse.issparse(rows) else rows
    model = getattr(onepass, name)(2).partial_fit(rows)
    checkpoint = archive.to_bytes(*pack(model, waiting=True))
    assert all(row.tobytes() in checkpoint for row in dense)  # so that they would be found
    assert [i for i, row in enumerate(dense) if row.tobytes() in model.to_bytes()] == []
