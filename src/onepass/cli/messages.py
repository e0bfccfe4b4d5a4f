"""What commands print about results, and notes and warnings on standard error."""

from __future__ import annotations

import json
import math
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from onepass.cli.options import ALGORITHMS
from onepass.report.portrait import counted, listed
from onepass.sources.files import FileSource

_MOST_COMPONENTS = 20  # that are listed one by one


def is_quiet() -> bool:
    """Return whether --quiet was given to the running command."""
    return "onepass.quiet" in click.get_current_context().meta


def is_verbose() -> bool:
    """Return whether --verbose was given to the running command."""
    return "onepass.verbose" in click.get_current_context().meta and not is_quiet()


def note(message: str) -> None:
    """Print a note on standard error, unless --quiet."""
    if not is_quiet():
        click.echo(f"onepass: {message}", err=True)


def warn(message: str) -> None:
    """Print a warning on standard error."""
    click.echo(f"onepass: warning: {message}", err=True)


def print_json(found: dict[str, Any]) -> None:
    """Print results for programs, numbers of NumPy and other objects included."""
    click.echo(json.dumps(found, default=lambda value: getattr(value, "tolist", value.__repr__)()))


def print_tables(*tables: Table | str) -> None:
    """Print tables, and lines between them; names of columns are not taken for markup."""
    Console(highlight=False, markup=False).print(*tables, sep="\n")


def describe_source(source: FileSource, rows: int | None) -> None:
    """Print what is going to be read: files, rows, and columns with their names."""
    if is_quiet():
        return
    paths, names = source.paths, source.feature_names or []
    files = paths[0] if len(paths) == 1 else f"{len(paths):,} files, {paths[0]} to {paths[-1]}"
    count = "rows" if rows is None else counted(rows, "row")
    if rows is not None and source.n_rows is None:
        count = f"about {float(f'{rows:.2g}'):,.0f} rows"
    columns = counted(source.n_features, "column")
    if source.named:
        columns += f" with the names {', '.join(names) if is_verbose() else listed(names)}"
    else:
        columns += " without names" + (f", numbers {listed(names)}" if names else "")
    click.echo(f"reading {files}: {count} of {columns}")
    if is_verbose() and len(paths) > 1:
        for path, known in source.files:
            click.echo(f"  {path}" + ("" if known is None else f": {known:,} rows"))


def finite(value: float) -> float | None:
    """Return a number, or None if it is not finite, for JSON."""
    return float(value) if math.isfinite(value) else None


def facts(model: Any, path: str) -> dict[str, Any]:
    """Return what a model is, for `print_json`."""
    names = {kind: name for name, kind in ALGORITHMS.items()}
    captured = model.captured_
    return {
        "algorithm": names[type(model).__name__],
        "n_components": model.n_components_,
        "n_features": model.n_features_in_,
        "rows": model.n_samples_seen_,
        "explained_variance_ratio": model.explained_variance_ratio_,
        "captured": {
            "mean": finite(captured.mean),
            "standard_error": finite(captured.standard_error),
        },
        "model": path,
    }


def expectation(found: dict[str, Any]) -> str | None:
    """Return how much of new rows a model captures, None if it is not known."""
    mean, error = found["captured"]["mean"], found["captured"]["standard_error"] or 0.0
    return None if mean is None else f"{mean:.2%} ± {error:.2%} of the variance of new rows"


def component_table(model: Any) -> Table:
    """Return the components: variance, share, share so far, and the columns that matter most."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("component", "variance", "share", "together"):
        table.add_column(heading, justify="right", no_wrap=True, min_width=max(8, len(heading)))
    table.add_column("largest weights", overflow="ellipsis", no_wrap=True)
    room = Console().width - 42  # beside the numbers
    ratios = model.explained_variance_ratio_
    names = getattr(model, "feature_names_in_", range(model.n_features_in_))
    for i in range(min(len(ratios), _MOST_COMPONENTS)):
        weights = model.components_[i]
        leading = abs(weights).argsort()[::-1][:3]
        table.add_row(
            str(i),
            f"{model.explained_variance_[i]:.4g}",
            f"{ratios[i]:.2%}",
            f"{ratios[: i + 1].sum():.2%}",
            _fitting([f"{weights[j]:+.2f} {names[j]}" for j in leading], room),
        )
    if len(ratios) > _MOST_COMPONENTS:
        table.add_row("...", "", "", f"{ratios.sum():.2%}", f"{len(ratios)} components in all")
    return table


def _fitting(parts: list[str], room: int) -> str:
    """Return the first parts that fit into a number of characters together, one at least."""
    counts = range(len(parts), 0, -1)
    return next((text for n in counts if len(text := "  ".join(parts[:n])) <= room), parts[0])
