"""The program ``onepass``: the command line in a process of its own."""

from __future__ import annotations

import io
import os
import sys
from typing import Any

# Of addresses, for Python with all libraries and their threads. With less they fail in their own
# ways: they crash, or wait for a thread that was never started.
_LEAST_BYTES = 1 << 30


class _Forgiving(io.FileIO):
    """A stream that raises one error at most, and forgets what is written later, as /dev/null does.

    That a reader leaves is no error, nor that messages on standard error have no place.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number, "wb", closefd=False)
        self._may_raise = number != 2

    def write(self, data: Any) -> int:
        """Write bytes, or nothing."""
        try:
            return super().write(data) or 0
        except OSError as error:
            if self._may_raise and not isinstance(error, BrokenPipeError):
                self._may_raise = False
                raise OSError(error.errno, error.strerror, "standard output") from error
            return len(data)


def run() -> None:
    """Run the command line, whatever the standard streams are."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:  # closed: the next file would be taken for it
            os.open(os.devnull, os.O_RDWR)
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        elif isinstance(stream, io.TextIOWrapper):
            setattr(sys, name, _robust(stream))
    _check_addresses()

    from onepass.cli import main, memory

    memory.limit()

    main()


def _robust(stream: io.TextIOWrapper) -> io.TextIOWrapper:
    """Return a stream that lacks no character of names, and whose reader may leave."""
    raw = getattr(stream.buffer, "raw", stream.buffer)  # with PYTHONUNBUFFERED it is the same
    if not isinstance(raw, io.FileIO):  # a console of Windows
        stream.reconfigure(errors="backslashreplace")
        return stream
    return io.TextIOWrapper(
        io.BufferedWriter(_Forgiving(stream.fileno())),
        encoding=stream.encoding,
        errors="backslashreplace",
        line_buffering=stream.line_buffering or stream.write_through,
    )


def _check_addresses() -> None:
    """End the program if ``ulimit -v`` leaves it too few addresses."""
    try:
        import resource
    except ImportError:  # on Windows
        return
    most = resource.getrlimit(resource.RLIMIT_AS)[0]
    if most != resource.RLIM_INFINITY and most < _LEAST_BYTES:
        message = f"onepass: not enough memory: ulimit -v is {most >> 10}"
        print(f"{message}, and at least {_LEAST_BYTES >> 10} are needed", file=sys.stderr)
        sys.exit(1)
