"""``onepass transform``."""

from __future__ import annotations

from typing import Any

import click

from onepass.cli.options import data_argument, model_argument, reading_options, telling_options


@click.command(
    short_help="Write the coordinates of DATA in the components of MODEL.",
    epilog="""\b
Examples:
  onepass transform model.onepass new.parquet -o coordinates.npy
  onepass transform model.onepass "2024/*.csv" -o coordinates.csv
  zcat log.csv.gz | onepass transform model.onepass - -o coordinates.parquet

Columns are found by the names that the model was fitted on; others are left alone. Where there are
no names they are taken in their order. The output appears when it is complete, or not at all.""",
)
@model_argument
@data_argument
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False),
    required=True,
    help="A file ending in .npy, .csv or .parquet.",
)
@reading_options
@telling_options
def transform(
    model: str,
    data: tuple[str, ...],
    output: str,
    reading: dict[str, Any],
) -> None:
    """Write the coordinates of the rows in DATA in the components of MODEL."""
    from onepass import load
    from onepass.cli.expected_rows import expected_rows
    from onepass.cli.opening import open_for
    from onepass.cli.output import check_output
    from onepass.cli.telling import is_quiet, progress_visible
    from onepass.cli.writers import writer_for
    from onepass.model_file import replacing
    from onepass.progress import Progress

    kind = writer_for(output)
    fitted = load(model)
    source = open_for(fitted, model, data, reading)
    check_output(output, [*source.paths, model])
    names = [str(name) for name in fitted.get_feature_names_out()]
    total, exact = expected_rows(source), source.n_rows is not None
    with (
        Progress("transform", total, exact=exact, visible=progress_visible()) as progress,
        replacing(output) as file,
    ):
        writer = None
        try:
            for block in source:
                rows = fitted.transform([block])
                writer = writer or kind(file, names, rows.dtype)
                writer.write(rows)
                progress.advance(len(rows))
            assert writer is not None  # a source without rows is an error
            writer.finish()
        except BaseException:
            if writer is not None:
                writer.abandon()
            raise
    if not is_quiet():
        click.echo(f"{output}: {writer.rows:,} rows of {len(names)} coordinates")
