"""``onepass fit``."""

from __future__ import annotations

import os
import shlex
from typing import Any

import click

from onepass.cli.algorithms import ALGORITHMS
from onepass.cli.options import (
    ComponentCount,
    data_argument,
    json_option,
    reading_options,
    telling_options,
)


@click.command(
    epilog="""\b
Examples:
  onepass fit events/*.parquet -k 20             all files, in one pass
  onepass fit events/ -k 20 -o events.onepass    all files in a folder
  onepass fit data.csv -k 0.95                   for 95% of the variance
  onepass fit data.csv -k 2 --columns height,weight
  onepass fit data.csv -k 2 --skip-non-numeric   every column of numbers
  onepass fit a.npy -k 8 --algorithm capped-msg  one of the paper's algorithms
  zcat log.csv.gz | onepass fit - -k 3           csv from another program
  onepass fit a.npy -k 8 --report page.html      a page with pictures
  onepass fit events/ -k 20 --workers 4          four processes

Interrupted? Ctrl-C and kill leave a checkpoint beside the model, and every 30 seconds one is
written anyway. The same command with --resume goes on from there, and ends with exactly the model
of a run that was never interrupted.

Memory does not grow with the number of rows. The model file works with `onepass transform`,
`score`, `info` and `merge`, and with onepass.load in Python.""",
)
@data_argument
@click.option(
    "-k",
    "--components",
    "n_components",
    type=ComponentCount(),
    required=True,
    help="How many components; or, for pca, a share of the variance such as 0.95.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False),
    default="model.onepass",
    show_default=True,
    help="The model file.",
)
@click.option(
    "--algorithm",
    type=click.Choice(list(ALGORITHMS)),
    default="pca",
    show_default=True,
    help="pca needs no choice; the others are the paper's.",
)
@click.option(
    "--center/--no-center",
    default=None,
    help="Whether to take the mean away: pca does by default, the paper's algorithms do not.",
)
@reading_options
@click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    default=0,
    show_default=True,
    help="For what is random: the same command gives the same model.",
)
@click.option(
    "--checkpoint-every",
    type=click.FloatRange(min=0),
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="Time between checkpoints; 0 is after every block, or every shard of a cluster.",
)
@click.option("--dask", metavar="ADDRESS", help="Of a Dask scheduler whose workers learn.")
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    help="Processes on this machine that learn at the same time.",
)
@click.option("--resume", is_flag=True, help="Go on from the checkpoint, if there is one.")
@click.option(
    "--report", type=click.Path(dir_okay=False), help="Write a page of HTML about the model."
)
@telling_options
@json_option
@click.pass_context
def fit(
    ctx: click.Context,
    data: tuple[str, ...],
    n_components: int | float,
    output: str,
    algorithm: str,
    center: bool | None,
    reading: dict[str, Any],
    seed: int,
    checkpoint_every: float,
    dask: str | None,
    workers: int | None,
    resume: bool,
    report: str | None,
    as_json: bool,
) -> None:
    """Learn principal components of the rows in DATA, in one pass."""
    from onepass.cli.algorithms import estimator
    from onepass.cli.cluster import ClusterFit, connected, prepare_on_cluster
    from onepass.cli.expected_rows import expected_rows
    from onepass.cli.fitting import Fit, prepare
    from onepass.cli.guarding import Failure
    from onepass.cli.opening import open_data
    from onepass.cli.output import check_output
    from onepass.cli.summary import facts
    from onepass.cli.telling import progress_visible, tell_source
    from onepass.progress import Progress

    if report is not None:
        from onepass.report import model_page, require

        require()  # rather than after hours of work
    source = open_data(data, reading)
    check_output(output, source.paths)
    if report is not None:
        check_output(report, [*source.paths, output])
    options = {
        "algorithm": algorithm,
        "components": n_components,
        "center": center,
        "seed": seed,
        **{name.replace("_", "-"): value for name, value in reading.items()},
    }
    if n_components > source.n_features:
        raise Failure(
            f"-k {n_components} is more than the {source.n_features} columns of {source.paths[0]}"
        )
    model = estimator(algorithm, n_components, center, seed)
    total = expected_rows(source)
    exact, visible = source.n_rows is not None, progress_visible()
    if not as_json:
        tell_source(source, total)
    _tell_memory(algorithm, n_components, source.n_features)
    work: Fit | ClusterFit
    if dask is not None or workers is not None:
        work = prepare_on_cluster(
            model, source, output, checkpoint_every=checkpoint_every, resume=resume
        )
        with (
            connected(dask, workers) as client,
            Progress("fit", total, exact=exact, done=work.saved_rows, visible=visible) as progress,
        ):
            stopped_by = work.run(client, progress)
    else:
        work = prepare(
            model, source, output, options, checkpoint_every=checkpoint_every, resume=resume
        )
        done = work.saved_rows
        with Progress("fit", total, exact=exact, done=done, visible=visible) as progress:
            stopped_by = work.run(progress)
    if stopped_by is not None:
        _tell_resume(ctx, work.saved_rows)
        ctx.exit(128 + stopped_by)
    model, seconds = work.model, work.seconds
    if report is not None:
        model_page(model, report, title=output, data=source.paths, command=shlex.join(_words(ctx)))
    found = facts(model, output)
    if found["rows"] == 1:
        click.echo("onepass: warning: there was one row only, which has no variance", err=True)
    found["seconds"] = round(seconds, 3)
    found["rows_per_second"] = round(found["rows"] / max(seconds, 1e-9))
    _show(model, found, as_json)
    if report is not None and not as_json and visible is None:
        click.echo(f"{report}: a page about it")


