"""``onepass info`` and ``onepass merge``: commands that need model files only."""

from __future__ import annotations

import os
import re
from typing import Any

import click
from rich.table import Table

import onepass
from onepass.cli import messages
from onepass.cli.data import check_output
from onepass.cli.errors import Failure
from onepass.cli.memory import shown
from onepass.report.portrait import counted


def info(model: str, as_json: bool) -> None:
    """Show what a model is."""
    fitted = onepass.load(model)
    found = messages.facts(fitted, model)
    found["params"] = {name: _plain(value) for name, value in fitted.get_params().items()}
    names = getattr(fitted, "feature_names_in_", None)
    found["feature_names"] = None if names is None else [str(name) for name in names]
    found["bytes"] = os.path.getsize(model)
    if as_json:
        messages.print_json(found)
    else:
        _show(fitted, found)


def _plain(value: Any) -> Any:
    """Return a parameter as JSON can hold it."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return value.tolist() if hasattr(value, "tolist") else repr(value)


def _show(fitted: Any, found: dict[str, Any]) -> None:
    """Print it as tables."""
    names = found["feature_names"]
    listed = "" if names is None else f": {', '.join(names[:6])}{', ...' * (len(names) > 6)}"
    params = {name: value for name, value in found["params"].items() if name != "n_components"}
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="bold")
    table.add_column()
    table.add_row("model", f"{found['model']} ({shown(found['bytes'])})")
    table.add_row("algorithm", found["algorithm"])
    table.add_row("rows", f"{found['rows']:,}")
    table.add_row("columns", f"{found['n_features']:,}{listed}")
    table.add_row("parameters", "  ".join(f"{name}={value}" for name, value in params.items()))
    table.add_row("captures", messages.expectation(found) or "not known: too few rows were scored")
    if hasattr(fitted, "chosen_"):
        table.add_row("answered by", str(fitted.chosen_))
    messages.print_tables(table, messages.component_table(fitted))


def merge(models: tuple[str, ...], output: str) -> None:
    """Combine models into one."""
    check_output(output, models)
    paths = [os.path.realpath(path) for path in models]
    for path in {path for path in paths if paths.count(path) > 1}:
        messages.warn(f"{path} is given more than once, and its rows count more than once")
    loaded = [onepass.load(path) for path in models]
    try:
        merged = onepass.merge(*loaded)
    except ValueError as error:  # which counts the models from 1
        raise Failure(
            re.sub(r"\bmodel (\d+)", lambda found: models[int(found[1]) - 1], str(error))
        ) from error
    merged.save(output)
    click.echo(
        f"{output}: {counted(merged.n_components_, 'component')} from "
        f"{counted(merged.n_samples_seen_, 'row')} of {counted(len(models), 'model')}"
    )
