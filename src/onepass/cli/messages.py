"""What commands print about results, and notes and warnings on standard error."""

from __future__ import annotations

import json
import math
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from onepass.cli.errors import printable
from onepass.cli.options import algorithm_name
from onepass.report.summary import counted, missing_counts, shortened
from onepass.sources.files import FileSource

_MOST_COMPONENTS = 20  # that are listed one by one


def is_quiet() -> bool:
    """Return whether --quiet was given to the running command."""
    return "onepass.quiet" in click.get_current_context().meta


def is_verbose() -> bool:
    """Return whether --verbose was given to the running command."""
    return "onepass.verbose" in click.get_current_context().meta and not is_quiet()


def say(message: str, *, err: bool = False) -> None:
    """Print a line, on standard error if `err`.

    Names of files and columns may have control characters, which are escaped.
    """
    click.echo(printable(message), err=err)


def note(message: str) -> None:
    """Print a note on standard error, unless --quiet."""
    if not is_quiet():
        say(f"onepass: {message}", err=True)


def warn(message: str) -> None:
    """Print a warning on standard error."""
    say(f"onepass: warning: {message}", err=True)


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
        shown = shortened(names, len(names)) if is_verbose() else shortened(names)
        columns += f" with the names {shown}"
    else:
        columns += " without names" + (f", numbers {shortened(names)}" if names else "")
    say(f"reading {files}: {count} of {columns}")
    if is_verbose() and len(paths) > 1:
        for path, known in source.files:
            say(f"  {path}" + ("" if known is None else f": {known:,} rows"))


def finite(value: float) -> float | None:
    """Return a number, or None if it is not finite, for JSON."""
    return float(value) if math.isfinite(value) else None


def facts(model: Any, path: str) -> dict[str, Any]:
    """Return what a model is, for `print_json`."""
    captured = model.captured_
    return {
        "algorithm": algorithm_name(type(model).__name__),
        "n_components": model.n_components_,
        "n_features": model.n_features_in_,
        "rows": model.n_samples_seen_,
        "explained_variance_ratio": model.explained_variance_ratio_,
        "captured": {
            "mean": finite(captured.mean),
            "standard_error": finite(captured.standard_error),
            "reason": captured.reason,
        },
        "missing": missing_counts(model),
        "model": path,
    }


def expectation(found: dict[str, Any]) -> str:
    """Return how much of new rows a model captures, or why that is not known."""
    mean, error = found["captured"]["mean"], found["captured"]["standard_error"] or 0.0
    if mean is None:
        return f"an unknown share of the variance of new rows: {found['captured']['reason']}"
    return f"{mean:.2%} ± {error:.2%} of the variance of new rows"


def component_table(model: Any) -> Table:
    """Return the components: variance, share, share so far, and the columns that matter most."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("component", "variance", "share", "together"):
        table.add_column(heading, justify="right", no_wrap=True, min_width=max(8, len(heading)))
    table.add_column("largest weights", overflow="ellipsis", no_wrap=True)
    room = Console().width - 42  # beside the numbers
    ratios = model.explained_variance_ratio_
    names = model.column_names_
    for i in range(min(len(ratios), _MOST_COMPONENTS)):
        weights = model.components_[i]
        leading = abs(weights).argsort()[::-1][:3]
        table.add_row(
            str(i),
            f"{model.explained_variance_[i]:.4g}",
            f"{ratios[i]:.2%}",
            f"{ratios[: i + 1].sum():.2%}",
            _fitting(
                [f"{weights[j]:+.2f} {printable(str(names[j])) or repr('')}" for j in leading], room
            ),
        )
    if len(ratios) > _MOST_COMPONENTS:
        table.add_row("...", "", "", f"{ratios.sum():.2%}", f"{len(ratios)} components in all")
    return table


def _fitting(parts: list[str], room: int) -> str:
    """Return the first parts that fit into a number of characters together, one at least.

    Dots stand for the others.
    """
    for count in range(len(parts), 0, -1):
        text = "  ".join([*parts[:count], *["..."] * (count < len(parts))])
        if len(text) <= room:
            return text
    return parts[0]
