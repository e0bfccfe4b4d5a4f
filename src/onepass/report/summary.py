"""What a page and a plot show of a fitted model."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from onepass.report.rows import draw_rows

ROWS_PER_COMPONENT = 10  # per component: with fewer, the components are uncertain
BIPLOT_COLUMNS = 12  # of a biplot at most: the labels of more arrows cover each other
MOST_MISSING = 10  # columns that are listed with their share of missing entries: half a screen
SMOOTH = 0.3  # correlation of neighbouring columns above which they count as pixels

Lines: TypeAlias = Callable[[NDArray[np.int64]], list[str] | None]


class Summary:
    """Everything that is shown of a fitted estimator, with k components of d columns.

    `X` has the rows that are drawn, if there are any. `grid` is the height and width of images, if
    columns are pixels. `lines` takes the numbers of rows, counted from 0, and returns their lines
    in files, or None if there are no lines.
    """

    def __init__(
        self,
        model: Any,
        X: Any = None,
        grid: tuple[int, int] | None = None,
        lines: Lines | None = None,
    ) -> None:
        self.components: NDArray[np.floating] = model.components_  # (k, d)
        self.names = [f"column {j}" for j in range(self.components.shape[1])]
        if hasattr(model, "feature_names_in_"):
            self.names = [str(name) for name in model.feature_names_in_]
        if grid is None and all(name[-1:].isdigit() for name in self.names):  # as those of pixels
            grid = find_grid(self.components)
        self.grid = grid
        self.ratio: NDArray[np.floating] = model.explained_variance_ratio_  # (k,)
        self.variance: NDArray[np.floating] = model.explained_variance_  # (k,)
        fitted = model.model_
        self.curve = fitted.curve  # (p, 3): rows, share captured of new rows, standard error
        self.rows = None if X is None else draw_rows(model, X)
        numbers = np.zeros(0, np.int64) if self.rows is None else self.rows.numbers
        found = lines(numbers) if lines is not None and self.rows is not None else None
        self.counts_lines = found is not None
        self.labels = [f"{number + 1:,}" for number in numbers] if found is None else found
        self.known_variances = known_variances(model)  # of the components, and of others
        # A robust learner knows the variances of ordinary PCA; a model alone those of its own.
        self.is_robust = getattr(model, "robust", False) and model.learner_ is not None
        self.missing = missing_entries(model)
        shares = model.missing_share_
        most = np.argsort(-shares, kind="stable")[:MOST_MISSING]
        self.missing_columns = [(self.names[j], float(shares[j])) for j in most if shares[j] > 0.0]
        self.captured, self.method = _captured(model), method_words(model)
        self.warnings = _warnings(model, self.names)

    @property
    def has_points(self) -> bool:
        """Whether rows can be drawn along two components."""
        return self.rows is not None and self.rows.points.shape[1] > 1

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


def describe(model: Any) -> str:
    """Return the size of a fitted model in words."""
    return (
        f"{counted(model.n_components_, 'component')} of "
        f"{counted(model.n_features_in_, 'column')} from {counted(model.n_samples_seen_, 'row')}"
    )


def counted(number: int, noun: str) -> str:
    """Return a number of things: 1 row, 2,000 rows."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def shortened(names: Sequence[str], most: int = 6) -> str:
    """Return the first names as text; an empty one, as pandas' index has it, is ''."""
    return ", ".join(name or "''" for name in names[:most]) + ", ..." * (len(names) > most)


def find_grid(components: NDArray[np.floating]) -> tuple[int, int] | None:
    """Return height and width if columns look like the pixels of square images.

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
    if not captured.is_known:
        return f"How much the components capture of new rows is not known: {captured.reason}."
    return (
        f"Each row was evaluated before it was learned from, as if it were held out. Of new rows "
        f"like these, the components capture {captured.mean:.2%} ± {captured.standard_error:.2%} "
        "of the variance."
    )


def method_words(model: Any) -> str:
    """Return how the components were found, in words."""
    if getattr(model, "robust", False):
        return "Robust PCA: for the components, no row counts with more than a typical length."
    if hasattr(model, "var_"):
        return "Ordinary PCA."
    return f"{type(model).__name__} has learned the components row by row."


def known_variances(model: Any) -> NDArray[np.floating]:
    """Return the variances along all directions of which they are known, largest first.

    Of a model without learner they are those of the components.
    """
    learner = model.learner_
    return model.explained_variance_ if learner is None else learner.known_variances()


def missing_counts(model: Any) -> dict[str, Any]:
    """Return how many entries are missing, in how many rows and columns."""
    gaps, shares = model.model_.missing, model.missing_share_
    return {
        "entries": 0 if gaps is None else round(float(shares.sum()) * gaps.rows),
        "share": float(shares.mean()),
        "rows": 0 if gaps is None else gaps.incomplete,
        "columns": int(np.count_nonzero(shares)),
        "empty_rows": 0 if gaps is None else gaps.empty,
    }


def missing_entries(model: Any) -> str:
    """Return how much is missing where, in words; an empty text if nothing is."""
    gaps, shares, found = model.model_.missing, model.missing_share_, missing_counts(model)
    if gaps is None:
        return ""
    rows, worst = round(gaps.rows), int(shares.argmax())
    text = (
        f"{found['entries']:,} of {rows * len(shares):,} entries are missing "
        f"({found['share']:.2%}), in {found['rows']:,} of {counted(rows, 'row')} and "
        f"{found['columns']:,} of {counted(len(shares), 'column')}"
    )
    if found["entries"]:
        text += f", most in column {model.column_names_[worst]} ({shares[worst]:.1%})"
    if gaps.empty:
        text += f"; {counted(gaps.empty, 'row')} without any entry left out"
    return text


def _warnings(model: Any, names: list[str]) -> list[str]:
    """Return reasons to doubt the components."""
    found = []
    n, k = model.n_samples_seen_, model.n_components_
    if n < ROWS_PER_COMPONENT * k:
        found.append(
            f"Few rows: {n:,} for {k} components. Other rows may give other components; use at "
            f"least {ROWS_PER_COMPONENT * k:,}."
        )
    if dominant := model.model_.dominant():
        column, share = dominant
        given = getattr(model, "feature_names_in_", range(len(names)))[column]
        found.append(
            f"One column dominates: {names[column]} has {share:.0%} of all variance. If columns "
            "have different units, fit with scale=True (--scale). If it is an id, leave it out "
            f"(--exclude {shlex.quote(str(given))})."
        )
    return found
