"""``onepass transform`` and ``onepass score``: a model and more rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from onepass import load
from onepass.cli.data import check_output, open_for, progress_over
from onepass.cli.errors import Failure
from onepass.cli.messages import finite, is_quiet, print_json
from onepass.cli.writers import check_format, writing
from onepass.report.portrait import counted

ROW_COLUMNS = ["reconstruction_error", "log_likelihood"]


def transform(model: str, data: tuple[str, ...], output: str, **reading: Any) -> None:
    """Write the coordinates of rows."""
    check_format(output)
    fitted = load(model)
    source = open_for(fitted, model, data, reading)
    check_output(output, [*source.paths, model])
    names = [str(name) for name in fitted.get_feature_names_out()]
    rows = 0
    with progress_over("transform", source) as progress, writing(output, names) as write:
        for block in source:
            write(fitted.transform([block]))
            rows += block.shape[0]
            progress.advance(block.shape[0])
    if not is_quiet():
        click.echo(f"{output}: {counted(rows, 'row')} of {counted(len(names), 'coordinate')}")


def score(
    model: str,
    data: tuple[str, ...],
    rows_file: str | None,
    quantile: float | None,
    as_json: bool,
    **reading: Any,
) -> None:
    """Print the share of variance that is captured; write the errors of rows to a file."""
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
                    errors = _errors(fitted, block)
                    write(errors)
                    found["above_threshold"] += int((errors[:, 0] > threshold).sum())
                yield block
                found["rows"] += block.shape[0]
                progress.advance(block.shape[0])

        found["score"] = finite(fitted.score(blocks()))
    if as_json:
        print_json(found)
        return
    rows = counted(found["rows"], "row")
    if found["score"] is None:
        click.echo(f"there is no variance in {rows}")
    else:
        click.echo(f"captures {found['score']:.4%} of the variance of {rows}")
    if rows_file is not None:
        above = found["above_threshold"]
        click.echo(
            f"{rows_file}: {' and '.join(ROW_COLUMNS)} of each row; "
            f"{counted(above, 'outlier')} ({above / found['rows']:.2%}), with a larger error than "
            f"{100 * quantile:.10g}% of the rows that the model was fitted on"
        )


def _errors(fitted: Any, block: Any) -> NDArray[np.floating]:
    """Return the errors and the log-likelihoods of rows, shape (b, 2)."""
    errors = fitted.reconstruction_error([block])
    try:
        likelihoods = fitted.score_samples([block])
    except ValueError:  # there are directions without variance, and no density
        likelihoods = np.full(len(errors), np.nan)
    return np.column_stack([errors, likelihoods])