def _tell_memory(algorithm: str, n_components: int | float, n_features: int) -> None:
    """Say how much memory it is going to take, with --verbose, and warn if that is too much."""
    from onepass.cli import memory
    from onepass.cli.telling import is_verbose, note

    needed, free = memory.estimate(algorithm, n_components, n_features), memory.available()
    if free is not None and needed > free:
        click.echo(
            f"onepass: warning: this may take about {memory.shown(needed)} of memory, and "
            f"{memory.shown(free)} are free; fewer components or --columns take less",
            err=True,
        )
    elif is_verbose():
        note(f"at most about {memory.shown(needed)} of memory")


def _tell_resume(ctx: click.Context, rows: int) -> None:
    """Say what is saved, and the command that goes on."""
    if not rows:
        click.echo("onepass: stopped, and nothing is saved", err=True)
        return
    click.echo(f"onepass: stopped; {rows:,} rows are saved. To go on:", err=True)
    click.echo(f"  {shlex.join([*_words(ctx), '--resume'])}", err=True)


def _words(ctx: click.Context) -> list[str]:
    """Return the command that was given, without --resume."""
    from click.core import ParameterSource

    words = ["onepass", "fit", *ctx.params["data"]]
    for option in ctx.command.params:
        name, value = str(option.name), ctx.params[str(option.name)]
        given = ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if not isinstance(option, click.Option) or not given or name == "resume":
            continue
        if option.is_flag:
            words.append((option.opts if value else option.secondary_opts)[0])
        else:
            words += [option.opts[0], ",".join(value) if name == "columns" else str(value)]
    return words


def _show(model: Any, found: dict[str, Any], as_json: bool) -> None:
    """Print the result: a table, or JSON."""
    if as_json:
        import json

        click.echo(json.dumps(found))
        return
    from rich.console import Console

    from onepass.cli.summary import component_table
    from onepass.cli.telling import is_quiet

    if is_quiet():
        return

    click.echo(
        f"{os.fspath(found['model'])}: {found['n_components']} components of "
        f"{found['n_features']:,} columns from {found['rows']:,} rows in {found['seconds']:.1f} s "
        f"({found['rows_per_second']:,} rows/s)"
    )
    Console().print(component_table(model))
    captured = found["captured"]
    if captured["mean"] is not None:
        error = captured["standard_error"] or 0.0
        click.echo(f"captures {captured['mean']:.2%} ± {error:.2%} of the variance of new rows")
    if hasattr(model, "chosen_"):
        click.echo(str(model.chosen_))
