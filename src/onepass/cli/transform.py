"""``onepass transform``."""

from __future__ import annotations

from typing import Any

import click

from onepass.cli.options import (
    data_argument,
    model_argument,
    output_option,
    reading_options,
    verbosity_options,
)


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
@output_option("A file ending in .npy, .csv or .parquet.")
@reading_options("those of MODEL")
@verbosity_options
def transform(model: str, data: tuple[str, ...], output: str, **reading: Any) -> None:
    """Write the coordinates of the rows in DATA in the components of MODEL."""
    from onepass import load
    from onepass.cli.data import check_output, open_for, progress_over
    from onepass.cli.messages import counted, is_quiet
    from onepass.cli.writers import check_format, writing

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
