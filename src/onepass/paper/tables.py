"""Raw numbers as csv."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from onepass.model_file import replacing


def write_csv(path: Path, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write a table, whole or not at all; floats keep ten digits."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([f"{cell:.10g}" if isinstance(cell, float) else cell for cell in row])
    with replacing(path) as file:
        file.write(text.getvalue().encode())
