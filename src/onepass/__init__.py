"""Principal components in one pass over data that need not fit in memory."""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.3.0"

# Estimators and their modules. On the command line they have the same names, in lower case:
# capped-msg is CappedMSG.
ESTIMATORS = {
    "PCA": "estimators.pca",
    "IncrementalPCA": "estimators.incremental_pca",
    "CappedMSG": "algorithms.capped_msg",
    "MSG": "algorithms.msg",
    "MEG": "algorithms.meg",
    "Incremental": "algorithms.incremental",
    "Oja": "algorithms.oja",
    "AdaOja": "algorithms.ada_oja",
    "Grouse": "algorithms.grouse",
    "ERM": "estimators.erm",
}
# Where each public name lives. Imported when first used: `import onepass` is quick.
_HOMES = {
    **{name: f"onepass.{module}" for name, module in ESTIMATORS.items()},
    "merge": "onepass.estimators.merging",
    "load": "onepass.estimators.saving",
    "from_bytes": "onepass.estimators.saving",
    "open_source": "onepass.sources",
    "ModelFileError": "onepass.persistence.archive",
    "ShardError": "onepass.distributed",
    "SourceError": "onepass.sources",
    "OnepassWarning": "onepass.warning",
}
_MODULES = ["distributed", "metrics", "rounding", "schedules", "sources"]

__all__ = ["__version__", *_HOMES, *_MODULES]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    if name in _MODULES or name == "anndata":  # not listed: it would hide the library of that name
        return importlib.import_module(f"onepass.{name}")
    raise AttributeError(f"module 'onepass' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
