"""Write the golden files: models of this version, and what they give after loading.

``python -m tests.golden.make [NAME ...]`` writes NAME.onepass and NAME.json beside this file for
every case, or for those named. A file that is there already is left alone unless it is named:
CONTRIBUTING.md says when to replace one.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import onepass
from onepass.schedules import AdaGradNorm, Constant
from tests.contracts.chunks import waiting
from tests.contracts.variants import build

FOLDER = Path(__file__).parent
K = 2

EVERYTHING = {"average": True, "batch_size": 4, "center": True}
HELD: dict[str, Callable[[np.ndarray], Any]] = {
    "dense": np.asarray,
    "sparse": lambda rows: sparse.csr_array(np.where(np.abs(rows) > 1, rows, 0)),
    "float32": np.float32,
}
# The name of the files -> (estimator, parameters, how rows are held).
CASES: dict[str, tuple[str, dict[str, Any], str]] = {
    "pca": ("PCA", {}, "dense"),
    "pca_not_robust": ("PCA", {"robust": False, "whiten": True}, "dense"),
    "pca_half_life": ("PCA", {"half_life": 200.0}, "dense"),
    "pca_float32": ("PCA", {}, "float32"),
    "pca_sparse": ("PCA", {"center": False}, "sparse"),
    "pca_share": ("PCA", {"k": 0.8}, "dense"),
    "pca_wide": ("PCA", {}, "float32"),
    "msg": ("MSG", {}, "dense"),
    "msg_everything": ("MSG", {**EVERYTHING, "trace": "exact", "step_size": 0.3}, "dense"),
    "capped_msg": ("CappedMSG", {}, "dense"),
    "capped_msg_everything": ("CappedMSG", EVERYTHING, "dense"),
    "capped_msg_auto_rank": ("CappedMSG", {"max_rank": "auto"}, "float32"),
    "capped_msg_sparse": ("CappedMSG", {"center": True}, "sparse"),
    "capped_msg_wide": ("CappedMSG", {"step_size": Constant(0.01)}, "dense"),
    "meg": ("MEG", {}, "dense"),
    "meg_everything": ("MEG", {**EVERYTHING, "step_size": AdaGradNorm(3.0)}, "sparse"),
    "incremental": ("Incremental", {"max_rank": 4}, "dense"),
    "incremental_float32": ("Incremental", {"center": True}, "float32"),
    "oja": ("Oja", {"random_state": 0}, "dense"),
    "oja_everything": ("Oja", {**EVERYTHING, "random_state": 0}, "sparse"),
    "grouse": ("Grouse", {"random_state": 0, "average": True, "center": True}, "dense"),
    "erm": ("ERM", {}, "dense"),
    "erm_sparse": ("ERM", {"center": True}, "sparse"),
}
# Columns: 8, or so many that variances are followed along directions, or that a sketch is kept.
COLUMNS = {"capped_msg_wide": 300, "pca_wide": 2049}
FEW = 3  # rows that wait in the file for their chunk to fill


def rows_of(case: str, seed: int, n: int) -> Any:
    """Return rows (n, d) of a case: seed 0 before saving, seed 1 after loading.

    `RandomState` gives the same numbers in every version of NumPy.
    """
    d = COLUMNS.get(case, 8)
    scales = np.append([3.0, 2.0, 1.5], np.full(d - 3, 0.5))
    rows = np.random.RandomState(seed).normal(size=(n, d)) * scales + 0.5
    return HELD[CASES[case][2]](rows)


def weights_of(seed: int, n: int) -> np.ndarray:
    """Return weights (n,) of rows: some are zero."""
    return np.random.RandomState(100 + seed).choice([0.0, 0.5, 1.0, 2.0], n)


def first_model(case: str) -> Any:
    """Return a model that has learned from two chunks, and for which a few rows wait."""
    name, params, _ = CASES[case]
    model = build(name, **{"k": K, **params})
    if case == "pca_wide":  # a sketch of few rows is small
        rows = rows_of(case, seed=0, n=12)
        other = build(name, **{"k": K, **params})
        return onepass.merge(model.fit(rows[:7]), other.fit(rows[7:]))
    rows, weights, chunks = rows_of(case, seed=0, n=10_000), weights_of(0, 10_000), 0
    for i in range(10_000):
        model.partial_fit(rows[i : i + 1], sample_weight=weights[i : i + 1])
        chunks += bool(weights[i]) and waiting(model) == 0
        if chunks == 2 and waiting(model) == FEW:
            return model
    raise AssertionError("the chunks are too long")


def results(model: Any) -> dict[str, Any]:
    """Return what a fitted model publishes, as numbers and nested lists."""
    found = {
        "components": model.components_[:, :8],
        "explained_variance": model.explained_variance_,
        "explained_variance_ratio": model.explained_variance_ratio_,
        "mean": model.mean_[:8],
        "noise_variance": model.noise_variance_,
        "captured_mean": model.captured_.mean,
        "n_samples_seen": model.n_samples_seen_,
    }
    for name in ("subspace_", "average_"):
        if hasattr(model, name):
            subspace = getattr(model, name)
            weights, rest = subspace.weights - subspace.rest, float(subspace.rest)
            found[name + "trace"] = float(subspace.trace)
            found[name + "rest"] = rest
            # Along the components: as good as the matrix, and small.
            inner = np.float64(subspace.basis) @ np.float64(model.components_).T
            found[name + "inside"] = (inner.T * weights) @ inner
    return {name: np.asarray(value, dtype=float).tolist() for name, value in found.items()}


def go_on(case: str, model: Any) -> Any:
    """Let a loaded model learn from more rows."""
    rows, weights = rows_of(case, seed=1, n=1500), weights_of(1, 1500)
    model.partial_fit(rows[:100], sample_weight=weights[:100])
    return model.partial_fit(rows[100:])


def write(case: str) -> None:
    """Write the two files of a case."""
    first_model(case).save(FOLDER / f"{case}.onepass")
    loaded = onepass.load(FOLDER / f"{case}.onepass")
    wanted = {"loaded": results(loaded), "gone_on": results(go_on(case, loaded))}
    text = json.dumps(wanted, indent=None, separators=(",", ":")).replace('],"', '],\n"')
    (FOLDER / f"{case}.json").write_text(text + "\n")


if __name__ == "__main__":
    named = sys.argv[1:]
    for each in named or CASES:
        if named or not (FOLDER / f"{each}.onepass").exists():
            write(each)
            print("wrote", each)
