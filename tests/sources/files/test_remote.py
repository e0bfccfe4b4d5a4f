"""Paths with a scheme: in memory, and over HTTP from a real server."""

import functools
import http.server
import io
import os
import re
import sys
import threading

import fsspec
import numpy as np
import pytest

from onepass.sources import SourceError, open_source
from onepass.sources.paths import fingerprint
from tests.sources.files.test_formats import stacked
from tests.sources.files.written import WRITERS

ROWS = np.random.default_rng(0).standard_normal((30, 5)).round(3)
FILES = [name for name in WRITERS if not name.endswith(".zarr")]


@pytest.fixture
def memory():
    system = fsspec.filesystem("memory")
    yield system
    system.store.clear()


@pytest.mark.parametrize("name", FILES)
def test_every_format_in_memory(tmp_path, memory, name):
    WRITERS[name](tmp_path / name, ROWS)
    memory.pipe(f"/folder/{name}", (tmp_path / name).read_bytes())
    source = open_source(f"memory://folder/{name}", columns=[4, 1])
    np.testing.assert_array_equal(stacked(source, 2), ROWS[:, [4, 1]])
    rest = stacked((block for _, block in source.blocks((0, 17))), 2)
    np.testing.assert_array_equal(rest, ROWS[17:, [4, 1]])


def test_patterns_and_folders(tmp_path, memory):
    for number in range(3):
        WRITERS["a.csv"](tmp_path / "a.csv", ROWS[10 * number : 10 * number + 10])
        memory.pipe(f"/folder/{number}.csv", (tmp_path / "a.csv").read_bytes())
    memory.pipe("/folder/notes.txt", b"not data")
    for path in ("memory://folder/*.csv", "memory://folder", "memory://folder/"):
        source = open_source(path)
        np.testing.assert_array_equal(stacked(source), ROWS)
        assert source.paths[0].endswith("folder/0.csv")
    for path, message in (("*.npy", "no file matches"), ("9.csv", "9.csv: there is no such file")):
        with pytest.raises(SourceError, match=message):
            open_source(f"memory://folder/{path}")


@pytest.mark.parametrize(("path", "part"), [("a.csv", ""), ("a.zarr", "/zarr.json")])
def test_fingerprints(tmp_path, memory, path, part):
    """Of a store, which may have millions of chunks, only the metadata are looked at."""
    (tmp_path / "a.zarr" / "c").mkdir(parents=True)
    (tmp_path / "a.zarr" / "c" / "0").write_text("rows")
    (tmp_path / f"{path}{part}").write_bytes(b"{}")
    memory.pipe(f"/{path}{part}", b"{}")
    before = [fingerprint(f"{where}/{path}") for where in ("memory:/", tmp_path)]
    assert before == [fingerprint(f"{where}/{path}") for where in ("memory:/", tmp_path)]
    assert [mark["size"] for mark in before] == [2, 2]
    memory.pipe(f"/{path}{part}", b"[]")
    os.utime(tmp_path / f"{path}{part}", ns=(0, 0))
    after = [fingerprint(f"{where}/{path}") for where in ("memory:/", tmp_path)]
    assert all(one != other for one, other in zip(before, after, strict=True))


class Server(http.server.SimpleHTTPRequestHandler):
    """Serves parts of files, too, if `ranges` is true, and only errors if it is None."""

    ranges = True

    def log_message(self, *words):
        pass

    def send_head(self):
        if self.ranges is None:
            return self.send_error(500)
        wanted = re.match(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if not (self.ranges and wanted):
            return super().send_head()
        with open(self.translate_path(self.path), "rb") as file:
            content = file.read()
        first, last = int(wanted[1]), min(int(wanted[2] or len(content)), len(content) - 1)
        self.send_response(206)
        self.send_header("Content-Range", f"bytes {first}-{last}/{len(content)}")
        self.send_header("Content-Length", str(last + 1 - first))
        self.end_headers()
        return io.BytesIO(content[first : last + 1])


@pytest.fixture(params=[True, False], ids=["ranges", "whole files"])
def address(request, tmp_path):
    """The address of a server, with or without parts of files."""
    kind = type("Server", (Server,), {"ranges": request.param})
    handler = functools.partial(kind, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.parquet", "a.npy", "a.svmlight"])
def test_http(tmp_path, address, name):
    pytest.importorskip("aiohttp")
    WRITERS[name](tmp_path / name, ROWS)
    np.testing.assert_array_equal(stacked(open_source(f"{address}/{name}")), ROWS)
    assert fingerprint(f"{address}/{name}")["size"] == (tmp_path / name).stat().st_size
    if name == "a.csv.gz":
        query = f"{address}/{name}?version=2.5"
        np.testing.assert_array_equal(stacked(open_source(query)), ROWS)
    with pytest.raises(SourceError, match=rf"none{name[1:]}: there is no such file"):
        open_source(f"{address}/none{name[1:]}")


@pytest.mark.parametrize("address", [False], indirect=True)
def test_http_cannot_jump_in_whole_files(tmp_path, address):
    """More than what fsspec keeps of the beginning has to be asked for in parts."""
    pytest.importorskip("aiohttp")
    np.save(tmp_path / "a.npy", np.ones((2_000_000, 4)))
    with pytest.raises(SourceError, match=r"a\.npy.*support range requests"):
        list(open_source(f"{address}/a.npy"))


@pytest.mark.parametrize("address", [None], indirect=True)
@pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
def test_an_error_of_the_server_is_no_missing_file(address, name):
    pytest.importorskip("aiohttp")
    with pytest.raises(SourceError, match=r"the server answers with an error, HTTP status 500"):
        open_source(f"{address}/{name}")


def test_schemes_that_are_not_known(monkeypatch):
    with pytest.raises(SourceError, match=r"nowhere://a.csv: Protocol not known"):
        open_source("nowhere://a.csv")
    with pytest.raises(ImportError, match=r"reading s3:// needs one more package: Install s3fs"):
        open_source("s3://bucket/a.csv")
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(ImportError, match=r's3:// needs fsspec: .* pip install "\.\[remote\]"'):
        open_source("s3://bucket/a.csv")
