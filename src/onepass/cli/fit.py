"""``onepass fit``: learn here or on workers, and show the result."""

from __future__ import annotations

import os
import shlex
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from contextlib import closing, contextmanager, suppress
from multiprocessing import active_children, get_context, parent_process
from typing import Any

import click

from onepass import open_source
from onepass.cli import messages, options
from onepass.cli.data import (
    empty_columns,
    expected_rows,
    prepare_output,
    progress_over,
    warn_of_repeats,
)
from onepass.cli.errors import (
    Failure,
    MachineFailure,
    hiding_interrupts,
    in_a_line,
    noting_signals,
    say,
)
from onepass.cli.page import Points, check_page, write_page
from onepass.distributed import fit as fit_on_shards
from onepass.estimators.checkpoint import Checkpoint, describe_run, rows_in
from onepass.extras import require
from onepass.persistence.archive import ModelFileError
from onepass.progress import pass_label
from onepass.report.summary import describe, expectation, missing_entries, remarks
from onepass.sources import Position
from onepass.sources.files import FileSource

MOST_COMPONENTS = 10  # if their number is not given
LEAST_ROWS = 1000.0  # with fewer, angles are rough themselves


class Stopped(KeyboardInterrupt):
    """A signal of this number has stopped the fit."""

    def __init__(self, number: int) -> None:
        self.number = number


def fit(
    ctx: click.Context,
    data: tuple[str, ...],
    n_components: int | float | None,
    output: str,
    algorithm: str,
    center: bool,
    scale: bool,
    robust: bool,
    half_life: float | None,
    passes: int | None,
    skip_empty: bool,
    until_angle: float | None,
    seed: int,
    checkpoint_every: float,
    dask: str | None,
    workers: int | None,
    resume: bool,
    report: str | None,
    color: str | None,
    label: str | None,
    as_json: bool,
    **reading: Any,
) -> None:
    """Learn from rows and write a model."""
    on_workers = dask is not None or workers is not None
    if "-" in data and (resume or on_workers or skip_empty or (passes or 1) > 1):
        raise Failure(
            "standard input can be read only once: --resume, --workers, --skip-empty and --passes "
            "need files"
        )
    if until_angle is not None and (on_workers or algorithm not in ("pca", "erm")):
        raise Failure("--until-angle needs --algorithm pca or erm, in one process")
    source = open_source(data, **reading)
    if skip_empty and (empty := empty_columns(source)):
        messages.note(f"left out columns without entries: {', '.join(map(repr, empty))}")
        reading["exclude"] = [*(reading["exclude"] or ()), *empty]
        source = open_source(data, **reading)
    for message in source.notes:
        messages.note(message)
    warn_of_repeats(source.paths)
    checkpoint = f"{output}.checkpoint"
    for path in (output, checkpoint):
        prepare_output(path, source.paths)
    if report is not None:
        check_page(report, [*source.paths, output, checkpoint])
    elif color or label:
        raise Failure("--color and --label are about the page that --report writes")
    points = Points(source, color, label)
    if not as_json:
        messages.describe_source(source, expected_rows(source))
    k = n_components
    if k is None:
        k = min(MOST_COMPONENTS, source.n_features)
        messages.note(
            f"keeping {k} of {source.n_features} components (-k); the page of --report has a curve "
            "of variances to choose by"
        )
    params: dict[str, Any] = {"center": center, "half_life": half_life}
    params |= {"scale": scale or None, "robust": robust or None, "passes": passes}
    model = options.make_estimator(algorithm, k, seed, **params)
    asked = {"algorithm": algorithm, "components": n_components, "seed": seed, **params, **reading}
    asked["until-angle"] = until_angle
    asked = {name.replace("_", "-"): value for name, value in asked.items()}
    resume = _resumes(checkpoint, resume)
    replaced = 0 if resume else _written(checkpoint)
    words = [word for word in ctx.meta["onepass.words"] if word != "--resume"]
    begin = time.monotonic()
    try:
        if on_workers:
            with _connected(dask, workers, model) as client:
                model = _fit_on_workers(
                    model, source, output, client, checkpoint, checkpoint_every, resume
                )
        else:
            kept = None
            if "standard input" not in source.paths:
                columns: list[Any] = source.feature_names or [source.n_features]
                run = describe_run("in one process", asked, source.paths, columns=columns)
                kept = Checkpoint(checkpoint, run, checkpoint_every)
            model = _fit_here(model, source, output, kept, resume, until_angle)
    except Stopped as stopped:
        rest = ", and nothing is saved"
        if rows := _saved_rows(checkpoint, replaced):
            again = shlex.join([*words, "--resume"])
            rest = f"; {rows:,} rows are saved. To continue:\n  {again}"
        say(f"onepass: stopped{rest}", err=True)
        ctx.exit(128 + stopped.number)
    except (ValueError, OSError) as error:
        failure = in_a_line(error)
        if rows := _saved_rows(checkpoint, replaced):
            safe = f"{rows:,} rows are safe in {checkpoint}, and --resume continues from there"
            failure = type(failure)(f"{failure.message}; {safe}")
        raise failure from error
    seconds = time.monotonic() - begin
    if report is not None:
        try:
            write_page(model, report, source, points, title=output, command=shlex.join(words))
        except BaseException:
            say(f"onepass: {output} is complete, {report} is missing", err=True)
            raise
    if until_angle is not None and model.origin_.rows_there is None:
        messages.note(
            f"all rows were read, but the largest angle is {model.angle_.max():.2g} degrees, not "
            f"{until_angle:g} (--until-angle)"
        )
    for doubt in model.doubts():
        messages.warn(doubt.replace("n_components=", "-k "))
    found = messages.facts(model, output)
    found |= {"seconds": round(seconds, 3), "rows_per_second": round(found["rows"] / seconds)}
    if as_json:
        messages.print_json(found)
    elif not messages.is_quiet():
        say(f"{output}: {describe(model)}")
        messages.print_components(model)
        say(f"captures {expectation(model)}")
        for remark in remarks(model):
            say(remark)
        if missing := missing_entries(model):
            say(missing)
        say(f"took {seconds:.1f} s ({found['rows_per_second']:,} rows/s)")
        if report is not None:
            say(f"{report}: a page with pictures of the model")


