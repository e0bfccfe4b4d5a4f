"""``onepass fit``: check what was asked for, learn here or on a cluster, and show the result."""

from __future__ import annotations

import itertools
import os
import shlex
import signal
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing import active_children, get_context, parent_process
from typing import Any

import click

from onepass import open_source
from onepass.cli import messages, options
from onepass.cli.data import (
    check_page,
    expected_rows,
    prepare_output,
    progress_over,
    warn_of_repeats,
    write_page,
)
from onepass.cli.errors import (
    Failure,
    MachineFailure,
    hiding_interrupts,
    noting_signals,
    system_message,
)
from onepass.distributed import fit as fit_on_shards
from onepass.estimators.checkpoint import Checkpoint, describe_run, rows_in
from onepass.extras import require
from onepass.persistence.archive import ModelFileError
from onepass.persistence.atomic import remove_unfinished
from onepass.progress import Progress
from onepass.report import require_report
from onepass.report.summary import counted, describe, missing_entries
from onepass.sources import Block, Position
from onepass.sources.excerpt import Excerpt
from onepass.sources.files import FileSource


def fit(
    ctx: click.Context,
    data: tuple[str, ...],
    n_components: int | float,
    output: str,
    algorithm: str,
    center: bool,
    scale: bool,
    robust: bool | None,
    half_life: float | None,
    seed: int,
    checkpoint_every: float,
    dask: str | None,
    workers: int | None,
    resume: bool,
    report: str | None,
    as_json: bool,
    **reading: Any,
) -> None:
    """Learn from rows and write a model."""
    if report is not None:
        require_report()  # rather than after hours of work
    share = isinstance(n_components, float)
    of_pca = {
        "--scale": scale,
        "--robust": robust is not None,
        "--half-life": half_life is not None,
        f"-k {n_components}": share,
    }
    of_files = {"--resume": resume, "--dask": dask is not None, "--workers": workers is not None}
    for option in (option for option, is_given in of_pca.items() if is_given):
        if algorithm != "pca":
            raise Failure(f"{option} works with --algorithm pca only, not with {algorithm}")
    for option in (option for option, is_given in of_files.items() if is_given):
        if "-" in data:
            raise Failure(f"{option} needs files: standard input can be read only once")
    source = open_source(data, **reading)
    for message in source.notes:
        messages.note(message)
    warn_of_repeats(source.paths)
    prepare_output(output, source.paths)
    if report is not None:
        prepare_output(report, [*source.paths, output, f"{output}.checkpoint"])
        check_page(report)
    if n_components > source.n_features:
        raise Failure(
            f"-k {n_components} is more than the {counted(source.n_features, 'column')} of "
            f"{source.paths[0]}"
        )
    if not as_json:
        messages.describe_source(source, expected_rows(source))
    params = {"center": center, "scale": scale or None, "robust": robust, "half_life": half_life}
    model = options.make_estimator(algorithm, n_components, seed, **params)
    asked = {"algorithm": algorithm, "components": n_components, "seed": seed, **params, **reading}
    asked = {name.replace("_", "-"): value for name, value in asked.items()}
    work: Fit = LocalFit(model, source, output, checkpoint_every, asked)
    if dask is not None or workers is not None:
        work = ClusterFit(model, source, output, checkpoint_every, dask, workers)
    work.prepare(resume)
    with progress_over("fit", source, work.saved_rows) as progress:
        stopped_by = work.run(progress)
    words = [word for word in ctx.meta["onepass.words"] if word != "--resume"]
    again = shlex.join([*words, "--resume"])
    if stopped_by is not None:
        rest = ", and nothing is saved"
        if work.saved_rows:
            rest = f"; {work.saved_rows:,} rows are saved. To continue:\n  {again}"
        messages.say(f"onepass: stopped{rest}", err=True)
        ctx.exit(128 + stopped_by)
    model, seconds = work.model, work.seconds
    if report is not None:
        try:
            command = shlex.join(words)
            write_page(model, report, source, output, command)
        except BaseException:
            messages.say(f"onepass: {output} is complete, {report} is missing", err=True)
            raise
    found = messages.facts(model, output)
    for doubt in _doubts(model):
        messages.warn(doubt)
    found["seconds"] = round(seconds, 3)
    found["rows_per_second"] = round(found["rows"] / max(seconds, 1e-9))
    if as_json:
        messages.print_json(found)
    elif not messages.is_quiet():
        _show(model, found, report)


def _doubts(model: Any) -> Iterator[str]:
    """Yield what the library warns of after a fit, with the names of the options."""
    if model.n_samples_seen_ == 1:
        yield "there is only one row, which has no variance"
        return
    words = {"pass scale=True": "use --scale", "n_components=": "-k "}
    if dominant := model.model_.dominant():
        name = getattr(model, "feature_names_in_", range(model.n_features_in_))[dominant[0]]
        words["leave it out"] = f"leave it out: --exclude {shlex.quote(str(name))}"
    for message in model.doubts():
        for name, option in words.items():
            message = message.replace(name, option)
        yield message


