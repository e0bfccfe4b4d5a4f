from collections.abc import Sequence
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T", np.float32, np.float64)
Integers = NDArray[np.int32]
Doubles = NDArray[np.float64]

class Rule:
    def __init__(
        self,
        name: str,
        k: int,
        *,
        max_rank: int,
        exact_trace: bool = False,
        memory: Sequence[float] = (0.0, 0.0, 0.0),
    ) -> None: ...
    name: Final[str]
    k: Final[int]
    max_rank: Final[int]
    exact_trace: Final[bool]
    memory: Final[list[float]]

class Advanced:
    """What came of rows; `basis` and `sums` of `advance_gram` are in terms of [basis; rows]."""

    rule: Final[Rule]
    taken: Final[int]
    rest: Final[float]
    seen: Final[float]
    rests: Final[float]
    basis: Final[NDArray[Any]]
    weights: Final[Doubles]
    captured: Final[Doubles]
    energy: Final[Doubles]
    rotation: Final[Doubles]
    inner: Final[Doubles]
    sums: Final[NDArray[Any] | None]

def advance(
    rule: Rule,
    basis: NDArray[T],
    weights: Doubles,
    rest: float,
    rows: NDArray[T],
    steps: Doubles | None,
    *,
    scale: float = 0.0,
    seen: float = 0.0,
    trusted: bool = False,
    sums: bool = False,
) -> Advanced: ...
def advance_gram(
    rule: Rule,
    gram: Doubles,
    m: int,
    d: int,
    weights: Doubles,
    rest: float,
    steps: Doubles | None,
    *,
    scale: float = 0.0,
    seen: float = 0.0,
    sums: bool = False,
) -> Advanced: ...
def add_outer(
    out: NDArray[T],
    rows: NDArray[T],
    origin: NDArray[T],
    scale: NDArray[T] | None,
    weights: Doubles,
    tile_rows: int,
    first: int,
    step: int,
) -> Doubles:
    """Add the sum of w x x' over x = (row - origin) / scale to an upper triangle (d, d).

    The rows (r, d) of positive weight are taken in tiles, of which every `step`-th is added, from
    the `first` on. The sum of w x is returned, shape (d,). It is BLAS's syrk on rows that are
    centred while they are in the cache, without the interpreter's lock.
    """

def measure(
    rows: NDArray[T],
    origin: NDArray[T],
    scale: NDArray[T] | None,
    point: NDArray[T],
    directions: NDArray[T],
) -> tuple[Doubles, Doubles]:
    """Return the squared distances (r,) of x = (row - origin) / scale from a point (d,).

    And how much of them directions (k, d) capture, shape (r,).
    """

def add_sparse_outer(
    out: Doubles,
    data: NDArray[T],
    indices: Integers,
    starts: Integers,
    weights: Doubles,
    *,
    single: bool = False,
    part: int = 0,
    parts: int = 1,
) -> None:
    """Add the sum of w x x' over CSR rows to an upper triangle (d, d), or one of several parts.

    Indices must be ascending within each row. Entries below the diagonal are left alone. Calls for
    different parts may run at the same time: every entry gets the same bits in any number of them.
    With `single`, products of columns that many rows store are in single precision within 2,048
    rows.
    """

class Completion:
    """Rows without gaps, and what is known of the entries that were missing.

    `rows` (n, d), conditional `variances` (n, d) of the missing entries, and `log_determinants` and
    `distances` (n,) of the observed ones: -1/2 (log_determinant + distance + count log 2 pi) is
    their log-likelihood. What was not asked for is None.
    """

    rows: Final[NDArray[Any]]
    variances: Final[NDArray[Any] | None]
    log_determinants: Final[Doubles | None]
    distances: Final[Doubles | None]

def complete(
    rows: NDArray[T],
    mean: Doubles,
    loadings: Doubles,
    noise: Doubles,
    *,
    weights: Doubles | None = None,
    covariance: Doubles | None = None,
    variances: bool = False,
    likelihood: bool = False,
) -> Completion:
    """Fill gaps (NaN) with their means given the rest of the row, for x = mean + loadings z + e.

    z is standard normal and e has the variances `noise`. The sum of the weighted conditional
    covariances of the missing entries is added to the upper triangle of `covariance` (d, d).
    """

def centre(
    rows: NDArray[T], row_weights: Doubles, mean: Doubles, weight: float
) -> tuple[NDArray[T], Doubles, float]: ...
def map_spectrum(
    rule: Rule, values: Doubles, rest: float, d: int
) -> tuple[Rule, Doubles, float]: ...
def isa() -> str: ...
def use_isa(name: str) -> None: ...
def supported_isas() -> list[str]: ...
