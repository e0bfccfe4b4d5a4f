"""``onepass fit``."""

from __future__ import annotations

import shlex
from typing import Any

import click

from onepass.cli.options import (
    ALGORITHMS,
    component_count,
    data_argument,
    json_option,
    output_option,
    reading_options,
    verbosity_options,
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

Interrupted? A checkpoint is written beside the model every 30 seconds, and on Ctrl-C and kill. The
same command with --resume goes on from there, and ends with exactly the model of a run that was
never interrupted.

Memory does not grow with the number of rows. The model file works with `onepass transform`,
`score`, `info` and `merge`, and with onepass.load in Python.""",
)
@data_argument
@click.option(
    "-k",
    "--components",
    "n_components",
    type=component_count,
    metavar="NUMBER",
    required=True,
    help="How many components; or, for pca, a share of the variance such as 0.95.",
)
@output_option("The model file.", default="model.onepass")
@click.option(
    "--algorithm",
    type=click.Choice(list(ALGORITHMS), case_sensitive=False),
    default="pca",
    help="pca is the one to start with; the others are in the paper.",
)
@click.option(
    "--center/--no-center", default=True, help="Whether to subtract the mean of the columns."
)
@click.option(
    "--scale",
    is_flag=True,
    help="Divide each column by its standard deviation: for columns of different units. pca only.",
)
@click.option(
    "--robust/--no-robust",
    default=None,
    help="Whether to bound the influence of rows that are much larger than the rest. pca only.  "
    "[default: the rows decide]",
)
@reading_options()
@click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    default=0,
    metavar="NUMBER",
    help="Of random numbers: the same command gives the same model.",
)
@click.option(
    "--checkpoint-every",
    type=click.FloatRange(min=0),
    default=30.0,
    metavar="SECONDS",
    help="Time between checkpoints; 0 writes one after every block or shard.",
)
@click.option(
    "--dask",
    metavar="ADDRESS",
    help="Learn on the workers of this Dask scheduler, such as tcp://host:8786.",
)
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    metavar="NUMBER",
    help="Learn in this many processes on this machine.",
)
@click.option("--resume", is_flag=True, help="Go on from the checkpoint, if there is one.")
@click.option(
    "--report", type=click.Path(dir_okay=False), help="Write a page of HTML with pictures of it."
)
@verbosity_options
@json_option
@click.pass_context
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
    """Learn principal components of the rows in DATA, in one pass."""
    from onepass.cli import options
    from onepass.cli.data import check_output, expected_rows, open_data, progress_over
    from onepass.cli.errors import Failure
    from onepass.cli.fitting import ClusterFit, Fit, LocalFit
    from onepass.cli.messages import counted, describe_source, facts, print_json, warn

    if report is not None:
        from onepass.report import model_page, require

        require()  # rather than after hours of work
    share = isinstance(n_components, float)
    given = {"--scale": scale, "--robust": robust is not None, f"-k {n_components}": share}
    for option, is_given in given.items():
        if is_given and algorithm != "pca":
            raise Failure(f"{option} works with --algorithm pca only, not with {algorithm}")
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
        describe_source(source, expected_rows(source))
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
    if stopped_by is not None:
        _explain_resume(ctx, work.saved_rows)
        ctx.exit(128 + stopped_by)
    model, seconds = work.model, work.seconds
    if report is not None:
        model_page(model, report, title=output, data=source.paths, command=shlex.join(_words(ctx)))
    found = facts(model, output)
    for message in _warnings(model):
        warn(message)
    found["seconds"] = round(seconds, 3)
    found["rows_per_second"] = round(found["rows"] / max(seconds, 1e-9))
    if as_json:
        print_json(found)
    else:
        _show(model, found, report)


def _check_memory(algorithm: str, n_components: int | float, n_features: int) -> None:
    """Warn if there is too little memory; with --verbose, say how much it is going to take."""
    from onepass.cli import memory
    from onepass.cli.messages import is_verbose, note, warn

    needed, free = memory.estimate(algorithm, n_components, n_features), memory.available()
    if free is not None and needed > free:
        warn(
            f"this may take about {memory.shown(needed)} of memory, and {memory.shown(free)} are "
            "free; fewer components or --columns take less"
        )
    elif is_verbose():
        note(f"at most about {memory.shown(needed)} of memory")


def _warnings(model: Any) -> list[str]:
    """Return what the library warns of after a fit, with the names of the options."""
    import warnings

    if model.n_samples_seen_ == 1:
        return ["there was one row only, which has no variance"]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model._warn_after_fit()
    names = {"pass scale=True": "use --scale", "n_components=": "-k "}
    messages = [str(warning.message) for warning in caught]
    for name, option in names.items():
        messages = [message.replace(name, option) for message in messages]
    return messages


def _explain_resume(ctx: click.Context, rows: int) -> None:
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
        name = str(option.name)
        value = ctx.params.get(name, True)  # flags that are noted elsewhere have none
        given = ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if not isinstance(option, click.Option) or not given or name == "resume":
            continue
        if option.is_flag:
            words.append((option.opts if value else option.secondary_opts)[0])
        else:
            words += [option.opts[0], ",".join(value) if name == "columns" else str(value)]
    return words


def _show(model: Any, found: dict[str, Any], report: str | None) -> None:
    """Print the result."""
    from onepass.cli.messages import component_table, counted, expectation, is_quiet, print_tables

    if is_quiet():
        return
    click.echo(
        f"{found['model']}: {counted(found['n_components'], 'component')} of "
        f"{counted(found['n_features'], 'column')} from {counted(found['rows'], 'row')}"
    )
    print_tables(component_table(model))
    expected = expectation(found)
    if expected is not None:
        click.echo(f"captures {expected}")
    if hasattr(model, "chosen_"):
        click.echo(str(model.chosen_))
    click.echo(f"took {found['seconds']:.1f} s ({found['rows_per_second']:,} rows/s)")
    if report is not None:
        click.echo(f"{report}: a page with pictures of it")
