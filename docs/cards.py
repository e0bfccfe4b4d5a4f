"""Draw the pictures on the cards of the landing page, for the size at which they are shown.

``python docs/cards.py`` writes ``card-*.png`` into ``docs/_static``.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from sklearn.datasets import load_digits

from onepass import PCA

FOLDER = Path(__file__).parent / "_static"
BLUE, ORANGE, GREEN, PINK, GREY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#7F7F7F"


def images(axis: Axes) -> None:
    """Draw six components of digits side by side."""
    components = PCA(6).fit(load_digits().data).components_.reshape(2, 3, 8, 8)
    tiles = np.pad(components, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=np.nan)
    axis.imshow(np.block([list(row) for row in tiles]), cmap="RdBu_r", vmin=-0.4, vmax=0.4)
    axis.axis("off")


def gaps(axis: Axes) -> None:
    """Draw a sensor that is silent for a while, filled from seven others."""
    rng = np.random.default_rng(1)
    t = np.arange(400)
    causes = np.stack([np.sin(t / 16), np.cos(t / 41)], axis=1)
    X = causes @ rng.normal(size=(2, 8)) + rng.normal(scale=0.12, size=(400, 8))
    silent = slice(215, 275)
    observed = X.copy()
    observed[silent, 0] = np.nan
    filled, deviations = PCA(2).fit(observed).impute(observed, return_std=True)
    y, s = filled[silent, 0], 1.645 * deviations[silent, 0]
    axis.fill_between(t[silent], y - s, y + s, color="#9ecae1", label="filled")
    axis.plot(t, observed[:, 0], color="black", lw=1.4, label="measured")
    axis.plot(t[silent], X[silent, 0], ".", color=ORANGE, ms=4, label="hidden")
    axis.set(xlim=(150, 340), xlabel="time")
    axis.legend(frameon=False, loc="lower right", fontsize=9, handlelength=1.2)


def outliers(axis: Axes) -> None:
    """Draw rows with a few long ones, and the first component without and with bounds."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(400, 2)) @ np.diag([2.2, 0.6])
    X[:15] = [6.0, 9.5] + rng.normal(size=(15, 2))
    axis.plot(*X[15:].T, ".", color=GREY, ms=3)
    axis.plot(*X[:15].T, ".", color="black", ms=5)
    for robust, colour in ((False, ORANGE), (True, BLUE)):
        model = PCA(1, robust=robust).fit(X)
        centre = np.median(X, axis=0)
        ends = centre + np.outer([-11.0, 11.0], model.components_[0])
        axis.plot(*ends.T, color=colour, lw=2.2, label=f"robust={robust}")
    axis.set(xlim=(-9, 12), ylim=(-4, 13))
    axis.legend(frameon=False, loc="upper left", fontsize=9, handlelength=1.2)


def cells(axis: Axes) -> None:
    """Draw generated cells of five types along two components."""
    rng = np.random.default_rng(3)
    rates = rng.gamma(0.3, size=(5, 300))
    kind = rng.integers(5, size=1500)
    depth = np.exp(rng.normal(0.5, 0.5, size=(1500, 1)))
    counts = rng.poisson(depth * rates[kind]).astype(float)
    logs = np.log1p(1e3 * counts / counts.sum(axis=1, keepdims=True))
    points = PCA(2).fit(logs).transform(logs)
    for number, colour in enumerate((BLUE, ORANGE, GREEN, PINK, "#E69F00")):
        axis.plot(*points[kind == number].T, ".", color=colour, ms=3, alpha=0.7)
    axis.set(xlabel="component 0", ylabel="component 1")


def embeddings(axis: Axes) -> None:
    """Draw how much of embeddings of 384 numbers the first components hold."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((6000, 384)) / np.arange(1, 385) ** 0.9
    share = np.cumsum(PCA(64).fit(rows).explained_variance_ratio_)
    axis.fill_between(np.arange(1, 65), share, color=BLUE, alpha=0.25)
    axis.plot(np.arange(1, 65), share, color=BLUE, lw=2)
    axis.text(62, 0.3, "64 numbers\ninstead of 384", ha="right", fontsize=11)
    axis.set(xlabel="components", ylabel="variance", xlim=(1, 64), ylim=(0, 1), yticks=[0, 1])


def files(axis: Axes) -> None:
    """Draw the memory of batch PCA and of one pass, as the gallery measures it."""
    sizes = np.linspace(0, 1000, 200)
    axis.plot(sizes, sizes, color=GREY, ls="--", lw=2)
    axis.plot(sizes, np.minimum(sizes, 145.0), color=BLUE, lw=2)
    axis.text(560, 720, "batch PCA", color=GREY, ha="right", fontsize=11)
    axis.text(980, 190, "one pass", color=BLUE, ha="right", fontsize=11)
    axis.set(xlabel="size of the file", ylabel="memory", xlim=(0, 1000), ylim=(0, 1000))
    axis.set(xticks=[], yticks=[])


if __name__ == "__main__":
    for draw in (images, gaps, outliers, cells, embeddings, files):
        figure, axis = plt.subplots(figsize=(3.6, 2.0), layout="constrained")
        draw(axis)
        if draw is not embeddings:
            axis.set(xticks=[], yticks=[])
        axis.spines[["top", "right"]].set_visible(False)
        figure.savefig(FOLDER / f"card-{draw.__name__}.png", dpi=160)