def _show(model: Any, found: dict[str, Any], report: str | None) -> None:
    """Print the result."""
    messages.say(f"{found['model']}: {describe(model)}")
    messages.print_tables(messages.component_table(model))
    messages.say(f"captures {messages.expectation(found)}")
    if missing := missing_entries(model):
        messages.say(missing)
    messages.say(f"took {found['seconds']:.1f} s ({found['rows_per_second']:,} rows/s)")
    if report is not None:
        messages.say(f"{report}: a page with pictures of the model")


@dataclass
class Fit(ABC):
    """A fit, from the first row or from a checkpoint to the model file."""

    model: Any  # new, or from a checkpoint
    source: FileSource
    output: str  # the model file
    checkpoint_every: float  # seconds

    def __post_init__(self) -> None:
        self.path = f"{self.output}.checkpoint"
        self.saved_rows = 0  # in the checkpoint of this run, 0 if there is none
        self.seconds = 0.0  # since the first row, those before an interruption included

    def prepare(self, resume: bool) -> None:
        """Load the checkpoint if `resume` and there is one; say where the fit begins."""
        if os.path.isdir(self.path):
            raise Failure(f"{self.path}, where the checkpoint goes, is a folder: choose another -o")
        remove_unfinished(self.path)
        if not os.path.exists(self.path):
            if resume:
                messages.note(f"there is no {self.path}: starting at the first row")
        elif resume:
            self._resume()
            messages.note(f"continuing after {self.saved_rows:,} rows")
        else:
            messages.warn(
                f"{self.path} is of a run that was interrupted, and will be replaced; --resume "
                "would have continued it"
            )

    @abstractmethod
    def _resume(self) -> None:
        """Load the checkpoint, and set `saved_rows`."""

    @abstractmethod
    def _save_checkpoint(self) -> None:
        """Write what was learned to the checkpoint, and set `saved_rows`."""

    @abstractmethod
    def run(self, progress: Progress) -> int | None:
        """Learn from all rows and write the model; return the signal that stopped it, if any."""

    def _save(self) -> None:
        """Write the model and remove the checkpoint; if writing fails, save a checkpoint."""
        _ = self.model.model_  # an error, such as an empty column, must not replace a file
        try:
            self.model.save(self.output)
        except OSError as error:
            self._save_checkpoint()
            message = f"{self.output} could not be written ({system_message(error)})"
            raise MachineFailure(f"{message}{self._safe()}") from error
        with suppress(OSError):  # the model is complete, and there may be no such file
            os.unlink(self.path)

    def _safe(self) -> str:
        """Return what an error message says about the checkpoint."""
        rows = f"{self.saved_rows:,} rows"
        safe = f"; {rows} are safe in {self.path}, and --resume continues from there"
        return safe if self.saved_rows else ""


@dataclass
class LocalFit(Fit):
    """A fit in this process. Of standard input, which can be read once, there is no checkpoint."""

    options: dict[str, Any]  # everything that the result depends on, apart from the data

    def __post_init__(self) -> None:
        super().__post_init__()
        self._position: Position | None = None  # how far the data were read
        self._checkpoint: Checkpoint | None = None
        if "standard input" not in self.source.paths:
            columns: list[Any] = self.source.feature_names or [self.source.n_features]
            run = describe_run("in one process", self.options, self.source.paths, columns=columns)
            self._checkpoint = Checkpoint(self.path, run, self.checkpoint_every)

    def _resume(self) -> None:
        assert self._checkpoint is not None  # --resume was refused
        self.model, progress = self._checkpoint.read()
        try:
            self._position = Position(*progress["position"])
            self.seconds = float(progress["seconds"])
        except (KeyError, TypeError, ValueError) as error:
            raise ModelFileError(f"{self.path}: not a valid checkpoint: {error!r}") from error
        self.saved_rows = self._checkpoint.rows

    def run(self, progress: Progress) -> int | None:
        """Learn from all rows and write the model; return the signal that stopped it, if any."""
        begin = time.monotonic() - self.seconds
        kept = self._checkpoint
        blocks: Any = self.source.blocks(self._position)
        # Without a checkpoint a signal ends the work at once: the next row may never come.
        with noting_signals(active=kept is not None) as signals, closing(blocks):

            def pause(rows: int) -> bool:
                progress.advance(rows)
                is_due = kept is not None and kept.is_due
                return is_due or bool(signals) or progress.wants_captured()

            for first in blocks:
                read = partial(self._until, pause, itertools.chain([first], blocks))
                self.model.partial_fit(Excerpt(self.source, read))
                self.seconds = time.monotonic() - begin
                if signals:
                    self._save_checkpoint()
                    return signals[0]
                if kept is not None and kept.is_due:
                    self._save_checkpoint()
                if progress.wants_captured():
                    progress.captured(self.model.captured_.mean)
            self.model.finish()  # in place: a copy of wide second moments takes much memory
            self._save()  # a signal that comes now is too late: there is nothing left to stop
        return None

    def _until(
        self,
        pause: Callable[[int], bool],
        blocks: Iterator[tuple[Position, Block]],
        start: Position | None,
    ) -> Iterator[tuple[Position, Block]]:
        """Yield the next blocks until it is time to pause; note how far they were learned from.

        Learning from a source is all or nothing. Between two calls, what was learned and how far
        the source was read belong together, and a checkpoint can be written. `pause` is called
        after each block, with its number of rows.
        """
        for position, block in blocks:
            yield position, block
            self._position = position
            if pause(block.shape[0]):
                return

    def _save_checkpoint(self) -> None:
        """Write the checkpoint; if that fails the old one stays, and learning continues."""
        if self._checkpoint is not None:
            progress = {"position": self._position, "seconds": self.seconds}
            self._checkpoint.write(self.model, progress)
            self.saved_rows = self._checkpoint.rows


