"""Write the golden files: models of this version, and what they give after loading.

``python -m tests.golden.make [NAME ...]`` writes NAME.onepass and NAME.json beside this file for
every case, or for those named. A file that is there already is left alone unless it is named:
CONTRIBUTING.md says when to replace one.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import onepass
from onepass.estimators.saving import pack
from onepass.persistence import archive
from onepass.schedules import AdaGradNorm, Constant
from tests.contracts.chunks import waiting
from tests.contracts.variants import build

FOLDER = Path(__file__).parent
FEW = 3  # rows that wait for their chunk to fill when a model is saved


@dataclass(frozen=True)
class Case:
    """An estimator, what it learns from, and how it is saved.

    `saved` is "model" for a file of `save`, "bare" for a model without its learner, "checkpoint"
    for a file that holds waiting rows, and "merged" for a model of two parts of a few rows.
    """

    estimator: str
    params: dict[str, Any] = field(default_factory=dict)
    held: str = "dense"
    rows: str = "gaussian"
    saved: str = "model"
    d: int = 8
    na: tuple[str, ...] = ()  # marks of missing entries in the files that it was fitted on


def gaussian(rng: np.random.RandomState, n: int, d: int) -> np.ndarray:
    """Return rows of three directions and a flat rest."""
    return rng.normal(size=(n, d)) * np.append([3.0, 2.0, 1.5], np.full(d - 3, 0.5)) + 0.5


def heavy(rng: np.random.RandomState, n: int, d: int) -> np.ndarray:
    """Return rows of which any may be long: bounding all of them is best."""
    return gaussian(rng, n, d) * rng.standard_t(1.5, size=(n, 1))


def spoiled(rng: np.random.RandomState, n: int, d: int) -> np.ndarray:
    """Return rows with long ones that matter, and some outliers: a mild bound is best."""
    rows = gaussian(rng, n, d) / 2.0
    matters, outlying = rng.uniform(size=n) < 0.15, rng.uniform(size=n) < 0.01
    rows[matters, 3] += 8.0 * rng.choice([-1.0, 1.0], matters.sum())
    rows[outlying] = 300.0 * rng.normal(size=(outlying.sum(), d))
    return rows


ROWS: dict[str, Callable[..., np.ndarray]] = {
    "gaussian": gaussian,
    "heavy": heavy,
    "spoiled": spoiled,
}
HELD: dict[str, Callable[[np.ndarray], Any]] = {
    "dense": np.asarray,
    "sparse": lambda rows: sparse.csr_array(np.where(np.abs(rows) > 1, rows, 0)),
    "float32": np.float32,
}
EVERYTHING = {"average": True, "batch_size": 4, "center": True}
CASES = {
    "pca": Case("PCA"),
    "pca_not_robust": Case("PCA", {"robust": False, "whiten": True}),
    "pca_half_life": Case("PCA", {"half_life": 200.0}),
    "pca_float32": Case("PCA", held="float32"),
    "pca_sparse": Case("PCA", {"center": False}, "sparse"),
    "pca_share": Case("PCA", {"k": 0.8}),
    "pca_scaled": Case("PCA", {"scale": True}),
    "pca_bounded": Case("PCA", rows="heavy"),
    "pca_mild": Case("PCA", {"k": 1}, rows="spoiled"),
    "pca_robust": Case("PCA", {"robust": True}),
    "pca_bare": Case("PCA", {"scale": True}, rows="heavy", saved="bare"),
    "pca_marks": Case("PCA", saved="bare", na=("?", "-999")),
    "pca_checkpoint": Case("PCA", saved="checkpoint"),
    "pca_checkpoint_sparse": Case("PCA", held="sparse", saved="checkpoint"),
    # Beyond the exact matrix; of few rows a sketch is small.
    "pca_wide": Case("PCA", held="float32", saved="merged", d=4097),
    "incremental_pca": Case("IncrementalPCA", {"whiten": True}),
    "incremental_pca_float32": Case("IncrementalPCA", held="float32", saved="bare"),
    "msg": Case("MSG"),
    "msg_everything": Case("MSG", {**EVERYTHING, "trace": "exact", "step_size": 0.3}),
    "capped_msg": Case("CappedMSG"),
    "capped_msg_everything": Case("CappedMSG", EVERYTHING),
    "capped_msg_auto_rank": Case("CappedMSG", {"max_rank": "auto"}, "float32"),
    "capped_msg_sparse": Case("CappedMSG", {"center": True}, "sparse"),
    # So many columns that variances are followed along directions.
    "capped_msg_wide": Case("CappedMSG", {"step_size": Constant(0.01)}, d=300),
    "capped_msg_bare": Case("CappedMSG", {"center": True}, saved="bare"),
    "capped_msg_checkpoint": Case("CappedMSG", EVERYTHING, saved="checkpoint"),
    "meg": Case("MEG"),
    "meg_everything": Case("MEG", {**EVERYTHING, "step_size": AdaGradNorm(3.0)}, "sparse"),
    "incremental": Case("Incremental", {"max_rank": 4}),
    "incremental_float32": Case("Incremental", {"center": True}, "float32"),
    "oja": Case("Oja", {"random_state": 0}),
    "oja_everything": Case("Oja", {**EVERYTHING, "random_state": 0}, "sparse"),
    "grouse": Case("Grouse", {"random_state": 0, "average": True, "center": True}),
    "erm": Case("ERM"),
    "erm_sparse": Case("ERM", {"center": True}, "sparse"),
}


def rows_of(case: Case, seed: int, n: int) -> Any:
    """Return rows (n, d) of a case: seed 0 before saving, seed 1 after loading.

    `RandomState` gives the same numbers in every version of NumPy.
    """
    return HELD[case.held](ROWS[case.rows](np.random.RandomState(seed), n, case.d))


def weights_of(seed: int, n: int) -> np.ndarray:
    """Return weights (n,) of rows: some are zero."""
    return np.random.RandomState(100 + seed).choice([0.0, 0.5, 1.0, 2.0], n)


def first_model(case: Case) -> Any:
    """Return a model for which a few rows wait: after two chunks, or after 3,000 uneven rows."""
    model = build(case.estimator, **{"k": 2, **case.params})
    if case.saved == "merged":
        rows, other = rows_of(case, seed=0, n=12), build(case.estimator, **{"k": 2, **case.params})
        return onepass.merge(model.fit(rows[:7]), other.fit(rows[7:]))
    least = 0 if case.rows == "gaussian" else 3000
    rows, weights, chunks = rows_of(case, seed=0, n=10_000), weights_of(0, 10_000), 0
    model.partial_fit(rows[:least]) if least else None
    for i in range(least, 10_000):
        model.partial_fit(rows[i : i + 1], sample_weight=weights[i : i + 1])
        chunks += bool(weights[i]) and waiting(model) == 0
        if (least or chunks == 2) and waiting(model) == FEW:
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
        "captured_error": model.captured_.standard_error,
        "threshold": model.model_.error_threshold(0.9),
        "n_samples_seen": model.n_samples_seen_,
    }
    if hasattr(model, "scale_"):
        found |= {"scale": model.scale_[:8], "var": model.var_[:8]}
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


def go_on(case: Case, model: Any) -> Any:
    """Let a loaded model learn from more rows."""
    rows, weights = rows_of(case, seed=1, n=1500), weights_of(1, 1500)
    model.partial_fit(rows[:100], sample_weight=weights[:100])
    return model.partial_fit(rows[100:])


def packed(case: Case, model: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return header and arrays of the file of a model, saved as the case says."""
    return pack(model, waiting=case.saved == "checkpoint")


def write(name: str) -> None:
    """Write the two files of a case."""
    case, path = CASES[name], FOLDER / f"{name}.onepass"
    model = first_model(case)
    model._origin = replace(model._origin, na=case.na)
    model = model.for_transform() if case.saved == "bare" else model
    archive.write(path, *packed(case, model))
    loaded = onepass.load(path)
    wanted = {"loaded": results(loaded)}
    if case.saved != "bare":
        wanted["gone_on"] = results(go_on(case, loaded))
    text = json.dumps(wanted, indent=None, separators=(",", ":")).replace('],"', '],\n"')
    path.with_suffix(".json").write_text(text + "\n")


if __name__ == "__main__":
    named = sys.argv[1:]
    for each in named or CASES:
        if named or not (FOLDER / f"{each}.onepass").exists():
            write(each)
            print("wrote", each)
