"""What is said of a fitted model, in sentences and numbers: by a page, a plot and the commands."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

SMOOTH = 0.3  # correlation of neighbouring columns above which they count as pixels
# A component is described by the columns with the largest weights: so many, of which each has at
# least so much of the first one's.
MOST_TOLD, LEAST_TOLD = 3, 0.25


def column_names(model: Any) -> list[str]:
    """Return the names of the columns; those without names are called by their numbers."""
    if hasattr(model, "feature_names_in_"):
        return [str(name) for name in model.feature_names_in_]
    return [f"column {j}" for j in range(model.n_features_in_)]


def component_words(model: Any, component: int) -> str:
    """Return which columns a component sets against which: its largest weights in words.

    Weights that cannot be told from zero are left out.
    """
    names, sure = column_names(model), model.model_.standard_errors
    weights = np.asarray(model.components_[component], dtype=np.float64)
    order = np.argsort(-np.abs(weights), kind="stable")[:MOST_TOLD]
    least = LEAST_TOLD * abs(weights[order[0]])
    is_zero = sure.may_be_zero(model.components_)[component]
    chosen = [j for j in order if abs(weights[j]) > least and not is_zero[j]]
    if not chosen:
        return "no column by itself can be told from zero"
    sides = [[names[j] for j in chosen if sign * weights[j] > 0.0] for sign in (1.0, -1.0)]
    if weights[chosen[0]] < 0.0:
        sides.reverse()
    return " against ".join(together(side) for side in sides if side)


def together(names: Sequence[str]) -> str:
    """Return names in words; a first word that all share is said once.

    >>> together(["petal width", "petal length"])
    'petal width and length'
    >>> together(["age", "", "income"])
    "age, '' and income"
    """
    first, *others = [name or "''" for name in names]
    start, _, rest = first.partition(" ")
    if others and rest and all(other.startswith(f"{start} ") for other in others):
        others = [other[len(start) + 1 :] for other in others]
    *most, last = [first, *others]
    return f"{', '.join(most)} and {last}" if most else last


def describe(model: Any) -> str:
    """Return the size of a fitted model in words."""
    return (
        f"{counted(model.n_components_, 'component')} of "
        f"{counted(model.n_features_in_, 'column')} from {rows_read(model)}"
    )


def rows_read(model: Any) -> str:
    """Return how many rows were read, and of how many if reading stopped before the last of them.

    That is None where it did not, and 0 where nobody knows.
    """
    rows, there = model.n_samples_seen_, model.origin_.rows_there
    if there:
        return f"{rows:,} of about {there:,} rows"
    return counted(rows, "row") + ", not all there are" * (there is not None)


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


def expectation(model: Any) -> str:
    """Return how much of new rows a model captures, or why that is not known."""
    found = model.captured_
    if not found.is_known:
        return f"an unknown share of the variance of new rows: {found.reason}"
    return f"{found.mean:.2%} ± {found.standard_error:.2%} of the variance of new rows"


def method_words(model: Any) -> str:
    """Return how the components were found, in words."""
    if getattr(model, "robust", False):
        return "Robust PCA: the influence of long rows on the components is bounded."
    if hasattr(model, "var_"):
        return "Ordinary PCA."
    return f"{model.algorithm_} learned the components row by row."


def remarks(model: Any) -> list[str]:
    """Return sentences on what decides how far the components can be trusted."""
    found = [f"{text[0].upper()}{text[1:]}." for text in model.model_.standard_errors.indistinct()]
    share = model.model_.long_rows
    if not (getattr(model, "robust", True) or math.isnan(share)):
        long = f"The longest 1% of the rows hold {share:.0%} of the variance"
        found.append(f"{long}; --robust describes the others.")
    return found


def drift(model: Any) -> str:
    """Return whether the share captured drifts along the stream; an empty text if it is unknown."""
    found = model.model_.standard_errors.drift
    if math.isnan(found.statistic):
        return ""
    measured = f"(F = {found.statistic:.3g}, p = {found.probability:.2g})"
    if not found.is_there:
        return f"The share captured does not drift along the stream {measured}."
    return (
        f"The share captured drifts along the stream {measured}: it describes rows like all of "
        "these, not the next ones."
    )


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
