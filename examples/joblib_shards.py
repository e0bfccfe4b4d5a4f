"""Merge models with joblib: every process learns from its own files.

python examples/joblib_shards.py shards/*.npy
"""

from __future__ import annotations

import sys

import joblib

import onepass


def learn(path: str) -> onepass.PCA:
    """Return a model of one file, learned where the file is read."""
    return onepass.PCA(n_components=3).fit(onepass.open_source(path))


def fit(paths: list[str], processes: int = 2) -> onepass.PCA:
    """Return one model for the rows of all files; only models travel between processes."""
    models = joblib.Parallel(n_jobs=processes)(joblib.delayed(learn)(path) for path in paths)
    return onepass.merge(*models)


if __name__ == "__main__":
    model = fit(sys.argv[1:])
    print(f"{model.n_samples_seen_:,} rows, variances {model.explained_variance_}")