def _resumes(path: str, wanted: bool) -> bool:
    """Return whether there is a checkpoint to continue from; say what is done."""
    is_there = os.path.exists(path)
    if wanted and not is_there:
        messages.note(f"there is no {path}: starting at the first row")
    if is_there and not wanted:
        messages.warn(f"{path} of an interrupted run is replaced; --resume would have continued it")
    return wanted and is_there


class Angles:
    """Says when all components are known to an angle in degrees; without one, never.

    They are read whenever the stream has grown by a quarter.
    """

    def __init__(self, wanted: float | None) -> None:
        self._wanted, self._next = wanted, LEAST_ROWS

    def are_enough(self, model: Any) -> bool:
        """Return whether a model of more rows has components that are known well enough."""
        if self._wanted is None or model.n_samples_seen_ < self._next:
            return False
        self._next = 1.25 * model.n_samples_seen_
        return bool((model.angle_ <= self._wanted).all())


def _fit_here(
    model: Any,
    source: FileSource,
    output: str,
    kept: Checkpoint | None,
    resume: bool,
    until_angle: float | None,
) -> Any:
    """Return the model of all rows, or of enough of them, learned in this process, and saved."""
    position, further = None, None
    if resume and kept is not None:
        model, progress, further = kept.read()
        try:
            position = progress["position"] and Position(*progress["position"])
        except (KeyError, TypeError) as error:
            raise ModelFileError(f"{kept.path}: not a valid checkpoint: {error!r}") from error
        messages.note(f"continuing after {(further or model.learner_).rows_seen:,} rows")
    angles, goes_on = Angles(until_angle), True

    # Without a checkpoint a signal ends the work at once: the next row may never come.
    with noting_signals(active=kept is not None) as signals:
        while goes_on:
            number, done = (further.number, further.rows_seen) if further else (1, 0)
            done = done if further or kept is None else kept.rows
            with (
                progress_over(pass_label("fit", number, model.passes), source, done) as line,
                closing(model.learn_blocks(source, position, further)) as blocks,
            ):
                for position, rows in blocks:
                    line.advance(rows)
                    if kept is not None and (signals or kept.is_due):
                        kept.write(model, {"position": position}, further)
                    if signals:
                        raise Stopped(signals[0])
                    if line.wants_captured():
                        line.captured(model.captured_.mean)
                    if angles.are_enough(model):
                        model.stopped_before(expected_rows(source))
                        goes_on = False
                        break
            if goes_on:
                further = model.next_pass(further)
                goes_on = further is not None
                position = None if goes_on else position  # of the checkpoint, if saving fails
        model.finish()  # in place: a copy of wide second moments takes much memory
        try:  # a signal that comes now is too late: there is nothing left to stop
            _save(model, output)
        except OSError:
            if kept is not None:
                kept.write(model, {"position": position})
            raise
    return model


def _fit_on_workers(
    model: Any,
    source: FileSource,
    output: str,
    client: Any,
    checkpoint: str,
    every: float,
    resume: bool,
) -> Any:
    """Return the model of all rows, learned by other processes, and saved."""
    done = rows_in(checkpoint) if resume else 0
    # The first signal ends the waiting at once; what the workers were working on is lost.
    if done:
        messages.note(f"continuing after {done:,} rows")
    with noting_signals(patience=0) as signals, progress_over("fit", source, done) as line:

        def advance(rows: int) -> None:
            line.advance(rows)
            if signals:  # its exception may have been swallowed
                raise KeyboardInterrupt

        try:
            learned = fit_on_shards(
                model,
                source,
                client,
                checkpoint=checkpoint,
                checkpoint_every=every,
                resume=resume,
                progress=advance,
            )
            _save(learned, output)
        except KeyboardInterrupt as error:
            raise Stopped(signals[0] if signals else signal.SIGINT) from error
    return learned


def _save(model: Any, output: str) -> None:
    """Write the model and remove the checkpoint."""
    _ = model.model_  # an error, such as an empty column, must not replace a file
    model.save(output)
    with suppress(OSError):  # the model is complete, and there may be no such file
        os.unlink(f"{output}.checkpoint")


def _written(path: str) -> int:
    """Return when a file was written, in nanoseconds; 0 if there is none."""
    return os.stat(path).st_mtime_ns if os.path.exists(path) else 0


def _saved_rows(checkpoint: str, replaced: int) -> int:
    """Return how many rows a checkpoint has, if it was written after the one that it replaces."""
    return rows_in(checkpoint) if _written(checkpoint) not in (0, replaced) else 0


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
