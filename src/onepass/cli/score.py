"""``onepass score``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from onepass.cli.options import (
    data_argument,
    json_option,
    model_argument,
    reading_options,
    verbosity_options,
)

ROW_COLUMNS = ["reconstruction_error", "log_likelihood"]


@click.command(
    short_help="Print the share of variance of DATA captured by MODEL.",
    epilog="""\b
Examples:
  onepass score model.onepass held-out.parquet
  onepass score model.onepass held-out.parquet --json
  onepass score model.onepass new.csv --rows errors.csv --quantile 0.999

The most that k directions can capture is what batch PCA of DATA itself captures.

--rows writes for each row its error, which is the squared distance from the subspace, and its
log-likelihood. It also counts the outliers.""",
)
@model_argument
@data_argument
@click.option(
    "--rows",
    "rows_file",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Write the error of each row to a file ending in .csv, .npy or .parquet.",
)
@click.option(
    "--quantile",
    type=click.FloatRange(0.0, 1.0, min_open=True),
    metavar="SHARE",
    help="With --rows: an outlier has a larger error than this share of the rows that MODEL was "
    "fitted on.  [default: 0.99]",
)
@reading_options("those of MODEL")
@verbosity_options
@json_option
def score(
    model: str,
    data: tuple[str, ...],
    rows_file: str | None,
    quantile: float | None,
    as_json: bool,
    **reading: Any,
) -> None:
    """Print the share of the variance of DATA that the components of MODEL capture."""
    from contextlib import ExitStack

    from onepass import load
    from onepass.cli.data import check_output, open_for, progress_over
    from onepass.cli.errors import Failure
    from onepass.cli.messages import counted, finite, print_json
    from onepass.cli.writers import check_format, writing

    if rows_file is not None:
        check_format(rows_file)
    elif quantile is not None:
        raise Failure("--quantile works with --rows only")
    quantile = 0.99 if quantile is None else quantile
    fitted = load(model)
    source = open_for(fitted, model, data, reading)
    found: dict[str, Any] = {"model": model, "rows": 0}
    with ExitStack() as stack:
        write, threshold = None, float("inf")
        if rows_file is not None:
            check_output(rows_file, [*source.paths, model])
            threshold = fitted.error_threshold(quantile)
            found |= {"rows_file": rows_file, "quantile": quantile}
            found |= {"threshold": finite(threshold), "above_threshold": 0}
            write = stack.enter_context(writing(rows_file, ROW_COLUMNS))
        progress = stack.enter_context(progress_over("score", source))

        def blocks() -> Iterator[Any]:
            for block in source:
                if write is not None:
                    rows = _judge(fitted, block)
                    write(rows)
                    found["above_threshold"] += int((rows[:, 0] > threshold).sum())
                yield block
                found["rows"] += block.shape[0]
                progress.advance(block.shape[0])

        found["score"] = finite(fitted.score(blocks()))
    if as_json:
        print_json(found)
        return
    if found["score"] is None:
        click.echo(f"there is no variance in {counted(found['rows'], 'row')}")
    else:
        rows = counted(found["rows"], "row")
        click.echo(f"captures {found['score']:.4%} of the variance of {rows}")
    if rows_file is not None:
        above = found["above_threshold"]
        click.echo(
            f"{rows_file}: {' and '.join(ROW_COLUMNS)} of each row; "
            f"{counted(above, 'outlier')} ({above / found['rows']:.2%}), with a larger error than "
            f"{100 * quantile:.10g}% of the rows that the model was fitted on"
        )


def _judge(fitted: Any, block: Any) -> Any:
    """Return the errors and the log-likelihoods of rows, shape (b, 2)."""
    import numpy as np

    errors = fitted.reconstruction_error([block])
    try:
        likelihoods = fitted.score_samples([block])
    except ValueError:  # there are directions without variance, and no density
        likelihoods = np.full(len(errors), np.nan)
    return np.column_stack([errors, likelihoods])
