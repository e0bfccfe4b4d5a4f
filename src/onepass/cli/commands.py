"""The commands: their arguments, options and help. Each hands what was given to its function."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from functools import reduce
from typing import Any, TypeVar

import click

from onepass import ESTIMATORS, __version__
from onepass.cli.program import GuardedGroup, limit_memory

F = TypeVar("F", bound=Callable[..., Any])


def algorithm_name(estimator: str) -> str:
    """Return what an estimator is called on the command line.

    >>> algorithm_name("CappedMSG")
    'capped-msg'
    """
    return re.sub("([a-z])([A-Z])", r"\1-\2", estimator).lower()


# Name -> class in onepass, which is imported when it is used. IncrementalPCA is for code that is
# written for scikit-learn: here `pca` does the same, and `incremental` is the paper's algorithm.
ALGORITHMS = {algorithm_name(name): name for name in ESTIMATORS if name != "IncrementalPCA"}


def _components(value: str) -> int | float:
    """Return a number of components, or a share of the variance between 0 and 1."""
    with suppress(ValueError):
        if int(value) >= 1:
            return int(value)
    with suppress(ValueError):
        if 0.0 < float(value) < 1.0:
            return float(value)
    raise click.BadParameter(
        f"{value!r} is neither a whole number from 1 on nor a share between 0 and 1 such as 0.95"
    )


def _columns(value: str) -> list[str]:
    """Return names or numbers of columns that are separated by commas."""
    names = [name.strip() for name in value.split(",")]
    if not all(names):
        raise click.BadParameter(f"{value!r} has an empty name in it")
    return names


def _delimiter(value: str) -> str:
    """Return the character between two values."""
    character = {"tab": "\t", "\\t": "\t"}.get(value, value)
    if len(character) != 1 or not character.isascii():
        raise click.BadParameter(f"{value!r} is not one ASCII character")
    return character


_FILE, _MODEL = click.Path(dir_okay=False), click.Path(exists=True, dir_okay=False)
_COUNT, _POSITIVE = click.IntRange(min=1), click.FloatRange(min=0, min_open=True)


def _option(names: str, help: str, type: Any = None, **given: Any) -> Callable[[F], F]:
    """Return an option: its names, and what the help calls its value, unless it is a flag."""
    words = names.split()
    if words[-1].startswith("--"):
        return click.option(*words, is_flag=True, help=help, **given)
    return click.option(*words[:-1], metavar=words[-1], help=help, type=type, **given)


def _together(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Return one decorator for several options, which the help lists in this order."""
    return lambda command: reduce(lambda found, option: option(found), reversed(options), command)


_model = click.argument("model", type=_MODEL)
_data = click.argument("data", nargs=-1, required=True, type=click.Path(), metavar="DATA...")
_json = _option("--json", "Print one JSON object, for programs.")
_quiet = _option(
    "-q --quiet",
    "Print only requested results, warnings and errors.",
    expose_value=False,
    callback=lambda ctx, param, given: ctx.meta.update({"onepass.quiet": given}),
)
_each_row = _together(
    _option("--keep A,B,..", "Columns of DATA to copy into the output, such as id,date.", _columns),
    _option(
        "--flag", "Add a column `outlier`: 1 for rows above the threshold of --quantile, else 0."
    ),
    _option(
        "--quantile SHARE",
        "Threshold of outliers: an error that this share of the fitted rows did not exceed.",
        click.FloatRange(0.0, 1.0, min_open=True),
        default=0.99,
    ),
)
_page = _together(
    _option("--color COLUMN", "Colour the points by this column of DATA (numbers, text or dates)."),
    _option("--label COLUMN", "Label the points with this column of DATA, such as id."),
)
_prepared = _together(
    _option(
        "--normalize SUM", "Divide rows by their sums, then multiply by this number.", _POSITIVE
    ),
    _option("--log1p", "Replace each entry x by log(1 + x), after --normalize."),
)
# The parameters of `onepass.open_source`, which a command takes as **reading.
_reading = _together(
    _option(
        "--memory SIZE",
        "Memory limit, such as 4GB; needing more is an error (Linux only).  [default: what is "
        "available at the start]",
        expose_value=False,
        callback=lambda ctx, param, given: None if given is None else limit_memory(given),
    ),
    _option(
        "--columns A,B,..",
        "Columns to use: names, numbers from 0, ranges such as x1:x20 or 3-40, patterns such as "
        "'gene_*'.  [default: all, or those of MODEL]",
        _columns,
    ),
    _option("--exclude A,B,..", "Columns to leave out, written in the same way.", _columns),
    _option(
        "--skip-non-numeric",
        "Leave out columns that hold both numbers and text, instead of refusing them. Columns "
        "without any number are always left out.",
    ),
    _option(
        "--na TEXT",
        "Additional missing-value marker, such as -999 or ?; repeat the option for more.",
        multiple=True,
        callback=lambda ctx, param, given: list(given),  # as JSON holds them
    ),
    click.option(
        "--format",
        type=click.Choice(["csv", "svmlight"]),
        help="Read text files in this format, whatever their names end with.",
    ),
    click.option(
        "--header/--no-header",
        default=None,
        callback=lambda ctx, param, given: "auto" if given is None else given,
        help="Whether csv files begin with column names.  [default: the first rows decide]",
    ),
    _option(
        "--delimiter CHARACTER",
        "The character between values of a csv file.  [default: the first rows decide]",
        _delimiter,
    ),
    _option(
        "--decimal POINT",
        "The decimal point in a csv file, . or a comma.",
        click.Choice([".", ","]),
        default=".",
    ),
    _option("--encoding NAME", "Encoding of csv files, such as latin-1.  [default: UTF-8]"),
    _option(
        "--skip-lines NUMBER",
        "Number of lines to skip before the header of a csv file.",
        click.IntRange(min=0),
        default=0,
    ),
    _option("--comment TEXT", "Skip lines of a csv file that begin with this text."),
    _option("--keep-index", "Keep index columns written by pandas or R."),
    _option("--layer NAME", "The layer of an AnnData file to read instead of X."),
    _option(
        "--mask-var NAME", "Use only the genes that this boolean column of var selects (AnnData)."
    ),
)


