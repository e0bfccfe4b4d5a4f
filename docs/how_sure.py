"""Draw the pictures of the guide's page "How sure is it?".

``python docs/how_sure.py`` writes ``how-sure-loadings.png``, ``how-sure-components.png`` and
``how-sure-rows.png`` into ``docs/_static``.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from scipy.signal import lfilter
from scipy.stats import t as student_t
from sklearn.datasets import load_wine

from onepass import PCA

FOLDER = Path(__file__).parent / "_static"
BLUE, ORANGE, GREY = "#0072B2", "#E69F00", "#B0B0B0"


def loadings() -> Figure:
    """Return the loadings of two components of wines, with their intervals."""
    wine = load_wine()
    model = PCA(2, scale=True).fit(wine.data)
    width = student_t.ppf(0.975, model.degrees_of_freedom_) * model.components_error_
    names = np.array([name.split("/")[0].replace("_", " ") for name in wine.feature_names])
    figure, axes = plt.subplots(1, 2, figsize=(7, 3.7), layout="constrained", sharex=True)
    for j, axis in enumerate(axes):
        order = np.argsort(np.abs(model.components_[j]))
        values, errors = model.components_[j, order], width[j, order]
        colours = np.where(np.abs(values) > errors, BLUE, GREY)
        axis.barh(names[order], values, color=colours, height=0.7)
        axis.errorbar(values, names[order], xerr=errors, fmt="none", ecolor="#333333", lw=1.2)
        axis.axvline(0.0, color="#333333", lw=0.8)
        axis.set_title(f"component {j}, known to {model.angle_[j]:.0f}°", fontsize=11, loc="right")
        axis.spines[["top", "right", "left"]].set_visible(False)
        axis.tick_params(left=False, labelsize=9)
    figure.supxlabel("loading with 95% interval; grey: may be zero", fontsize=10)
    return figure


def components() -> Figure:
    """Return variances with intervals, of which two cannot be told apart, and angles."""
    rng = np.random.default_rng(2)
    variances = np.r_[9.0, 4.0, 4.0, 2.0, np.full(16, 1.0)]
    model = PCA(6).fit(rng.normal(size=(2000, 20)) * np.sqrt(variances))
    width = student_t.ppf(0.975, model.degrees_of_freedom_) * model.explained_variance_error_
    numbers = np.arange(6)
    figure, axes = plt.subplots(1, 2, figsize=(7, 2.9), layout="constrained")
    axes[0].errorbar(numbers, model.explained_variance_, yerr=width, fmt="o", color=BLUE, lw=1.5)
    axes[0].set(xlabel="component", ylabel="variance with 95% interval", ylim=(0, None))
    clear = model.angle_ <= 45.0
    axes[1].bar(numbers, model.angle_, color=np.where(clear, BLUE, GREY), width=0.6)
    axes[1].axhline(45.0, color="#333333", lw=0.8, ls="--")
    axes[1].set(xlabel="component", ylabel="angle, degrees", ylim=(0, 95))
    for axis in axes:
        axis.set_xticks(numbers)
        axis.spines[["top", "right"]].set_visible(False)
    return figure


def rows() -> Figure:
    """Return the angles said and the true ones of a time series, while rows come."""
    rng = np.random.default_rng(5)
    d, deviations = 12, 1.0 / np.arange(1, 13) ** 0.5
    series = lfilter([0.6], [1.0, -0.8], rng.normal(size=(40_000, d)), axis=0) * deviations
    model, seen, said, true = PCA(2), [], [], []
    for n in np.unique(np.geomspace(200, 40_000, 25).astype(int)):
        model.partial_fit(series[seen[-1] if seen else 0 : n])
        seen.append(n)
        said.append(model.angle_)
        true.append(np.degrees(np.arccos(np.abs(model.components_[:, :2].diagonal()))))
    figure, axis = plt.subplots(figsize=(7, 3.2), layout="constrained")
    for j, colour in enumerate((BLUE, ORANGE)):
        axis.plot(seen, np.array(said)[:, j], color=colour, label=f"component {j}: angle_")
        axis.plot(seen, np.array(true)[:, j], "o", color=colour, ms=4, label="true angle")
    axis.axhline(2.0, color="#333333", lw=0.8, ls="--")
    axis.set(xscale="log", yscale="log", xlabel="rows", ylabel="degrees")
    axis.set_yticks([1, 2, 5, 10, 20, 50], ["1", "2", "5", "10", "20", "50"])
    axis.legend(frameon=False, ncols=2)
    axis.spines[["top", "right"]].set_visible(False)
    return figure


if __name__ == "__main__":
    for name, draw in (("loadings", loadings), ("components", components), ("rows", rows)):
        draw().savefig(FOLDER / f"how-sure-{name}.png", dpi=110)
