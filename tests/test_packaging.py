"""What is declared about the package agrees with itself, and with the code."""

import ast
import re
import sys
import tomllib
from pathlib import Path

from packaging.requirements import Requirement

import onepass

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
# What a module may import -> the name under which it is installed, where these differ.
DISTRIBUTIONS = {"sklearn": "scikit-learn"}
# Imported when a file of their kind is opened, which then says what is missing.
ON_DEMAND = (
    "onepass.sources.arrow",
    "onepass.sources.csv",
)


def declared(*extras):
    """Return the names of what is installed with onepass and some extras."""
    lines = [*PROJECT["dependencies"]]
    for extra in extras:
        lines += PROJECT["optional-dependencies"][extra]
    names = {Requirement(line).name.lower() for line in lines}
    # scikit-learn brings joblib, and dask[distributed] the package of that name.
    return names | {"joblib"} | ({"distributed"} if "dask" in names else set())


def imports(path):
    """Yield the packages that a module imports, and whether that is on top of the module."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        top = node in tree.body
        if isinstance(node, ast.Import):
            yield from ((alias.name.split(".")[0], top) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module.split(".")[0], top


def test_one_version_everywhere():
    version = PROJECT["version"]
    assert onepass.__version__ == version
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()
    newest = re.search(r"^## (\S+) \((\S+)\)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest[1] == version


def test_everything_that_is_imported_is_declared():
    extras = ("files", "remote", "anndata", "report", "dask")
    for path in (ROOT / "src" / "onepass").rglob("*.py"):
        for name, top in imports(path):
            if name in sys.stdlib_module_names or name == "onepass":
                continue
            module = ".".join(path.relative_to(ROOT / "src").with_suffix("").parts)
            top = top and module not in ON_DEMAND
            allowed = declared(*([] if top else extras))
            # Optional packages that people bring along themselves are looked for, never required.
            allowed |= {"pandas", "polars", "ipython"} if not top else set()
            assert DISTRIBUTIONS.get(name, name).lower() in allowed, f"{path}: {name}"
