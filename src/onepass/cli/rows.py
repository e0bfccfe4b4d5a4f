"""``onepass transform``, ``score`` and ``impute``: what is done with each row of files."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onepass.cli import outputs
from onepass.cli.data import on_disk, open_for, prepare_output, progress_over, table_of_cells
from onepass.cli.outputs import OUTLIER, POINTS, Columns, Write, check_format
from onepass.cli.program import Failure, is_quiet, note, print_json, say, warn
from onepass.estimators.doubts import far_fills
from onepass.estimators.entries import checked_blocks
from onepass.estimators.saving import open_model
from onepass.model import Model
from onepass.report.summary import counted
from onepass.sources import Position
from onepass.sources.files import FileSource
from onepass.sources.tables import BOOLEANS

ROW_COLUMNS = ["reconstruction_error", "log_likelihood"]
_BOOLEANS = {text: str(int(value)) for text, value in BOOLEANS.items()}

# Takes the position after a block and its checked rows, and returns what is written for them.
Compute = Callable[[Position, Any], Any]


def each_block(
    label: str, fitted: Any, source: FileSource, compute: Compute, write: Write | None
) -> int:
    """Read each block, compute what is asked, and write it; return the number of rows."""
    with progress_over(label, source) as progress:
        # `open_for` has compared the names.
        for end, rows, _ in checked_blocks(source, n_features=fitted.n_features_in_):
            found = compute(end, rows)
            if write is not None:
                write(found)
            progress.advance(rows.shape[0])
        return progress.rows


def transform(
    model: str,
    data: tuple[str, ...],
    output: str,
    keep: list[str] | None,
    as_list: bool,
    flag: bool,
    quantile: float,
    **reading: Any,
) -> None:
    """Write the coordinates of rows."""
    suffix = check_format(output, ".h5ad", keep=keep)
    in_anndata = suffix == ".h5ad"
    if as_list and suffix != ".parquet":
        raise Failure(f"--as-list: {output} holds no lists; write to .parquet")
    fitted = open_model(model)
    learned, names = fitted.model_, fitted.get_feature_names_out()
    source = open_for(fitted, model, on_disk(data, output) if keep else data, reading)
    prepare_output(output, [*source.paths, model])
    threshold = _threshold(learned, quantile, "--flag") if flag else 0.0
    as_list |= in_anndata
    numbered = in_anndata and table_of_cells(source) is None
    heads = [*([POINTS] if as_list else map(str, names)), *[OUTLIER] * flag]
    columns = Columns(source, keep or [], heads, numbered=numbered, as_list=as_list)

    def compute(end: Position, rows: Any) -> Any:
        points = learned.transform(rows)
        if flag:
            points = np.column_stack([points, learned.reconstruction_error(rows) > threshold])
        return columns.add(end, points)

    writer: Any = outputs.writing(output, columns.names)
    if in_anndata:
        writer = outputs.writing_cells(output, fitted, source, columns)
    with writer as write:
        count = each_block("transform", fitted, source, compute, write)
    if not is_quiet():
        say(f"{output}: {counted(count, 'row')} of {counted(len(names), 'coordinate')}")


def score(
    model: str,
    data: tuple[str, ...],
    rows: str | None,
    quantile: float,
    keep: list[str] | None,
    flag: bool,
    only_outliers: bool,
    json: bool,
    **reading: Any,
) -> None:
    """Print the share of variance that is captured; write the errors of rows to a file."""
    if rows is None and (keep or flag or only_outliers):
        raise Failure("--keep, --flag and --only-outliers work with --rows only")
    if rows is not None:
        suffix = check_format(rows, keep=keep)
        if only_outliers and suffix == ".npy":
            raise Failure("--only-outliers: an .npy file could not say which rows they are")
    fitted = open_model(model)
    learned = fitted.model_
    source = open_for(fitted, model, on_disk(data, rows) if rows and keep else data, reading)
    found: dict[str, Any] = {"model": model, "rows": 0, "empty_rows": 0}
    writer: Any = nullcontext()
    threshold, above, inside, energy = np.nan, 0, 0.0, 0.0
    if rows is not None:
        prepare_output(rows, [*source.paths, model])
        heads = [*ROW_COLUMNS, *[OUTLIER] * flag]
        columns = Columns(source, keep or [], heads, numbered=suffix != ".npy")
        wanted = "--flag" if flag else "--only-outliers" if only_outliers else ""
        threshold = _threshold(learned, quantile, wanted)
        writer = outputs.writing(rows, columns.names)

    def compute(end: Position, block: Any) -> Any:
        nonlocal above, inside, energy
        captured, whole = learned.captured_energy(block)
        inside, energy = inside + captured, energy + whole
        empty = np.zeros(block.shape[0], dtype=bool)
        if not hasattr(block, "toarray"):  # entries of sparse rows are zeros
            empty = np.isnan(block).all(axis=1)
        found["empty_rows"] += int(empty.sum())
        if rows is None:
            return None
        errors = learned.reconstruction_error(block)
        likelihoods = np.full(len(errors), np.nan)
        if learned.total_variance > 0.0:
            likelihoods = learned.score_samples(block)
        numbers = np.column_stack([errors, likelihoods])
        numbers[empty] = np.nan
        is_above = numbers[:, 0] > threshold
        above += int(is_above.sum())
        table = columns.add(end, np.column_stack([numbers, is_above]) if flag else numbers)
        return table.filter(is_above) if only_outliers else table

    with writer as write:
        found["rows"] = each_block("score", fitted, source, compute, write)
    found["score"] = inside / energy if energy > 0.0 else None
    if rows is not None:
        found |= {"rows_file": rows, "quantile": quantile, "threshold": threshold}
        found["above_threshold"] = above if np.isfinite(threshold) else None
    if found["empty_rows"]:
        note(f"{counted(found['empty_rows'], 'row')} without any entry left out")
    if json:
        print_json(found)
        return
    n_rows = found["rows"] - found["empty_rows"]
    if found["score"] is None:
        say(f"there is no variance in {counted(n_rows, 'row')}")
    else:
        say(f"captures {found['score']:.4%} of the variance of {counted(n_rows, 'row')}")
    if rows is not None:
        outliers = learned.why_no_threshold(quantile) or (
            f"{counted(above, 'outlier')} ({above / max(n_rows, 1):.2%}), with a larger error than "
            f"{100 * quantile:.10g}% of the rows that the model was fitted on"
        )
        each = "outlier" if only_outliers else "row"
        say(f"{rows}: {' and '.join(ROW_COLUMNS)} of each {each}; {outliers}")


def impute(model: str, data: tuple[str, ...], output: str, **reading: Any) -> None:
    """Write rows with their gaps filled, and their other columns as they are."""
    suffix = check_format(output)
    fitted = open_model(model)
    if fitted.origin_.preparation:
        raise Failure(
            f"{model} was fitted on rows changed by --normalize or --log1p: it cannot fill raw ones"
        )
    is_table = suffix != ".npy"
    source = open_for(fitted, model, on_disk(data, output) if is_table else data, reading)
    prepare_output(output, [*source.paths, model])
    first, *others = source.tables
    names = used = [str(first.column(j)) for j in first.chosen()]
    options: dict[str, Any] = {}
    decimal = None
    if is_table:
        for table in others:
            table.compare(first, [], exact=True)
        everything = [j for j in range(first.width) if j not in first.left_out]
        columns = Columns(source, everything, [])
        names = columns.names
    if suffix == ".csv":
        decimal = source.reading.get("decimal", ".")
        options["delimiter"] = ";" if decimal == "," else ","  # as spreadsheets write it
    elif is_table and not others and first.pandas is not None:  # about the index, and types
        options["pandas"] = json.loads(first.pandas)
        kept = [column for column in options["pandas"]["columns"] if column["name"] not in used]
        options["pandas"]["columns"] = kept
    gaps = incomplete = without = 0
    far = np.zeros(len(used), np.intp)

    def compute(end: Position, rows: Any) -> Any:
        nonlocal gaps, incomplete, without, far
        dense = rows.toarray() if hasattr(rows, "toarray") else rows
        filled = fitted.model_.filling.filled(dense)[0]
        far = far + fitted.model_.far_fills(dense, filled)
        empty = np.isnan(dense).all(axis=1)
        filled[empty] = np.nan
        holes = np.isnan(dense) & ~empty[:, None]
        gaps += int(holes.sum())
        incomplete += int(holes.any(axis=1).sum())
        without += int(empty.sum())
        if not is_table:
            return filled
        return filled_cells(columns.beside(end, len(dense)), names, used, dense, filled, decimal)

    with outputs.writing(output, names, **options) as write:
        count = each_block("impute", fitted, source, compute, write)
    if without:
        note(f"{counted(without, 'row')} without any entry not filled")
    if doubt := far_fills(far, used):
        warn(doubt)
    if not is_quiet():
        filled = f"{counted(gaps, 'gap')} filled in {counted(incomplete, 'row')}"
        say(f"{output}: {counted(count, 'row')}; {filled}")


def filled_cells(
    cells: list[Any],
    names: list[str],
    used: list[str],
    block: NDArray[Any],
    filled: NDArray[Any],
    decimal: str | None,
) -> Any:
    """Return a table of cells, by their names, in which gaps of the columns used are filled.

    Columns become the numbers of `filled`, shape (b, d). With a decimal point, which is that of
    text, text stays text, and what is no gap stays as it is. Only True and False become 1 and 0: a
    number among them, in this block or in a later one, could not be read back.
    """
    import pyarrow as pa

    for j, name in enumerate(used):
        place = names.index(name)
        given, cells[place] = cells[place], np.ascontiguousarray(filled[:, j])
        if decimal is not None and pa.types.is_string(given.type):
            texts = given.to_pylist()
            for i in np.flatnonzero(np.isnan(block[:, j]) & ~np.isnan(filled[:, j])):
                texts[i] = str(filled[i, j]).replace(".", decimal)
            cells[place] = pa.array([_BOOLEANS.get(x.strip(), x) for x in texts], pa.string())
    return pa.table(cells, names)


def _threshold(model: Model, quantile: float, option: str) -> float:
    """Return the threshold of errors; without one, an option that needs it is refused."""
    if option and (reason := model.why_no_threshold(quantile)):
        raise Failure(f"{option} cannot find outliers: {reason}")
    return model.error_threshold(quantile)
