"""Packages that only some features need, and the extras of onepass that install them."""

import importlib


def require(feature: str, extra: str, *packages: str) -> None:
    """Import packages before the work begins; if one is missing, say what to install."""
    for package in packages:
        try:
            importlib.import_module(package)
        except ModuleNotFoundError as error:
            message = f"{feature} needs {package}: pip install 'onepass[{extra}]'"
            raise ImportError(message) from error
