"""``onepass fit``: learn here or on workers, and show the result."""

from __future__ import annotations

import os
import shlex
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from contextlib import closing, contextmanager, nullcontext, suppress
from multiprocessing import active_children, get_context, parent_process
from typing import Any

import click
import numpy as np
import scipy.sparse

import onepass
from onepass.cli import models, program
from onepass.cli.commands import ALGORITHMS
from onepass.cli.data import Points, expected_rows, prepare_output, progress_over, warn_of_repeats
from onepass.cli.program import Failure, hiding_interrupts, note, noting_signals, say, warn
from onepass.distributed import fit as fit_on_shards
from onepass.estimators.checkpoint import Checkpoint, describe_run, rows_in_checkpoint
from onepass.extras import require
from onepass.persistence.archive import ModelFileError
from onepass.progress import pass_label
from onepass.report.summary import (
    counted,
    describe,
    expectation,
    missing_entries,
    remarks,
    shortened,
)
from onepass.sources import Position
from onepass.sources.files import FileSource

MOST_COMPONENTS = 10  # if their number is not given
LEAST_ROWS_FOR_ANGLES = 1000  # with fewer rows, angles are too uncertain to stop on
_PARAMS = ("center", "scale", "robust", "half_life", "passes")  # of estimators


class Stopped(KeyboardInterrupt):
    """A signal of this number has stopped the fit."""

    def __init__(self, number: int) -> None:
        self.number = number


def fit(
    data: tuple[str, ...],
    components: int | float | None,
    output: str,
    algorithm: str,
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
    json: bool,
    **reading: Any,
) -> None:
    """Learn from rows and write a model."""
    ctx = click.get_current_context()
    params = {name: reading.pop(name) or None for name in _PARAMS[1:]}
    params["center"] = reading.pop("center")
    on_workers = dask is not None or workers is not None
    if "-" in data and (resume or on_workers or skip_empty or (params["passes"] or 1) > 1):
        raise Failure(
            "standard input can be read only once: --resume, --workers, --skip-empty and --passes "
            "need files"
        )
    if until_angle is not None and (on_workers or algorithm not in ("pca", "erm")):
        raise Failure("--until-angle needs --algorithm pca or erm, in one process")
    source = onepass.open_source(data, **reading)
    if skip_empty and (empty := empty_columns(source)):
        note(f"left out columns without entries: {', '.join(map(repr, empty))}")
        reading["exclude"] = [*(reading["exclude"] or ()), *empty]
        source = onepass.open_source(data, **reading)
    for message in source.notes:
        note(message)
    warn_of_repeats(source.paths)
    checkpoint = f"{output}.checkpoint"
    for path in (output, checkpoint):
        prepare_output(path, source.paths)
    if report is not None:
        models.check_page(report, [*source.paths, output, checkpoint])
    elif color or label:
        raise Failure("--color and --label are about the page that --report writes")
    points = Points(source, color, label)
    if not (json or program.is_quiet()):
        say(f"reading {source_words(source)}")
    k = components
    if k is None:
        k = min(MOST_COMPONENTS, source.n_features)
        note(
            f"keeping {k} of {source.n_features} components (-k); the page of --report has a curve "
            "of variances to choose by"
        )
    model = make_estimator(algorithm, k, seed, **params)
    asked = {"algorithm": algorithm, "components": components, "seed": seed, **params, **reading}
    asked["until_angle"] = until_angle
    is_there = os.path.exists(checkpoint)
    if resume and not is_there:
        note(f"there is no {checkpoint}: starting at the first row")
    if is_there and not resume:
        warn(f"{checkpoint} of an interrupted run is replaced; --resume would have continued it")
    resume &= is_there
    old_mtime = 0 if resume else _mtime_ns(checkpoint)
    words = [word for word in ctx.obj if word != "--resume"]
    begin = time.monotonic()
    try:
        if on_workers:
            with _connected(dask, workers, model) as client:
                options = {"checkpoint": checkpoint, "checkpoint_every": checkpoint_every}
                model = _fit_on_workers(model, source, client, **options, resume=resume)
                _save(model, output)
        else:
            kept = None
            if not source.once:
                columns: list[Any] = source.feature_names or [source.n_features]
                asked = {name.replace("_", "-"): value for name, value in asked.items()}
                run = describe_run("in one process", asked, source.paths, columns=columns)
                kept = Checkpoint(checkpoint, run, checkpoint_every)
            model = _fit_here(model, source, output, kept, resume, until_angle)
    except Stopped as stopped:
        rest = ", and nothing is saved"
        if rows := _saved_rows(checkpoint, old_mtime):
            rest = f"; {rows:,} rows are saved. To continue:\n  {shlex.join([*words, '--resume'])}"
        say(f"onepass: stopped{rest}", err=True)
        ctx.exit(128 + stopped.number)
    except Exception as error:
        failure = program.in_a_line(error, ctx.obj)
        if rows := _saved_rows(checkpoint, old_mtime):
            safe = f"{rows:,} rows are safe in {checkpoint}, and --resume continues from there"
            failure = Failure(f"{failure.message}; {safe}", failure.exit_code)
        raise failure from error
    seconds = time.monotonic() - begin
    if report is not None:
        try:
            models.write_page(
                model, report, source, points, title=output, command=shlex.join(words)
            )
        except BaseException:
            say(f"onepass: {output} is complete, {report} is missing", err=True)
            raise
    if until_angle is not None and model.origin_.rows_there is None:
        note(
            f"all rows were read, but the largest angle is {model.angle_.max():.2g} degrees, not "
            f"{until_angle:g} (--until-angle)"
        )
    for doubt in model.doubts():
        warn(doubt.replace("n_components=", "-k "))
    found = models.facts(model, output)
    found |= {"seconds": round(seconds, 3), "rows_per_second": round(found["rows"] / seconds)}
    if json:
        program.print_json(found)
    elif not program.is_quiet():
        say(f"{output}: {describe(model)}")
        models.print_components(model)
        say(f"captures {expectation(model)}")
        for remark in [*remarks(model), missing_entries(model)]:
            if remark:
                say(remark)
        say(f"took {seconds:.1f} s ({found['rows_per_second']:,} rows/s)")
        if report is not None:
            say(f"{report}: a page with pictures of the model")


