"""Word counts of 20 newsgroups: sparse rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy import sparse

from benchmarks.dataset import Dataset, Problem, Size, folder_of


def load(size: Size, folder: Path | None) -> Problem:
    """Return log(1 + count), not centred."""
    with np.load(folder_of("20news", folder) / "20news_counts.npz") as parts:
        arrays = (parts["data"], parts["indices"], parts["indptr"])
        X = sparse.csr_array(arrays, shape=tuple(parts["shape"]))
    return Problem("20news", X[: size.rows].astype(np.float64).log1p(), size.k)


DATASETS = [Dataset("20news", load, (Size(8), Size(40)), columns=31_478)]
