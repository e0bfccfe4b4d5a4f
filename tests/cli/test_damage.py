"""Files with changed bytes are refused in one line, or read if they are still valid."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import onepass
from tests.cli.commands import onepass as run
from tests.cli.commands import rows
from tests.sources.files.written import WRITERS

CHANGES = st.lists(
    st.tuples(st.floats(0.0, 1.0, exclude_max=True), st.integers(0, 255)), min_size=1, max_size=4
)
settings_here = settings(
    max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def changed(content, changes):
    damaged = bytearray(content)
    for place, byte in changes:
        damaged[int(place * len(damaged))] = byte
    return bytes(damaged)


@pytest.mark.parametrize("name", ["a.npy", "a.csv", "a.parquet", "sparse.npz", "a.svmlight"])
@settings_here
@given(changes=CHANGES, cut=st.floats(0.0, 1.0))
def test_data(tmp_path, name, changes, cut):
    path, output = tmp_path / name, tmp_path / "m"
    output.unlink(missing_ok=True)
    WRITERS[name](path, rows(40))
    content = changed(path.read_bytes(), changes)
    path.write_bytes(content[: max(1, int(cut * 2 * len(content)))])
    result = run("fit", path, "-k", 2, "--algorithm", "erm", "-o", output, code=None)
    assert result.exit_code in (0, 2)
    assert output.exists() == (result.exit_code == 0)
    if result.exit_code == 0:
        assert np.isfinite(onepass.load(output).components_).all()
    else:
        said = result.stderr.splitlines()
        if name == "a.svmlight" and "are counted from 1" in said[0]:
            said = said[1:]
        assert len(said) == 1


@pytest.mark.parametrize("command", ["info", "score"])
@settings_here
@given(changes=CHANGES)
def test_models(tmp_path, command, changes):
    path = tmp_path / "m.onepass"
    onepass.Incremental(2).fit(rows()).save(path)
    np.save(tmp_path / "a.npy", rows())
    content = path.read_bytes()
    path.write_bytes(changed(content, changes))
    words = [command, path, *([tmp_path / "a.npy"] if command == "score" else [])]
    found = run(*words, code=None)
    if found.exit_code == 2:
        assert "m.onepass: not a sound model file" in found.stderr
    else:  # a change of what zip ignores, such as a date
        path.write_bytes(content)
        assert found.stdout == run(*words).stdout
