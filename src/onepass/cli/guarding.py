"""Errors -> one clear line and an exit code, never a traceback."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import warnings
from collections.abc import Iterator
from types import FrameType
from typing import Any, NoReturn

import click


class Failure(click.ClickException):
    """Wrong usage or bad data, shown as one line."""

    exit_code = 2

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.split()))

    def show(self, file: Any = None) -> None:
        """Write the line to standard error."""
        click.echo(f"onepass: {self.message}", file=file, err=True)


class MachineFailure(Failure):
    """Not the user's fault: a full disk, a broken one, too little memory, a bug."""

    exit_code = 1


_WRONG_PATHS = (FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError)


class GuardedGroup(click.Group):
    """A group of commands whose errors all end here."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; turn what went wrong into a line and an exit code."""
        with _ending_by_signals(), _warning_in_lines():
            try:
                return super().invoke(ctx)
            except KeyboardInterrupt:
                click.echo("onepass: stopped", err=True)
                ctx.exit(128 + signal.SIGINT)
            except (click.ClickException, click.Abort, click.exceptions.Exit, BrokenPipeError):
                raise  # click knows what to do; with a closed pipe, to end quietly
            except (ValueError, ImportError) as error:
                raise Failure(str(error)) from error
            except MemoryError as error:
                raise MachineFailure(f"not enough memory: {error}") from error
            except OSError as error:
                kind = Failure if isinstance(error, _WRONG_PATHS) else MachineFailure
                raise kind(told(error)) from error
            except Exception as error:
                if os.environ.get("ONEPASS_TRACEBACK"):
                    raise
                what = f"{type(error).__name__}: {error}"
                message = f"{what} (a bug; ONEPASS_TRACEBACK=1 shows where)"
                raise MachineFailure(message) from error


def told(error: OSError) -> str:
    """Return what the operating system said, without its number."""
    if error.strerror is None:
        return str(error)
    return f"{error.filename}: {error.strerror}" if error.filename else error.strerror


@contextlib.contextmanager
def _ending_by_signals() -> Iterator[None]:
    """End by SIGTERM as by an exception, so that unfinished files are removed on the way out."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = signal.signal(signal.SIGTERM, _end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)


def _end(number: int, frame: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)


@contextlib.contextmanager
def _warning_in_lines() -> Iterator[None]:
    """Show a warning as one line, without the place in the code."""

    def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if not issubclass(category, DeprecationWarning | PendingDeprecationWarning):
            click.echo(f"onepass: warning: {message}", err=True)

    previous = warnings.showwarning
    warnings.showwarning = show
    try:
        yield
    finally:
        warnings.showwarning = previous
