"""Errors and signals: one line and an exit code, never a traceback."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from types import FrameType
from typing import Any, NoReturn

import click

from onepass.cli import memory
from onepass.persistence.atomic import stopped_by
from onepass.warning import OnepassWarning

_WRONG_PATHS = (FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError)


class Failure(click.ClickException):
    """Wrong usage or bad data, shown as one line."""

    exit_code = 2

    def __init__(self, message: str) -> None:
        super().__init__(printable(" ".join(message.split())))

    def show(self, file: Any = None) -> None:
        """Write the line to standard error."""
        say(f"onepass: {self.message}", err=True)


class MachineFailure(Failure):
    """Not the user's fault: a full disk, a broken one, a bug."""

    exit_code = 1


def printable(text: str) -> str:
    r"""Return a text in which control characters are escaped, so that a terminal shows them.

    >>> printable("\x1b[31mred\n")
    '\\x1b[31mred\n'
    """
    shown = (c if c.isprintable() or c == "\n" else c.encode("unicode_escape") for c in text)
    return "".join(c if isinstance(c, str) else c.decode() for c in shown)


def say(message: str, *, err: bool = False) -> None:
    """Print a line, on standard error if `err`; that a reader has left is no error.

    Names of files and columns may have control characters, which are escaped. Messages on standard
    error are lost where they have no place.
    """
    with contextlib.suppress(OSError if err else BrokenPipeError):
        click.echo(printable(message), err=err)


class GuardedGroup(click.Group):
    """A group of commands whose errors all end here."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order in which the help shows them."""
        return list(self.commands)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep the words of the command, for the one that continues it."""
        ctx.meta["onepass.words"] = ["onepass", *args]
        return super().parse_args(ctx, args)

    def main(self, args: Any = None, *more: Any, **extra: Any) -> NoReturn:
        """Run the command line; Ctrl-C and kill are one line and an exit code, too."""
        signals: list[int] = []
        code: Any = None
        try:
            # Signals end like an exception, so that unfinished files are removed on the way out.
            with noting_signals(patience=0) as signals, stopped_by(signals):
                code = super().main(args, *more, **{**extra, "standalone_mode": False})
        except (click.Abort, KeyboardInterrupt):
            signals = signals or [signal.SIGINT]
        except click.ClickException as error:
            if not signals:
                error.show()
            code = error.exit_code
        except OSError as error:  # of standard output, for a help that no command writes
            if not signals:
                MachineFailure(system_message(error)).show()
            code = MachineFailure.exit_code
        except BaseException:
            if not signals:
                raise
        # A signal decides how the command ends, whatever else happened. Compiled code may replace
        # its exception by another, or drop it and go on.
        if signals:
            say("onepass: stopped", err=True)
            code = 128 + signals[0]
        sys.exit(code)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; turn an exception into one that click shows."""
        with warnings.catch_warnings():
            warnings.showwarning = _warn_in_a_line
            warnings.simplefilter("always", OnepassWarning)
            try:
                return super().invoke(ctx)
            except (click.Abort, click.exceptions.Exit, BrokenPipeError):
                raise  # click handles these, and a closed pipe quietly
            except KeyboardInterrupt as error:
                raise click.Abort from error
            except Exception as error:
                if memory.is_lack(error):
                    raise _lack_of_memory(ctx) from error
                if isinstance(error, click.ClickException):
                    raise
                raise in_a_line(error) from error


def _lack_of_memory(ctx: click.Context) -> Failure:
    """Return what is said where memory is not enough: for what, and how much there was."""
    most = memory.limited()
    there_was = "" if most is None else f": {memory.shown(most)} could be allocated"
    return Failure(
        f"{shlex.join(ctx.meta['onepass.words'])}: not enough memory{there_was}; allow more with "
        "--memory, or read fewer columns"
    )


def in_a_line(error: Exception) -> Failure:
    """Return an error that is shown as one line."""
    if isinstance(error, ValueError | ImportError):
        # A module that is there and cannot be loaded has a path, a missing one has none.
        return (MachineFailure if getattr(error, "path", None) else Failure)(str(error))
    if isinstance(error, OSError):
        kind = Failure if isinstance(error, _WRONG_PATHS) else MachineFailure
        return kind(system_message(error))
    if os.environ.get("ONEPASS_TRACEBACK"):
        raise error
    return MachineFailure(
        f"{type(error).__name__}: {error} (a bug; ONEPASS_TRACEBACK=1 shows where)"
    )


def system_message(error: OSError) -> str:
    """Return what the operating system said, without its number."""
    if error.strerror is None:
        return str(error)
    return f"{error.filename}: {error.strerror}" if error.filename else error.strerror


def _warn_in_a_line(message: Any, category: type[Warning], *place: Any, **more: Any) -> None:
    """Show a warning without the place in the code."""
    if not issubclass(category, DeprecationWarning | PendingDeprecationWarning):
        say(f"onepass: warning: {message}", err=True)


@contextlib.contextmanager
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


@contextlib.contextmanager
def noting_signals(*, active: bool = True, patience: int = 1) -> Iterator[list[int]]:
    """Give a list of the signals that come, so that work can stop where nothing is lost.

    The first `patience` signals do nothing else; each later one raises KeyboardInterrupt. Signals
    that were ignored, as SIGHUP is under nohup, stay ignored. If not `active`, nothing changes, nor
    outside of the main thread, where no signal arrives.
    """
    came: list[int] = []
    active = active and threading.current_thread() is threading.main_thread()

    def note(number: int, frame: FrameType | None) -> None:
        came.append(number)
        if len(came) > patience:
            raise KeyboardInterrupt

    names = [name for name in ("SIGINT", "SIGTERM", "SIGHUP") if active and hasattr(signal, name)]
    numbers = [getattr(signal, name) for name in names]
    heard = [number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]
    previous = {number: signal.signal(number, note) for number in heard}
    try:
        yield came
    finally:
        for number, handle in previous.items():
            signal.signal(number, handle)
