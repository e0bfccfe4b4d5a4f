"""Model files that were written once still load, and go on learning to the same numbers."""

import json
import shutil

import numpy as np
import pytest

import onepass
from onepass.persistence import archive
from tests.contracts.chunks import waiting
from tests.golden.make import CASES, FEW, FOLDER, go_on, packed, results

# Single precision rounds at 6e-8, and other versions of BLAS in another way.
TOLERANCES = {"dense": 1e-10, "sparse": 1e-10, "float32": 1e-5}
FILES = sorted(FOLDER.glob("*.onepass"))
EVERY = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)


def assert_close(found, wanted, tolerance):
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        scale = max(1.0, np.nan_to_num(np.abs(value)).max(initial=0.0))
        np.testing.assert_allclose(
            found[name], value, rtol=0, atol=tolerance * scale, err_msg=name, equal_nan=True
        )


@EVERY
def test_a_file_gives_the_same_results_and_goes_on(path, tmp_path):
    wanted, case = json.loads(path.with_suffix(".json").read_text()), CASES[path.stem]
    shutil.copy(path, tmp_path)  # loading must not depend on where a file is, or write to it
    model = onepass.load(tmp_path / path.name)
    tolerance = TOLERANCES[case.held]
    assert model.origin_.na == case.na
    assert_close(results(model), wanted["loaded"], tolerance)
    if case.saved == "bare":
        with pytest.raises(ValueError, match="transforming only"):
            go_on(case, model)
    else:
        assert_close(results(go_on(case, model)), wanted["gone_on"], tolerance)


@EVERY
def test_what_is_loaded_is_written_again_with_the_same_bytes(path):
    again = archive.to_bytes(*packed(CASES[path.stem], onepass.load(path)))
    assert again == path.read_bytes()


@pytest.mark.parametrize("path", [path for path in FILES if CASES[path.stem].saved != "bare"])
def test_rows_wait_in_checkpoints_alone(path):
    kept = CASES[path.stem].saved == "checkpoint"
    assert waiting(onepass.load(path)) == (FEW if kept else 0)
