"""``onepass fit``: check what was asked for, learn, and show the result."""

from __future__ import annotations

import shlex
from typing import Any

import click

from onepass.cli import memory, messages, options
from onepass.cli.data import check_output, expected_rows, open_data, progress_over
from onepass.cli.errors import Failure
from onepass.cli.fitting import ClusterFit, Fit, LocalFit
from onepass.report import model_page, require
from onepass.report.portrait import counted


def fit(
    ctx: click.Context,
    data: tuple[str, ...],
    n_components: int | float,
    output: str,
    algorithm: str,
    center: bool,
    scale: bool,
    robust: bool | None,
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
        require()  # rather than after hours of work
    share = isinstance(n_components, float)
    of_pca = {"--scale": scale, "--robust": robust is not None, f"-k {n_components}": share}
    of_files = {"--resume": resume, "--dask": dask is not None, "--workers": workers is not None}
    for option in (option for option, is_given in of_pca.items() if is_given):
        if algorithm != "pca":
            raise Failure(f"{option} works with --algorithm pca only, not with {algorithm}")
    for option in (option for option, is_given in of_files.items() if is_given):
        if "-" in data:
            raise Failure(f"{option} needs files: standard input can be read only once")
    source = open_data(data, reading)
    check_output(output, source.paths)
    if report is not None:
        check_output(report, [*source.paths, output])
    if n_components > source.n_features:
        raise Failure(
            f"-k {n_components} is more than the {counted(source.n_features, 'column')} of "
            f"{source.paths[0]}"
        )
    if not as_json:
        messages.describe_source(source, expected_rows(source))
    _check_memory(algorithm, n_components, source.n_features)
    params = {"center": center, "scale": scale or None, "robust": robust}
    model = options.estimator(algorithm, n_components, seed, **params)
    asked = {"algorithm": algorithm, "components": n_components, "seed": seed, **params, **reading}
    asked = {name.replace("_", "-"): value for name, value in asked.items()}
    work: Fit = LocalFit(model, source, output, asked, checkpoint_every)
    if dask is not None or workers is not None:
        work = ClusterFit(
            model, source, output, asked, checkpoint_every, address=dask, workers=workers
        )
    work.prepare(resume)
    with progress_over("fit", source, work.saved_rows) as progress:
        stopped_by = work.run(progress)
    words = [word for word in ctx.meta["onepass.words"] if word != "--resume"]
    if stopped_by is not None:
        _explain_resume(words, work.saved_rows)
        ctx.exit(128 + stopped_by)
    model, seconds = work.model, work.seconds
    if report is not None:
        model_page(model, report, title=output, data=source.paths, command=shlex.join(words))
    found = messages.facts(model, output)
    if doubt := _doubt(model):
        messages.warn(doubt)
    found["seconds"] = round(seconds, 3)
    found["rows_per_second"] = round(found["rows"] / max(seconds, 1e-9))
    if as_json:
        messages.print_json(found)
    elif not messages.is_quiet():
        _show(model, found, report)


def _check_memory(algorithm: str, n_components: int | float, n_features: int) -> None:
    """Warn if there is too little memory; with --verbose, say how much it is going to take."""
    needed, free = memory.estimate(algorithm, n_components, n_features), memory.available()
    if free is not None and needed > free:
        messages.warn(
            f"this may take about {memory.shown(needed)} of memory, and {memory.shown(free)} are "
            "free; fewer components or --columns take less"
        )
    elif messages.is_verbose():
        messages.note(f"at most about {memory.shown(needed)} of memory")


def _doubt(model: Any) -> str:
    """Return what the library warns of after a fit, with the names of the options."""
    if model.n_samples_seen_ == 1:
        return "there is only one row, which has no variance"
    message = model._warning_message()
    for name, option in {"pass scale=True": "use --scale", "n_components=": "-k "}.items():
        message = message.replace(name, option)
    return message


def _explain_resume(words: list[str], rows: int) -> None:
    """Say what is saved, and the command that continues."""
    if not rows:
        click.echo("onepass: stopped, and nothing is saved", err=True)
        return
    click.echo(f"onepass: stopped; {rows:,} rows are saved. To continue:", err=True)
    click.echo(f"  {shlex.join([*words, '--resume'])}", err=True)


def _show(model: Any, found: dict[str, Any], report: str | None) -> None:
    """Print the result."""
    click.echo(
        f"{found['model']}: {counted(found['n_components'], 'component')} of "
        f"{counted(found['n_features'], 'column')} from {counted(found['rows'], 'row')}"
    )
    messages.print_tables(messages.component_table(model))
    expected = messages.expectation(found)
    if expected is not None:
        click.echo(f"captures {expected}")
    if hasattr(model, "chosen_"):
        click.echo(str(model.chosen_))
    click.echo(f"took {found['seconds']:.1f} s ({found['rows_per_second']:,} rows/s)")
    if report is not None:
        click.echo(f"{report}: a page with pictures of the model")
