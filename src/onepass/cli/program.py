"""The program ``onepass``: its streams, memory and signals, and every error in one line."""

from __future__ import annotations

import errno
import json
import math
import os
import re
import shlex
import signal
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import click

from onepass.persistence.atomic import stopped_by
from onepass.warning import OnepassWarning

BROKEN, WRONG = 1, 2  # exit codes: a disk or a program has failed; wrong usage or bad data
_WRONG_PATHS = (FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError)

# With less, libraries fail in their own ways: they crash, or wait for a thread that never started.
LEAST_BYTES = 1 << 30
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
# What libraries say, in errors that are no MemoryError, where there is no memory left.
_NO_MEMORY = re.compile(
    r"malloc(\(\w*\))?( of size \d+)? failed|cannot allocate memory|out of memory|bad_alloc"
    r"|unable to allocate|can't allocate|memory allocation failed",
    re.IGNORECASE,
)


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
        else:
            stream.reconfigure(errors="backslashreplace")

    from onepass.cli import main

    limit_memory()
    try:
        main()
    finally:
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except OSError:  # its reader has left, which is no error
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


# -- what is said ----------------------------------------------------------------------------------


def printable(text: str) -> str:
    r"""Return a text in which control characters are escaped, so that a terminal shows them.

    >>> printable("\x1b[31mred\n")
    '\\x1b[31mred\n'
    """
    return "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text)


def say(message: str, *, err: bool = False) -> None:
    """Print a line, on standard error if `err`; that a reader has left is no error.

    Messages on standard error are lost where they have no place.
    """
    with suppress(OSError if err else BrokenPipeError):
        click.echo(printable(message), err=err)


def is_quiet() -> bool:
    """Return whether --quiet was given to the running command."""
    return bool(click.get_current_context().meta.get("onepass.quiet"))


def note(message: str) -> None:
    """Print a note on standard error, unless --quiet."""
    if not is_quiet():
        say(f"onepass: {message}", err=True)


def warn(message: Any, category: type[Warning] = OnepassWarning, *place: Any) -> None:
    """Print a warning on standard error, without its place in the code."""
    if not issubclass(category, DeprecationWarning | PendingDeprecationWarning):
        say(f"onepass: warning: {message}", err=True)


def print_json(found: dict[str, Any]) -> None:
    """Print results for programs."""
    say(json.dumps(plain(found)))


def plain(value: Any) -> Any:
    """Return a value as JSON holds it: arrays as lists, None for numbers that are not finite."""
    value = getattr(value, "tolist", lambda: value)()
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | None) else repr(value)


# -- errors ----------------------------------------------------------------------------------------


class Failure(click.ClickException):
    """An error that is shown as one line."""

    def __init__(self, message: str, exit_code: int = WRONG) -> None:
        super().__init__(" ".join(message.split()))
        self.exit_code = exit_code  # type: ignore[misc]

    def show(self, file: Any = None) -> None:
        """Write the line to standard error."""
        say(f"onepass: {self.message}", err=True)


def in_a_line(error: Exception, words: list[str]) -> click.ClickException:
    """Return an error of a command that is shown as one line."""
    if isinstance(error, Failure):
        return error
    if _is_lack_of_memory(error):
        return Failure(
            f"{shlex.join(words)}: not enough memory{_limit_words()}; allow more with --memory, or "
            "read fewer columns"
        )
    if isinstance(error, click.ClickException):
        return error
    if isinstance(error, ValueError | ImportError):
        # A module that is there and cannot be loaded has a path, a missing one has none.
        return Failure(str(error), BROKEN if getattr(error, "path", None) else WRONG)
    if isinstance(error, OSError):
        place = f"{error.filename}: " if error.strerror and error.filename else ""
        said = place + (error.strerror or str(error))
        return Failure(said, WRONG if isinstance(error, _WRONG_PATHS) else BROKEN)
    if os.environ.get("ONEPASS_TRACEBACK"):
        raise error
    name = type(error).__name__
    return Failure(f"{name}: {error} (a bug; ONEPASS_TRACEBACK=1 shows where)", BROKEN)


