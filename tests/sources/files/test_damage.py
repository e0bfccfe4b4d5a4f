"""Damaged files of every format: rows, or a SourceError; never another error, never a hang."""

import subprocess
import sys

import numpy as np
import pytest

from onepass.sources import SourceError, open_source
from tests.sources.files.written import WRITERS

ROWS = np.random.default_rng(0).standard_normal((25, 4)).round(3)


def mutated(content, rng):
    """One random change: a bit, a cut, a hole, an insertion, extreme bytes."""
    data = bytearray(content)
    at = int(rng.integers(len(data)))
    length = int(rng.integers(1, 20))
    match rng.integers(6):
        case 0:
            data[at] ^= 1 << int(rng.integers(8))
        case 1:
            del data[at:]
        case 2:
            del data[at : at + length]
        case 3:
            data[at:at] = rng.bytes(length)
        case 4:
            data[at : at + 4] = [b"\xff" * 4, b"\0" * 4, b"\xff\xff\xff\x7f"][rng.integers(3)]
        case 5:
            data[at : at + 3] = [b'"', b",,", b"\n", b"9999999", b":", b"nan"][rng.integers(6)]
    return bytes(data)


def read(path):
    """Read everything; what is read must be finite rows of one width."""
    source = open_source(path)
    for block in source:
        assert block.shape[1] == source.n_features


def mutate(path, n, seed):
    """Change a file n times, one of its files if it is a folder; whatever is wrong is said."""
    rng = np.random.default_rng(seed)
    files = sorted(each for each in [path, *path.rglob("*")] if each.is_file())
    messages = []
    for _ in range(n):
        file = files[rng.integers(len(files))]
        content = file.read_bytes()
        file.write_bytes(mutated(content, rng))
        try:
            read(path)
        except SourceError as error:
            messages.append(str(error))
        file.write_bytes(content)
    assert len(messages) > n / 20
    assert all(path.name in message and "\n" not in message for message in messages)


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.filterwarnings("ignore:Reading `.npy` or `.npz` file required additional header")
def test_mutations(name, tmp_path):
    WRITERS[name](tmp_path / name, ROWS)
    mutate(tmp_path / name, 60, seed=0)


MANY = """
import pathlib, resource, sys, warnings
from tests.sources.files.test_damage import mutate
warnings.simplefilter("ignore")
mutate(pathlib.Path(sys.argv[1]), 1000, seed=1)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="the unit of ru_maxrss differs")
@pytest.mark.parametrize("name", WRITERS)
def test_many_mutations_take_little_memory(name, tmp_path):
    WRITERS[name](tmp_path / name, ROWS)
    command = [sys.executable, "-c", MANY, str(tmp_path / name)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 500_000
