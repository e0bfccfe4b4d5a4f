"""Legends and files of the figures, drawn in the style of `onepass.report`."""

from __future__ import annotations

import os
from typing import Any

from onepass.persistence.atomic import replacing
from onepass.report.charts import RC


def legend_below(drawing: Any, axes: Any, columns: int) -> None:
    """Put one legend for all axes below them."""
    entries: dict[str, Any] = {}
    for axis in axes.flat:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    drawing.legend(entries.values(), entries.keys(), loc="outside lower center", ncols=columns)


def save(drawing: Any, stem: str | os.PathLike[str]) -> None:
    """Write ``stem.png`` and ``stem.svg``."""
    import matplotlib

    with matplotlib.rc_context(RC):
        for suffix, metadata in (("png", {"Software": None}), ("svg", {"Date": None})):
            with replacing(f"{os.fspath(stem)}.{suffix}") as file:
                drawing.savefig(file, format=suffix, metadata=metadata)
            drawing.set_layout_engine("none")  # the layout of the first serves both
