"""Parameters of estimators: from the fields of a class to its constructor, and their checks."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import partial, wraps
from numbers import Integral
from typing import Any, TypeVar, dataclass_transform

import numpy as np

from onepass import ESTIMATORS
from onepass.estimators.documentation import complete
from onepass.schedules import Schedule, check_positive, is_positive

# Parameters of scikit-learn's decompositions that have no meaning here, and what to do instead.
_RANDOMISED = "nothing is randomised; leave it out"
FOREIGN = {
    "svd_solver": "the solver is chosen for the data; leave it out",
    "batch_size": "how rows are split changes no result; leave it out",
    "iterated_power": _RANDOMISED,
    "n_oversamples": _RANDOMISED,
    "power_iteration_normalizer": _RANDOMISED,
    "random_state": "nothing is random; leave it out",
    "tol": "there is no tolerance to choose; leave it out",
    "whiten": "onepass.PCA has it",
    "scale": "onepass.PCA has it",
    "half_life": "onepass.PCA has it",
    "center": "onepass.PCA has it",
    "robust": "onepass.PCA has it",
    "verbose": "onepass.PCA has it",
}
Class = TypeVar("Class", bound=type)


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field,))
def estimator(cls: Class) -> Class:
    """Turn the fields of a class into its parameters, and complete its docstring."""
    docstring = cls.__doc__  # None with python -OO
    dataclass(cls, kw_only=True, eq=False, repr=False)
    cls.__init__ = _explain_foreign(cls.__init__)  # type: ignore[misc]
    if docstring is not None and cls.__name__ in ESTIMATORS:
        cls.__doc__ = complete(docstring, cls)
    return cls


def _explain_foreign(init: Callable[..., None]) -> Callable[..., None]:
    """Return an `__init__` that says what to do about parameters of other estimators."""
    known = inspect.signature(init).parameters

    @wraps(init)
    def explained(self: Any, *args: Any, **kwargs: Any) -> None:
        for name in kwargs:
            if name not in known and name in FOREIGN:
                kind = type(self).__name__
                raise TypeError(f"{kind} has no parameter {name!r}: {FOREIGN[name]}")
        init(self, *args, **kwargs)

    return explained


# Rows: with less, a row has lost all its digits, 2^-100 of its weight, when the next one comes.
LEAST_HALF_LIFE = 0.01


def is_whole(value: Any) -> bool:
    """Return whether a value is a whole number."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def check_whole(name: str, value: Any, least: int = 1) -> None:
    """Refuse a value that is not a whole number of at least `least`."""
    if not is_whole(value) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}")


def check_component_count(value: Any, *, shares: bool, none: bool) -> None:
    """Refuse what is no number of components, share of the variance or None, where these may be."""
    if (is_whole(value) and value >= 1) or (none and value is None):
        return
    is_share = is_positive(value) and float(value) < 1.0
    if shares and is_share:
        return
    wanted = "a whole number of at least 1"
    if none and not shares:
        wanted += ", or None for as many as there are"
    if shares:
        wanted += ", a share of the variance between 0 and 1, or None for as many as there are"
    if isinstance(value, str) and value == "mle":
        wanted += "; instead of 'mle', pass a share such as 0.95"
        wanted += "" if shares else " to onepass.PCA"
    elif not shares and (value is None or is_share):
        wanted += "; onepass.PCA takes shares of the variance" + " and None" * (not none)
    raise ValueError(f"n_components must be {wanted}; got {value!r}")


def _check_half_life(name: str, value: Any) -> None:
    """Refuse a value that is neither None nor a number of rows that leaves anything of them."""
    if value is not None and not (is_positive(value) and value >= LEAST_HALF_LIFE):
        wanted = f"a number of rows of at least {LEAST_HALF_LIFE}, or None"
        raise ValueError(f"{name} must be {wanted}; got {value!r}")


def check_bool(name: str, value: Any) -> None:
    """Refuse a value that is neither True nor False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, got {value!r}")


def check_option(name: str, value: Any, options: Collection[Any]) -> None:
    """Refuse a value that is not one of the options."""
    if not isinstance(value, str | bool) or value not in options:
        listed = ", ".join(map(repr, options))
        raise ValueError(f"{name} must be one of {listed}, got {value!r}")


def _check_step_size(name: str, value: Any) -> None:
    """Refuse a value that is neither "auto" nor a positive number nor a schedule."""
    automatic = isinstance(value, str) and value == "auto"
    if not (automatic or isinstance(value, Schedule) or is_positive(value)):
        raise ValueError(f'{name} must be "auto", a positive number or a Schedule, got {value!r}')


# What is known of a parameter by its name alone; estimators check the others.
CHECKS: dict[str, Callable[[str, Any], None]] = {
    "average": check_bool,
    "center": check_bool,
    "half_life": _check_half_life,
    "max_memory": check_positive,
    "robust": partial(check_option, options=(True, False)),
    "rounding": partial(check_option, options=("top", "sample")),
    "scale": check_bool,
    "step_size": _check_step_size,
    "trace": partial(check_option, options=("at_most", "exact")),
    "verbose": partial(check_whole, least=0),
    "whiten": check_bool,
}


def is_same(ours: Any, theirs: Any) -> bool:
    """Return whether two values of a parameter are equal; they may be arrays."""
    if ours is theirs:
        return True
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    return bool(ours.shape == theirs.shape and np.all(ours == theirs))
