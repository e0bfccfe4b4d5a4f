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
    telling_options,
)

ROW_COLUMNS = ["reconstruction_error", "log_likelihood"]


@click.command(
    short_help="Print the share of variance of DATA captured by MODEL.",
    epilog="""\b
Examples:
  onepass score model.onepass held-out.parquet
  onepass score model.onepass held-out.parquet --json
  onepass score model.onepass new.csv --rows errors.csv --quantile 0.999

The best that any k directions can do on DATA is what batch PCA of DATA itself captures.

--rows writes for each row its squared distance from the subspace and its log-likelihood, and counts
the outliers: rows that are farther away than nearly all rows that the model has learned from.""",
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
    default=0.99,
    show_default=True,
    help="With --rows: the share of the model's own rows that outliers are farther away than.",
)
@reading_options
@telling_options
@json_option
def score(
    model: str,
    data: tuple[str, ...],
    rows_file: str | None,
    quantile: float,
    reading: dict[str, Any],
    as_json: bool,
) -> None:
    """Print the share of the variance of DATA that the components of MODEL capture."""
    from contextlib import ExitStack

    from onepass import load
    from onepass.cli.expected_rows import expected_rows
    from onepass.cli.opening import open_for
    from onepass.cli.output import check_output
    from onepass.cli.stretch import Stretch
    from onepass.cli.summary import finite
    from onepass.cli.telling import progress_visible
    from onepass.cli.writers import writer_for
    from onepass.model_file import replacing
    from onepass.progress import Progress

    kind = None if rows_file is None else writer_for(rows_file)
    fitted = load(model)
    source = open_for(fitted, model, data, reading)
    total, exact = expected_rows(source), source.n_rows is not None
    found: dict[str, Any] = {"model": model, "rows": 0}

    with ExitStack() as stack:
        blocks, written = source.blocks(), None
        if rows_file is not None and kind is not None:
            check_output(rows_file, [*source.paths, model])
            file = stack.enter_context(replacing(rows_file))
            written = _RowErrors(fitted, kind, file, fitted.error_threshold(quantile))
            stack.push(written.leave)
            blocks = written.following(blocks)
        progress = stack.enter_context(
            Progress("score", total, exact=exact, visible=progress_visible())
        )

        def count(done: int) -> bool:
            found["rows"] += done
            progress.advance(done)
            return False

        found["score"] = finite(fitted.score(Stretch(source, blocks, count)))
    if written is not None:
        found |= {
            "rows_file": rows_file,
            "quantile": quantile,
            "threshold": finite(written.threshold),
            "above_threshold": written.above,
        }
    _show(found, as_json)


class _RowErrors:
    """Writes errors and likelihoods of rows while they are scored."""

    def __init__(self, fitted: Any, kind: Any, file: Any, threshold: float) -> None:
        import numpy as np

        self._fitted = fitted
        self._writer = kind(file, ROW_COLUMNS, np.dtype(np.float64))
        self.threshold, self.above = threshold, 0

    def following(self, blocks: Iterator[Any]) -> Iterator[Any]:
        """Yield blocks, each after its rows were written."""
        import numpy as np

        for position, block in blocks:
            errors = self._fitted.reconstruction_error([block])
            try:
                likelihoods = self._fitted.score_samples([block])
            except ValueError:  # there are directions without variance, and no density
                likelihoods = np.full(len(errors), np.nan)
            self._writer.write(np.column_stack([errors, likelihoods]))
            self.above += int((errors > self.threshold).sum())
            yield position, block

    def leave(self, kind: Any, error: Any, traceback: Any) -> None:
        """Finish the file, or let go of it after an error."""
        if kind is None:
            self._writer.finish()
        else:
            self._writer.abandon()


def _show(found: dict[str, Any], as_json: bool) -> None:
    """Print the result."""
    if as_json:
        import json

        click.echo(json.dumps(found))
        return
    if found["score"] is None:
        click.echo(f"there is no variance in these {found['rows']:,} rows")
    else:
        click.echo(f"{found['score']:.4%} of the variance of {found['rows']:,} rows")
    if "rows_file" in found:
        share = found["above_threshold"] / max(found["rows"], 1)
        click.echo(
            f"{found['rows_file']}: {found['rows']:,} rows of {' and '.join(ROW_COLUMNS)}; "
            f"{found['above_threshold']:,} ({share:.2%}) are farther away than "
            f"{found['quantile']:.10g} of the rows that the model has learned from"
        )
