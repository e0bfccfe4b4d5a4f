"""What commands print about results, and notes and warnings on standard error."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import click

from onepass.cli.errors import printable, say
from onepass.cli.options import algorithm_name
from onepass.report.summary import counted, missing_counts, shortened
from onepass.sources.files import FileSource

_MOST_COMPONENTS = 20  # that are listed one by one


def is_quiet() -> bool:
    """Return whether --quiet was given to the running command."""
    return "onepass.quiet" in click.get_current_context().meta


def note(message: str) -> None:
    """Print a note on standard error, unless --quiet."""
    if not is_quiet():
        say(f"onepass: {message}", err=True)


def warn(message: str) -> None:
    """Print a warning on standard error."""
    say(f"onepass: warning: {message}", err=True)


def print_json(found: dict[str, Any]) -> None:
    """Print results for programs, numbers of NumPy and other objects included."""
    say(json.dumps(found, default=lambda value: getattr(value, "tolist", value.__repr__)()))


def print_table(rows: Sequence[Sequence[str]], *, left: int = 1) -> None:
    """Print rows of cells in columns, of which the last `left` ones are aligned on the left."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    right = len(widths) - left
    for row in rows:
        cells = [
            cell.rjust(width) if j < right else cell.ljust(width)
            for j, (cell, width) in enumerate(zip(map(printable, row), widths, strict=True))
        ]
        say("  ".join(cells).rstrip())


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
        columns += f" with the names {shortened(names)}"
    else:
        columns += " without names" + (f", numbers {shortened(names)}" if names else "")
    say(f"reading {files}: {count} of {columns}")


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


def print_components(model: Any) -> None:
    """Print the components: variance, share, share so far, and the columns that matter most."""
    ratios, names = model.explained_variance_ratio_, [str(name) for name in model.column_names_]
    rows = [("component", "variance", "share", "together", "largest weights")]
    for i, weights in enumerate(model.components_[:_MOST_COMPONENTS]):
        leading = abs(weights).argsort()[::-1][:3]
        largest = "  ".join(f"{weights[j]:+.2f} {names[j] or repr('')}" for j in leading)
        share, together = f"{ratios[i]:.2%}", f"{ratios[: i + 1].sum():.2%}"
        rows.append((str(i), f"{model.explained_variance_[i]:.4g}", share, together, largest))
    if len(ratios) > _MOST_COMPONENTS:
        rows.append(("...", "", "", f"{ratios.sum():.2%}", f"{len(ratios)} components in all"))
    print_table(rows)
