"""What is printed about models, and ``onepass info``, ``report`` and ``merge``."""

from __future__ import annotations

import csv
import io
import math
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

import click
from rich.filesize import decimal

import onepass
from onepass.cli.commands import algorithm_name
from onepass.cli.data import (
    Points,
    as_options,
    open_for,
    prepare_output,
    progress_over,
    warn_of_repeats,
)
from onepass.cli.program import Failure, plain, print_json, printable, say
from onepass.estimators.saving import open_model
from onepass.moments.standard_errors import degrees
from onepass.report import model_page, require_report
from onepass.report.summary import (
    column_names,
    component_words,
    counted,
    drift,
    expectation,
    known_variances,
    method_words,
    missing_counts,
    missing_entries,
    remarks,
    rows_read,
    shortened,
)
from onepass.sources import Block, Position
from onepass.sources.base import Excerpt
from onepass.sources.files import FileSource

MOST_COMPONENTS = 20  # that are listed one by one


def info(model: str, components: int | None, loadings: int | None, csv: bool, json: bool) -> None:
    """Show what a model is."""
    fitted = open_model(model)
    most = components or MOST_COMPONENTS
    if csv:
        found = loading_rows(fitted, loadings) if loadings else component_rows(fitted)
        print_csv([row for row in found if row["component"] < (components or math.inf)])
        return
    if json:
        print_json(facts(fitted, model) | details(fitted, model))
        return
    names, origin = getattr(fitted, "feature_names_in_", None), fitted.origin_
    params = {name: value for name, value in fitted.get_params().items() if name != "n_components"}
    prepared, chosen = (
        "  ".join(f"{name}={value}" for name, value in given.items())
        for given in (origin.options(), params)
    )
    count = f"{fitted.n_features_in_:,}"
    lines = {
        "model": f"{model} ({decimal(os.path.getsize(model))})",
        "algorithm": algorithm_name(fitted.algorithm_),
        "learned from": rows_read(fitted),
        "columns": count if names is None else f"{count}: {shortened(list(map(str, names)))}",
        "missing": missing_entries(fitted) or "nothing",
        "prepared by": prepared,
        "read with": as_options(origin.reading, origin.na),
        "parameters": chosen,
        "captures": expectation(fitted),
        "method": method_words(fitted),
        "learns": "" if fitted.learner_ else "no longer: it was made for transforming only",
    }
    print_table([(name, text) for name, text in lines.items() if text], left=2)
    for remark in ("", *remarks(fitted), drift(fitted), ""):
        say(remark)
    print_components(fitted, most)
    if loadings:
        print_loadings(fitted, loadings, most)


def report(
    model: str,
    data: tuple[str, ...],
    output: str | None,
    color: str | None,
    label: str | None,
    **reading: Any,
) -> None:
    """Write a page about a model, and about rows if there are any."""
    output = f"{os.path.splitext(model)[0]}.html" if output is None else output
    check_page(output, [model])
    fitted = onepass.load(model)
    source = open_for(fitted, model, data, reading) if data else None
    if source is not None:
        prepare_output(output, source.paths)
    write_page(fitted, output, source, Points(source, color, label), title=model)
    say(f"{output}: a page with pictures of the model")


def check_page(path: str, others: Iterable[str]) -> None:
    """Refuse a page that cannot be written, before hours of work."""
    require_report()
    if not path.lower().endswith((".html", ".htm")):
        raise Failure(f"{path}: a report is a page of HTML, and its name must end in .html or .htm")
    prepare_output(path, others)


def write_page(
    model: Any, path: str, source: FileSource | None, points: Points, **shown: Any
) -> None:
    """Write a page about a model, and about rows of a source that can still be read."""
    if source is None or source.once:
        model_page(model, path, data=[] if source is None else source.paths, **shown)
        return
    with progress_over("report", source) as progress:

        def blocks(start: Position | None) -> Iterator[tuple[Position, Block]]:
            for position, block in source.blocks(start):
                yield position, block
                progress.advance(block.shape[0])

        rows = Excerpt(source, blocks)
        rows.feature_names = None  # `open_for` has compared the names
        model_page(model, path, rows, data=source.paths, beside=points.texts, **shown)


def merge(models: tuple[str, ...], output: str) -> None:
    """Combine models into one."""
    prepare_output(output, models)
    warn_of_repeats(models)
    loaded = [onepass.load(path) for path in models]
    try:
        merged = onepass.merge(*loaded)
    except ValueError as error:  # which counts the models from 1
        words = re.sub(r"\bmodel (\d+)", lambda found: models[int(found[1]) - 1], str(error))
        raise Failure(words) from error
    merged.save(output)
    say(
        f"{output}: {counted(merged.n_components_, 'component')} from "
        f"{counted(merged.n_samples_seen_, 'row')} of {counted(len(models), 'model')}"
    )


# -- what is known of a model ----------------------------------------------------------------------


def facts(model: Any, path: str) -> dict[str, Any]:
    """Return what a model is, for `print_json`."""
    return {
        "algorithm": algorithm_name(model.algorithm_),
        "n_components": model.n_components_,
        "n_features": model.n_features_in_,
        "rows": model.n_samples_seen_,
        "rows_there": model.origin_.rows_there or None,
        "explained_variance_ratio": model.explained_variance_ratio_,
        "captured": asdict(model.captured_),
        "missing": missing_counts(model),
        "model": path,
    }


