"""``onepass transform``, ``score``, ``impute``, ``info`` ...: what is done with fitted models."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import asdict
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray
from rich.table import Table

import onepass
from onepass.cli import messages
from onepass.cli.cells import SUFFIX, copied_table, is_anndata, table_of_cells, writing_cells
from onepass.cli.data import (
    as_options,
    check_page,
    on_disk,
    open_for,
    prepare_output,
    progress_over,
    warn_of_repeats,
    write_page,
)
from onepass.cli.errors import Failure, printable
from onepass.cli.memory import shown
from onepass.cli.writers import check_format, with_floats, writing
from onepass.report import require_report
from onepass.report.summary import (
    counted,
    known_variances,
    method_words,
    missing_entries,
    shortened,
)
from onepass.sources import Block, Position
from onepass.sources.excerpt import Excerpt
from onepass.sources.files import FileSource
from onepass.sources.tables import numbered_names

ROW_COLUMNS = ["reconstruction_error", "log_likelihood"]
QUANTILE = 0.99  # of the errors of the rows fitted on: larger ones are outliers
OUTLIER = "outlier"  # 1 for rows above the threshold, and 0
REFERENCE = """\
R. Arora, A. Cotter and N. Srebro: Stochastic optimization of PCA with capped MSG. Advances in
Neural Information Processing Systems 26 (NIPS 2013). doi:10.48550/arXiv.1307.1674

