"""Model files that were written once still load, and go on learning to the same numbers."""

import json
import shutil

import numpy as np
import pytest

import onepass
from tests.golden.make import CASES, FOLDER, go_on, results

# Single precision rounds at 6e-8, and other versions of BLAS in another way.
TOLERANCES = {"dense": 1e-10, "sparse": 1e-10, "float32": 1e-5}
FILES = sorted(FOLDER.glob("*.onepass"))


def assert_close(found, wanted, tolerance):
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        scale = max(1.0, np.abs(value).max(initial=0.0))
        np.testing.assert_allclose(
            found[name], value, rtol=0, atol=tolerance * scale, err_msg=name, equal_nan=True
        )


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_gives_the_same_results_and_goes_on(path, tmp_path):
    wanted = json.loads(path.with_suffix(".json").read_text())
    shutil.copy(path, tmp_path)  # loading must not depend on where a file is, or write to it
    model = onepass.load(tmp_path / path.name)
    tolerance = TOLERANCES[CASES[path.stem][2]]
    assert_close(results(model), wanted["loaded"], tolerance)
    assert_close(results(go_on(path.stem, model)), wanted["gone_on"], tolerance)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_what_is_loaded_is_written_again_with_the_same_bytes(path, tmp_path):
    onepass.load(path).save(tmp_path / "again.onepass")
    assert (tmp_path / "again.onepass").read_bytes() == path.read_bytes()


def test_every_case_has_its_files_and_they_are_small():
    assert [path.stem for path in FILES] == sorted(CASES)
    assert {CASES[case][0] for case in CASES} >= {"PCA", "MSG", "CappedMSG", "MEG", "ERM"}
    assert sum(path.stat().st_size for path in FOLDER.iterdir() if path.is_file()) < 2_000_000
