"""What commands print about results, and notes and warnings on standard error."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Sequence
from typing import Any

import click
import numpy as np

from onepass.cli.errors import printable, say
from onepass.cli.options import algorithm_name
from onepass.moments.standard_errors import degrees
from onepass.report.summary import (
    column_names,
    component_words,
    counted,
    missing_counts,
    shortened,
)
from onepass.sources.files import FileSource

MOST_COMPONENTS = 20  # that are listed one by one


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


def finite_all(values: Any) -> Any:
    """Return numbers of an array as lists, with None for those that are not finite."""
    if isinstance(values, np.ndarray | list | tuple):
        return [finite_all(value) for value in values]
    return finite(values)


def facts(model: Any, path: str) -> dict[str, Any]:
    """Return what a model is, for `print_json`."""
    captured = model.captured_
    return {
        "algorithm": algorithm_name(model.algorithm_),
        "n_components": model.n_components_,
        "n_features": model.n_features_in_,
        "rows": model.n_samples_seen_,
        "rows_there": model.origin_.rows_there or None,
        "explained_variance_ratio": model.explained_variance_ratio_,
        "captured": {
            "mean": finite(captured.mean),
            "standard_error": finite(captured.standard_error),
            "reason": captured.reason,
        },
        "missing": missing_counts(model),
        "model": path,
    }


def print_components(model: Any, most: int = MOST_COMPONENTS) -> None:
    """Print the first components: variances with their intervals, angles, and what they are."""
    head = ("component", "variance", "95% interval", "share", "together", "angle", "in words")
    rows = [head]
    together = model.explained_variance_ratio_.cumsum()
    for i, found in enumerate(components(model)[:most]):
        interval = "" if found["low"] is None else f"{found['low']:.4g} to {found['high']:.4g}"
        shares = f"{found['share']:.2%}", f"{together[i]:.2%}"
        angle = "" if found["angle"] is None else degrees(found["angle"])
        variance, words = f"{found['variance']:.4g}", component_words(model, i)
        rows.append((str(i), variance, interval, *shares, angle, words))
    if len(together) > most:
        rest = f"{len(together)} components in all"
        rows.append(("...", "", "", "", f"{together[-1]:.2%}", "", rest))
    print_table(rows)
    if reason := model.model_.standard_errors.reason:
        say(f"no intervals and angles: {reason}")


def components(model: Any) -> list[dict[str, Any]]:
    """Return variance, its 95% interval, share and angle of each component."""
    sure, variances = model.model_.standard_errors, model.explained_variance_.tolist()
    margins = (sure.quantile * sure.variances).tolist()
    return [
        {
            "component": i,
            "variance": variance,
            "low": finite(max(variance - margin, 0.0 * margin)),
            "high": finite(variance + margin),
            "share": share,
            "angle": finite(angle),
        }
        for i, (variance, margin, share, angle) in enumerate(
            zip(variances, margins, model.explained_variance_ratio_.tolist(), sure.angles.tolist(),
                strict=True)
        )
    ]  # fmt: skip


def loadings(model: Any, most: int) -> list[dict[str, Any]]:
    """Return the largest weights of each component with their standard errors and intervals."""
    sure, names, found = model.model_.standard_errors, column_names(model), []
    is_zero = sure.may_be_zero(model.components_)
    for i, weights in enumerate(model.components_.astype(float)):
        for j in abs(weights).argsort(kind="stable")[::-1][:most]:
            error = float(sure.components[i, j])
            low, high = (weights[j] + side * sure.quantile * error for side in (-1.0, 1.0))
            interval = {"low": finite(low), "high": finite(high)}
            named = {"component": i, "column": names[j], "weight": float(weights[j])}
            doubt = {"may_be_zero": bool(is_zero[i, j])}
            found.append(named | {"standard_error": finite(error)} | interval | doubt)
    return found


def print_loadings(model: Any, most: int, components: int) -> None:
    """Print the largest weights of the first components, and which cannot be told from zero."""
    for i in range(min(components, model.n_components_)):
        says = model.model_.standard_errors.says(i)
        say(f"\ncomponent {i}{says and f': {says}'}")
        rows = []
        for found in (row for row in loadings(model, most) if row["component"] == i):
            error = found["standard_error"]
            shown = "" if error is None else f"± {error:.3f}"
            doubt = "  (cannot be told from zero)" * found["may_be_zero"]
            rows.append((f"{found['weight']:+.3f}", shown, (found["column"] or "''") + doubt))
        print_table(rows)


def print_csv(rows: Sequence[dict[str, Any]]) -> None:
    """Print rows as csv, with a header; what is not known is empty."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    click.echo(text.getvalue(), nl=False)
