"""Arguments and options that several commands share, and the names of algorithms."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

import click

from onepass import ESTIMATORS

F = TypeVar("F", bound=Callable[..., Any])

# Name -> class in onepass, which is imported when it is asked for: capped-msg -> CappedMSG.
ALGORITHMS = {re.sub("([a-z])([A-Z])", r"\1-\2", name).lower(): name for name in ESTIMATORS}


def estimator(algorithm: str, n_components: int | float, seed: int = 0, **params: Any) -> Any:
    """Return a new estimator; parameters that are None keep the algorithm's own default."""
    import onepass

    made = getattr(onepass, ALGORITHMS[algorithm])(n_components)
    params["random_state"] = seed if hasattr(made, "random_state") else None
    if params.get("center") and "center" not in made.get_params():  # it always centres
        del params["center"]
    return made.set_params(**{name: value for name, value in params.items() if value is not None})


def component_count(value: str) -> int | float:
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


def _column_list(value: str) -> list[str]:
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
model_argument = click.argument("model", type=click.Path(exists=True, dir_okay=False))
json_option = click.option(
    "as_json", "--json", is_flag=True, help="Print one JSON object, for programs."
)


def path_option(*names: str, folder: bool = False, **given: Any) -> Callable[[F], F]:
    """Return an option for a file or a folder that a command writes."""
    kind = click.Path(file_okay=not folder, dir_okay=folder)
    return click.option(*names, type=kind, metavar="FOLDER" if folder else "FILE", **given)


def number_option(name: str, least: int, most: int | None = None, **given: Any) -> Callable[[F], F]:
    """Return an option for a whole number between bounds."""
    return click.option(name, type=click.IntRange(least, most), metavar="NUMBER", **given)


def reading_options(columns: str = "all") -> Callable[[F], F]:
    """Return the parameters of `onepass.open_source`, which a command takes as **reading.

    `columns` says in the help which columns are used by default.
    """
    return _together(
        click.option(
            "--columns",
            type=_column_list,
            metavar="A,B,..",
            help=f"Columns to use, by name or by number from 0.  [default: {columns}]",
        ),
        click.option(
            "--skip-non-numeric",
            is_flag=True,
            help="Leave out columns that are not numbers, instead of refusing them.",
        ),
        click.option(
            "--header/--no-header",
            default=None,
            callback=lambda ctx, param, given: "auto" if given is None else given,
            help="Whether csv files begin with the names of their columns.  [default: the first "
            "rows decide]",
        ),
        click.option(
            "--delimiter",
            type=_delimiter,
            metavar="CHARACTER",
            help="The character between values of a csv file.  [default: the first rows decide]",
        ),
        click.option(
            "--keep-index",
            is_flag=True,
            help="Keep the columns in which pandas has written the index of a table.",
        ),
    )


def _verbosity_option(letter: str, name: str, what: str) -> Callable[[F], F]:
    """Return a flag that `onepass.cli.messages` asks for, and that commands need not take."""

    def keep(ctx: click.Context, param: click.Parameter, given: bool) -> None:
        if given:
            ctx.meta[f"onepass.{param.name}"] = True

    return click.option(letter, name, is_flag=True, expose_value=False, callback=keep, help=what)


verbosity_options = _together(
    _verbosity_option(
        "-q", "--quiet", "Print only results that are asked for, warnings and errors."
    ),
    _verbosity_option("-v", "--verbose", "Print more about files, columns and memory."),
)
