"""Measurements as Markdown tables, which read well in a terminal too."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.runner import Measurement


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table with aligned columns."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    lines = [[cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in rows]
    head = [cell.ljust(width) for cell, width in zip(header, widths, strict=True)]
    rule = ["-" * width for width in widths]
    return "\n".join(f"| {' | '.join(line)} |" for line in [head, rule, *lines])


def microseconds(times: Sequence[float]) -> str:
    """Return the median of seconds, and their range."""
    low, median, high = (number(1e6 * q) for q in np.quantile(times, [0.0, 0.5, 1.0]))
    return f"{median} ({low}..{high})"


def number(value: float) -> str:
    """Return three digits, without an exponent."""
    return f"{float(f'{value:.3g}'):,.10g}"


def of_measurements(measurements: Sequence[Measurement]) -> str:
    """Return the table of one problem, fastest first."""
    ordered = sorted(measurements, key=lambda m: m.seconds)
    header = [
        "solver",
        "CPU us per row (range)",
        "wall us per row (range)",
        "rows",
        "variance lost",
    ]
    with_memory = any(m.memory is not None for m in ordered)
    rows = []
    for m in ordered:
        lost = "-" if np.isnan(m.lost) else f"{100 * m.lost:.3f}%"
        row = [m.solver, microseconds(m.cpu), microseconds(m.wall), str(m.n), lost]
        if with_memory:
            row.append("-" if m.memory is None else f"{m.memory / 1e6:.1f} MB")
        rows.append(row)
    return table([*header, "peak memory"] if with_memory else header, rows)
