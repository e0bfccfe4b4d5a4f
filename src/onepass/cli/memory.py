"""How much memory a command may take, so that too much ends in one line.

Without a limit Linux promises more memory than there is, and kills the process that touches it.
"""

from __future__ import annotations

import errno
import os
import re

import click

# With less, libraries fail in their own ways: they crash, or wait for a thread that never started.
LEAST_BYTES = 1 << 30
UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
# What libraries say, in errors that are no MemoryError, where there is no memory left.
SAID = re.compile(
    r"malloc(\(\w*\))?( of size \d+)? failed|cannot allocate memory|out of memory|bad_alloc"
    r"|unable to allocate|can't allocate|memory allocation failed",
    re.IGNORECASE,
)


def parse_size(text: str) -> int:
    """Return a number of bytes from text such as 2GB, 1.5 GiB or 800M.

    >>> parse_size("1.5GB")
    1610612736
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(?:I?B)?\s*", text, re.IGNORECASE)
    if found is None:
        raise click.BadParameter(f"{text!r} is not a size such as 2GB")
    size = int(float(found[1]) * UNITS[found[2].upper()])
    if size < LEAST_BYTES:
        raise click.BadParameter(f"{text}: at least {shown(LEAST_BYTES)} are needed")
    return size


def limit(size: int | None = None) -> bool:
    """Limit what this process may allocate, by default to what is available now.

    Returns whether the system can. Processes that are started later inherit the limit.
    """
    try:
        from resource import RLIM_INFINITY, RLIMIT_DATA, getrlimit, setrlimit

        size = _available() if size is None else size
    except (ImportError, OSError):  # neither on Windows nor on macOS
        return False
    most = getrlimit(RLIMIT_DATA)[1]
    setrlimit(RLIMIT_DATA, (size if most == RLIM_INFINITY else min(size, most), most))
    return True


def limited() -> int | None:
    """Return the limit, None if there is none."""
    try:
        from resource import RLIM_INFINITY, RLIMIT_DATA, getrlimit
    except ImportError:
        return None
    size = getrlimit(RLIMIT_DATA)[0]
    return None if size == RLIM_INFINITY else size


def _available() -> int:
    """Return the bytes of memory that Linux and its control group can give now."""
    with open("/proc/meminfo") as file:
        free = next(int(line.split()[1]) for line in file if line.startswith("MemAvailable:"))
    sizes = []
    for name in ("memory.max", "memory.current"):
        try:
            with open(os.path.join("/sys/fs/cgroup", name)) as file:
                sizes.append(int(file.read()))
        except (OSError, ValueError):  # there is no group, or its limit is "max"
            return max(free << 10, LEAST_BYTES)
    return max(min(free << 10, sizes[0] - sizes[1]), LEAST_BYTES)


def is_lack(error: BaseException | None) -> bool:
    """Return whether an error, or one that it comes from, is a lack of memory."""
    while error is not None:
        if isinstance(error, MemoryError) or SAID.search(str(error)):
            return True
        if isinstance(error, OSError) and error.errno == errno.ENOMEM:
            return True
        error = error.__cause__ or error.__context__
    return False


def shown(size: float) -> str:
    """Return a number of bytes as text.

    >>> shown(1 << 30)
    '1.0 GB'
    """
    for unit, least in (("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)):
        if size >= least:
            return f"{size / least:.{int(unit == 'GB')}f} {unit}"
    return f"{size} bytes"
