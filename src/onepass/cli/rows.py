"""``onepass transform``, ``score`` and ``impute``: what is done with each row of files."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onepass.cli import messages
from onepass.cli.cells import SUFFIX, is_anndata, table_of_cells, writing_cells
from onepass.cli.data import on_disk, open_for, prepare_output, progress_over
from onepass.cli.errors import Failure, say
from onepass.cli.writers import OUTLIER, Write, check_format, writing
from onepass.estimators.doubts import far_fills
from onepass.estimators.entries import checked_blocks
from onepass.estimators.saving import open_model
from onepass.model import Model
from onepass.report.summary import counted
from onepass.sources import Position
from onepass.sources.files import FileSource
from onepass.sources.tables import numbered_names

ROW_COLUMNS = ["reconstruction_error", "log_likelihood"]
QUANTILE = 0.99  # of the errors of the rows fitted on: larger ones are outliers

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
    in_anndata = is_anndata(output)
    if not in_anndata:
        check_format(output, [SUFFIX])
    if as_list and not output.lower().endswith(".parquet"):
        raise Failure(f"--as-list: {output} holds no lists; write to .parquet")
    fitted = open_model(model)
    learned = fitted.model_
    source = open_for(fitted, model, on_disk(data, output) if keep else data, reading)
    prepare_output(output, [*source.paths, model])
    threshold = _threshold(learned, quantile, "--flag") if flag else 0.0
    names = [str(name) for name in fitted.get_feature_names_out()]
    heads = [*names, *[OUTLIER] * flag]
    cells = table_of_cells(source) if in_anndata else None
    beside = Columns(source, output, keep, heads, numbered=in_anndata and cells is None)
    beside.as_list = "coordinates" if as_list else ""
    if in_anndata:
        writer = writing_cells(output, fitted, source, cells, beside.names, beside.numbering)
    else:
        writer = writing(output, beside.names)

    def compute(end: Position, rows: Any) -> Any:
        points = learned.transform(rows)
        if flag:
            points = np.column_stack([points, learned.reconstruction_error(rows) > threshold])
        return beside.add(end, points)

    with writer as write:
        count = each_block("transform", fitted, source, compute, write)
    if not messages.is_quiet():
        say(f"{output}: {counted(count, 'row')} of {counted(len(names), 'coordinate')}")


class Columns:
    """The columns of a file of results: kept ones and numbers of rows beside what is computed."""

    as_list = ""  # the name of a column of lists for all that is computed

    def __init__(
        self,
        source: FileSource,
        output: str,
        keep: list[str] | None,
        heads: list[str],
        *,
        numbered: bool,
    ) -> None:
        is_npy = output.lower().endswith(".npy")
        if keep and is_npy:
            raise Failure(f"--keep: {output} holds numbers only; write to .csv or .parquet")
        self._heads, self._beside, self.numbering = heads, None, []
        self.names = heads
        if not is_npy and (keep or numbered):
            from onepass.cli.kept import Beside

            self._beside = Beside(source, keep or [], numbered=numbered)
            self.names = numbered_names([*self._beside.names, *heads])
            self.numbering = self._beside.numbering

    def add(self, end: Position, rows: NDArray[Any]) -> Any:
        """Return rows with what stands beside them; `end` is the position after them."""
        if self._beside is None and not self.as_list:
            return rows
        from onepass.cli.kept import as_table, joined

        tables = [] if self._beside is None else self._beside.take(end, len(rows))
        return joined([*tables, as_table(rows, self._heads, self.as_list)])


def impute(model: str, data: tuple[str, ...], output: str, **reading: Any) -> None:
    """Write rows with their gaps filled, and their other columns as they are."""
    check_format(output)
    fitted = open_model(model)
    if fitted.origin_.preparation:
        raise Failure(
            f"{model} was fitted on rows changed by --normalize or --log1p: it cannot fill raw ones"
        )
    is_npy = output.lower().endswith(".npy")
    source = open_for(fitted, model, data if is_npy else on_disk(data, output), reading)
    prepare_output(output, [*source.paths, model])
    first = source.tables[0]
    used = [str(first.column(j)) for j in first.chosen()]
    options: dict[str, Any] = {}
    names, beside, decimal = used, None, None
    if not is_npy:
        from onepass.cli.kept import Beside, filled_cells, without_types

        for table in source.tables[1:]:
            table.compare(first, [], exact=True)
        everything = [j for j in range(first.width) if j not in first.left_out]
        beside = Beside(source, everything, numbered=False)
        names = beside.names
    if output.lower().endswith(".csv"):
        decimal = source.reading.get("decimal", ".")
        options["delimiter"] = ";" if decimal == "," else ","  # as spreadsheets write it
    elif beside is not None and len(source.tables) == 1:
        options["pandas"] = without_types(first.pandas, used)
    counts, far = {"gaps": 0, "rows": 0, "empty": 0}, np.zeros(fitted.n_features_in_, np.intp)

    def compute(end: Position, rows: Any) -> Any:
        dense = rows.toarray() if hasattr(rows, "toarray") else rows
        nonlocal far
        filled = fitted.model_.impute(dense)[0]
        far = far + fitted.model_.far_fills(dense, filled)
        empty = np.isnan(dense).all(axis=1)
        filled[empty] = np.nan
        holes = np.isnan(dense) & ~empty[:, None]
        counts["gaps"] += int(holes.sum())
        counts["rows"] += int(holes.any(axis=1).sum())
        counts["empty"] += int(empty.sum())
        if beside is None:
            return filled
        (cells,) = beside.take(end, len(dense))
        return filled_cells(cells, used, dense, filled, decimal)

    with writing(output, names, **options) as write:
        count = each_block("impute", fitted, source, compute, write)
    if counts["empty"]:
        messages.note(f"{counted(counts['empty'], 'row')} without any entry not filled")
    if doubt := far_fills(far, used):
        messages.warn(doubt)
    if not messages.is_quiet():
        filled = f"{counted(counts['gaps'], 'gap')} filled in {counted(counts['rows'], 'row')}"
        say(f"{output}: {counted(count, 'row')}; {filled}")


def score(
    model: str,
    data: tuple[str, ...],
    rows_file: str | None,
    quantile: float,
    keep: list[str] | None,
    flag: bool,
    only_outliers: bool,
    as_json: bool,
    **reading: Any,
) -> None:
    """Print the share of variance that is captured; write the errors of rows to a file."""
    if rows_file is None and (keep or flag or only_outliers):
        raise Failure("--keep, --flag and --only-outliers work with --rows only")
    if rows_file is not None:
        check_format(rows_file)
        if only_outliers and rows_file.lower().endswith(".npy"):
            raise Failure("--only-outliers: an .npy file could not say which rows they are")
    fitted = open_model(model)
    learned = fitted.model_
    if rows_file is not None and keep:
        data = on_disk(data, rows_file)
    source = open_for(fitted, model, data, reading)
    found: dict[str, Any] = {"model": model, "rows": 0, "empty_rows": 0}
    writer: Any = nullcontext()
    threshold, above, inside, energy = np.nan, 0, 0.0, 0.0
    if rows_file is not None:
        prepare_output(rows_file, [*source.paths, model])
        beside = Columns(source, rows_file, keep, [*ROW_COLUMNS, *[OUTLIER] * flag], numbered=True)
        wanted = "--flag" if flag else "--only-outliers" if only_outliers else ""
        threshold = _threshold(learned, quantile, wanted)
        writer = writing(rows_file, beside.names)

    def compute(end: Position, rows: Any) -> Any:
        nonlocal above, inside, energy
        captured, whole = learned.captured_energy(rows)
        inside, energy = inside + captured, energy + whole
        empty = np.zeros(rows.shape[0], dtype=bool)
        if not hasattr(rows, "toarray"):  # entries of sparse rows are zeros
            empty = np.isnan(rows).all(axis=1)
        found["empty_rows"] += int(empty.sum())
        if rows_file is None:
            return None
        errors = learned.reconstruction_error(rows)
        likelihoods = np.full(len(errors), np.nan)
        if learned.total_variance > 0.0:
            likelihoods = learned.score_samples(rows)
        numbers = np.column_stack([errors, likelihoods])
        numbers[empty] = np.nan
        is_above = numbers[:, 0] > threshold
        above += int(is_above.sum())
        table = beside.add(end, np.column_stack([numbers, is_above]) if flag else numbers)
        return table.filter(is_above) if only_outliers else table

    with writer as write:
        found["rows"] = each_block("score", fitted, source, compute, write)
    found["score"] = inside / energy if energy > 0.0 else None
    is_known = bool(np.isfinite(threshold))
    if rows_file is not None:
        found |= {"rows_file": rows_file, "quantile": quantile}
        found["threshold"] = messages.finite(threshold)
        found["above_threshold"] = above if is_known else None
    if found["empty_rows"]:
        messages.note(f"{counted(found['empty_rows'], 'row')} without any entry left out")
    if as_json:
        messages.print_json(found)
        return
    n_rows = found["rows"] - found["empty_rows"]
    if found["score"] is None:
        say(f"there is no variance in {counted(n_rows, 'row')}")
    else:
        say(f"captures {found['score']:.4%} of the variance of {counted(n_rows, 'row')}")
    if rows_file is not None:
        outliers = learned.why_no_threshold(quantile) or (
            f"{counted(above, 'outlier')} ({above / max(n_rows, 1):.2%}), with a larger error than "
            f"{100 * quantile:.10g}% of the rows that the model was fitted on"
        )
        each = "outlier" if only_outliers else "row"
        say(f"{rows_file}: {' and '.join(ROW_COLUMNS)} of each {each}; {outliers}")


def _threshold(model: Model, quantile: float, option: str) -> float:
    """Return the threshold of errors; without one, an option that needs it is refused."""
    if option and (reason := model.why_no_threshold(quantile)):
        raise Failure(f"{option} cannot find outliers: {reason}")
    return model.error_threshold(quantile)
