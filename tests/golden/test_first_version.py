"""Files with the state of the first version's estimators, which go on to the same numbers.

Each ``NAME.onepass`` holds an estimator of the first version after 700 rows, of which 188 wait for
a chunk; ``NAME.json`` what that version published then (``loaded``) and after 900 rows more
(``continued``).
"""

import json
from pathlib import Path

import numpy as np
import pytest

import onepass

FILES = sorted((Path(__file__).parent / "first_version").glob("*.onepass"))
D = 20


def later_rows():
    """Return the 900 rows that followed, shape (900, 20)."""
    rng = np.random.default_rng(12)
    rows = rng.normal(size=(900, D)) * 0.8 ** np.arange(D)
    return rows @ np.linalg.qr(rng.normal(size=(D, D)))[0] + 0.5


def assert_published(model, wanted):
    """Demand the numbers of the first version, to 1e-10 of their largest (float32: 1e-6)."""
    tolerance = 1e-10 if model.components_.dtype == np.float64 else 1e-6
    for name, value in wanted.items():
        found = getattr(model, name)
        found = np.asarray(found.to_dense() if hasattr(found, "to_dense") else found)
        value = np.asarray(value)
        if name == "components_":  # signs are a matter of convention
            value = value * np.sign(np.sum(found * value, axis=1, keepdims=True))
        scale = max(1.0, np.abs(value).max())
        np.testing.assert_allclose(found, value, rtol=0, atol=tolerance * scale, err_msg=name)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_goes_on_to_the_same_numbers(path):
    wanted = json.loads(path.with_suffix(".json").read_text())
    model = onepass.load(path)
    assert_published(model, wanted["loaded"])
    model.partial_fit(later_rows().astype(model.components_.dtype))
    assert_published(model, wanted["continued"])


def test_every_algorithm_has_a_file():
    stems = {path.stem.split("-")[0] for path in FILES}
    assert stems == {"msg", "capped", "meg", "incremental", "oja", "grouse", "erm"}
