"""What a method is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Answers = dict[str, NDArray[np.floating]]


@dataclass(frozen=True)
class Method:
    """Something that answers with directions about the mean.

    Attributes
    ----------
    name : str
        As on the command line.
    fit : callable
        ``fit(X, k)`` returns directions (k, d) by name: a fit may give several answers.
    """

    name: str
    fit: Callable[[Any, int], Answers]