def make_estimator(algorithm: str, n_components: int | float, seed: int = 0, **params: Any) -> Any:
    """Return a new estimator; parameters that are None keep the algorithm's own default."""
    made = getattr(onepass, ALGORITHMS[algorithm])(n_components)
    if made.is_random and hasattr(made, "random_state"):
        params["random_state"] = seed
    return made.set_params(**{name: value for name, value in params.items() if value is not None})


def empty_columns(source: FileSource) -> list[str]:
    """Return the columns in which fewer than two rows have an entry, by name or number.

    Reading ends as soon as there are none.
    """
    first, counts = source.tables[0], np.zeros(source.n_features, dtype=np.int64)
    for block in source:
        counts += block.shape[0] if scipy.sparse.issparse(block) else (~np.isnan(block)).sum(axis=0)
        if (counts > 1).all():
            break
    chosen = first.chosen()
    return [str(first.column(chosen[j])) for j in np.flatnonzero(counts < 2).tolist()]


def source_words(source: FileSource) -> str:
    """Return what is going to be read: files, rows, and columns with their names."""
    paths, names, rows = source.paths, source.feature_names or [], expected_rows(source)
    files = paths[0] if len(paths) == 1 else f"{len(paths):,} files, {paths[0]} to {paths[-1]}"
    count = "rows" if rows is None else counted(rows, "row")
    if rows is not None and source.n_rows is None:
        count = f"about {float(f'{rows:.2g}'):,.0f} rows"
    columns = counted(source.n_features, "column")
    if source.named:
        columns += f" with the names {shortened(names)}"
    else:
        columns += " without names" + (f", numbers {shortened(names)}" if names else "")
    return f"{files}: {count} of {columns}"


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
        note(f"continuing after {(further or model.learner_).rows_seen:,} rows")
    done, look_at = False, LEAST_ROWS_FOR_ANGLES
    # Without a checkpoint a signal ends the work at once: the next row may never come.
    heard: Any = nullcontext([]) if kept is None else noting_signals()
    with heard as signals:
        while not done:
            number, before = (further.number, further.rows_seen) if further else (1, 0)
            before = kept.rows if kept is not None and not further else before
            with (
                progress_over(pass_label("fit", number, model.passes), source, before) as line,
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
                    if until_angle is not None and model.n_samples_seen_ >= look_at:
                        look_at = round(1.25 * model.n_samples_seen_)
                        done = bool((model.angle_ <= until_angle).all())
                    if done:
                        model.stopped_before(expected_rows(source))
                        break
            if not done:
                further = model.next_pass(further)
                done = further is None
                position = position if done else None
        model.finish()  # in place: a copy of wide second moments takes much memory
        try:  # a signal that comes now is too late: there is nothing left to stop
            _save(model, output)
        except OSError:
            if kept is not None:
                kept.write(model, {"position": position})
            raise
    return model


def _fit_on_workers(model: Any, source: FileSource, client: Any, **options: Any) -> Any:
    """Return the model of all rows, learned by other processes."""
    done = rows_in_checkpoint(options["checkpoint"]) if options["resume"] else 0
    if done:
        note(f"continuing after {done:,} rows")
    # The first signal ends the waiting at once; what the workers were working on is lost.
    with noting_signals(patience=0) as signals, progress_over("fit", source, done) as line:

        def advance(rows: int) -> None:
            line.advance(rows)
            if signals:  # its exception may have been swallowed
                raise KeyboardInterrupt

        try:
            return fit_on_shards(model, source, client, progress=advance, **options)
        except KeyboardInterrupt as error:
            raise Stopped(signals[0] if signals else signal.SIGINT) from error


def _save(model: Any, output: str) -> None:
    """Write the model and remove the checkpoint."""
    _ = model.model_  # an error, such as an empty column, must not replace a file
    model.save(output)
    with suppress(OSError):  # the model is complete, and there may be no such file
        os.unlink(f"{output}.checkpoint")


def _mtime_ns(path: str) -> int:
    """Return when a file was written, in nanoseconds; 0 if there is none."""
    return os.stat(path).st_mtime_ns if os.path.exists(path) else 0


def _saved_rows(checkpoint: str, old_mtime: int) -> int:
    """Return how many rows a checkpoint has, if it was written after the one that it replaces."""
    return rows_in_checkpoint(checkpoint) if _mtime_ns(checkpoint) not in (0, old_mtime) else 0


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
            raise Failure(f"the workers could not be started: {error}", program.BROKEN) from error
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
