"""The commands: their arguments, options and help. Each hands what was given to its function."""

from __future__ import annotations

from typing import Any

import click

from onepass import __version__
from onepass.cli.errors import GuardedGroup
from onepass.cli.options import (
    ALGORITHMS,
    data_argument,
    flag_option,
    json_option,
    keep_option,
    model_argument,
    model_path,
    number_option,
    page_options,
    parse_components,
    path_option,
    quantile_option,
    quiet_option,
    reading_options,
)


@click.group(
    cls=GuardedGroup,
    context_settings={
        "help_option_names": ["-h", "--help"],
        "max_content_width": 100,
        "show_default": True,
    },
    epilog="""\b
Start here:
  onepass fit events/*.parquet -k 20             20 components, in one pass
  onepass info model.onepass                     what was learned
  onepass score model.onepass more.parquet       share of variance captured
  onepass transform model.onepass more.parquet -o coordinates.npy
  onepass impute model.onepass more.csv -o whole.csv
  onepass report model.onepass -o page.html      pictures of the model

The suffix of a file gives its format: npy, npz (dense and scipy sparse), csv, tsv, txt, dat and
svmlight (also with .gz, .bz2 or .zst), parquet, arrow, feather, h5, zarr, h5ad. --format csv reads
text files with any other suffix. Folders, quoted patterns and addresses such as
s3://bucket/a.parquet work too, and - is csv on standard input.

Exit codes: 0 done, 1 disk failure or internal error, 2 wrong usage, bad data or too little memory,
130 stopped by Ctrl-C, 143 by kill. `onepass COMMAND --help` explains a command with examples.""",
)
@click.version_option(__version__, prog_name="onepass")
def main() -> None:
    """Principal components in one pass over data that need not fit in memory."""


