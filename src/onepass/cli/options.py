"""Arguments and options that several commands share."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

import click

F = TypeVar("F", bound=Callable[..., Any])


class ComponentCount(click.ParamType):
    """A number of components, or a share of the variance between 0 and 1."""

    name = "number"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | float:
        """Return an int from 1 on, or a float between 0 and 1."""
        try:
            number = float(value)
        except ValueError:
            number = 0.0
        if number >= 1.0 and number.is_integer():
            return int(number)
        if not 0.0 < number < 1.0:
            message = f"{value!r} is neither a number from 1 on nor a share such as 0.95"
            self.fail(message, param, ctx)
        return number


class ColumnList(click.ParamType):
    """Names or indices, separated by commas."""

    name = "a,b,.."

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> list[str]:
        """Return the names."""
        if isinstance(value, list):
            return value
        names = [name.strip() for name in value.split(",")]
        if not all(names):
            self.fail(f"{value!r} has an empty name in it", param, ctx)
        return names


def data_argument(command: F) -> F:
    """Add DATA..., the files to read."""
    return click.argument("data", nargs=-1, required=True, type=click.Path(), metavar="DATA...")(
        command
    )


def model_argument(command: F) -> F:
    """Add MODEL, a model file to read."""
    return click.argument("model", type=click.Path(exists=True, dir_okay=False))(command)


class Delimiter(click.ParamType):
    """One character, or the word tab."""

    name = "character"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the character."""
        character = {"tab": "\t", "\\t": "\t"}.get(value, value)
        if len(character) != 1 or not character.isascii():
            self.fail(f"{value!r} is not one ASCII character", param, ctx)
        return character


def reading_options(command: F) -> F:
    """Add the options of `onepass.open_source`; the command gets them as one dict, `reading`."""

    @functools.wraps(command)
    def bundled(*args: Any, **given: Any) -> Any:
        names = ("columns", "header", "delimiter", "skip_non_numeric", "keep_index")
        reading = {name: given.pop(name) for name in names}
        reading["header"] = "auto" if reading["header"] is None else reading["header"]
        return command(*args, reading=reading, **given)

    options = (
        click.option(
            "--columns",
            type=ColumnList(),
            help="Columns to use, by name or by number from 0. All by default.",
        ),
        click.option(
            "--skip-non-numeric",
            is_flag=True,
            help="Leave out columns that are not numbers, instead of refusing them.",
        ),
        click.option(
            "--header/--no-header",
            default=None,
            help="Whether csv files begin with the names of their columns. By default the first "
            "rows decide.",
        ),
        click.option(
            "--delimiter",
            type=Delimiter(),
            help="Between two values of a csv file. By default the first rows decide.",
        ),
        click.option(
            "--keep-index",
            is_flag=True,
            help="Keep the columns in which pandas has written the index of a table.",
        ),
    )
    for option in reversed(options):
        bundled = option(bundled)
    return cast(F, bundled)


def json_option(command: F) -> F:
    """Add --json."""
    return click.option(
        "as_json", "--json", is_flag=True, help="Print one JSON object, for programs."
    )(command)


def telling_options(command: F) -> F:
    """Add --quiet and --verbose, which `onepass.cli.telling` looks at."""

    def note(ctx: click.Context, param: click.Parameter, given: bool) -> None:
        if given:
            ctx.meta[f"onepass.{param.name}"] = True

    command = click.option(
        "-v",
        "--verbose",
        is_flag=True,
        expose_value=False,
        callback=note,
        help="Say more: every file and column, and how much memory it takes.",
    )(command)
    return click.option(
        "-q",
        "--quiet",
        is_flag=True,
        expose_value=False,
        callback=note,
        help="Say nothing but results that are asked for, warnings and errors.",
    )(command)
