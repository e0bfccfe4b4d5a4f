"""`import onepass` is quick and brings in nothing that it does not need."""

import subprocess
import sys

LOOK = """
import sys, time
start = time.perf_counter()
import onepass
seconds = time.perf_counter() - start
print(seconds, *(name in sys.modules for name in ("numba", "sklearn", "scipy", "dask", "pandas")))
"""


def test_import_is_quick_and_lazy():
    outputs = [
        subprocess.run([sys.executable, "-c", LOOK], capture_output=True, text=True, check=True)
        for _ in range(3)
    ]
    seconds, *imported = zip(*(output.stdout.split() for output in outputs), strict=True)
    assert {flag for flags in imported for flag in flags} == {"False"}
    assert min(map(float, seconds)) < 0.2


def test_every_public_name_is_there():
    import onepass

    for name in ("MSG", "CappedMSG", "MEG", "Incremental", "Oja", "Grouse", "ERM"):
        assert name in dir(onepass)
        assert getattr(onepass, name).__name__ == name
    assert not hasattr(onepass, "no_such_name")