# -- commands --------------------------------------------------------------------------------------


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
The model file works with the other commands, and with onepass.load in Python."""
)
@_data
@_option(
    "-k --components NUMBER",
    "Number of components or, for pca, a share of the variance such as 0.95.  [default: 10]",
    _components,
)
@_option("-o --output FILE", "The model file.", _FILE, default="model.onepass")
@_option(
    "--algorithm NAME",
    f"One of {', '.join(ALGORITHMS)}.",
    click.Choice(list(ALGORITHMS), case_sensitive=False),
    default="pca",
)
@click.option("--center/--no-center", default=True, help="Whether to subtract the column means.")
@_option("--scale", "Divide each column by its standard deviation, if units differ. pca only.")
@_option(
    "--robust",
    "Bound the influence of long rows, so that a few of them cannot turn the components. pca only.",
)
@_option("--half-life ROWS", "Rows count half after this many more rows. pca only.", _POSITIVE)
@_option(
    "--passes NUMBER",
    "Number of passes over DATA of more than 4,096 columns (sparse: 8,192), where one is not "
    "exact. pca only.",
    click.IntRange(1, 100),
)
@_option(
    "--skip-empty", "Leave out columns with fewer than two entries, after reading DATA for it."
)
@_option(
    "--until-angle DEGREES",
    "Stop reading when every component is known to this many degrees. pca and erm only.",
    click.FloatRange(0.0, 90.0, min_open=True),
)
@_reading
@_prepared
@_option(
    "--seed NUMBER",
    "The same seed and data give the same model.",
    click.IntRange(0, 2**32 - 1),
    default=0,
)
@_option(
    "--checkpoint-every SECONDS",
    "Time between checkpoints; 0 writes one after every block or shard.",
    click.FloatRange(min=0),
    default=30.0,
)
@_option("--dask ADDRESS", "Learn on the workers of this Dask scheduler, such as tcp://host:8786.")
@_option("--workers NUMBER", "Learn in this many processes on this machine.", _COUNT)
@_option("--resume", "Continue from the checkpoint, if there is one.")
@_option("--report FILE", "Also write a page with pictures to this file, ending in .html.", _FILE)
@_page
@_quiet
@_json
def fit(**given: Any) -> None:
    """Learn principal components of the rows in DATA, in one pass."""
    from onepass.cli.fit import fit

    fit(**given)


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
DATA."""
)
@_model
@_data
@_option("-o --output FILE", "Ends in .npy, .csv, .parquet or .h5ad.", _FILE, required=True)
@_each_row
@_option("--as-list", "Write the coordinates as one list column (.parquet).")
@_reading
@_quiet
def transform(**given: Any) -> None:
    """Write the coordinates of DATA along the components of MODEL."""
    from onepass.cli.rows import transform

    transform(**given)


@main.command(
    epilog="""\b
Examples:
  onepass score model.onepass held-out.parquet
  onepass score model.onepass new.csv --rows errors.csv --quantile 0.999
  onepass score model.onepass new.csv --rows errors.csv --keep id --flag
  onepass score model.onepass new.csv --rows outliers.csv --only-outliers

No k directions capture more of DATA than batch PCA fitted on DATA itself.

--rows writes the error of each row (its squared distance from the subspace) and its log-likelihood,
and counts the outliers. In csv and parquet output, each row also has its line number in DATA or, if
DATA is not text, its row number, counted from 1. Output in csv always has commas and decimal
points. With --keep, standard input is first copied to a temporary file next to the output."""
)
@_model
@_data
@_option("--rows FILE", "Write the error of each row; ends in .csv, .npy or .parquet.", _FILE)
@_each_row
@_option("--only-outliers", "With --rows: write only the outliers.")
@_reading
@_quiet
@_json
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
it."""
)
@_model
@_data
@_option("-o --output FILE", "Ends in .csv, .parquet or .npy.", _FILE, required=True)
@_reading
@_quiet
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
  onepass info model.onepass.checkpoint          how far a run has come"""
)
@_model
@_option("--components NUMBER", "Show only this many of the components.", _COUNT)
@_option(
    "--loadings NUMBER",
    "List this many of the largest weights of each component, with standard errors.",
    _COUNT,
)
@_option("--csv", "Print the components as csv, or the weights of --loadings.")
@_json
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
to list those with the largest errors. Standard input cannot be read again."""
)
@_model
@click.argument("data", nargs=-1, type=click.Path(), metavar="[DATA]...")
@_option("-o --output FILE", "Output file.  [default: the name of MODEL, ending in .html]", _FILE)
@_page
@_reading
@_quiet
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
Their columns, their algorithm and its parameters must be the same."""
)
@click.argument("models", nargs=-1, required=True, type=_MODEL, metavar="MODEL...")
@_option("-o --output FILE", "The model file.", _FILE, required=True)
def merge(**given: Any) -> None:
    """Combine models that were fitted on different rows into one."""
    from onepass.cli.models import merge

    merge(**given)
