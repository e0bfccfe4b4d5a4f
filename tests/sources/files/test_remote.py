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
from tests.sources.files.test_formats import HAVE_NO_NAMES, dense
from tests.sources.files.written import WRITERS

ROWS = np.random.default_rng(0).standard_normal((30, 5)).round(3)
FILES = [name for name in WRITERS if not name.endswith(".zarr")]


def stacked(source):
    return np.vstack([dense(block) for block in source])


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
    np.testing.assert_array_equal(stacked(source), ROWS[:, [4, 1]])
    if not name.endswith(HAVE_NO_NAMES):
        assert source.feature_names == ["c4", "c1"]
    rest = [dense(block) for _, block in source.blocks((0, 17))]
    np.testing.assert_array_equal(np.vstack(rest), ROWS[17:, [4, 1]])


def test_patterns_and_folders(tmp_path, memory):
    for number in range(3):
        WRITERS["a.csv"](tmp_path / "a.csv", ROWS[10 * number : 10 * number + 10])
        memory.pipe(f"/folder/{number}.csv", (tmp_path / "a.csv").read_bytes())
    memory.pipe("/folder/notes.txt", b"not data")
    for path in ("memory://folder/*.csv", "memory://folder", "memory://folder/"):
        source = open_source(path)
        np.testing.assert_array_equal(stacked(source), ROWS)
        assert source.paths[0].endswith("folder/0.csv")
    with pytest.raises(SourceError, match="no file matches"):
        open_source("memory://folder/*.npy")
    with pytest.raises(SourceError, match=r"memory://folder/9.csv: there is no such file"):
        open_source("memory://folder/9.csv")


def test_fingerprints(tmp_path, memory):
    memory.pipe("/a.csv", b"1,2\n" * 50_000)
    (tmp_path / "a.csv").write_bytes(b"1,2\n" * 50_000)
    for path in ("memory://a.csv", str(tmp_path / "a.csv")):
        before = fingerprint(path)
        assert before["size"] == 200_000
        assert fingerprint(path) == before
    memory.pipe("/a.csv", b"1,2\n" * 49_999 + b"1,3\n")
    os.utime(tmp_path / "a.csv", ns=(0, 0))
    for path in ("memory://a.csv", str(tmp_path / "a.csv")):
        now = fingerprint(path)
        assert (now["size"], now["modified"]) != (200_000, before["modified"])


def test_fingerprints_of_folders(tmp_path, memory):
    """A store may have millions of chunks: only its metadata are looked at."""
    (tmp_path / "a.zarr" / "c").mkdir(parents=True)
    (tmp_path / "a.zarr" / "zarr.json").write_text("{}")
    (tmp_path / "a.zarr" / "c" / "0").write_text("rows")
    memory.pipe("/a.zarr/zarr.json", b"{}")
    for path in ("memory://a.zarr", str(tmp_path / "a.zarr")):
        before = fingerprint(path)
        assert before["size"] == 2
    (tmp_path / "a.zarr" / "zarr.json").write_text("{ }")
    assert fingerprint(path) != before


class Server(http.server.SimpleHTTPRequestHandler):
    """Serves parts of files, too, if `ranges` is set."""

    ranges = True

    def log_message(self, *words):
        pass

    def send_head(self):
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
def ranges(request):
    """Return whether the server gives parts of files."""
    return request.param


@pytest.fixture
def address(ranges, tmp_path):
    kind = type("Server", (Server,), {"ranges": ranges})
    handler = functools.partial(kind, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.parquet", "a.npy", "a.svmlight"])
def test_http(tmp_path, address, name):
    pytest.importorskip("aiohttp")
    WRITERS[name](tmp_path / name, ROWS)
    source = open_source(f"{address}/{name}")
    np.testing.assert_array_equal(stacked(source), ROWS)
    assert fingerprint(f"{address}/{name}")["size"] == (tmp_path / name).stat().st_size


def test_an_address_with_a_query_is_decompressed(tmp_path, address):
    pytest.importorskip("aiohttp")
    WRITERS["a.csv.gz"](tmp_path / "a.csv.gz", ROWS)
    np.testing.assert_array_equal(stacked(open_source(f"{address}/a.csv.gz?version=2.5")), ROWS)


@pytest.mark.parametrize("ranges", [False], indirect=True)
def test_http_cannot_jump_in_whole_files(tmp_path, address):
    """More than what fsspec keeps of the beginning has to be asked for in parts."""
    pytest.importorskip("aiohttp")
    np.save(tmp_path / "a.npy", np.ones((2_000_000, 4)))
    with pytest.raises(SourceError, match=r"a\.npy.*support range requests"):
        list(open_source(f"{address}/a.npy"))


def test_http_without_the_file(address):
    pytest.importorskip("aiohttp")
    with pytest.raises(SourceError, match=r"none\.csv: there is no such file"):
        open_source(f"{address}/none.csv")


class Broken(http.server.BaseHTTPRequestHandler):
    """Answers everything with an error of the server."""

    def log_message(self, *words):
        pass

    def do_GET(self):
        self.send_error(500)

    def do_HEAD(self):
        self.send_error(500)


@pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
def test_an_error_of_the_server_is_no_missing_file(name):
    pytest.importorskip("aiohttp")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Broken) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with pytest.raises(SourceError, match=r"the server answers with an error, HTTP status 500"):
            open_source(f"http://127.0.0.1:{server.server_port}/{name}")
        server.shutdown()


def test_missing_packages_are_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(ImportError, match=r's3:// needs fsspec: .* pip install "\.\[remote\]"'):
        open_source("s3://bucket/a.csv")


def test_schemes_that_are_not_known():
    with pytest.raises(SourceError, match=r"nowhere://a.csv: Protocol not known"):
        open_source("nowhere://a.csv")
    with pytest.raises(ImportError, match=r"reading s3:// needs one more package: Install s3fs"):
        open_source("s3://bucket/a.csv")
