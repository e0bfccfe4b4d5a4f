"""The work of ``onepass fit`` on more than one process or machine."""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any

import click

from onepass import model_file
from onepass.cli import checkpoint as checkpoints
from onepass.cli.guarding import Failure, MachineFailure, told
from onepass.cli.interruption import Interruption
from onepass.progress import Progress


@contextmanager
def connected(address: str | None, workers: int | None) -> Iterator[Any]:
    """Give a Dask client: of a running cluster, or of a new one on this machine."""
    try:
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise ImportError("--dask and --workers need dask: pip install 'onepass[dask]'") from error
    if address is not None:
        try:
            client = Client(address, set_as_default=False)
        except (OSError, ValueError) as error:
            raise Failure(f"--dask {address}: there is no scheduler: {error}") from error
        with client:
            yield client
    else:
        with _deaf_to_interrupts():
            cluster = LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                dashboard_address="127.0.0.1:0",
                silence_logs=logging.CRITICAL,  # errors are told once, by this process
            )
        with cluster, Client(cluster, set_as_default=False) as client:
            yield client


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Have processes that are started here ignore Ctrl-C, which a terminal sends to all of them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)


class Urgent(Interruption):
    """Signals that end waiting at once: work that is lost with it is only that of the cluster."""

    def _note(self, number: int, frame: FrameType | None) -> None:
        """Note the first signal, and raise."""
        self.signal = self.signal or number
        raise KeyboardInterrupt


@dataclass
class ClusterFit:
    """A model on its way, on a cluster.

    Attributes
    ----------
    model : estimator
        Not fitted before `run`.
    source : FileSource
        The rows.
    output : str
        Where the model goes.
    checkpoint_every : float
        Seconds.
    resume : bool
        Whether to go on from the checkpoint, if there is one.
    old : int
        When the checkpoint of another run was written, which is to be replaced; else 0.
    seconds : float
        How long `run` took.
    """

    model: Any
    source: Any
    output: str
    checkpoint_every: float
    resume: bool
    old: int = 0
    seconds: float = 0.0

    def run(self, client: Any, progress: Progress) -> int | None:
        """Learn from all rows and write the model; return the signal that kept it from that."""
        from onepass.distributed import fit

        begin = time.monotonic()
        with Urgent() as interruption:

            def advance(rows: int) -> None:
                progress.advance(rows)
                if interruption.signal is not None:  # lost where nothing can be raised
                    raise KeyboardInterrupt

            try:
                self.model = fit(
                    self.model,
                    self.source,
                    client,
                    checkpoint=self.path,
                    checkpoint_every=self.checkpoint_every,
                    resume=self.resume,
                    progress=advance,
                )
                self.seconds = time.monotonic() - begin
                self._save()
            except KeyboardInterrupt:
                return interruption.signal or int(signal.SIGINT)
            except (ValueError, ConnectionError) as error:
                kind = MachineFailure if isinstance(error, ConnectionError) else Failure
                raise kind(f"{error}{self._safe()}") from error
        return None

    def _save(self) -> None:
        """Write the model and remove the checkpoint; where that fails, the checkpoint is kept."""
        try:
            self.model.save(self.output)
        except OSError as error:
            message = f"{self.output} could not be written ({told(error)})"
            raise MachineFailure(f"{message}{self._safe()}") from error
        checkpoints.remove(self.output)

    @property
    def path(self) -> str:
        """Where the checkpoint lies."""
        return checkpoints.path_for(self.output)

    @property
    def saved_rows(self) -> int:
        """Rows in the checkpoint on the disk, 0 if there is none of this run."""
        if _written(self.path) in (0, self.old):
            return 0
        return int(model_file.read(self.path)[0]["n_samples_seen"])

    def _safe(self) -> str:
        """Return what is to be said about the checkpoint when the work has failed."""
        rows = self.saved_rows
        return f"; {rows:,} rows are safe in {self.path}, --resume goes on there" if rows else ""


def prepare_on_cluster(
    model: Any, source: Any, output: str, *, checkpoint_every: float, resume: bool
) -> ClusterFit:
    """Return the work to do, and say what becomes of a checkpoint that is there; see `prepare`."""
    if "standard input" in source.paths:
        raise Failure("standard input cannot be shared: --dask and --workers need files")
    checkpoints.remove(output, unfinished_only=True)
    work = ClusterFit(model, source, output, checkpoint_every, resume)
    if resume and not _written(work.path):
        click.echo(f"onepass: there is no {work.path}; beginning at the first row", err=True)
    elif resume:
        click.echo(f"onepass: going on after {work.saved_rows:,} rows", err=True)
    elif _written(work.path):
        click.echo(
            f"onepass: warning: {work.path} is of a run that was interrupted, and is going to be "
            "replaced; --resume would have gone on from it",
            err=True,
        )
        work.old = _written(work.path)
    return work


def _written(path: str) -> int:
    """Return when a file was written, 0 if it is not there."""
    return os.stat(path).st_mtime_ns if os.path.exists(path) else 0
