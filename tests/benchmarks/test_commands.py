"""Commands are measured as whole processes."""

import json
import sys

import pytest

from benchmarks import commands


def test_what_a_process_takes():
    mine = bytearray(500_000_000)  # does not count
    code = "held = bytearray(200_000_000); sum(range(2_000_000))"
    found = commands.process(sys.executable, "-c", code)
    assert 200 < found["memory"] < 400
    assert found["cpu"] > 0.0
    assert found["wall"] > 0.0
    assert not any(mine[::4096])
    with pytest.raises(RuntimeError, match="no such thing"):
        commands.process(sys.executable, "-c", "raise SystemExit('no such thing')")


def test_embeddings(tmp_path):
    output = tmp_path / "found.json"
    commands.main(["--quick", "--only", "embeddings", "--output", str(output)])
    (row,) = json.loads(output.read_text())["rows"]
    for command in ("fit", "transform", "report"):
        assert row["runs"][command]["memory"] < 500


def test_cells_without_scanpy(tmp_path, monkeypatch):
    monkeypatch.setattr(commands, "with_scanpy", lambda *given: {})
    output = tmp_path / "found.json"
    commands.main(["--quick", "--only", "cells", "--output", str(output)])
    (row,) = json.loads(output.read_text())["rows"]
    assert row["runs"]["fit"]["lost"] < 1e-6
    assert row["runs"]["fit"]["memory"] < 800
