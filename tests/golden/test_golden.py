"""Model files that were written once still load, and go on learning to the same numbers."""

import json

import numpy as np
import pytest

import onepass
from tests.golden.make import CASES, FOLDER, both_results, packed

FILES = [name for name in CASES if (FOLDER / f"{name}.onepass").exists()]


@pytest.mark.parametrize("name", FILES)
def test_a_file_gives_the_same_results_and_the_same_bytes(name):
    path = FOLDER / f"{name}.onepass"
    model = onepass.load(path)
    assert packed(name, model) == path.read_bytes()
    # Single precision rounds at 6e-8, and other versions of BLAS in another way.
    tolerance = 1e-5 if model.components_.dtype == np.float32 else 1e-10
    expected = json.loads(path.with_suffix(".json").read_text())
    for found, wanted in zip(both_results(name, model), expected, strict=True):
        assert found.keys() == wanted.keys()
        for key, value in wanted.items():
            scale = max(1.0, np.nan_to_num(np.abs(value)).max(initial=0.0))
            np.testing.assert_allclose(
                found[key], value, rtol=0, atol=tolerance * scale, err_msg=key, equal_nan=True
            )
