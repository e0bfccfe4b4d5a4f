"""The program as it is installed: what it imports, and the memory that it takes."""

import importlib.metadata
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from onepass.cli.program import Lazily

RUN = """
import sys
from onepass.cli.program import run
try:
    run()
finally:
    with open("/proc/self/status") as status:
        peak = next(line.split()[1] for line in status if line.startswith("VmHWM"))
    needless = {"pandas", "scipy.stats.distributions"} & set(sys.modules)
    print(peak, bool(needless), file=sys.stderr)
"""


def test_it_is_what_is_installed():
    (script,) = importlib.metadata.entry_points(group="console_scripts", name="onepass")
    assert script.value == "onepass.cli.program:run"


def test_a_package_waits_until_something_in_it_is_asked_for(tmp_path, monkeypatch):
    (tmp_path / "patient_package.py").write_text("import sys\nsys.patient = True\nanswer = 42\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "meta_path", [Lazily("patient_package"), *sys.meta_path])
    monkeypatch.setattr(sys, "patient", False, raising=False)
    module = importlib.import_module("patient_package")
    assert not sys.patient
    assert module.answer == 42
    assert sys.patient
    monkeypatch.setattr(sys, "meta_path", [Lazily("absent_package"), *sys.meta_path])
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("absent_package")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems say it differently")
@pytest.mark.parametrize("group_rows", [60_000, 200_000])
def test_a_fit_stays_small(tmp_path, group_rows):
    def peak(rows):
        done = subprocess.run(
            [sys.executable, "-c", RUN, "fit", "a.parquet", "-k", "8", "--json"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
        assert f'"rows": {rows}' in done.stdout
        kilobytes, needless = done.stderr.split()[-2:]
        assert needless == "False"
        return int(kilobytes)

    table = pa.table(
        list(np.random.default_rng(0).standard_normal((50, 200_000))),
        names=[f"c{j}" for j in range(50)],
    )
    pa.parquet.write_table(table[:100], tmp_path / "a.parquet")
    peak(100)  # compiles what is not compiled yet, which takes more
    pa.parquet.write_table(table, tmp_path / "a.parquet", row_group_size=group_rows)
    assert peak(200_000) < 450_000
