"""What a page and a plot show of a fitted model."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

FEW_ROWS = 10  # per component: with fewer, the components are uncertain
DOMINANT = 0.8  # of all variance in one column
DRIFT = 4.5  # standard errors
BIPLOT_COLUMNS = 12
SMOOTH = 0.3  # correlation of neighbouring columns above which they count as pixels


@dataclass(frozen=True)
class Portrait:
    """Everything that is shown, read from a fitted estimator."""

    names: list[str]  # of the columns
    components: NDArray[np.floating]  # (k, d)
    ratio: NDArray[np.floating]  # (k,), shares of the variance
    variance: NDArray[np.floating]  # (k,)
    curve: NDArray[np.float64]  # (p, 3): rows, share captured before learning, standard error
    points: NDArray[np.float64]  # (s, m): a sample of rows along the first components
    numbers: NDArray[np.int64]  # (s,): which rows these are
    errors: NDArray[np.float64]  # (s,): their squared distances from the subspace
    largest: NDArray[np.intp]  # which of the points have the largest errors
    grid: tuple[int, int] | None  # height and width of images, if columns are pixels
    captured: str  # a sentence
    chosen: str  # how the components were found, in words
    warnings: list[str]

    @property
    def has_points(self) -> bool:
        """Whether rows can be drawn along two components."""
        return len(self.points) > 0 and self.points.shape[1] > 1

    @property
    def arrows(self) -> dict[str, NDArray[np.float64]]:
        """Weights (2,) of each column, the arrows of a biplot; none if there are many columns."""
        if len(self.names) > BIPLOT_COLUMNS or not self.has_points:
            return {}
        return dict(zip(self.names, self.components[:2].T.astype(np.float64), strict=True))

    def leading(self, columns: int, components: int) -> tuple[list[str], NDArray[np.float64]]:
        """Return the names of the columns with the largest weights, and their weights."""
        weights = self.components[:components].astype(np.float64)
        chosen = np.sort(np.abs(weights).max(axis=0).argsort()[::-1][:columns])
        return [self.names[j] for j in chosen], weights[:, chosen]


def portray(model: Any, grid: tuple[int, int] | None = None) -> Portrait:
    """Return what is shown of a fitted estimator."""
    components, learner = model.components_, model._settled()
    sample, scale = learner.sample, getattr(model, "scale_", None)
    given = getattr(model, "feature_names_in_", None)
    names = [f"column {j}" for j in range(components.shape[1])]
    if given is not None:
        names = [str(name) for name in given]
    elif grid is None:
        grid = find_grid(components)
    return Portrait(
        names,
        components,
        model.explained_variance_ratio_,
        model.explained_variance_,
        learner.curve(),
        sample.along(components if scale is None else components / scale, model.mean_),
        sample.numbers,
        sample.errors,
        sample.largest(),
        grid,
        _captured(model),
        _chosen(model),
        _warnings(model, names),
    )


def describe(model: Any) -> str:
    """Return the size of a fitted model in words."""
    return (
        f"{model.n_components_} components of {model.n_features_in_:,} columns, "
        f"{model.n_samples_seen_:,} rows"
    )


def find_grid(components: NDArray[np.floating]) -> tuple[int, int] | None:
    """Return height and width if columns look like the pixels of square images.

    Examples
    --------
    >>> import numpy as np
    >>> wave = np.sin(np.arange(16) / 3)
    >>> find_grid(np.outer(wave, wave).reshape(1, 256))
    (16, 16)
    >>> find_grid(np.random.default_rng(0).normal(size=(1, 256))) is None
    True
    """
    side = math.isqrt(components.shape[1])
    if side * side != components.shape[1] or side < 8:
        return None
    images = components[:4].reshape(-1, side, side).astype(np.float64)
    for turned in (images, images.swapaxes(1, 2)):
        first, second = turned[:, 1:].ravel(), turned[:, :-1].ravel()
        if not first @ second > SMOOTH * np.linalg.norm(first) * np.linalg.norm(second):
            return None
    return side, side


def _captured(model: Any) -> str:
    """Return the progressive estimate as a sentence."""
    captured = model.captured_
    if not math.isfinite(captured.mean):
        return "There were too few rows to score any before it was learned from."
    bounded = getattr(model, "chosen_", None) is not None and model.chosen_.name == "bounded"
    return (
        f"Each row was scored before it was learned from, as if it were held out. Of new rows like "
        f"these, the components capture {captured.mean:.2%} ± {captured.standard_error:.2%} of the "
        "variance."
        + bounded
        * " Here large rows count in full, unlike in the picture of variances."
    )


def _chosen(model: Any) -> str:
    """Return how the components were found, in words."""
    chosen = getattr(model, "chosen_", None)
    if chosen is None:
        return f"{type(model).__name__} has learned the components row by row."
    if chosen.lost_by_plain <= 0.0:
        return str(chosen)
    return (
        f"{chosen} On rows not yet learned from, ordinary PCA would have captured "
        f"{chosen.lost_by_plain:.2%} less of a row on average (evidence: {chosen.share:.1f} "
        "standard errors)."
    )


def _warnings(model: Any, names: list[str]) -> list[str]:
    """Return reasons to doubt the components."""
    found = []
    n, k = model.n_samples_seen_, model.n_components_
    if n < FEW_ROWS * k:
        found.append(
            f"Few rows: {n:,} for {k} components. Other rows may give other components; have at "
            f"least {FEW_ROWS * k:,}."
        )
    variances = getattr(model, "var_", None)
    scaled = getattr(model, "scale", False)
    if variances is not None and not scaled and len(variances) > 1 and variances.sum() > 0:
        share = float(variances.max() / variances.sum())
        if share > DOMINANT:
            found.append(
                f"One column dominates: {names[int(variances.argmax())]} has {share:.0%} of all "
                "variance. If columns have different units, fit with scale=True (--scale)."
            )
    chosen = getattr(model, "chosen_", None)
    if chosen is not None and chosen.drift > DRIFT and getattr(model, "half_life", None) is None:
        found.append(
            f"The stream drifts: neighbouring rows resemble each other ({chosen.drift:.1f} "
            "standard errors). If the latest rows matter most, fit with half_life."
        )
    return found
