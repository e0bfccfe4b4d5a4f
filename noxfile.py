"""The Python and dependency matrix, and the checks before a release.

``make matrix``, ``make sanitize`` and ``make release-check`` run these sessions; ``nox --list``
shows all. Environments are made by uv, because it can resolve to the oldest versions that
pyproject.toml allows.
"""

from __future__ import annotations

import sys
from pathlib import Path

import nox

nox.options.default_venv_backend = "uv"
nox.options.download_python = "never"
nox.options.sessions = ["tests"]

PYTHONS = ["3.11", "3.12", "3.13"]
BUILDS = {"3.11": "cp311-cp311", "3.12": "cp312-abi3"}  # Python that builds it: tag of the wheel
DEPENDENCIES = ["newest", "oldest"]
DIST = Path("dist").resolve()
WHEELS = Path("build/wheels").resolve()
RELEASE_TOOLS = ["twine", "check-wheel-contents", "abi3audit", "auditwheel", "check-jsonschema"]
LARGEST_ENVIRONMENT_MB = 330
built: set[str] = set()  # wheels of the working tree that this run has built


def build(session: nox.Session, python: str, source: str, folder: Path) -> None:
    """Build the wheel of one Python from a folder or an sdist."""
    session.run_install(
        *("uv", "build", "--quiet", "--wheel", "--python", python),
        *("--out-dir", str(folder), source),
        external=True,
    )


def tag(python: str) -> str:
    """Return the tag of the wheel that serves a Python."""
    return BUILDS.get(python, BUILDS["3.12"])


def the_wheel(folder: Path, python: str) -> str:
    """Return the path of the wheel that serves a Python."""
    (wheel,) = folder.glob(f"onepass-*-{tag(python)}-*.whl")
    return str(wheel)


def install(session: nox.Session, dependencies: str) -> None:
    """Install the working tree with the newest or the oldest versions of what the tests need.

    A version without a wheel for this Python counts as not there: the oldest for Python 3.13 is
    the first that was published for it.
    """
    python = str(session.python)
    pins = Path(session.create_tmp(), "pins.txt")
    session.run_install(
        *("uv", "pip", "compile", "--quiet", "--no-header", "--no-annotate", "pyproject.toml"),
        *("--extra", "test", "--only-binary", ":all:", "--python-version", python),
        *("--resolution", "highest" if dependencies == "newest" else "lowest-direct"),
        *("--output-file", str(pins)),
        external=True,
    )
    session.install("--requirement", str(pins))
    if tag(python) not in built:
        build(session, python, ".", WHEELS / tag(python))
        built.add(tag(python))
    session.install("--no-deps", "--reinstall", the_wheel(WHEELS / tag(python), python))


@nox.session(python=PYTHONS)
@nox.parametrize("dependencies", DEPENDENCIES)
def tests(session: nox.Session, dependencies: str) -> None:
    """Run the fast tests; arguments after ``--`` go to pytest."""
    install(session, dependencies)
    session.run("python", "-m", "pytest", "-q", *(session.posargs or ["-n", "2"]))


@nox.session
def sanitize(session: nox.Session) -> None:
    """Run the tests of the core under AddressSanitizer and UndefinedBehaviorSanitizer."""
    sanitized = "--config-settings-package=onepass:cmake.define.ONEPASS_SANITIZE=ON"
    session.install(
        "pytest", "pytest-xdist", "hypothesis", "--reinstall-package", "onepass", sanitized, "."
    )
    libraries = [
        session.run("g++", f"-print-file-name={name}", silent=True, external=True).strip()
        for name in ("libasan.so", "libubsan.so", "libstdc++.so")  # Python itself has none of them
    ]
    session.run(
        *("python", "-m", "pytest", "-q", "tests/core", *session.posargs),
        env={"LD_PRELOAD": " ".join(libraries), "ASAN_OPTIONS": "detect_leaks=0"},
    )


@nox.session
def release(session: nox.Session) -> None:
    """Build the sdist and the wheels of this system into ``dist``, and check them."""
    session.install(*RELEASE_TOOLS)
    for old in DIST.glob("onepass-*"):
        old.unlink()
    session.run("uv", "build", "--quiet", "--sdist", "--out-dir", str(DIST), external=True)
    (sdist,) = DIST.glob("onepass-*.tar.gz")
    for python in BUILDS:
        build(session, python, str(sdist), DIST)
    wheels = [the_wheel(DIST, python) for python in BUILDS]
    session.run("twine", "check", "--strict", str(sdist), *wheels)
    session.run("check-wheel-contents", *wheels)
    session.run("abi3audit", "--strict", "--verbose", the_wheel(DIST, "3.12"))
    if sys.platform == "linux":
        for wheel in wheels:
            session.run("auditwheel", "show", wheel)
    workflows = sorted(map(str, Path(".github/workflows").glob("*.yml")))
    session.run("check-jsonschema", "--builtin-schema", "vendor.github-workflows", *workflows)
    session.run(
        "check-jsonschema", "--builtin-schema", "vendor.dependabot", ".github/dependabot.yml"
    )


@nox.session(python=PYTHONS)
@nox.parametrize("artefact", ["wheel", "sdist"])
def smoke(session: nox.Session, artefact: str) -> None:
    """Install what ``release`` built in an empty environment and run the smoke test."""
    if artefact == "wheel":
        session.install(the_wheel(DIST, str(session.python)))
    else:
        session.install("--no-binary", "onepass", *map(str, DIST.glob("onepass-*.tar.gz")))
    script = Path("tests/smoke.py").resolve()
    session.chdir(session.create_tmp())
    session.run("python", "-I", str(script), str(LARGEST_ENVIRONMENT_MB))
