"""Build with scikit-build-core; where the machine has no compiler, take one from PyPI.

The package ``ziglang`` holds a C++ compiler with its linker and archiver. It is asked for as a
build requirement only where neither ``CXX`` nor a usual compiler is found. On Windows the compiler
is clang-cl, which comes with LLVM and with Visual Studio.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from scikit_build_core import build as scikit_build
from scikit_build_core.build import *  # noqa: F403

Settings = dict[str, Any] | None

if sys.platform == "win32":  # CMake would take Visual C++, which lacks what the core is written in
    os.environ.setdefault("CXX", "clang-cl")
    os.environ.setdefault("CMAKE_GENERATOR", "Ninja")


def _has_compiler() -> bool:
    """Return whether CMake will find a compiler by itself."""
    names = ("c++", "g++", "clang++", "clang-cl")
    return bool(os.environ.get("CXX")) or any(shutil.which(name) for name in names)


@contextmanager
def _compiler() -> Iterator[None]:
    """Let CMake find the compiler of ``ziglang`` where there is no other."""
    if _has_compiler():
        yield
        return
    with tempfile.TemporaryDirectory() as tools:
        for tool in ("c++", "ar", "ranlib"):  # CMake wants programs, not commands
            script = Path(tools, f"zig-{tool}")
            script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ziglang {tool} "$@"\n')
            script.chmod(0o755)
        os.environ["CXX"] = f"{tools}/zig-c++"
        defines = f"-DCMAKE_AR={tools}/zig-ar -DCMAKE_RANLIB={tools}/zig-ranlib -DONEPASS_ZIG=ON"
        os.environ["CMAKE_ARGS"] = f"{os.environ.get('CMAKE_ARGS', '')} {defines}".strip()
        yield


def _extra() -> list[str]:
    return [] if _has_compiler() else ["ziglang"]


def get_requires_for_build_wheel(config_settings: Settings = None) -> list[str]:
    """Return what building a wheel needs."""
    return [*scikit_build.get_requires_for_build_wheel(config_settings), *_extra()]


def get_requires_for_build_editable(config_settings: Settings = None) -> list[str]:
    """Return what an editable installation needs."""
    return [*scikit_build.get_requires_for_build_editable(config_settings), *_extra()]


def build_wheel(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None
) -> str:
    """Build a wheel and return its name."""
    with _compiler():
        return scikit_build.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None
) -> str:
    """Build the wheel of an editable installation and return its name."""
    with _compiler():
        return scikit_build.build_editable(wheel_directory, config_settings, metadata_directory)
