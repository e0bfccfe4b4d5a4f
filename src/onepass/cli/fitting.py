"""The work of ``onepass fit``: from a source to a model, with checkpoints on the way."""

from __future__ import annotations

import os
import time
from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

import click

from onepass.cli import checkpoint as checkpoints
from onepass.cli.checkpoint import Checkpoint
from onepass.cli.guarding import Failure, MachineFailure, told
from onepass.cli.interruption import Interruption
from onepass.cli.stretch import Stretch
from onepass.cli.telling import note
from onepass.progress import Progress
from onepass.sources import Block, Position, Source
from onepass.sources.files.storage import fingerprint

LOOK_EVERY = 1.0  # seconds between two looks at what has been captured, which costs a little


@dataclass
class Fit:
    """A model on its way.

    Attributes
    ----------
    model : estimator
        New, or out of a checkpoint.
    source : Source
        The rows.
    output : str
        Where the model goes.
    checkpoint : Checkpoint or None
        Where to begin, and what identifies data and options; None if the data can be read only
        once, and there is no use in a checkpoint.
    checkpoint_every : float
        Seconds.
    saved_rows : int
        Rows in the checkpoint on the disk, 0 if there is none of this run.
    seconds : float
        Since the first row, those before an interruption included.
    """

    model: Any
    source: Source
    output: str
    checkpoint: Checkpoint | None
    checkpoint_every: float
    saved_rows: int = 0
    seconds: float = 0.0

    def run(self, progress: Progress) -> int | None:
        """Learn from all rows and write the model; return the signal that kept it from that."""
        begin = time.monotonic() - (self.checkpoint.seconds if self.checkpoint else 0.0)
        due = time.monotonic() + self.checkpoint_every
        start = self.checkpoint.position if self.checkpoint and self.saved_rows else None
        # Without a checkpoint there is nothing to wait for, and a pipe may never say anything more.
        patient = Interruption(active=self.checkpoint is not None)
        with patient as interruption, closing(_reading(self.source, start)) as blocks:
            stretch = None
            while stretch is None or not stretch.exhausted:
                look = time.monotonic() + LOOK_EVERY if progress.visible else float("inf")
                pause_at = min(look, due) if self.checkpoint else look

                def pause(rows: int, pause_at: float = pause_at) -> bool:
                    progress.advance(rows)
                    return interruption.signal is not None or time.monotonic() >= pause_at

                stretch = Stretch(self.source, blocks, pause)
                self.model.partial_fit(stretch)
                self.seconds = time.monotonic() - begin
                if self.checkpoint and stretch.position:
                    self.checkpoint = replace(
                        self.checkpoint, position=stretch.position, seconds=self.seconds
                    )
                if interruption.signal is not None:
                    self._save_checkpoint()
                    return interruption.signal
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
            checkpoints.save(checkpoints.path_for(self.output), self.model, self.checkpoint)
        except OSError as error:
            kept = f"the one of {self.saved_rows:,} rows is kept" if self.saved_rows else "none yet"
            click.echo(
                f"onepass: warning: the checkpoint could not be written ({told(error)}); {kept}",
                err=True,
            )
        else:
            self.saved_rows = self.model.n_samples_seen_

    def _save(self) -> None:
        """Write the model and remove the checkpoint; where that fails, what was learned is kept."""
        try:
            self.model.save(self.output)
        except OSError as error:
            self._save_checkpoint()
            message = f"{self.output} could not be written ({told(error)})"
            if self.saved_rows:
                path = checkpoints.path_for(self.output)
                message += f"; {self.saved_rows:,} rows are safe in {path}, --resume goes on there"
            raise MachineFailure(message) from error
        checkpoints.remove(self.output)


def _reading(
    source: Source, start: Position | None
) -> Generator[tuple[Position, Block], None, None]:
    """Yield the blocks of a source; can be closed before the end."""
    yield from source.blocks(start)


def prepare(
    model: Any,
    source: Any,
    output: str,
    options: dict[str, Any],
    *,
    checkpoint_every: float,
    resume: bool,
) -> Fit:
    """Return the work to do: from the beginning, or from a checkpoint that fits.

    Parameters
    ----------
    model : estimator
        Not fitted.
    source : FileSource
        The rows.
    output : str
        Where the model goes.
    options : dict
        Everything that decides about the result, apart from the data.
    checkpoint_every : float
        Seconds.
    resume : bool
        Whether to go on from the checkpoint, if there is one.
    """
    if "standard input" in source.paths:
        if resume:
            raise Failure("--resume: standard input cannot be read again from the middle")
        return Fit(model, source, output, None, checkpoint_every)
    checkpoints.remove(output, unfinished_only=True)
    columns = source.feature_names or [source.n_features]
    files = [fingerprint(path) for path in source.paths]
    now = Checkpoint(Position(0, 0), 0.0, options, columns, files)
    path = checkpoints.path_for(output)
    if not os.path.exists(path):
        if resume:
            click.echo(f"onepass: there is no {path}; beginning at the first row", err=True)
        return Fit(model, source, output, now, checkpoint_every)
    if not resume:
        click.echo(
            f"onepass: warning: {path} is of a run that was interrupted, and is going to be "
            "replaced; --resume would have gone on from it",
            err=True,
        )
        return Fit(model, source, output, now, checkpoint_every)
    model, then = checkpoints.load(path)
    found = list(checkpoints.differences(then, now))
    if found:
        more = f" (and {len(found) - 3} more differences)" if len(found) > 3 else ""
        raise Failure(f"{path} is of another run: {'; '.join(found[:3])}{more}")
    note(f"going on after {model.n_samples_seen_:,} rows")
    return Fit(model, source, output, then, checkpoint_every, saved_rows=model.n_samples_seen_)
