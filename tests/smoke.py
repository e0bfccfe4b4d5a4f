"""Whether an installation works: run by the Python that has onepass and nothing of this folder.

``python -I tests/smoke.py [MEGABYTES]``; with a number, site-packages must not be larger.
"""

import importlib.metadata
import subprocess
import sys
import sysconfig
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import onepass

ESTIMATORS = ("PCA", "CappedMSG", "MSG", "MEG", "Incremental", "Oja", "AdaOja", "Grouse", "ERM")


def fit_everything(rows: np.ndarray, folder: Path) -> None:
    """Fit every estimator, and compare what it gives after saving and loading."""
    for name in ESTIMATORS:
        model = getattr(onepass, name)(3).fit(rows)
        assert np.allclose(model.components_ @ model.components_.T, np.eye(3)), name
        model.save(folder / "m.onepass")
        again = onepass.load(folder / "m.onepass")
        assert np.array_equal(again.transform(rows), model.transform(rows)), name


def compare_with_batch_pca(rows: np.ndarray) -> None:
    """Compare `PCA` with the singular vectors of all rows."""
    expected = np.linalg.svd(rows - rows.mean(0), full_matrices=False)[2][:3]
    found = onepass.PCA(3, robust=False).fit(rows).components_
    assert np.allclose(np.abs(np.sum(found * expected, axis=1)), 1.0, atol=1e-8)


def run_the_program(rows: np.ndarray, folder: Path) -> None:
    """Fit from a file by the command line."""
    np.save(folder / "rows.npy", rows)
    program = [str(Path(sysconfig.get_path("scripts"), "onepass"))]
    fit = ["fit", "rows.npy", "-k", "3", "-o", "rows.onepass"]
    for words in (["--version"], fit, ["info", "rows.onepass"]):
        done = subprocess.run(program + words, cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, (words, done.stdout, done.stderr)


def main() -> None:
    """Run all checks and print the size of the environment."""
    assert onepass.__version__ == importlib.metadata.version("onepass")
    packages = Path(sysconfig.get_path("purelib"))
    assert Path(onepass.__file__).is_relative_to(packages), onepass.__file__
    rows = np.random.default_rng(0).normal(size=(2000, 20)) * np.arange(20, 0, -1)
    with TemporaryDirectory() as name:
        fit_everything(rows, Path(name))
        compare_with_batch_pca(rows)
        run_the_program(rows, Path(name))
    size = sum(file.stat().st_size for file in packages.rglob("*") if file.is_file()) / 2**20
    version = sys.version.split()[0]
    print(f"onepass {onepass.__version__} works on Python {version}; {size:.0f} MB installed")
    assert len(sys.argv) < 2 or size <= float(sys.argv[1]), f"{size:.0f} MB installed"


main()
