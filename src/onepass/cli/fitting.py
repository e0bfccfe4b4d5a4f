"""The work of ``onepass fit``: from a source to a model, with checkpoints on the way."""

from __future__ import annotations

import importlib
import logging
import os
import signal
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from onepass import model_file
from onepass.cli import checkpoint
from onepass.cli.errors import (
    Failure,
    MachineFailure,
    hiding_interrupts,
    noting_signals,
    reason,
)
from onepass.cli.messages import note, warn
from onepass.progress import Progress
from onepass.sources import Block, Position, Source
from onepass.sources.files.source import FileSource


@dataclass
class Fit(ABC):
    """A model on its way."""

    model: Any  # new, or out of a checkpoint
    source: FileSource
    output: str  # where the model goes
    options: dict[str, Any]  # everything that decides about the result, apart from the data
    checkpoint_every: float  # seconds
    saved_rows: int = 0  # in the checkpoint on the disk, 0 if there is none of this run
    seconds: float = 0.0  # since the first row, those before an interruption included

    @property
    def path(self) -> str:
        """Where the checkpoint lies."""
        return f"{self.output}.checkpoint"

    def prepare(self, resume: bool) -> None:
        """Begin at the first row, or with `resume` from a checkpoint that fits; say which."""
        for path in (self.output, self.path):
            checkpoint.remove_unfinished(path)
        if not os.path.exists(self.path):
            if resume:
                note(f"there is no {self.path}; beginning at the first row")
        elif resume:
            self._resume()
            note(f"going on after {self.saved_rows:,} rows")
        else:
            warn(
                f"{self.path} is of a run that was interrupted, and is going to be replaced; "
                "--resume would have gone on from it"
            )

    @abstractmethod
    def _resume(self) -> None:
        """Go on from the checkpoint."""

    @abstractmethod
    def _save_checkpoint(self) -> None:
        """See to it that what was learned is in a checkpoint, and set `saved_rows`."""

    @abstractmethod
    def run(self, progress: Progress) -> int | None:
        """Learn from all rows and write the model; return the signal that kept it from that."""

    def _save(self) -> None:
        """Write the model and remove the checkpoint; where that fails, what was learned is kept."""
        try:
            self.model.save(self.output)
        except OSError as error:
            self._save_checkpoint()
            message = f"{self.output} could not be written ({reason(error)})"
            raise MachineFailure(f"{message}{self._safe()}") from error
        for path in (self.output, self.path):
            checkpoint.remove_unfinished(path)
        with suppress(FileNotFoundError):
            os.unlink(self.path)

    def _safe(self) -> str:
        """Return what is to be said about the checkpoint when the work has failed."""
        if not self.saved_rows:
            return ""
        return f"; {self.saved_rows:,} rows are safe in {self.path}, --resume goes on there"


class Stretch(Source):
    """The next blocks of a source that is being read: at least one, until it is time to pause.

    Learning from a source is all or nothing. Taken stretch by stretch, what was learned and how far
    the source was read always belong together. `pause` is called with the number of rows of each
    block that has been worked on.
    """

    def __init__(
        self,
        source: Source,
        blocks: Iterator[tuple[Position, Block]],
        pause: Callable[[int], bool],
    ) -> None:
        self.n_features, self.feature_names = source.n_features, source.feature_names
        self.n_rows = None
        self._blocks, self._pause = blocks, pause
        self.position: Position | None = None  # how far the source was worked on
        self.exhausted = False

    def blocks(self, start: Position | None = None) -> Iterator[tuple[Position, Block]]:
        """Yield (position after the block, block); there is no other start than where it is."""
        for position, block in self._blocks:
            yield position, block
            self.position = position
            if self._pause(block.shape[0]):
                return
        self.exhausted = True


