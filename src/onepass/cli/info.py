"""``onepass info``."""

from __future__ import annotations

from typing import Any

import click

from onepass.cli.options import json_option, model_argument


@click.command(
    epilog="""\b
Examples:
  onepass info model.onepass
  onepass info model.onepass --json
  onepass info model.onepass.checkpoint          how far an interrupted run is""",
)
@model_argument
@json_option
def info(model: str, as_json: bool) -> None:
    """Show what MODEL is: algorithm, parameters, components."""
    import os

    from onepass import load
    from onepass.cli.summary import facts

    fitted = load(model)
    found = facts(fitted, model)
    found["params"] = {name: _plain(value) for name, value in fitted.get_params().items()}
    names = getattr(fitted, "feature_names_in_", None)
    found["feature_names"] = None if names is None else [str(name) for name in names]
    found["bytes"] = os.path.getsize(model)
    if as_json:
        import json

        click.echo(json.dumps(found))
        return
    _show(fitted, found)


def _plain(value: Any) -> Any:
    """Return a parameter as JSON can hold it."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return value.tolist() if hasattr(value, "tolist") else repr(value)


def _show(fitted: Any, found: dict[str, Any]) -> None:
    """Print it as tables."""
    from rich.console import Console
    from rich.table import Table

    from onepass.cli.memory import shown
    from onepass.cli.summary import component_table

    captured = found["captured"]
    names = found["feature_names"]
    listed = "" if names is None else f": {', '.join(names[:6])}{', ...' * (len(names) > 6)}"
    changed = {k: v for k, v in found["params"].items() if k != "n_components"}
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="bold")
    table.add_column()
    table.add_row("model", f"{found['model']} ({shown(found['bytes'])})")
    table.add_row("algorithm", found["algorithm"])
    table.add_row("rows", f"{found['rows']:,}")
    table.add_row("columns", f"{found['n_features']:,}{listed}")
    table.add_row("parameters", "  ".join(f"{k}={v}" for k, v in changed.items()))
    if captured["mean"] is not None:
        error = captured["standard_error"] or 0.0
        table.add_row("captured", f"{captured['mean']:.2%} ± {error:.2%}, before learning")
    console = Console(highlight=False)
    console.print(table)
    console.print()
    console.print(component_table(fitted))
