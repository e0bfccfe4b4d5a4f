"""Step sizes of the gradient steps of a block, as an array.

A schedule is a pure function of what has been seen: the number of the step, from 1, and the
root of the sum of the squared gradient norms up to and including it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import isfinite, sqrt
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]  # of shape (s,)


class Schedule(ABC):
    """A rule for step sizes: subclass it for one of your own, and pass an instance as `step_size`.

    Models with a schedule of your own cannot be saved in model files; `pickle` works.
    """

    needs_norms: ClassVar[bool] = True  # whether steps depend on the norms of the gradients

    @abstractmethod
    def steps(self, number: Numbers, gradients: Numbers, diameter: float) -> Numbers:
        """Return the step sizes of consecutive steps.

        Parameters
        ----------
        number : ndarray of shape (s,)
            Which step it is, from 1.
        gradients : ndarray of shape (s,)
            sqrt(sum of the squared Frobenius norms of the gradients up to this step).
        diameter : float
            The diameter of the set that the algorithm moves in.

        Returns
        -------
        ndarray of shape (s,)
            Positive step sizes.
        """


def is_positive(value: Any) -> bool:
    """Return whether a value is a finite number above zero."""
    if not isinstance(value, Real) or isinstance(value, bool):
        return False
    return float(value) > 0.0 and isfinite(value)


def check_positive(name: str, value: Any) -> None:
    """Refuse a value that is not a finite number above zero."""
    if not is_positive(value):
        raise ValueError(f"{name} must be a positive number, got {value!r}")


@dataclass(frozen=True)
class InverseSqrt(Schedule):
    """The paper's decreasing step, ``scale / sqrt(t)``.

    Examples
    --------
    >>> import numpy as np
    >>> InverseSqrt(0.5).steps(np.array([1.0, 4.0]), np.ones(2), diameter=1.0)
    array([0.5 , 0.25])
    """

    needs_norms: ClassVar[bool] = False
    scale: float

    def __post_init__(self) -> None:
        check_positive("scale", self.scale)

    def steps(self, number: Numbers, gradients: Numbers, diameter: float) -> Numbers:
        return self.scale / np.sqrt(number)


@dataclass(frozen=True)
class Constant(Schedule):
    """The same step at all times; ``Constant(sqrt(k / T))`` is the step of the paper's Theorem 1.

    Examples
    --------
    >>> import numpy as np
    >>> Constant(0.1).steps(np.array([1.0, 4.0]), np.ones(2), diameter=1.0)
    array([0.1, 0.1])
    """

    needs_norms: ClassVar[bool] = False
    step: float

    def __post_init__(self) -> None:
        check_positive("step", self.step)

    def steps(self, number: Numbers, gradients: Numbers, diameter: float) -> Numbers:
        return np.full(len(number), self.step)


@dataclass(frozen=True)
class AdaGradNorm(Schedule):
    """``scale * D / sqrt(2 sum_s |g_s|^2)``: no horizon, no scale of the data, nothing to tune.

    With scale = 1 the regret is at most ``sqrt(2) D sqrt(sum_t |g_t|^2)`` on every sequence. Larger
    scales are better when the iterates are averaged.

    Examples
    --------
    >>> import numpy as np
    >>> AdaGradNorm().steps(np.array([1.0, 2.0]), np.array([1.0, 2.0]), diameter=2**0.5)
    array([1. , 0.5])
    """

    scale: float = 1.0

    def __post_init__(self) -> None:
        check_positive("scale", self.scale)

    def numerator(self, diameter: float) -> float:
        """Return c of the steps ``c / sqrt(sum_s |g_s|^2)``."""
        return self.scale * diameter / sqrt(2.0)

    def steps(self, number: Numbers, gradients: Numbers, diameter: float) -> Numbers:
        if not gradients[0] > 0:  # nothing seen: the step moves nothing
            gradients = np.where(gradients > 0, gradients, np.inf)
        return self.numerator(diameter) / gradients