@inproceedings{arora2013stochastic,
  author    = {Arora, Raman and Cotter, Andrew and Srebro, Nathan},
  title     = {Stochastic Optimization of {PCA} with Capped {MSG}},
  booktitle = {Advances in Neural Information Processing Systems 26},
  year      = {2013},
  doi       = {10.48550/arXiv.1307.1674}
}"""

# Takes rows of numbers of a block and returns what is written for them.
Add = Callable[[Position, NDArray[Any]], Any]


def transform(
    model: str,
    data: tuple[str, ...],
    output: str,
    keep: list[str] | None,
    flag: bool,
    quantile: float | None,
    **reading: Any,
) -> None:
    """Write the coordinates of rows."""
    in_anndata = is_anndata(output)
    if not in_anndata:
        check_format(output, [SUFFIX])
    if quantile is not None and not flag:
        raise Failure("--quantile works with --flag only")
    fitted = onepass.load(model)
    source = open_for(fitted, model, on_disk(data, output) if keep else data, reading)
    prepare_output(output, [*source.paths, model])
    names = [str(name) for name in fitted.get_feature_names_out()]
    limit = QUANTILE if quantile is None else quantile
    threshold, _ = _threshold(fitted, limit, "--flag" if flag else "")
    heads = [*names, *[OUTLIER] * flag]
    cells = table_of_cells(source) if in_anndata else None
    numbered = in_anndata and cells is None
    written, add = _with_kept(source, output, keep, heads, numbered=numbered)
    writer = writing(output, written)
    if in_anndata:
        numbering = written[: 1 + (len(source.files) > 1)] if numbered else []
        given = copied_table(source)
        writer = writing_cells(output, fitted, cells, numbering, heads, given)
    with progress_over("transform", source) as progress, writer as write:
        for position, block in source.blocks():
            rows = fitted.transform(_only(source, position, block))
            if flag:
                errors = fitted.reconstruction_error(_only(source, position, block))
                rows = np.column_stack([rows, errors > threshold])
            write(add(position, rows))
            progress.advance(block.shape[0])
    if not messages.is_quiet():
        rows_said = counted(progress.rows, "row")
        messages.say(f"{output}: {rows_said} of {counted(len(names), 'coordinate')}")


def _with_kept(
    source: FileSource,
    output: str,
    keep: list[str] | None,
    names: list[str],
    *,
    numbered: bool = False,
) -> tuple[list[str], Add]:
    """Return the names of what is written, and a function that adds kept columns to rows.

    If `numbered`, rows have their lines or numbers beside them, except in npy files.
    """
    is_npy = output.lower().endswith(".npy")
    if keep and is_npy:
        raise Failure(f"--keep: {output} holds numbers only; write to .csv or .parquet")
    if is_npy or not (keep or numbered):
        return names, lambda end, rows: rows
    from onepass.cli.kept import KeptColumns, RowNumbers, as_table, beside

    kept = KeptColumns(source, keep) if keep else None
    numbers = RowNumbers(source) if numbered else None

    def add(end: Position, rows: NDArray[Any]) -> Any:
        tables = [] if numbers is None else [numbers.take(end, len(rows))]
        tables += [] if kept is None else [kept.take(len(rows))]
        return beside([*tables, as_table(rows, names)])

    taken = [*([] if numbers is None else numbers.names), *([] if kept is None else kept.names)]
    return numbered_names([*taken, *names]), add


def impute(model: str, data: tuple[str, ...], output: str, **reading: Any) -> None:
    """Write rows with their gaps filled, and their other columns as they are."""
    check_format(output)
    fitted = onepass.load(model)
    if fitted.origin_.preparation:
        raise Failure(
            f"{model} was fitted on rows prepared by {_preparation_options(fitted)}, not on DATA"
        )
    is_npy = output.lower().endswith(".npy")
    source = open_for(fitted, model, data if is_npy else on_disk(data, output), reading)
    prepare_output(output, [*source.paths, model])
    first = source.tables[0]
    used = [str(first.column(j)) for j in first.chosen()]
    names = used
    kept = None
    if not is_npy:
        from onepass.cli.kept import KeptColumns, filled_cells

        everything = [j for j in range(first.width) if j not in first.left_out]
        for table in source.tables[1:]:
            table.compare(first, [], exact=True)
        kept = KeptColumns(source, everything)
        names = kept.names
    decimal = source.reading.get("decimal", ".") if output.lower().endswith(".csv") else None
    delimiter = ";" if decimal == "," else ","  # as spreadsheets write it
    pandas = first.pandas if len(source.tables) == 1 and kept is not None else None
    writer = writing(output, names, delimiter, with_floats(pandas, used))
    gaps = rows_filled = n_empty = 0
    with progress_over("impute", source) as progress, writer as write:
        for position, block in source.blocks():
            dense: Any = block.toarray() if hasattr(block, "toarray") else block
            filled = fitted.impute(_only(source, position, dense))
            empty = _empty(dense)
            n_empty += int(empty.sum())
            filled[empty] = np.nan
            holes = np.isnan(dense) & ~empty[:, None]
            gaps, rows_filled = gaps + int(holes.sum()), rows_filled + int(holes.any(axis=1).sum())
            if kept is not None:
                cells = kept.take(len(dense))
                filled = filled_cells(cells, used, dense, filled, decimal)
            write(filled)
            progress.advance(len(dense))
    _note_empty(n_empty, "not filled")
    if not messages.is_quiet():
        messages.say(
            f"{output}: {counted(progress.rows, 'row')}; {counted(gaps, 'gap')} filled in "
            f"{counted(rows_filled, 'row')}"
        )


def score(
    model: str,
    data: tuple[str, ...],
    rows_file: str | None,
    quantile: float | None,
    keep: list[str] | None,
    flag: bool,
    only_outliers: bool,
    as_json: bool,
    **reading: Any,
) -> None:
    """Print the share of variance that is captured; write the errors of rows to a file."""
    of_rows = {"--quantile": quantile is not None, "--keep": keep is not None, "--flag": flag}
    of_rows["--only-outliers"] = only_outliers
    for option in (option for option, is_given in of_rows.items() if is_given):
        if rows_file is None:
            raise Failure(f"{option} works with --rows only")
    if rows_file is not None:
        check_format(rows_file)
        if only_outliers and rows_file.lower().endswith(".npy"):
            raise Failure(
                f"--only-outliers: {rows_file} could not say which rows they are; write to .csv or "
                ".parquet"
            )
    quantile = QUANTILE if quantile is None else quantile
    fitted = onepass.load(model)
    if rows_file is not None and keep:
        data = on_disk(data, rows_file)
    source = open_for(fitted, model, data, reading)
    found: dict[str, Any] = {"model": model, "rows": 0, "empty_rows": 0}
    writer: Any = nullcontext()
    if rows_file is not None:
        prepare_output(rows_file, [*source.paths, model])
        columns = [*ROW_COLUMNS, *[OUTLIER] * flag]
        names, add = _with_kept(source, rows_file, keep, columns, numbered=True)
        wanted = "--flag" if flag else "--only-outliers" if only_outliers else ""
        threshold, reason = _threshold(fitted, quantile, wanted)
        writer = writing(rows_file, names)
        found |= {"rows_file": rows_file, "quantile": quantile}
        found |= {"threshold": messages.finite(threshold), "above_threshold": None if reason else 0}
        found["largest_error"] = 0.0
    with writer as write, progress_over("score", source) as progress:

        def blocks(start: Position | None) -> Iterator[tuple[Position, Block]]:
            for position, block in source.blocks(start):
                empty = _empty(block)
                found["empty_rows"] += int(empty.sum())
                if write is not None:
                    errors = _errors(fitted, _only(source, position, block))
                    errors[empty] = np.nan
                    known = [found["largest_error"], *errors[:, 0]]  # NaN in rows without entries
                    found["largest_error"] = float(np.fmax.reduce(known))
                    is_above = errors[:, 0] > threshold
                    if not reason:
                        found["above_threshold"] += int(is_above.sum())
                    table = add(position, np.column_stack([errors, is_above]) if flag else errors)
                    write(table.filter(is_above) if only_outliers else table)
                yield position, block
                progress.advance(block.shape[0])

        part = Excerpt(source, blocks)
        part.feature_names = None  # `open_for` has compared the names
        found["score"] = messages.finite(fitted.score(part))
        found["rows"] = progress.rows
    _note_empty(found["empty_rows"])
    if as_json:
        messages.print_json(found)
        return
    n_rows = found["rows"] - found["empty_rows"]
    rows = counted(n_rows, "row")
    if found["score"] is None:
        messages.say(f"there is no variance in {rows}")
    else:
        messages.say(f"captures {found['score']:.4%} of the variance of {rows}")
    if rows_file is not None:
        above = found["above_threshold"]
        outliers = reason or (
            f"{counted(above, 'outlier')} ({above / max(n_rows, 1):.2%}), with a larger error than "
            f"{100 * quantile:.10g}% of the rows that the model was fitted on"
        )
        if (median := fitted.model_.error_threshold(0.5)) > 0.0:
            largest = f"{found['largest_error'] / median:,.3g}"
            outliers += f"; the largest error is {largest} times the median error in the fit"
            outliers += ": a smaller --quantile lists it" if above == 0 else ""
        each = "outlier" if only_outliers else "row"
        messages.say(f"{rows_file}: {' and '.join(ROW_COLUMNS)} of each {each}; {outliers}")


def _empty(block: Block) -> NDArray[np.bool_]:
    """Return which rows have no entry at all, shape (b,); entries of sparse rows are zeros."""
    if hasattr(block, "toarray"):
        return np.zeros(block.shape[0], dtype=bool)
    return np.asarray(np.isnan(block).all(axis=1))


def _note_empty(count: int, done: str = "left out") -> None:
    """Say how many rows have no entry at all, if there are any, and what was done with them."""
    if count:
        messages.note(f"{counted(count, 'row')} without any entry {done}")


def _threshold(fitted: Any, quantile: float, option: str = "") -> tuple[float, str]:
    """Return the threshold of errors, and why there is none; an option that needs it is refused."""
    model = fitted.model_
    reason = model.why_no_threshold(quantile)
    if reason and option:
        raise Failure(f"{option} cannot tell outliers: {reason}")
    return model.error_threshold(quantile), reason


def _only(source: FileSource, end: Position, block: Block) -> Excerpt:
    """Return a source of one block, which knows its place and how its rows were prepared."""
    part = Excerpt(source, lambda start: iter([(end, block)]))
    part.feature_names = None  # `open_for` has compared the names
    return part


def _errors(fitted: Any, part: Excerpt) -> NDArray[np.floating]:
    """Return the errors and the log-likelihoods of rows, shape (b, 2)."""
    errors = fitted.reconstruction_error(part)
    try:
        likelihoods = fitted.score_samples(part)
    except ValueError:  # no density: some directions have no variance
        likelihoods = np.full(len(errors), np.nan)
    return np.column_stack([errors, likelihoods])


def info(model: str | None, loadings: str | None, cite: bool, as_json: bool) -> None:
    """Show what a model is."""
    if cite:
        messages.say(REFERENCE)
    if model is None:
        if not cite:
            raise click.UsageError("Missing argument 'MODEL'.")
        return
    if loadings is not None:
        check_format(loadings)
        prepare_output(loadings, [model])
    fitted = onepass.load(model)
    if loadings is not None:
        _write_loadings(fitted, loadings)
    found = messages.facts(fitted, model) | _details(fitted, model)
    if as_json:
        messages.print_json(found)
        return
    names = found["feature_names"]
    columns = "" if names is None else f": {shortened(names)}"
    params = {name: value for name, value in found["params"].items() if name != "n_components"}
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="bold")
    lines = {
        "model": f"{found['model']} ({shown(found['bytes'])})",
        "algorithm": found["algorithm"],
        "rows": f"{found['rows']:,}",
        "columns": f"{found['n_features']:,}{columns}",
        "missing": missing_entries(fitted) or "nothing",
        "prepared by": ", then ".join(
            filter(
                None, [_preparation_options(fitted), "source.map(function)" * fitted.origin_.mapped]
            )
        ),
        "read with": as_options(fitted.origin_.reading, fitted.origin_.na),
        "parameters": "  ".join(f"{name}={value}" for name, value in params.items()),
        "captures": messages.expectation(found),
        "method": method_words(fitted),
        "learns": "" if found["learns"] else "no longer: it was made for transforming only",
        "loadings": loadings or "",
    }
    for name, text in lines.items():
        if text:
            table.add_row(name, printable(text))
    messages.print_tables(table, "", messages.component_table(fitted))


def _details(fitted: Any, path: str) -> dict[str, Any]:
    """Return everything else that is known of a model, for `print_json`."""
    names = getattr(fitted, "feature_names_in_", None)
    of_columns = {"mean": "mean_", "variance": "var_", "scale": "scale_"}
    return {
        "params": fitted.get_params(),
        "feature_names": None if names is None else [str(name) for name in names],
        "bytes": os.path.getsize(path),
        "version": onepass.__version__,
        "learns": fitted.learner_ is not None,
        "prepared": asdict(fitted.origin_.preparation) | {"mapped": fitted.origin_.mapped},
        "components": fitted.components_,
        "explained_variance": fitted.explained_variance_,
        "known_variances": known_variances(fitted),
        "noise_variance": messages.finite(fitted.noise_variance_),
        **{
            name: getattr(fitted, attribute)
            for name, attribute in of_columns.items()
            if hasattr(fitted, attribute)
        },
        "missing_share": fitted.missing_share_,
        "na": list(fitted.origin_.na),
        "reading": dict(fitted.origin_.reading),
        "error_threshold": messages.finite(_threshold(fitted, QUANTILE)[0]),
    }


def _preparation_options(fitted: Any) -> str:
    """Return what is done with rows before they are learned from or transformed."""
    normalize, log1p = fitted.origin_.preparation.normalize, fitted.origin_.preparation.log1p
    parts = [] if normalize is None else [f"--normalize {normalize:g}"]
    return ", ".join([*parts, *["--log1p"] * log1p])


def _write_loadings(fitted: Any, path: str) -> None:
    """Write the components by columns: one line for each column of the data, with its name."""
    weights = fitted.components_.T
    heads = [str(name) for name in fitted.get_feature_names_out()]
    if path.lower().endswith(".npy"):
        with writing(path, heads) as write:
            write(np.ascontiguousarray(weights))
        return
    import pyarrow as pa

    from onepass.cli.kept import as_table, beside

    named = pa.table({"column": [str(name) for name in fitted.column_names_]})
    with writing(path, numbered_names(["column", *heads])) as write:
        write(beside([named, as_table(weights, heads)]))


def report(model: str, data: tuple[str, ...], output: str | None, **reading: Any) -> None:
    """Write a page about a model, and about rows if there are any."""
    require_report()
    output = f"{os.path.splitext(model)[0]}.html" if output is None else output
    check_page(output)
    fitted = onepass.load(model)
    source = open_for(fitted, model, data, reading) if data else None
    paths = [] if source is None else source.paths
    prepare_output(output, [*paths, model])
    write_page(fitted, output, source, model)
    messages.say(f"{output}: a page with pictures of the model")


def merge(models: tuple[str, ...], output: str) -> None:
    """Combine models into one."""
    prepare_output(output, models)
    warn_of_repeats(models)
    loaded = [onepass.load(path) for path in models]
    try:
        merged = onepass.merge(*loaded)
    except ValueError as error:  # which counts the models from 1
        raise Failure(
            re.sub(r"\bmodel (\d+)", lambda found: models[int(found[1]) - 1], str(error))
        ) from error
    merged.save(output)
    messages.say(
        f"{output}: {counted(merged.n_components_, 'component')} from "
        f"{counted(merged.n_samples_seen_, 'row')} of {counted(len(models), 'model')}"
    )
