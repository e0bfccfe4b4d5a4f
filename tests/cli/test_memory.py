"""The limit of memory: too much ends in one line, exit code 2, and nothing is written."""

import gzip
import subprocess
import sys
from pathlib import Path

import pytest

from onepass.cli.memory import parse_size
from tests.cli.commands import onepass as run

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux can limit memory")
PROGRAM = Path(sys.executable).with_name("onepass")


def limited(*words, **given):
    words = [PROGRAM, *map(str, words)]
    return subprocess.run(words, capture_output=True, text=True, timeout=120, **given)


@linux
def test_too_much_is_one_line(tmp_path):
    path = tmp_path / "endless.csv.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:  # one record of 3 GB
        file.write(b"x,y\n")
        for _ in range(48):
            file.write(b"1" * (1 << 26))
    done = limited("fit", path, "-k", 1, "--memory", "1GB", "-o", tmp_path / "m")
    assert done.returncode == 2, done.stderr
    assert done.stderr.count("\n") == 1
    assert str(path) in done.stderr
    assert not (tmp_path / "m").exists()


@linux
def test_the_limit_is_that_of_the_process(tmp_path):
    code = "import resource; print(resource.getrlimit(resource.RLIMIT_DATA)[0])"
    program = f"from onepass.cli import memory; memory.limit({3 << 30}); exec({code!r})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert int(done.stdout) == 3 << 30
    program = program.replace(str(3 << 30), "")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert int(done.stdout) >= 1 << 30


@pytest.mark.skipif(sys.platform.startswith("linux"), reason="Linux can limit memory")
def test_other_systems_say_so(tmp_path):
    assert "Linux" in run("fit", "a.csv", "-k", 1, "--memory", "2GB", code=2).stderr


def test_sizes():
    assert parse_size("2GB") == parse_size("2 GiB") == parse_size("2048m") == 2 << 30
    for wrong in ("2 lots", "500MB", "-3GB"):
        assert "--memory" in run("fit", "a.csv", "-k", 1, "--memory", wrong, code=2).stderr
