"""Write the golden files: models of this version, and what they give after loading.

``python -m tests.golden.make [NAME ...]`` writes NAME.onepass and NAME.json beside this file for
every case, or for those named. A file that is there already is left alone unless it is named:
CONTRIBUTING.md says when to replace one.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import onepass
from onepass.estimators.saving import pack
from onepass.persistence import archive

FOLDER = Path(__file__).parent


def rows(seed: int, n: int, d: int) -> np.ndarray:
    """Return rows of three directions and a flat rest: seed 0 before saving, seed 1 afterwards.

    `RandomState` gives the same numbers in every version of NumPy.
    """
    rng = np.random.RandomState(seed)
    return rng.normal(size=(n, d)) * np.append([3.0, 2.0, 1.5], np.full(d - 3, 0.5)) + 0.5


def dense(seed: int, n: int) -> np.ndarray:
    return rows(seed, n, 8)


def with_gaps(seed: int, n: int) -> np.ndarray:
    X = rows(seed, n, 8)
    return np.where(np.random.RandomState(seed).uniform(size=X.shape) < 0.1, np.nan, X)


def counts(seed: int, n: int) -> Any:
    X = rows(seed, n, 8)
    return sparse.csr_array(np.where(np.abs(X) > 1, X, 0))


def wide(seed: int, n: int) -> np.ndarray:
    return rows(seed, n // 50, 4097).astype(np.float32)


EVERYTHING = {"average": True, "batch_size": 4, "center": True}
CASES: dict[str, tuple[Any, Any]] = {  # an estimator, and what it learns from
    "pca_gaps": (onepass.PCA(2, scale=True), with_gaps),
    "pca_wide": (onepass.PCA(2), wide),  # beyond the exact matrix
    "robust_bare": (onepass.PCA(2, robust=True), dense),
    "capped_msg_checkpoint": (onepass.CappedMSG(2, **EVERYTHING), counts),
    "oja": (onepass.Oja(2, random_state=0), dense),
}


def learned(name: str) -> Any:
    """Return the model of a case; rows wait for the last chunk to fill."""
    estimator, made = CASES[name]
    model = estimator.partial_fit(made(0, 1003))
    return model.for_transform() if name.endswith("bare") else model


def packed(name: str, model: Any) -> bytes:
    """Return the file of a model, which holds waiting rows if it is a checkpoint."""
    return archive.to_bytes(*pack(model, waiting=name.endswith("checkpoint")))


def results(model: Any) -> dict[str, Any]:
    """Return what a fitted model publishes, as numbers and nested lists."""
    found = {
        "components": model.components_[:, :8],
        "explained_variance": model.explained_variance_,
        "mean": model.mean_[:8],
        "noise_variance": model.noise_variance_,
        "captured": [model.captured_.mean, model.captured_.standard_error],
        "threshold": model.error_threshold(0.9),
        "rows": model.n_samples_seen_,
    }
    return {name: np.asarray(value, dtype=float).tolist() for name, value in found.items()}


def both_results(name: str, model: Any) -> list[dict[str, Any]]:
    """Return the results of a loaded model, and after it has learned more rows."""
    found = [results(model)]
    if not name.endswith("bare"):
        found.append(results(model.partial_fit(CASES[name][1](1, 1500))))
    return found


if __name__ == "__main__":
    for name in sys.argv[1:] or CASES:
        path = FOLDER / f"{name}.onepass"
        if name in sys.argv or not path.exists():
            path.write_bytes(packed(name, learned(name)))
            wanted = both_results(name, onepass.load(path))
            path.with_suffix(".json").write_text(json.dumps(wanted, indent=0) + "\n")
