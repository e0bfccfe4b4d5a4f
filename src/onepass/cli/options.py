"""Arguments and options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


class ComponentCount(click.ParamType[Any]):
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


class ColumnList(click.ParamType[Any]):
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


def columns_options(command: F) -> F:
    """Add --columns and --skip-non-numeric."""
    command = click.option(
        "--skip-non-numeric",
        is_flag=True,
        help="Leave out columns that are not numbers, instead of refusing them.",
    )(command)
    return click.option(
        "--columns",
        type=ColumnList(),
        help="Columns to use, by name or by index from 0. All by default.",
    )(command)


def json_option(command: F) -> F:
    """Add --json."""
    return click.option(
        "as_json", "--json", is_flag=True, help="Print one JSON object, for programs."
    )(command)
