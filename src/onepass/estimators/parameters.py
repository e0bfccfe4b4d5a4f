"""Checks of parameters, and of the numbers of components that estimators can be asked for."""

from __future__ import annotations

from collections.abc import Collection
from numbers import Integral
from typing import Any

import numpy as np

from onepass.schedules import is_positive

# Rows: with less, a row has lost all its digits, 2^-100 of its weight, when the next one comes.
LEAST_HALF_LIFE = 0.01


def is_whole(value: Any) -> bool:
    """Return whether a value is a whole number."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def check_whole(name: str, value: Any, least: int = 1) -> None:
    """Refuse a value that is not a whole number of at least `least`."""
    if not is_whole(value) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}")


def check_bool(name: str, value: Any) -> None:
    """Refuse a value that is neither True nor False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, got {value!r}")


def check_option(name: str, value: Any, options: Collection[Any]) -> None:
    """Refuse a value that is not one of the options."""
    if not isinstance(value, str | bool) or value not in options:
        listed = ", ".join(map(repr, options))
        raise ValueError(f"{name} must be one of {listed}, got {value!r}")


def check_half_life(value: Any) -> None:
    """Refuse a value that is neither None nor a number of rows that leaves anything of them."""
    if value is not None and not (is_positive(value) and value >= LEAST_HALF_LIFE):
        raise ValueError(
            f"half_life must be a number of rows of at least {LEAST_HALF_LIFE}, or None; "
            f"got {value!r}"
        )


def check_component_count(value: Any, *, shares: bool, none: bool) -> None:
    """Refuse what is no number of components, share of the variance or None, where these may be."""
    is_share = is_positive(value) and float(value) < 1.0
    if (is_whole(value) and value >= 1) or (none and value is None) or (shares and is_share):
        return
    wanted = "a whole number of at least 1"
    wanted += ", a share of the variance between 0 and 1" * shares
    wanted += ", or None for as many as there are" * none
    raise ValueError(f"n_components must be {wanted}; got {value!r}")


def is_same(ours: Any, theirs: Any) -> bool:
    """Return whether two values of a parameter are equal; they may be arrays."""
    if ours is theirs:
        return True
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    return bool(ours.shape == theirs.shape and np.all(ours == theirs))


def component_count(k: int, d: int) -> int:
    """Return the number k of components, which cannot be more than the d columns."""
    if k > d:
        raise ValueError(f"n_components={k} is more than the n_features={d} of X")
    return int(k)