@dataclass
class ClusterFit(Fit):
    """A fit by several processes, for which `onepass.distributed.fit` writes the checkpoints."""

    address: str | None  # of Dask's scheduler
    workers: int | None  # without an address: processes to start on this machine

    def __post_init__(self) -> None:
        super().__post_init__()
        self._replaced = _written(self.path)  # the checkpoint of another run; 0 for none

    def _resume(self) -> None:
        self._replaced = 0
        self._save_checkpoint()

    def _save_checkpoint(self) -> None:
        """Count the rows in the checkpoint that was written last."""
        if _written(self.path) not in (0, self._replaced):
            self.saved_rows = rows_in(self.path)

    def run(self, progress: Progress) -> int | None:
        """Learn from all rows and write the model; return the signal that stopped it, if any."""
        # The first signal ends the waiting at once; what the workers were working on is lost.
        with (
            _connected(self.address, self.workers, self.model) as client,
            noting_signals(patience=0) as signals,
        ):
            begin = time.monotonic()

            def advance(rows: int) -> None:
                progress.advance(rows)
                if signals:  # its exception may have been swallowed
                    raise KeyboardInterrupt

            try:
                self.model = fit_on_shards(
                    self.model,
                    self.source,
                    client,
                    checkpoint=self.path,
                    checkpoint_every=self.checkpoint_every,
                    resume=self._replaced == 0,
                    progress=advance,
                )
                self.seconds = time.monotonic() - begin
                self._save()
            except KeyboardInterrupt:
                self._save_checkpoint()
                return signals[0] if signals else int(signal.SIGINT)
            except (ValueError, ConnectionError) as error:
                self._save_checkpoint()
                kind = MachineFailure if isinstance(error, ConnectionError) else Failure
                raise kind(f"{error}{self._safe()}") from error
        return None


@contextmanager
def _connected(address: str | None, workers: int | None, model: Any) -> Iterator[Any]:
    """Give a client of a running Dask cluster, or a pool of processes on this machine."""
    if address is None:
        with _pool(workers, model) as pool:
            yield pool
        return
    require("a Dask cluster", "dask", "dask", "distributed")
    from distributed import Client, default_client

    try:
        client = Client(address)
    except (OSError, ValueError) as error:
        # Python would close it later, and Dask hangs if another client is starting then. Only
        # as the default can it be reached.
        with suppress(ValueError):  # where it failed before it became the default
            default_client().close()
        raise Failure(f"--dask {address}: there is no scheduler: {error}") from error
    try:
        yield client
    finally:
        # What ends the work counts, not how the connection ends: Dask's own checks of that may
        # fail, when it is closed while errors of other tasks arrive.
        with suppress(Exception):
            client.close()


@contextmanager
def _pool(workers: int | None, model: Any) -> Iterator[ProcessPoolExecutor]:
    """Give a pool of processes; an error ends them at once, whatever they are working on."""
    pool = ProcessPoolExecutor(workers, get_context("spawn"), initializer=_end_with_parent)
    try:
        try:
            with hiding_interrupts():  # they import everything before the clock starts
                for started in [pool.submit(type, model) for _ in range(workers or 1)]:
                    started.result()
        except (OSError, BrokenExecutor) as error:  # too few files or processes are allowed
            raise MachineFailure(f"the workers could not be started: {error}") from error
        yield pool
    except BaseException:
        for process in active_children():
            process.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _end_with_parent() -> None:
    """End this process when the command ends, even if that was killed."""
    parent = parent_process()
    assert parent is not None  # this one was started by it

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _written(path: str) -> int:
    """Return when a file was written, in nanoseconds; 0 if there is none."""
    return os.stat(path).st_mtime_ns if os.path.exists(path) else 0