class GuardedGroup(click.Group):
    """A group of commands whose errors and signals all end here; `ctx.obj` has the words."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order in which the help shows them."""
        return list(self.commands)

    def main(self, args: Any = None, *more: Any, **extra: Any) -> NoReturn:
        """Run the command line; every error, Ctrl-C and kill are one line and an exit code."""
        words = ["onepass", *(sys.argv[1:] if args is None else args)]
        signals: list[int] = []
        extra |= {"standalone_mode": False, "obj": words}
        try:
            # Signals end like an exception, so that unfinished files are removed on the way out.
            with (
                noting_signals(patience=0) as signals,
                stopped_by(signals),
                warnings.catch_warnings(),
            ):
                warnings.showwarning = warn  # type: ignore[assignment]
                warnings.simplefilter("always", OnepassWarning)
                code = super().main(args, *more, **extra)
        except (click.Abort, KeyboardInterrupt):
            signals = signals or [signal.SIGINT]
        except Exception as error:
            if not signals:
                failure = in_a_line(error, words)
                failure.show()
                code = failure.exit_code
        # A signal decides how the command ends, whatever else happened. Compiled code may replace
        # its exception by another, or drop it and go on.
        if signals:
            say("onepass: stopped", err=True)
            code = 128 + signals[0]
        sys.exit(code)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; click would print an empty line for an interrupt."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            raise click.Abort from error


# -- signals ---------------------------------------------------------------------------------------


@contextmanager
def noting_signals(*, patience: int = 1) -> Iterator[list[int]]:
    """Give a list of the signals that come, so that work can stop where nothing is lost.

    The first `patience` signals do nothing else; each later one raises KeyboardInterrupt. Signals
    that were ignored, as SIGHUP is under nohup, stay ignored.
    """
    came: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        came.append(number)
        if len(came) > patience:
            raise KeyboardInterrupt

    names = [name for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    numbers = [getattr(signal, name) for name in names]
    heard = [number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]
    previous = {number: signal.signal(number, note) for number in heard}
    try:
        yield came
    finally:
        for number, handle in previous.items():
            signal.signal(number, handle)


@contextmanager
def hiding_interrupts() -> Iterator[None]:
    """Start processes that never see Ctrl-C, which a terminal sends to all processes.

    They inherit the blocked signal. A Ctrl-C that comes in the meantime takes effect at the end.
    """
    from multiprocessing import resource_tracker

    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # starting it later would unblock the signal
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


# -- memory ----------------------------------------------------------------------------------------
# Without a limit Linux promises more memory than there is, and kills the process that touches it.


def limit_memory(text: str | None = None) -> None:
    """Limit what this process may allocate, by default to what is available now.

    Processes that are started later inherit the limit.
    """
    size = None if text is None else parse_size(text)
    try:
        from resource import RLIM_INFINITY, RLIMIT_DATA, getrlimit, setrlimit

        size = _available() if size is None else size
    except (ImportError, OSError) as error:  # neither on Windows nor on macOS
        if text is None:
            return
        message = "this system cannot limit the memory of a process; Linux can"
        raise click.BadParameter(message) from error
    most = getrlimit(RLIMIT_DATA)[1]
    setrlimit(RLIMIT_DATA, (size if most == RLIM_INFINITY else min(size, most), most))


def parse_size(text: str) -> int:
    """Return a number of bytes from text such as 2GB, 1.5 GiB or 800M.

    >>> parse_size("1.5GB")
    1610612736
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(?:I?B)?\s*", text, re.IGNORECASE)
    if found is None:
        raise click.BadParameter(f"{text!r} is not a size such as 2GB")
    size = int(float(found[1]) * _UNITS[found[2].upper()])
    if size < LEAST_BYTES:
        raise click.BadParameter(f"{text}: at least 1GB is needed")
    return size


def _available() -> int:
    """Return the bytes of memory that Linux and its control group can give now."""
    with open("/proc/meminfo") as file:
        size = next(int(line.split()[1]) for line in file if line.startswith("MemAvailable:")) << 10
    group = Path("/sys/fs/cgroup")
    with suppress(OSError, ValueError):  # there is no group, or its limit is "max"
        most, used = ((group / name).read_text() for name in ("memory.max", "memory.current"))
        size = min(size, int(most) - int(used))
    return max(size, LEAST_BYTES)


def _limit_words() -> str:
    """Return how much memory could be allocated, in words."""
    with suppress(ImportError):
        from resource import RLIM_INFINITY, RLIMIT_DATA, getrlimit

        size = getrlimit(RLIMIT_DATA)[0]
        if size != RLIM_INFINITY:
            return f": {size / (1 << 30):.1f} GB could be allocated"
    return ""


def _is_lack_of_memory(error: BaseException | None) -> bool:
    """Return whether an error, or one that it comes from, is a lack of memory."""
    while error is not None:
        if isinstance(error, MemoryError) or _NO_MEMORY.search(str(error)):
            return True
        if isinstance(error, OSError) and error.errno == errno.ENOMEM:
            return True
        error = error.__cause__ or error.__context__
    return False