def details(fitted: Any, path: str) -> dict[str, Any]:
    """Return everything else that is known of a model, for `print_json`."""
    sure, origin = fitted.model_.standard_errors, fitted.origin_
    of_columns = {"mean": "mean_", "variance": "var_", "scale": "scale_"}
    found = {name: getattr(fitted, mine, None) for name, mine in of_columns.items()}
    return {
        "params": fitted.get_params(),
        "feature_names": getattr(fitted, "feature_names_in_", None),
        "bytes": os.path.getsize(path),
        "version": onepass.__version__,
        "learns": fitted.learner_ is not None,
        "prepared": asdict(origin.preparation) | {"mapped": origin.mapped},
        "components": fitted.components_,
        "components_error": sure.components,
        "explained_variance": fitted.explained_variance_,
        "explained_variance_error": sure.variances,
        "angle": sure.angles,
        "degrees_of_freedom": sure.degrees,
        "long_rows": fitted.model_.long_rows,
        "drift": [sure.drift.statistic, sure.drift.probability],
        "known_variances": known_variances(fitted),
        "noise_variance": fitted.noise_variance_,
        **{name: values for name, values in found.items() if values is not None},
        "missing_share": fitted.missing_share_,
        "na": origin.na,
        "reading": dict(origin.reading),
        "error_threshold": fitted.model_.error_threshold(0.99),
    }


def component_rows(model: Any) -> list[dict[str, Any]]:
    """Return variance, its 95% interval, share and angle of each component."""
    sure, variances = model.model_.standard_errors, model.explained_variance_.tolist()
    margins = (sure.quantile * sure.variances).tolist()
    shares = model.explained_variance_ratio_.tolist()
    return [
        {
            "component": i,
            "variance": variance,
            "low": variance - min(margins[i], variance),
            "high": variance + margins[i],
            "share": shares[i],
            "angle": float(sure.angles[i]),
        }
        for i, variance in enumerate(variances)
    ]


def loading_rows(model: Any, most: int) -> list[dict[str, Any]]:
    """Return the largest weights of each component with their standard errors and intervals."""
    sure, names, found = model.model_.standard_errors, column_names(model), []
    is_zero = sure.may_be_zero(model.components_)
    for i, weights in enumerate(model.components_.astype(float)):
        for j in abs(weights).argsort(kind="stable")[::-1][:most]:
            error, weight = float(sure.components[i, j]), float(weights[j])
            found.append(
                {
                    "component": i,
                    "column": names[j],
                    "weight": weight,
                    "standard_error": error,
                    "low": weight - sure.quantile * error,
                    "high": weight + sure.quantile * error,
                    "may_be_zero": bool(is_zero[i, j]),
                }
            )
    return found


# -- printing --------------------------------------------------------------------------------------


def print_components(model: Any, most: int = MOST_COMPONENTS) -> None:
    """Print the first components: variances with their intervals, angles, and what they are."""
    rows = [("component", "variance", "95% interval", "share", "together", "angle", "in words")]
    together = model.explained_variance_ratio_.cumsum()
    for i, found in enumerate(component_rows(model)[:most]):
        is_known = math.isfinite(found["high"])
        interval = f"{found['low']:.4g} to {found['high']:.4g}" if is_known else ""
        shares = f"{found['share']:.2%}", f"{together[i]:.2%}"
        angle = degrees(found["angle"]) if math.isfinite(found["angle"]) else ""
        variance, words = f"{found['variance']:.4g}", component_words(model, i)
        rows.append((str(i), variance, interval, *shares, angle, words))
    if len(together) > most:
        rest = f"{len(together)} components in all"
        rows.append(("...", "", "", "", f"{together[-1]:.2%}", "", rest))
    print_table(rows)
    if reason := model.model_.standard_errors.reason:
        say(f"no intervals and angles: {reason}")


def print_loadings(model: Any, most: int, components: int) -> None:
    """Print the largest weights of the first components, and which cannot be told from zero."""
    found = loading_rows(model, most)
    for i in range(min(components, model.n_components_)):
        says = model.model_.standard_errors.says(i)
        say(f"\ncomponent {i}{says and f': {says}'}")
        rows = []
        for row in (row for row in found if row["component"] == i):
            error = row["standard_error"]
            shown = f"± {error:.3f}" if math.isfinite(error) else ""
            doubt = "  (cannot be told from zero)" * row["may_be_zero"]
            rows.append((f"{row['weight']:+.3f}", shown, (row["column"] or "''") + doubt))
        print_table(rows)


def print_table(rows: Sequence[Sequence[str]], *, left: int = 1) -> None:
    """Print rows of cells in columns, of which the last `left` ones are aligned on the left."""
    table = [[printable(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    right = len(widths) - left
    for row in table:
        cells = [
            cell.rjust(width) if j < right else cell.ljust(width)
            for j, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        say("  ".join(cells).rstrip())


def print_csv(rows: Sequence[dict[str, Any]]) -> None:
    """Print rows as csv, with a header; what is not known is empty."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(plain(list(rows)))
    click.echo(text.getvalue(), nl=False)
