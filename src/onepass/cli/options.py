"""Arguments and options that several commands share, and the names of algorithms."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

import click

from onepass import ESTIMATORS

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


def make_estimator(algorithm: str, n_components: int | float, seed: int = 0, **params: Any) -> Any:
    """Return a new estimator; parameters that are None keep the algorithm's own default."""
    import onepass

    made = getattr(onepass, ALGORITHMS[algorithm])(n_components)
    has_seed = made.is_random and hasattr(made, "random_state")
    params["random_state"] = seed if has_seed else None
    return made.set_params(**{name: value for name, value in params.items() if value is not None})


def parse_components(value: str) -> int | float:
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


def column_list(value: str) -> list[str]:
    """Return names or numbers of columns that are separated by commas."""
    names = [name.strip() for name in value.split(",")]
    if not all(names):
        raise click.BadParameter(f"{value!r} has an empty name in it")
    return names


def _values(ctx: click.Context, param: click.Parameter, given: tuple[str, ...]) -> list[str]:
    """Return the values of an option that is given several times, as JSON holds them."""
    return list(given)


def _limit_memory(ctx: click.Context, param: click.Parameter, given: str | None) -> None:
    """Limit what this process may allocate."""
    from onepass.cli import memory

    if given is not None and not memory.limit(memory.parse_size(given)):
        raise click.BadParameter("this system cannot limit the memory of a process; Linux can")


def _delimiter(value: str) -> str:
    """Return the character between two values."""
    character = {"tab": "\t", "\\t": "\t"}.get(value, value)
    if len(character) != 1 or not character.isascii():
        raise click.BadParameter(f"{value!r} is not one ASCII character")
    return character


def _together(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Return one decorator for several options, which the help lists in this order."""

    def decorate(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


data_argument = click.argument(
    "data", nargs=-1, required=True, type=click.Path(), metavar="DATA..."
)


model_path = click.Path(exists=True, dir_okay=False)
model_argument = click.argument("model", type=model_path)
json_option = click.option(
    "as_json", "--json", is_flag=True, help="Print one JSON object, for programs."
)


def path_option(*names: str, **given: Any) -> Callable[[F], F]:
    """Return an option for a file that a command writes."""
    return click.option(*names, type=click.Path(dir_okay=False), metavar="FILE", **given)


def number_option(name: str, least: int, most: int | None = None, **given: Any) -> Callable[[F], F]:
    """Return an option for a whole number between bounds."""
    return click.option(name, type=click.IntRange(least, most), metavar="NUMBER", **given)


keep_option = click.option(
    "--keep",
    type=column_list,
    metavar="A,B,..",
    help="Columns of DATA to copy into the output, such as id,date.",
)
flag_option = click.option(
    "--flag",
    is_flag=True,
    help="Add a column `outlier`: 1 for rows above the threshold of --quantile, else 0.",
)


quantile_option = click.option(
    "--quantile",
    type=click.FloatRange(0.0, 1.0, min_open=True),
    default=0.99,
    metavar="SHARE",
    help="Threshold of outliers: an error that this share of the fitted rows did not exceed.",
)


page_options = _together(
    click.option(
        "--color",
        metavar="COLUMN",
        help="Colour the points on the page by this column of DATA (numbers, text or dates).",
    ),
    click.option(
        "--label", metavar="COLUMN", help="Label the points with this column of DATA, such as id."
    ),
)


def reading_options(columns: str = "all") -> Callable[[F], F]:
    """Return the parameters of `onepass.open_source`, which a command takes as **reading.

    `columns` says in the help which columns are used by default.
    """
    return _together(
        click.option(
            "--memory",
            callback=_limit_memory,
            expose_value=False,
            metavar="SIZE",
            help="Memory limit, such as 4GB; needing more is an error (Linux only).  [default: "
            "what is available at the start]",
        ),
        click.option(
            "--columns",
            type=column_list,
            metavar="A,B,..",
            help="Columns to use: names, numbers from 0, ranges such as x1:x20 or 3-40, patterns "
            f"such as 'gene_*'.  [default: {columns}]",
        ),
        click.option(
            "--exclude",
            type=column_list,
            metavar="A,B,..",
            help="Columns to leave out, written in the same way.",
        ),
        click.option(
            "--skip-non-numeric",
            is_flag=True,
            help="Leave out columns that hold both numbers and text, instead of refusing them. "
            "Columns without any number are always left out.",
        ),
        click.option(
            "--na",
            multiple=True,
            callback=_values,
            metavar="TEXT",
            help="Additional missing-value marker, such as -999 or ?; repeat the option for more.",
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
            help="Whether csv files begin with a row of column names.  [default: the first rows "
            "decide]",
        ),
        click.option(
            "--delimiter",
            type=_delimiter,
            metavar="CHARACTER",
            help="The character between values of a csv file.  [default: the first rows decide]",
        ),
        click.option(
            "--decimal",
            type=click.Choice([".", ","]),
            default=".",
            help="The decimal point in a csv file.",
        ),
        click.option(
            "--encoding",
            metavar="NAME",
            help="Encoding of csv files, such as latin-1.  [default: UTF-8]",
        ),
        number_option(
            "--skip-lines",
            0,
            default=0,
            help="Number of lines to skip before the header of a csv file.",
        ),
        click.option(
            "--comment",
            metavar="TEXT",
            help="Skip lines of a csv file that begin with this text.",
        ),
        click.option(
            "--keep-index",
            is_flag=True,
            help="Keep index columns written by pandas or R.",
        ),
        click.option(
            "--layer", metavar="NAME", help="The layer of an AnnData file to read instead of X."
        ),
        click.option(
            "--mask-var",
            metavar="NAME",
            help="Use only the genes that this boolean column of var selects, such as "
            "highly_variable (AnnData).",
        ),
        *(
            ()
            if columns != "all"  # a model knows how its rows were prepared
            else (
                click.option(
                    "--normalize",
                    type=click.FloatRange(min=0.0, min_open=True),
                    metavar="SUM",
                    help="Divide each row by its sum and multiply by this number, such as 1e4.",
                ),
                click.option(
                    "--log1p",
                    is_flag=True,
                    help="Replace each entry x by log(1 + x), after --normalize.",
                ),
            )
        ),
    )


def _keep_quiet(ctx: click.Context, param: click.Parameter, given: bool) -> None:
    """Let `onepass.cli.messages` know."""
    if given:
        ctx.meta["onepass.quiet"] = True


quiet_option = click.option(
    "-q",
    "--quiet",
    is_flag=True,
    expose_value=False,
    callback=_keep_quiet,
    help="Print only requested results, warnings and errors.",
)
