"""The work of ``onepass fit``: from a source to a model, with checkpoints on the way."""

from __future__ import annotations

import logging
import os
import signal
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

from onepass import model_file
from onepass.cli import checkpoint as checkpoints
from onepass.cli.checkpoint import Checkpoint
from onepass.cli.errors import (
    Failure,
    MachineFailure,
    ignoring_interrupts,
    noting_signals,
    reason,
)
from onepass.cli.messages import note, warn
from onepass.progress import Progress
from onepass.sources import Block, Position, Source
from onepass.sources.files.source import FileSource
from onepass.sources.files.storage import fingerprint

LOOK_EVERY = 1.0  # seconds between two looks at what has been captured, which costs a little


@dataclass
class Fit(ABC):
    """A model on its way.

    Attributes
    ----------
    model : estimator
        New, or out of a checkpoint.
    source : FileSource
        The rows.
    output : str
        Where the model goes.
    options : dict
        Everything that decides about the result, apart from the data.
    checkpoint_every : float
        Seconds.
    saved_rows : int
        Rows in the checkpoint on the disk, 0 if there is none of this run.
    seconds : float
        Since the first row, those before an interruption included.
    """

    model: Any
    source: FileSource
    output: str
    options: dict[str, Any]
    checkpoint_every: float
    saved_rows: int = 0
    seconds: float = 0.0

    @property
    def path(self) -> str:
        """Where the checkpoint lies."""
        return f"{self.output}.checkpoint"

    def prepare(self, resume: bool) -> None:
        """Begin at the first row, or with `resume` from a checkpoint that fits; say which."""
        for path in (self.output, self.path):
            checkpoints.remove_unfinished(path)
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
        checkpoints.remove_unfinished(self.output)
        checkpoints.remove_unfinished(self.path)
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
    the source was read always belong together.

    Parameters
    ----------
    source : Source
        Where the blocks come from.
    blocks : iterator of (Position, Block)
        From ``source.blocks(...)``; the next stretch goes on with it.
    pause : callable
        Called with the number of rows of each block that has been worked on; returns whether to
        pause.

    Attributes
    ----------
    position : Position or None
        How far the source was worked on; None before the first block.
    exhausted : bool
        Whether that was all.
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
        self.position: Position | None = None
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
    """A model on its way, in this process.

    Attributes
    ----------
    checkpoint : Checkpoint or None
        Where to begin, and what identifies data and options; None if the data can be read only
        once, and there is no use in a checkpoint.
    """

    checkpoint: Checkpoint | None = None

    def prepare(self, resume: bool) -> None:
        """Begin at the first row, or with `resume` from a checkpoint that fits; say which."""
        if "standard input" not in self.source.paths:
            columns: list[Any] = self.source.feature_names or [self.source.n_features]
            files = [fingerprint(path) for path in self.source.paths]
            self.checkpoint = Checkpoint(self.options, columns, files, Position(0, 0), 0.0)
            super().prepare(resume)
        elif resume:
            raise Failure("--resume: standard input cannot be read again from the middle")

    def _resume(self) -> None:
        now = self.checkpoint
        assert now is not None
        self.model, self.checkpoint = checkpoints.load(self.path)
        found = list(checkpoints.differences(self.checkpoint, now))
        if found:
            more = f" (and {len(found) - 3} more differences)" if len(found) > 3 else ""
            raise Failure(f"{self.path} is of another run: {'; '.join(found[:3])}{more}")
        self.saved_rows = self.model.n_samples_seen_

    def run(self, progress: Progress) -> int | None:
        """Learn from all rows and write the model; return the signal that kept it from that."""
        begin = time.monotonic() - (self.checkpoint.seconds if self.checkpoint else 0.0)
        due = time.monotonic() + self.checkpoint_every
        start = self.checkpoint.position if self.checkpoint and self.saved_rows else None
        blocks: Any = self.source.blocks(start)
        # Without a checkpoint there is nothing to wait for, and a pipe may never say anything more.
        with noting_signals(active=self.checkpoint is not None) as noted, closing(blocks):
            stretch = None
            while stretch is None or not stretch.exhausted:
                look = time.monotonic() + LOOK_EVERY if progress.visible else float("inf")
                pause_at = min(look, due) if self.checkpoint else look

                def pause(rows: int, pause_at: float = pause_at) -> bool:
                    progress.advance(rows)
                    return noted.signal is not None or time.monotonic() >= pause_at

                stretch = Stretch(self.source, blocks, pause)
                self.model.partial_fit(stretch)
                self.seconds = time.monotonic() - begin
                if self.checkpoint and stretch.position:
                    self.checkpoint = replace(
                        self.checkpoint, position=stretch.position, seconds=self.seconds
                    )
                if noted.signal is not None:
                    self._save_checkpoint()
                    return noted.signal
                if time.monotonic() >= due and not stretch.exhausted:
                    self._save_checkpoint()
                    due = time.monotonic() + self.checkpoint_every
                if progress.visible:
                    progress.captured(self.model.captured_.mean)
            self._save()  # a signal that comes now is too late: there is nothing left to stop
        return None

    def _save_checkpoint(self) -> None:
        """Write the checkpoint; where that fails the old one stays, and the work goes on."""
        if self.checkpoint is None:
            return
        try:
            checkpoints.save(self.path, self.model, self.checkpoint)
        except OSError as error:
            kept = f"the one of {self.saved_rows:,} rows is kept" if self.saved_rows else "none yet"
            warn(f"the checkpoint could not be written ({reason(error)}); {kept}")
        else:
            self.saved_rows = self.model.n_samples_seen_


@dataclass
class ClusterFit(Fit):
    """A model on its way, on a cluster.

    Attributes
    ----------
    address : str or None
        Of the scheduler.
    workers : int or None
        Without an address: how many processes to start on this machine.
    """

    address: str | None = None
    workers: int | None = None
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
            _connected(self.address, self.workers) as client,
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
def _connected(address: str | None, workers: int | None) -> Iterator[Any]:
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
        with ignoring_interrupts():
            cluster = LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                dashboard_address="127.0.0.1:0",
                silence_logs=logging.CRITICAL,  # errors are told once, by this process
            )
        with cluster, Client(cluster, set_as_default=False) as client:
            yield client


def _written(path: str) -> int:
    """Return when a file was written, 0 if it is not there."""
    return os.stat(path).st_mtime_ns if os.path.exists(path) else 0
