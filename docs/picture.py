"""Draw the pictures of Get started and of the guide to outliers.

``python docs/picture.py`` writes ``components.png``, digits with gaps and outliers and the
components found in them, and ``get-started.png``, what ``plot`` shows, into ``docs/_static``. The
picture of the report page there is taken by a browser, from the page of ``make demo``.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from sklearn import decomposition
from sklearn.datasets import load_digits

from onepass import PCA, IncrementalPCA

SHOWN = 7
FOLDER = Path(__file__).parent / "_static"


def spoiled(X: NDArray[np.float64], seed: int = 0) -> NDArray[np.float64]:
    """Return images (n, 64) of which a fifth of the pixels is missing, and 2% are noise."""
    rng = np.random.default_rng(seed)
    rows = X.copy()
    broken = rng.random(len(X)) < 0.02
    broken[3] = True
    rows[broken] = 60.0 * rng.normal(size=(broken.sum(), X.shape[1]))
    rows[rng.random(rows.shape) < 0.2] = np.nan
    return rows


def draw() -> Figure:
    """Return the picture."""
    X = load_digits().data
    rows = spoiled(X)
    filled = np.where(np.isnan(rows), np.nanmean(rows, axis=0), rows)
    panels = {
        "images: gaps in orange": rows[:SHOWN],
        "PCA(robust=True)": PCA(SHOWN, robust=True).fit(rows).components_,
        "IncrementalPCA": decomposition.IncrementalPCA(SHOWN).fit(filled).components_,
        "PCA of clean images": IncrementalPCA(SHOWN).fit(X).components_,
    }
    clean = panels["PCA of clean images"]
    figure, axes = plt.subplots(4, SHOWN, figsize=(7.2, 3.4), layout="constrained")
    for line, (name, images) in zip(axes, panels.items(), strict=True):
        line[0].set_ylabel(name, rotation=0, ha="right", va="center", fontsize=11)
        for j, (axis, image) in enumerate(zip(line, images, strict=True)):
            is_row = images is panels["images: gaps in orange"]
            colours = plt.get_cmap("gray_r" if is_row else "RdBu").with_extremes(bad="#e8b04b")
            largest = 16.0 if is_row else np.abs(image).max()
            sign = 1.0 if is_row else np.sign(image @ clean[j])
            limits = (0.0, largest) if is_row else (-largest, largest)
            axis.imshow((sign * image).reshape(8, 8), cmap=colours, vmin=limits[0], vmax=limits[1])
            axis.set(xticks=[], yticks=[])
    return figure


if __name__ == "__main__":
    draw().savefig(FOLDER / "components.png", dpi=110)
    X = load_digits().data
    PCA(10).fit(X).plot(X).savefig(FOLDER / "get-started.png", dpi=80)
