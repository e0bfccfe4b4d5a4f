"""A disk that fails at any step of any write: nothing that was safe is lost."""

import errno
import os

import numpy as np
import pytest

import onepass
from onepass.persistence import archive
from tests.cli.commands import onepass as run
from tests.cli.commands import parts
from tests.persistence.test_atomic import Faults, failing_disk


def assert_same_content(path, expected):
    (header, arrays), (right_header, right_arrays) = map(archive.read, (path, expected))
    assert header == right_header
    assert arrays.keys() == right_arrays.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, right_arrays[name])


@pytest.mark.parametrize(
    ("code", "lasting"), [(errno.ENOSPC, True), (errno.EIO, False)], ids=["ENOSPC", "EIO"]
)
@pytest.mark.parametrize("stride", [11, pytest.param(1, marks=pytest.mark.long)])
def test_every_step_of_every_write_may_fail(tmp_path, monkeypatch, code, lasting, stride):
    data = parts(tmp_path, count=3)
    base = ["fit", *data, "-k", 2, "--algorithm", "incremental"]
    run(*base, "-o", tmp_path / "whole")
    whole = (tmp_path / "whole").read_bytes()
    output = tmp_path / "m.onepass"
    seen = set()
    for fatal in range(0, 2000, stride):
        output.write_text("the old model")
        words = [*base, "-o", output, "--checkpoint-every", 0]
        faults = Faults(fatal, OSError(code, os.strerror(code)), lasting)
        with monkeypatch.context() as patch:
            failing_disk(patch, faults)
            result = run(*words, code=None)
        if faults.failed is None:
            break
        seen.add(faults.failed)
        if result.exit_code == 0:
            # Only a checkpoint was lost, or nothing: the zip writer can do without seeking.
            assert "could not be written" in result.stderr or faults.failed == "seek"
            if output.read_bytes() != whole:
                assert faults.failed == "seek"  # then the same content is archived another way
                assert_same_content(output, tmp_path / "whole")
        else:
            assert result.exit_code == 1
            assert os.strerror(code) in result.stderr
            assert output.read_bytes() in (b"the old model", whole)
            run(*base, "-o", output, "--resume")
            assert output.read_bytes() == whole
        # Whatever is left beside the output is whole.
        left = set(os.listdir(tmp_path)) - {path.name for path in data} - {"whole", "m.onepass"}
        assert left <= {"m.onepass.checkpoint"}
        (tmp_path / "m.onepass.checkpoint").unlink(missing_ok=True)
    assert faults.failed is None
    expected = {"open", "write", "flush", "fsync", "replace"} if stride == 1 else {"write"}
    assert expected <= seen


def test_a_disk_that_is_full_in_the_end(tmp_path, monkeypatch):
    """All rows are learned, the model cannot be written: a checkpoint of all rows is kept."""
    data = parts(tmp_path, count=3)
    words = ["fit", *data, "-k", 2, "--algorithm", "msg", "--checkpoint-every", 0]
    real = os.replace

    def replace(source, target):
        if not str(target).endswith(".checkpoint"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(source, target)

    monkeypatch.setattr(os, "replace", replace)
    result = run(*words, "-o", tmp_path / "n.onepass", code=1)
    assert "No space left on device; 180 rows are safe" in result.stderr
    monkeypatch.undo()
    again = run(*words, "-o", tmp_path / "n.onepass", "--resume")
    assert "continuing after 180 rows" in again.stderr
    assert onepass.load(tmp_path / "n.onepass").n_samples_seen_ == 180