@dataclass
class LocalFit(Fit):
    """A model on its way, in this process."""

    # What identifies the run; None if the data can be read only once, and there are no checkpoints.
    _run: dict[str, Any] | None = None
    _position: Position | None = None  # how far the data were read

    def prepare(self, resume: bool) -> None:
        """Begin at the first row, or with `resume` from a checkpoint that fits; say which."""
        if "standard input" not in self.source.paths:
            self._run = checkpoint.describe(self.options, self.source)
            super().prepare(resume)
        elif resume:
            raise Failure("--resume: standard input cannot be read again from the middle")

    def _resume(self) -> None:
        assert self._run is not None
        self.model, self._position, self.seconds = checkpoint.load(self.path, self._run)
        self.saved_rows = self.model.n_samples_seen_

    def run(self, progress: Progress) -> int | None:
        """Learn from all rows and write the model; return the signal that kept it from that."""
        begin = time.monotonic() - self.seconds
        due = time.monotonic() + self.checkpoint_every
        keeps, is_look_due = self._run is not None, False
        blocks: Any = self.source.blocks(self._position)
        # Without a checkpoint there is nothing to wait for, and a pipe may never say anything more.
        with noting_signals(active=keeps) as noted, closing(blocks):

            def pause(rows: int) -> bool:
                nonlocal is_look_due
                progress.advance(rows)
                is_look_due = progress.wants_captured()
                is_due = keeps and time.monotonic() >= due
                return is_look_due or is_due or noted.signal is not None

            stretch = None
            while stretch is None or not stretch.exhausted:
                stretch = Stretch(self.source, blocks, pause)
                self.model.partial_fit(stretch)
                self._position = stretch.position or self._position
                self.seconds = time.monotonic() - begin
                if noted.signal is not None:
                    self._save_checkpoint()
                    return noted.signal
                if time.monotonic() >= due and not stretch.exhausted:
                    self._save_checkpoint()
                    due = time.monotonic() + self.checkpoint_every
                if is_look_due:
                    progress.captured(self.model.captured_.mean)
            self._save()  # a signal that comes now is too late: there is nothing left to stop
        return None

    def _save_checkpoint(self) -> None:
        """Write the checkpoint; where that fails the old one stays, and the work goes on."""
        if self._run is None:
            return
        assert self._position is not None
        try:
            checkpoint.save(self.path, self.model, self._run, self._position, self.seconds)
        except OSError as error:
            kept = f"the one of {self.saved_rows:,} rows is kept" if self.saved_rows else "none yet"
            warn(f"the checkpoint could not be written ({reason(error)}); {kept}")
        else:
            self.saved_rows = self.model.n_samples_seen_


@dataclass
class ClusterFit(Fit):
    """A model on its way, on a Dask cluster."""

    address: str | None = None  # of the scheduler
    workers: int | None = None  # without an address: processes to start on this machine
    _resuming: bool = False
    _replaced: int = 0  # when the checkpoint of another run was written, which is to be replaced

    def prepare(self, resume: bool) -> None:
        """Begin at the first row, or with `resume` from a checkpoint that fits; say which."""
        if "standard input" in self.source.paths:
            raise Failure("standard input cannot be shared: --dask and --workers need files")
        super().prepare(resume)
        self._replaced = 0 if self._resuming else _written(self.path)

    def _resume(self) -> None:
        self._resuming = True
        self._save_checkpoint()

    def _save_checkpoint(self) -> None:
        """Count the rows in the checkpoint that `onepass.distributed.fit` has written."""
        if _written(self.path) not in (0, self._replaced):
            self.saved_rows = int(model_file.read(self.path)[0]["n_samples_seen"])

    def run(self, progress: Progress) -> int | None:
        """Learn from all rows and write the model; return the signal that kept it from that."""
        from onepass.distributed import fit

        # The first signal ends the waiting at once: only work of the cluster is lost with it.
        with (
            _connected(self.address, self.workers, self.model) as client,
            noting_signals(patience=0) as noted,
        ):
            begin = time.monotonic()

            def advance(rows: int) -> None:
                progress.advance(rows)
                if noted.signal is not None:  # lost where nothing can be raised
                    raise KeyboardInterrupt

            try:
                self.model = fit(
                    self.model,
                    self.source,
                    client,
                    checkpoint=self.path,
                    checkpoint_every=self.checkpoint_every,
                    resume=self._resuming,
                    progress=advance,
                )
                self.seconds = time.monotonic() - begin
                self._save()
            except KeyboardInterrupt:
                self._save_checkpoint()
                return noted.signal or int(signal.SIGINT)
            except (ValueError, ConnectionError) as error:
                self._save_checkpoint()
                kind = MachineFailure if isinstance(error, ConnectionError) else Failure
                raise kind(f"{error}{self._safe()}") from error
        return None


@contextmanager
def _connected(address: str | None, workers: int | None, model: Any) -> Iterator[Any]:
    """Give a Dask client: of a running cluster, or of a new one here that knows the model."""
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
        with hiding_interrupts():
            cluster = LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                dashboard_address="127.0.0.1:0",
                silence_logs=logging.CRITICAL,  # errors are told once, by this process
            )
        with cluster, Client(cluster, set_as_default=False) as client:
            for module in ("onepass.distributed", type(model).__module__):
                client.run(importlib.import_module, module)  # before time is taken
            yield client


def _written(path: str) -> int:
    """Return when a file was written, 0 if it is not there."""
    return os.stat(path).st_mtime_ns if os.path.exists(path) else 0
