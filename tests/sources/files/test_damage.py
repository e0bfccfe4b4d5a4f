"""Damaged files of every format: rows, or a SourceError; never another error, never a hang."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

from onepass.sources import SourceError, open_source
from tests.sources.files.written import WRITERS

ROWS = np.random.default_rng(0).standard_normal((25, 4)).round(3)


def mutated(content, rng):
    """One random change: a bit, a cut, a hole, an insertion, extreme bytes, words of text."""
    at, length = (int(rng.integers(end)) for end in (len(content), 20))
    bit = content[at] ^ 1 << int(rng.integers(8))
    extreme = [b"\xff" * 4, b"\0" * 4, b"\xff\xff\xff\x7f"][rng.integers(3)]
    word = [b'"', b",,", b"\n", b"9999999", b":", b"nan"][rng.integers(6)]
    changes = [(bytes([bit]), 1), (b"", len(content)), (b"", length), (rng.bytes(length), 0)]
    put, gone = [*changes, (extreme, 4), (word, 3)][rng.integers(6)]
    return content[:at] + put + content[at + gone :]


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.filterwarnings("ignore:Reading `.npy` or `.npz` file required additional header")
def test_mutations(name, tmp_path):
    """Of a file, or of one of the files of a folder: whatever is wrong is said."""
    path, rng, messages = tmp_path / name, np.random.default_rng(0), []
    WRITERS[name](path, ROWS)
    files = sorted(each for each in [path, *path.rglob("*")] if each.is_file())
    for _ in range(60):
        file = files[rng.integers(len(files))]
        content = file.read_bytes()
        file.write_bytes(mutated(content, rng))
        try:
            list(open_source(path))
        except SourceError as error:
            messages.append(str(error))
        file.write_bytes(content)
    assert len(messages) > 3
    assert all(path.name in message and "\n" not in message for message in messages)


# Lists that begin far before their numbers, and an index beyond a dictionary.
OFFSETS = np.arange(0, 404, 4, dtype="i4")
OUTSIDE = {
    "list": (OFFSETS, OFFSETS - 2_000_000_000),
    "dictionary": (np.full(100, 3, "i4"), np.full(100, 1_000_000_000, "i4")),
}


@pytest.mark.parametrize("kind", OUTSIDE)
@pytest.mark.parametrize("make", [pa.ipc.new_file, pa.ipc.new_stream])
def test_arrow_offsets_that_lead_outside(tmp_path, make, kind):
    """Arrow follows them blindly, and would crash."""
    lists = pa.ListArray.from_arrays(pa.array(OFFSETS), pa.array(np.arange(400.0)))
    words = pa.DictionaryArray.from_arrays(np.full(100, 3, "i4"), ["u", "v", "w", "x"])
    batch = pa.record_batch({"a": lists if kind == "list" else words})
    with make(tmp_path / "a.arrow", batch.schema) as writer:
        writer.write_batch(batch)
    before, after = (array.tobytes() for array in OUTSIDE[kind])
    content = (tmp_path / "a.arrow").read_bytes()
    assert content.count(before) == 1
    (tmp_path / "a.arrow").write_bytes(content.replace(before, after))
    code = "import sys; from onepass.sources.arrow import *; table = ArrowTable(sys.argv[1], None)"
    code += "; print(list(table.cells([0])), list(table.read(0, 9, np.dtype('f8'))))"
    command = [sys.executable, "-c", code, str(tmp_path / "a.arrow")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "ArrowInvalid" in done.stderr or "ArrowIndexError" in done.stderr
