"""``onepass score``."""

from __future__ import annotations

from typing import Any

import click

from onepass.cli.options import data_argument, json_option, model_argument, reading_options


@click.command(
    short_help="Print the share of variance of DATA captured by MODEL.",
    epilog="""\b
Examples:
  onepass score model.onepass held-out.parquet
  onepass score model.onepass held-out.parquet --json

The best that any k directions can do on DATA is what batch PCA of DATA itself captures.""",
)
@model_argument
@data_argument
@reading_options
@json_option
def score(
    model: str,
    data: tuple[str, ...],
    reading: dict[str, Any],
    as_json: bool,
) -> None:
    """Print the share of the variance of DATA that the components of MODEL capture."""
    from onepass import load
    from onepass.cli.expected_rows import expected_rows
    from onepass.cli.opening import open_for
    from onepass.cli.stretch import Stretch
    from onepass.cli.summary import finite
    from onepass.progress import Progress

    fitted = load(model)
    source = open_for(fitted, model, data, reading)
    total, exact = expected_rows(source), source.n_rows is not None
    rows = 0
    with Progress("score", total, exact=exact) as progress:

        def count(done: int) -> bool:
            nonlocal rows
            rows += done
            progress.advance(done)
            return False

        share = finite(fitted.score(Stretch(source, source.blocks(), count)))
    if as_json:
        import json

        click.echo(json.dumps({"model": model, "rows": rows, "score": share}))
    elif share is None:
        click.echo(f"there is no variance in these {rows:,} rows")
    else:
        click.echo(f"{share:.4%} of the variance of {rows:,} rows")
