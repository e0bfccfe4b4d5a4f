"""`import onepass` and the help bring in nothing that they do not need."""

import subprocess
import sys

LOOK = """
import sys
import onepass.cli
names = "numpy", "scipy", "sklearn", "dask", "pandas", "pyarrow", "matplotlib", "rich"
print(*(name in sys.modules for name in names))
"""


def test_import_is_lazy():
    output = subprocess.run(
        [sys.executable, "-c", LOOK], capture_output=True, text=True, check=True
    )
    assert set(output.stdout.split()) == {"False"}


def test_every_public_name_is_there():
    import onepass

    for name in onepass.ESTIMATORS:
        assert name in dir(onepass)
        assert getattr(onepass, name).__name__ == name
    assert not hasattr(onepass, "no_such_name")


def test_it_works_without_docstrings_and_assertions():
    code = "import onepass; print(*(getattr(onepass, name)(2) for name in onepass.ESTIMATORS))"
    code += "; print(onepass.PCA(1).fit([[1.0, 2.0], [3.0, 5.0], [0.0, 1.0]]).components_.shape)"
    command = [sys.executable, "-OO", "-c", code]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert output.startswith("PCA(n_components=2)")
    assert output.endswith("(1, 2)\n")
