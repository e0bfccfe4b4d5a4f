"""``onepass paper``."""

from __future__ import annotations

from typing import Any

import click


@click.command(
    short_help="Reproduce the paper's figures and claims.",
    epilog="""\b
Examples:
  onepass paper --quick --out paper-quick        in under a minute
  onepass paper --figure 2                       one figure, with 100 runs
  onepass paper --mnist ~/data/mnist --jobs 4    with idx files of MNIST

Everything takes about an hour on one core. Finished runs are kept in the output
folder: the same command goes on after an interruption.""",
)
@click.option(
    "--figure",
    "figures",
    type=click.Choice(["1", "2", "3"]),
    multiple=True,
    help="Only this figure; may be given several times. All by default.",
)
@click.option(
    "--out",
    type=click.Path(file_okay=False),
    default="paper",
    help="The folder for pictures, tables and the page.",
)
@click.option(
    "--mnist",
    type=click.Path(exists=True, file_okay=False),
    help="A folder with the idx files of MNIST, compressed or not.",
)
@click.option("--quick", is_flag=True, help="Fewer rows, runs and splits.")
@click.option(
    "--splits",
    type=click.IntRange(min=2),
    metavar="NUMBER",
    help="Random splits of MNIST for figure 3, for each reading.  [default: 10]",
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=1,
    metavar="NUMBER",
    help="Runs at the same time, each in a process.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    metavar="NUMBER",
    help="Of the random data.",
)
@click.option(
    "--so-far", is_flag=True, help="Run nothing; make the page from the runs that are finished."
)
@click.option(
    "--markdown",
    type=click.Path(dir_okay=False),
    help="Write the page as Markdown here instead of to index.md in the output folder.",
)
def paper(**options: Any) -> None:
    """Reproduce the figures of the Capped MSG paper, and judge its claims under each reading."""
    from onepass.paper import run

    run(**options)
