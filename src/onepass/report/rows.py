"""Some rows to look at: drawn at random, and those with the largest errors along a final model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from onepass.gaps.counts import any_gap
from onepass.model import Model
from onepass.precision import Doubles

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


# Takes the numbers of rows, which count from 0, and returns what is written in files beside them.
Beside: TypeAlias = Callable[[NDArray[np.int64]], RowTexts]


@dataclass(frozen=True)
class DrawnRows:
    """Rows of data along the components of a fitted model.

    Attributes
    ----------
    places, labels : list of str
        Where the rows are in the data, counted from 1, or their lines; and what they are called.
    texts : RowTexts
        What is beside them.
    points : ndarray of shape (s, k)
        Coordinates, as `transform` returns them.
    errors : ndarray of shape (s,)
        Squared distances from the subspace.
    largest : ndarray of shape (l,)
        Which of these rows have the largest errors, largest first.
    parts : list of list of (int, float)
        For each of them the columns that contribute most to its error, and their shares of it.
    """

    places: list[str]
    labels: list[str]
    texts: RowTexts
    points: Doubles
    errors: Doubles
    largest: NDArray[np.intp]
    parts: list[list[tuple[int, float]]]


def draw_rows(fitted: Any, X: Any, beside: Beside | None) -> DrawnRows:
    """Return some of the rows of X, which is what `transform` of a fitted estimator takes.

    Which rows are drawn depends on their positions alone, and not on how they are split.
    """
    model: Model = fitted.model_
    rng = np.random.default_rng(0)
    drawn, before = np.zeros((0, 3 + model.k)), 0  # number, priority, error, and coordinates
    parts: dict[int, list[tuple[int, float]]] = {}
    for block in fitted.checked(X):
        errors = np.nan_to_num(model.reconstruction_error(block))
        priorities = rng.random(len(errors))
        new = _kept(priorities, errors)
        points = model.transform(block[new])
        found = np.column_stack([before + new, priorities[new], errors[new], points])
        drawn = np.vstack([drawn, found])
        drawn = drawn[_kept(drawn[:, 1], drawn[:, 2])]
        far = drawn[_largest(drawn[:, 2]), 0].astype(np.int64)
        far = far[far >= before]
        parts |= zip(far.tolist(), _parts(model, block[far - before]), strict=True)
        before += len(errors)
    numbers, errors = drawn[:, 0].astype(np.int64), drawn[:, 2]
    largest = _largest(errors)
    texts = RowTexts() if beside is None else beside(numbers)
    places = texts.lines or [f"{number + 1:,}" for number in numbers]
    named = [parts[number] for number in numbers[largest].tolist()]
    return DrawnRows(places, texts.labels or places, texts, drawn[:, 3:], errors, largest, named)


def _kept(priorities: Doubles, errors: Doubles) -> NDArray[np.intp]:
    """Return which rows are drawn, in their order."""
    return np.union1d(np.argsort(priorities, kind="stable")[:DRAWN_ROWS], _largest(errors))


def _largest(errors: Doubles) -> NDArray[np.intp]:
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
