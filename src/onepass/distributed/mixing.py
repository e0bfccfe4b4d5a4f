"""A sample of rows -> mixtures of them that say the same, so that no row leaves its worker.

A second moment looks at its sample through sums of w x and of w x x' alone. Both stay what they are
when the rows, times the roots of their weights, are turned by an orthogonal matrix that leaves the
vector of these roots where it is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse


def mix(second: Any) -> None:
    """Replace the rows that a second moment holds, if it holds any."""
    sample = getattr(second, "_sample", None)
    if sample is None or sample.rows is None:
        return
    roots = np.sqrt(sample.weights)
    ours, theirs = (_orthogonal(roots, seed) for seed in (0, 1))
    turn = (ours @ theirs.T * roots / roots[:, None]).astype(sample.rows.dtype)
    # What is sparse stays sparse, for the sake of rows that may come later.
    sample.rows = (sparse.csr_array(turn) if sparse.issparse(sample.rows) else turn) @ sample.rows


def _orthogonal(vector: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
    """Return an orthogonal matrix of shape (r, r) whose first column is along a vector."""
    columns = np.random.default_rng(seed).normal(size=(len(vector), len(vector)))
    columns[:, 0] = vector
    found = np.linalg.qr(columns)[0]
    found[:, 0] = vector / np.linalg.norm(vector)  # QR may have turned it round
    return found
