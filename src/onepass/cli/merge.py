"""``onepass merge``."""

from __future__ import annotations

import click


@click.command(
    epilog="""\b
Examples:
  onepass fit day-1.parquet -k 8 -o 1.onepass
  onepass fit day-2.parquet -k 8 -o 2.onepass
  onepass merge 1.onepass 2.onepass -o both.onepass

Rows are counted from every model, so no two should have seen the same ones. Their columns, their
algorithm and its parameters must be the same.""",
)
@click.argument(
    "models",
    nargs=-1,
    required=True,
    type=click.Path(exists=True, dir_okay=False),
    metavar="MODEL...",
)
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False), required=True, help="The model file."
)
def merge(models: tuple[str, ...], output: str) -> None:
    """Make one model of several that were fitted on different rows."""
    import onepass
    from onepass.cli.output import check_output

    check_output(output, [])
    loaded = [onepass.load(path) for path in models]
    merged = onepass.merge(*loaded)
    merged.save(output)
    click.echo(
        f"{output}: {merged.n_components_} components from {merged.n_samples_seen_:,} rows "
        f"of {len(models)} models"
    )
