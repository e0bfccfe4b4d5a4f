"""What the algorithms that move a basis share: where they start."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import StrOptions

from onepass.estimators.stochastic import SteppingEstimator


class StartingEstimator(SteppingEstimator):
    """An estimator whose iterate is a subspace that has to start somewhere."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SteppingEstimator._parameter_constraints,
        "init": [StrOptions({"random"}), "array-like"],
    }
    init: Any

    def _start(self, d: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Return the orthonormal rows to start from, of shape (k, d)."""
        k = self.n_components
        if isinstance(self.init, str):
            rows = rng.normal(size=(k, d))
        else:
            rows = np.asarray(self.init, dtype=np.float64)
            if rows.shape != (k, d):
                raise ValueError(f"init has shape {rows.shape}, expected ({k}, {d}): (k, d)")
            if not np.isfinite(rows).all() or np.linalg.matrix_rank(rows) < k:
                raise ValueError("init must have finite and linearly independent rows")
        basis, triangle = np.linalg.qr(rows.T)
        return (basis * np.sign(np.diag(triangle))).T
