"""What is said about a model when it is done."""

from __future__ import annotations

import math
import os
from typing import Any

from rich.table import Table

from onepass.cli.algorithms import name_of

_MOST = 20  # components that are listed one by one


def finite(value: float) -> float | None:
    """Return a number, or None where there is none, as JSON wants it."""
    return float(value) if math.isfinite(value) else None


def facts(model: Any, path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return what a model is, ready for JSON."""
    # Of a single row nothing was predicted, and so nothing can be said about the next ones.
    told = int(model.n_samples_seen_) > 1
    captured = model.captured_
    return {
        "algorithm": name_of(model),
        "n_components": int(model.n_components_),
        "n_features": int(model.n_features_in_),
        "rows": int(model.n_samples_seen_),
        "explained_variance_ratio": [float(share) for share in model.explained_variance_ratio_],
        "captured": {
            "mean": finite(captured.mean) if told else None,
            "standard_error": finite(captured.standard_error) if told else None,
        },
        "model": os.fspath(path),
    }


def component_table(model: Any) -> Table:
    """Return the components: variance, share, share so far, and the columns that matter most."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("component", "variance", "share", "together"):
        table.add_column(heading, justify="right", no_wrap=True, min_width=max(8, len(heading)))
    table.add_column("largest weights", overflow="ellipsis", no_wrap=True)
    ratios = model.explained_variance_ratio_
    names = getattr(model, "feature_names_in_", None)
    for i in range(min(len(ratios), _MOST)):
        weights = model.components_[i]
        leading = abs(weights).argsort()[::-1][:3]
        table.add_row(
            str(i),
            f"{model.explained_variance_[i]:.4g}",
            f"{ratios[i]:.2%}",
            f"{ratios[: i + 1].sum():.2%}",
            "  ".join(f"{weights[j]:+.2f} {j if names is None else names[j]}" for j in leading),
        )
    if len(ratios) > _MOST:
        table.add_row("...", "", "", f"{ratios.sum():.2%}", f"{len(ratios)} components in all")
    return table
