"""What `fit` warns of: results that the rows do not determine."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from onepass.model import Model

MUCH_MISSING = 0.3  # of the entries, above which completing them makes errors several times larger
DOMINANT = 0.8  # of all variance in one column: it is then nearly the first component by itself
NOTHING_VARIES = "nothing varies, so components are arbitrary"


def arbitrary_components(model: Model, k: int, *, center: bool) -> str:
    """Return how many of k components the rows determine, if not all; else an empty string."""
    rows = model.rows
    spanned = rows - int(center)
    if spanned < k:
        others = "the others are arbitrary" if model.k >= k else f"there are {model.k}"
        return (
            f"{rows} row{'s' * (rows != 1)}{', centred,' * center} can only determine {spanned} "
            f"of n_components={k}: {others}; pass more rows, or ask for fewer components"
        )
    if model.total_variance > 0.0:
        return ""
    return f"{spanned_directions(model, 0)}: {NOTHING_VARIES}"


def without_variance(model: Model) -> str:
    """Return that some components have no variance; an empty string if all have."""
    found = int(np.count_nonzero(model.explained_variance))
    if found == model.k:
        return ""
    return (
        f"{spanned_directions(model, found)}: {model.k - found} of {model.k} components have none"
    )


def fewer_components(model: Model, *, center: bool) -> str:
    """Return that not all components are kept, which were asked for; else an empty string."""
    if model.k >= min(model.rows - int(center), model.d):
        return ""
    return (
        f"only {model.k} components are kept of {model.d:,} columns: pass n_components to say how "
        "many you need"
    )


def one_column(model: Model, names: Sequence[str | int]) -> str:
    """Return that one column has nearly all of the variance; else an empty string.

    Columns that count the rows are named, too: they are likely to be the next one.
    """
    variances = model.column_variances
    if variances is None or model.scale is not None or model.d == 1 or not variances.any():
        return ""
    column = int(variances.argmax())
    share = float(variances[column] / variances.sum())
    if share <= DOMINANT:
        return ""
    counting = row_numbers(model)
    others = [j for j in counting if j != column]
    exclude = shlex.quote(",".join(str(names[j]) for j in (column, *others)))
    return (
        f"column {names[column]!r}{' counts the rows and' * (column in counting)} has {share:.1%} "
        "of the variance, which hides the other columns"
        + "".join(f", and column {names[j]!r} counts the rows" for j in others)
        + ": if their units differ, pass scale=True (--scale); if it is an id, leave it out "
        f"(--exclude {exclude})"
    )


def row_numbers(model: Model) -> list[int]:
    """Return the columns with the mean and the variance of 0 to n - 1, or of 1 to n."""
    n, mean, variances = model.rows, model.mean.astype(np.float64), model.column_variances
    if variances is None or not model.center:
        return []
    counts = np.isclose(variances, (n**2 - 1) / 12, rtol=1e-9, atol=0.0)
    counts &= np.isclose(np.abs(mean - n / 2), 0.5, rtol=1e-9, atol=1e-9 * n)
    return [int(j) for j in np.flatnonzero(counts)]


def spanned_directions(model: Model, directions: int) -> str:
    """Return how many directions the rows span, in words, as far as can be told."""
    rows, most = model.rows, min(model.rows - int(model.center), model.d)
    words = f"{rows} row{' spans' if rows == 1 else 's span'} {directions} "
    words += f"direction{'s' * (directions != 1)} only"
    if 0 < directions < most:
        words += ", or variance along others is below what 16 digits can tell from the first"
    return words


def doubtful_gaps(model: Model, names: Sequence[str | int]) -> str:
    """Return why results depend on how gaps were filled; an empty string if they hardly do."""
    if model.missing is None:
        return ""
    if len(model.missing.apart):
        one, other = (repr(names[column]) for column in model.missing.apart)
        return (
            f"columns {other} and {one} were never observed in the same row: how they vary "
            "together is a guess"
        )
    shares = model.missing.missing_share
    if shares.mean() > MUCH_MISSING:
        worst = int(shares.argmax())
        return (
            f"{shares.mean():.0%} of the entries are missing, most in column "
            f"{names[worst]!r} ({shares[worst]:.0%}): components depend on how they are filled"
        )
    return ""


def check_observed(model: Model, names: Sequence[str | int]) -> None:
    """Refuse a model of columns of which nothing, or a single entry, is known."""
    counts = model.missing
    assert counts is not None
    if not counts.rows:
        raise ValueError(f"none of {model.rows:,} rows has an entry: all are missing")
    unknown = [names[column] for column in np.flatnonzero(counts.observed < 2).tolist()]
    if unknown:
        listed = ", ".join(map(repr, unknown))
        exclude = shlex.quote(",".join(map(str, unknown)))
        columns, its = ("column", "its") if len(unknown) == 1 else ("columns", "their")
        raise ValueError(
            f"{columns} {listed}: fewer than two of {counts.rows:,.0f} rows have an entry, so "
            f"{its} variance cannot be estimated; leave such columns out, of files with "
            f"exclude=[{listed}] (--exclude {exclude})"
        )


def far_fills(counts: NDArray[np.intp], names: Sequence[str | int]) -> str:
    """Return how many fills are far from all observed entries; an empty string if none is.

    `counts` (d,) are those of the columns.
    """
    total, worst = int(counts.sum()), int(counts.argmax())
    if not total:
        return ""
    column = f"column {names[worst]!r}"
    if counts[worst] < total:
        column = f"its column, most in {column},"
    fills = f"{total:,} fill{' is' if total == 1 else 's are'}"
    return (
        f"{fills} beyond the observed range of {column} by more than its width: these rows are "
        "unlike those that the model was fitted on"
    )
