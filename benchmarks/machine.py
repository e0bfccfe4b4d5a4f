"""What the numbers were measured on."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = ("onepass", "numpy", "scipy", "scikit-learn", "gensim", "fbpca", "torch")


def describe(threads: int) -> dict[str, str]:
    """Return processor, number of threads, Python and the versions of what was compared."""
    found = {
        "processor": f"{_processor()}, {os.cpu_count()} cores",
        "threads": str(threads),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def _processor() -> str:
    """Return the processor's name, as Linux tells it where there is Linux."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown processor"
