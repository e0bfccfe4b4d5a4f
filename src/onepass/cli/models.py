"""``onepass transform``, ``score``, ``info`` and ``merge``: what is done with fitted models."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray
from rich.table import Table

import onepass
from onepass.cli import messages
from onepass.cli.data import check_output, open_for, progress_over, warn_of_repeats
from onepass.cli.errors import Failure
from onepass.cli.memory import shown
from onepass.cli.writers import check_format, writing
from onepass.report.portrait import counted, listed
from onepass.sources import Position
from onepass.sources.excerpt import Excerpt

ROW_COLUMNS = ["reconstruction_error", "log_likelihood"]


def transform(model: str, data: tuple[str, ...], output: str, **reading: Any) -> None:
    """Write the coordinates of rows."""
    check_format(output)
    fitted = onepass.load(model)
    source = open_for(fitted, model, data, reading)
    check_output(output, [*source.paths, model])
    names = [str(name) for name in fitted.get_feature_names_out()]
    with progress_over("transform", source) as progress, writing(output, names) as write:
        for position, block in source.blocks():
            with source.naming_places(position, block):
                write(fitted.transform([block]))
            progress.advance(block.shape[0])
    if not messages.is_quiet():
        rows = counted(progress.rows, "row")
        click.echo(f"{output}: {rows} of {counted(len(names), 'coordinate')}")


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
    fitted = onepass.load(model)
    source = open_for(fitted, model, data, reading)
    found: dict[str, Any] = {"model": model, "rows": 0}
    writer: Any = nullcontext()
    if rows_file is not None:
        check_output(rows_file, [*source.paths, model])
        writer, threshold = writing(rows_file, ROW_COLUMNS), fitted.error_threshold(quantile)
        found |= {"rows_file": rows_file, "quantile": quantile}
        found |= {"threshold": messages.finite(threshold), "above_threshold": 0}
    with writer as write, progress_over("score", source) as progress:

        def blocks(start: Position | None) -> Iterator[tuple[Position, Any]]:
            for position, block in source.blocks(start):
                if write is not None:
                    with source.naming_places(position, block):
                        errors = _errors(fitted, block)
                    write(errors)
                    found["above_threshold"] += int((errors[:, 0] > threshold).sum())
                yield position, block
                progress.advance(block.shape[0])

        part = Excerpt(source, blocks)
        part.feature_names = None  # `open_for` has compared the names
        found["score"] = messages.finite(fitted.score(part))
        found["rows"] = progress.rows
    if as_json:
        messages.print_json(found)
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
    except ValueError:  # no density: some directions have no variance
        likelihoods = np.full(len(errors), np.nan)
    return np.column_stack([errors, likelihoods])


def info(model: str, as_json: bool) -> None:
    """Show what a model is."""
    fitted = onepass.load(model)
    found = messages.facts(fitted, model)
    found["params"] = fitted.get_params()
    names = getattr(fitted, "feature_names_in_", None)
    found["feature_names"] = None if names is None else list(names)
    found["bytes"] = os.path.getsize(model)
    if as_json:
        messages.print_json(found)
        return
    columns = "" if names is None else f": {listed(names)}"
    params = {name: value for name, value in found["params"].items() if name != "n_components"}
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="bold")
    table.add_row("model", f"{found['model']} ({shown(found['bytes'])})")
    table.add_row("algorithm", found["algorithm"])
    table.add_row("rows", f"{found['rows']:,}")
    table.add_row("columns", f"{found['n_features']:,}{columns}")
    table.add_row("parameters", "  ".join(f"{name}={value}" for name, value in params.items()))
    table.add_row("captures", messages.expectation(found) or "not known: too few rows were scored")
    if hasattr(fitted, "chosen_"):
        table.add_row("answered by", str(fitted.chosen_))
    messages.print_tables(table, "", messages.component_table(fitted))


def merge(models: tuple[str, ...], output: str) -> None:
    """Combine models into one."""
    check_output(output, models)
    warn_of_repeats(models)
    loaded = [onepass.load(path) for path in models]
    try:
        merged = onepass.merge(*loaded)
    except ValueError as error:  # which counts the models from 1
        raise Failure(
            re.sub(r"\bmodel (\d+)", lambda found: models[int(found[1]) - 1], str(error))
        ) from error
    merged.save(output)
    click.echo(
        f"{output}: {counted(merged.n_components_, 'component')} from "
        f"{counted(merged.n_samples_seen_, 'row')} of {counted(len(models), 'model')}"
    )
