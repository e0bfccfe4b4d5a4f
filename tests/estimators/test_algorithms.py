"""The paper's algorithms as estimators: steps, batches, and rows that are hard to learn from."""

import numpy as np
import pytest

from onepass import CappedMSG
from tests.contracts.variants import ALGORITHMS, Variant

RNG = np.random.default_rng(0)


def test_variances_are_right_where_the_scale_changes():
    rows = RNG.normal(size=(12_000, 300)) * np.r_[9, 6, np.ones(298)]
    rows[6000:] *= 5
    model = CappedMSG(2).fit(rows)
    exact = ((rows @ model.components_.T) ** 2).mean(axis=0)
    np.testing.assert_allclose(model.explained_variance_, exact, rtol=0.1)


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize(("dtype", "far", "close"), [(float, 3e-2, 1e-10), ("f4", 0.2, 1e-4)])
def test_rows_that_lean_on_others_come_between_rows_that_do_not(name, dtype, far, close):
    # Such rows were left to another loop once, which wrote over the basis that it read from.
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(400, 30)) * np.linspace(2, 0.5, 30)
    lean = rng.random(400) < 0.1
    lean[0] = False
    rows[lean] = rows[np.flatnonzero(lean) - 1] + far * rows[lean]
    rows = rows.astype(dtype)
    own = name in ("Incremental", "AdaOja")
    variant = Variant(name) if own else Variant(name, "auto")
    wanted = variant.expected(rows.astype(float), 3).last
    found = variant.build(30, 3).fit(rows).subspace_.to_dense()
    np.testing.assert_allclose(found, wanted, rtol=0, atol=close * max(1, np.abs(wanted).max()))
