"""Small images of digits that come with scikit-learn."""

from __future__ import annotations

from pathlib import Path

from sklearn.datasets import load_digits

from benchmarks.dataset import Dataset, Problem, Size


def load(size: Size, folder: Path | None) -> Problem:
    """Return centred images of 64 pixels."""
    X = load_digits().data[: size.rows]
    return Problem("digits", X - X.mean(axis=0), size.k)


DATASETS = [Dataset("digits", load, (Size(8),), columns=64)]
