"""Some rows to look at: drawn at random, and those with the largest errors along a final model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onepass.gaps.counts import any_gap
from onepass.model import Model

DRAWN_ROWS = 400  # at random: as many points as a picture shows apart
LARGEST_ROWS = 12  # with the largest errors: what a page lists
NAMED_COLUMNS = 3  # of such a row, with the largest parts of its error


@dataclass(frozen=True)
class RowTexts:
    """What is written in files beside rows.

    Attributes
    ----------
    lines : list of str or None
        Their lines, as an editor shows them; None if files have no lines.
    labels, colours : list or None
        Values of the columns that label and colour points.
    label, colour : str
        The names of these columns.
    """

    lines: list[str] | None = None
    labels: list[str] | None = None
    colours: list[Any] | None = None
    label: str = ""
    colour: str = ""


@dataclass(frozen=True)
class DrawnRows:
    """Rows of data along the components of a fitted model.

    Attributes
    ----------
    numbers : ndarray of shape (s,)
        Positions in the data, counted from 0.
    points : ndarray of shape (s, k)
        Coordinates, as `transform` returns them.
    errors : ndarray of shape (s,)
        Squared distances from the subspace.
    largest : ndarray of shape (l,)
        Which of these rows have the largest errors, largest first.
    parts : list of list of (int, float)
        For each of them the columns that contribute most to its error, and their shares of it.
    """

    numbers: NDArray[np.int64]
    points: NDArray[np.floating]
    errors: NDArray[np.float64]
    largest: NDArray[np.intp]
    parts: list[list[tuple[int, float]]]


def draw_rows(fitted: Any, X: Any) -> DrawnRows:
    """Return some of the rows of X, which is what `transform` of a fitted estimator takes.

    Which rows are drawn depends on their positions alone, and not on how they are split.
    """
    model: Model = fitted.model_
    rng = np.random.default_rng(0)
    numbers, priorities, errors = np.zeros(0, np.int64), np.zeros(0), np.zeros(0)
    points, before = np.zeros((0, model.k)), 0
    outliers: dict[int, list[tuple[int, float]]] = {}
    for block in fitted.checked(X):
        found = np.nan_to_num(model.reconstruction_error(block))
        offered = rng.random(len(found))
        least = np.sort(priorities)[DRAWN_ROWS - 1] if len(numbers) >= DRAWN_ROWS else np.inf
        large = np.sort(errors)[-LARGEST_ROWS] if len(numbers) >= LARGEST_ROWS else 0.0
        new = np.flatnonzero((offered < least) | (found > large))
        if len(new):
            points = np.vstack([points, model.transform(block[new])])
            numbers = np.concatenate([numbers, before + new])
            priorities = np.concatenate([priorities, offered[new]])
            errors = np.concatenate([errors, found[new]])
            largest = _largest(errors)
            kept = np.zeros(len(numbers), dtype=bool)
            kept[np.argsort(priorities, kind="stable")[:DRAWN_ROWS]] = kept[largest] = True
            here = numbers[largest]
            here = here[here >= before]
            parts = _parts(model, block[here - before]) if len(here) else []
            outliers |= zip(here.tolist(), parts, strict=True)
            numbers, priorities, errors = numbers[kept], priorities[kept], errors[kept]
            points = points[kept]
        before += len(found)
    largest = _largest(errors)
    return DrawnRows(
        numbers, points, errors, largest, [outliers[number] for number in numbers[largest].tolist()]
    )


def _largest(errors: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return where the largest errors are, largest first; rows without an error do not count."""
    order = np.argsort(-errors, kind="stable")[:LARGEST_ROWS]
    return order[errors[order] > 0.0]


def _parts(model: Model, rows: Any) -> list[list[tuple[int, float]]]:
    """Return the columns that contribute most to the error of each row (r, d), and their shares."""
    given = rows if isinstance(rows, np.ndarray) else rows.toarray()
    rest = model.filled(given) - model.inverse_transform(model.transform(given))
    squares = (rest / (1.0 if model.scale is None else model.scale)) ** 2
    if any_gap(given):
        squares[np.isnan(given)] = 0.0
    found = []
    for row in squares:
        leading = np.argsort(-row, kind="stable")[:NAMED_COLUMNS]
        found.append([(int(j), float(row[j] / row.sum())) for j in leading if row[j] > 0.0])
    return found
