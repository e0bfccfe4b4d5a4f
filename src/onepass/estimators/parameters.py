"""Checks of constructor parameters."""

from __future__ import annotations

from collections.abc import Collection
from math import isfinite
from numbers import Integral, Real
from typing import Any


def is_whole(value: Any) -> bool:
    """Return whether a value is a whole number."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_positive(value: Any) -> bool:
    """Return whether a value is a finite number above zero."""
    if not isinstance(value, Real) or isinstance(value, bool):
        return False
    return 0.0 < float(value) and isfinite(value)


def check_whole(name: str, value: Any, least: int = 1) -> None:
    """Refuse a value that is not a whole number of at least `least`."""
    if not is_whole(value) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}")


def check_positive(name: str, value: Any) -> None:
    """Refuse a value that is not a finite number above zero."""
    if not is_positive(value):
        raise ValueError(f"{name} must be a positive number, got {value!r}")


def check_bool(name: str, value: Any) -> None:
    """Refuse a value that is neither True nor False."""
    if not isinstance(value, bool) and type(value).__name__ != "bool":
        raise ValueError(f"{name} must be True or False, got {value!r}")


def check_option(name: str, value: Any, options: Collection[Any]) -> None:
    """Refuse a value that is not one of the options."""
    if not any(
        value is option or (isinstance(value, str) and value == option) for option in options
    ):
        listed = ", ".join(map(repr, options))
        raise ValueError(f"{name} must be one of {listed}, got {value!r}")