@main.command(
    epilog="""\b
Examples:
  onepass fit events/*.parquet -k 20             all files, in one pass
  onepass fit events/ -k 20 -o events.onepass    all files in a folder
  onepass fit data.csv -k 0.95                   for 95% of the variance
  onepass fit data.csv -k 2 --columns height,weight
  onepass fit data.csv -k 2 --exclude id         every other column of numbers
  onepass fit data.csv -k 2 --exclude id --na -999
  onepass fit cells.h5ad -k 50 --normalize 1e4 --log1p --layer counts
  onepass fit events/ -k 5 --until-angle 2       only as many rows as needed
  onepass fit a.npy -k 8 --algorithm capped-msg  one of the paper's algorithms
  zcat log.csv.gz | onepass fit - -k 3           csv from another program
  onepass fit a.npy -k 8 --report page.html      a page with pictures
  onepass fit events/ -k 20 --workers 4          four processes

Interrupted? A checkpoint is written next to the model every 30 seconds, and on Ctrl-C and kill.
The same command with --resume continues from there and gives exactly the model of an uninterrupted
run.

Entries may be missing: empty cells, NA, NaN, null. Memory does not grow with the number of rows.
The model file works with the other commands, and with onepass.load in Python.""",
)
@data_argument
@click.option(
    "-k",
    "--components",
    "n_components",
    type=parse_components,
    metavar="NUMBER",
    help="Number of components or, for pca, a share of the variance such as 0.95.  [default: 10]",
)
@path_option("-o", "--output", default="model.onepass", help="The model file.")
@click.option(
    "--algorithm",
    type=click.Choice(list(ALGORITHMS), case_sensitive=False),
    default="pca",
    metavar="NAME",
    help=f"One of {', '.join(ALGORITHMS)}.",
)
@click.option("--center/--no-center", default=True, help="Whether to subtract the column means.")
@click.option(
    "--scale",
    is_flag=True,
    help="Divide each column by its standard deviation: for columns of different units. pca only.",
)
@click.option(
    "--robust",
    is_flag=True,
    help="Bound the influence of long rows, so that a few of them cannot turn the components. pca "
    "only.",
)
@click.option(
    "--half-life",
    type=click.FloatRange(min=0, min_open=True),
    metavar="ROWS",
    help="Rows count half after this many more rows: for data that change over time. pca only.",
)
@number_option(
    "--passes",
    1,
    100,
    help="Number of passes over DATA of more than 4,096 columns (sparse: 8,192), where one is not "
    "exact. pca only.",
)
@click.option(
    "--skip-empty",
    is_flag=True,
    help="Leave out columns with fewer than two entries; DATA is read once more to find them.",
)
@click.option(
    "--until-angle",
    type=click.FloatRange(0.0, 90.0, min_open=True),
    metavar="DEGREES",
    help="Stop reading when every component is known to this many degrees. pca and erm only.",
)
@reading_options()
@number_option(
    "--seed", 0, 2**32 - 1, default=0, help="The same seed and data give the same model."
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
@number_option("--workers", 1, help="Learn in this many processes on this machine.")
@click.option("--resume", is_flag=True, help="Continue from the checkpoint, if there is one.")
@path_option("--report", help="Also write a page with pictures to this file, ending in .html.")
@page_options
@quiet_option
@json_option
@click.pass_context
def fit(ctx: click.Context, /, **given: Any) -> None:
    """Learn principal components of the rows in DATA, in one pass."""
    from onepass.cli.fit import fit

    fit(ctx, **given)


@main.command(
    epilog="""\b
Examples:
  onepass transform model.onepass new.parquet -o coordinates.npy
  onepass transform model.onepass "2024/*.csv" -o coordinates.csv
  onepass transform model.onepass new.csv -o new-2d.csv --keep id,date --flag
  onepass transform model.onepass cells.h5ad -o coordinates.h5ad
  zcat log.csv.gz | onepass transform model.onepass - -o coordinates.parquet

Columns are matched by name; columns that the model does not know are ignored. Columns without names
are taken in order. The output file appears only when it is complete. With --keep, standard input is
first copied to a temporary file next to it.

An .h5ad output has the coordinates in obsm["X_pca"], the components in varm["PCs"], and the obs of
DATA.""",
)
@model_argument
@data_argument
@path_option(
    "-o", "--output", required=True, help="Output file, ending in .npy, .csv, .parquet or .h5ad."
)
@keep_option
@click.option(
    "--as-list", is_flag=True, help="Write the coordinates as one list column (.parquet)."
)
@flag_option
@quantile_option
@reading_options("those of MODEL")
@quiet_option
def transform(**given: Any) -> None:
    """Write the coordinates of DATA along the components of MODEL."""
    from onepass.cli.rows import transform

    transform(**given)


@main.command(
    epilog="""\b
Examples:
  onepass score model.onepass held-out.parquet
  onepass score model.onepass held-out.parquet --json
  onepass score model.onepass new.csv --rows errors.csv --quantile 0.999
  onepass score model.onepass new.csv --rows errors.csv --keep id --flag
  onepass score model.onepass new.csv --rows outliers.csv --only-outliers

No k directions capture more of DATA than batch PCA fitted on DATA itself.

--rows writes the error of each row (its squared distance from the subspace) and its log-likelihood,
and counts the outliers. In csv and parquet output, each row also has its line number in DATA or, if
DATA is not text, its row number, counted from 1. Output in csv always has commas and decimal
points. With --keep, standard input is first copied to a temporary file next to the output.""",
)
@model_argument
@data_argument
@path_option(
    "--rows",
    "rows_file",
    help="Write the error of each row to a file ending in .csv, .npy or .parquet.",
)
@quantile_option
@keep_option
@flag_option
@click.option(
    "--only-outliers",
    is_flag=True,
    help="With --rows: write only the outliers.",
)
@reading_options("those of MODEL")
@quiet_option
@json_option
def score(**given: Any) -> None:
    """Print the share of the variance of DATA that MODEL captures."""
    from onepass.cli.rows import score

    score(**given)


@main.command(
    epilog="""\b
Examples:
  onepass impute model.onepass gaps.csv -o whole.csv
  onepass impute model.onepass gaps.parquet -o whole.parquet
  onepass impute model.onepass gaps.csv -o whole.csv --na -999

Each gap gets its expected value given the other entries of its row. All other cells and columns
stay as they are, except that True and False become 1 and 0. Text is written as UTF-8. The output
file appears only when it is complete. Standard input is first copied to a temporary file next to
it.""",
)
@model_argument
@data_argument
@path_option("-o", "--output", required=True, help="Output file, ending in .csv, .parquet or .npy.")
@reading_options("those of MODEL")
@quiet_option
def impute(**given: Any) -> None:
    """Fill the missing entries of DATA and keep its other columns."""
    from onepass.cli.rows import impute

    impute(**given)


@main.command(
    epilog="""\b
Examples:
  onepass info model.onepass
  onepass info model.onepass --json              everything that is known
  onepass info model.onepass --components 3      the first three of them
  onepass info model.onepass --loadings 5        the 5 largest weights of each
  onepass info model.onepass --loadings 5 --csv > weights.csv
  onepass info model.onepass.checkpoint          how far a run has come
  onepass info --cite                            the paper, with BibTeX""",
)
@click.argument("model", type=model_path, required=False)
@number_option("--components", 1, help="Show only this many of the components.")
@number_option(
    "--loadings",
    1,
    help="List this many of the largest weights of each component, with standard errors.",
)
@click.option(
    "--csv",
    "as_csv",
    is_flag=True,
    help="Print the components as csv, or the weights of --loadings.",
)
@click.option("--cite", is_flag=True, help="Print the reference of the paper, with BibTeX.")
@json_option
def info(**given: Any) -> None:
    """Show what MODEL is: algorithm, parameters, components."""
    from onepass.cli.models import info

    info(**given)


@main.command(
    epilog="""\b
Examples:
  onepass report model.onepass events/*.parquet  writes model.html
  onepass report model.onepass data.csv -o page.html
  onepass report model.onepass data.csv --color species --label id
  onepass report model.onepass                   the model alone

`onepass fit --report` writes the same page after a fit. It reads DATA once more, to draw rows and
to list those with the largest errors. Standard input cannot be read again.""",
)
@model_argument
@click.argument("data", nargs=-1, type=click.Path(), metavar="[DATA]...")
@path_option("-o", "--output", help="Output file.  [default: the name of MODEL, ending in .html]")
@page_options
@reading_options("those of MODEL")
@quiet_option
def report(**given: Any) -> None:
    """Write an HTML page with pictures of MODEL and of rows of DATA."""
    from onepass.cli.models import report

    report(**given)


@main.command(
    epilog="""\b
Examples:
  onepass fit day-1.parquet -k 8 -o 1.onepass
  onepass fit day-2.parquet -k 8 -o 2.onepass
  onepass merge 1.onepass 2.onepass -o both.onepass

The models must have been fitted on different rows: rows that two models have seen count twice.
Their columns, their algorithm and its parameters must be the same.""",
)
@click.argument(
    "models",
    nargs=-1,
    required=True,
    type=model_path,
    metavar="MODEL...",
)
@path_option("-o", "--output", required=True, help="The model file.")
def merge(**given: Any) -> None:
    """Combine models that were fitted on different rows into one."""
    from onepass.cli.models import merge

    merge(**given)
