"""Packages that only some features need, and the extras of onepass that install them."""

import importlib


def require(feature: str, extra: str, *packages: str) -> None:
    """Import packages before the work begins; if one is missing, say what to install."""
    for package in packages:
        try:
            importlib.import_module(package)
        except ModuleNotFoundError as error:
            raise ImportError(f"{feature} needs {package}: {how_to_install(extra)}") from error


def how_to_install(extra: str) -> str:
    """Return the command that installs an extra; onepass is not yet on PyPI."""
    return f'in a clone of onepass, pip install ".[{extra}]"'
