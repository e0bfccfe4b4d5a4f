"""The engine that needs no installation; `make engines` tries the others."""

import subprocess
import sys
from pathlib import Path

ENGINES = Path(__file__).parents[2] / "examples" / "engines"
EXAMPLES = sorted(path for path in ENGINES.glob("*.py") if path.name != "compare.py")


def test_a_pool_of_processes_learns_what_one_pass_learns():
    command = [sys.executable, ENGINES / "compare.py", sys.executable, ENGINES / "process_pool.py"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "200,000 rows; differs by" in done.stdout


def test_every_engine_is_run_and_shown():
    root = ENGINES.parents[1]
    for path in EXAMPLES:
        for where in ("Makefile", "docs/engines.md"):
            assert f"examples/engines/{path.name}" in (root / where).read_text()
