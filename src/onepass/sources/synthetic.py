"""Distributions that know their own second moment, so that suboptimality on them is exact."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onepass.sources.base import Block, Position, Source
from onepass.subspace import Subspace

_CHUNK_ROWS = 1024


class Distribution(ABC):
    """A distribution of rows in d dimensions whose second moment is known exactly.

    Attributes
    ----------
    d : int
        The dimension.
    mean : ndarray of shape (d,)
        E[x].
    """

    d: int
    mean: NDArray[np.float64]

    @abstractmethod
    def sample(self, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Return n independent rows as an (n, d) array."""

    @abstractmethod
    def second_moment(self) -> Subspace:
        """Return E[x x'] as its eigenvectors and eigenvalues; ``.to_dense()`` gives d x d."""

    def covariance(self) -> Subspace:
        """Return E[(x - mean)(x - mean)'], the second moment less mean mean'."""
        return _with_mean(self.second_moment(), self.mean, -1.0)

    def optimum(self, k: int) -> float:
        """Return the largest variance that k directions can capture: the sum of k eigenvalues."""
        moment = self.second_moment()
        complement = np.full(self.d - moment.rank, moment.rest)
        eigenvalues = np.sort(np.concatenate([moment.weights, complement]))
        return float(eigenvalues[::-1][:k].sum())

    def stream(self, n_rows: int, *, seed: int = 0, block_rows: int = _CHUNK_ROWS) -> Source:
        """Return a source of n_rows rows, the same at every iteration.

        Parameters
        ----------
        n_rows : int
            The number of rows.
        seed : int
            The rows depend on it and on nothing else: another `block_rows` or a start in the
            middle gives the same rows.
        block_rows : int
            The most rows in a block.
        """
        return _SyntheticSource(self, n_rows, seed, block_rows)


class _SyntheticSource(Source):
    """Rows drawn in chunks with one generator each, so that any row can be reached directly."""

    feature_names = None

    def __init__(self, distribution: Distribution, n_rows: int, seed: int, block_rows: int) -> None:
        if n_rows < 1 or block_rows < 1:
            raise ValueError(f"n_rows={n_rows} and block_rows={block_rows} must be at least 1")
        self.distribution, self.seed, self.block_rows = distribution, seed, block_rows
        self.n_rows, self.n_features = n_rows, distribution.d

    def blocks(self, start: Position | None = None) -> Iterator[tuple[Position, Block]]:
        """Yield (position after the block, block)."""
        assert self.n_rows is not None
        row = self.first_row(start)
        while row < self.n_rows:
            number, begin = divmod(row, _CHUNK_ROWS)
            rng = np.random.default_rng([self.seed, number])
            rows = self.distribution.sample(_CHUNK_ROWS, rng)[begin : begin + self.n_rows - row]
            for block in np.split(rows, range(self.block_rows, len(rows), self.block_rows)):
                row += len(block)
                yield Position(0, row), block


class Gaussian(Distribution):
    """Normal rows with a given spectrum.

    Parameters
    ----------
    spectrum : array-like of shape (m,)
        The eigenvalues of the covariance; m <= d.
    d : int, optional
        The dimension; m by default.
    noise : float
        The other d - m eigenvalues.
    rotation : int, optional
        The seed of random eigenvectors. Without it they are the coordinate axes, in order.
    mean : array-like of shape (d,), optional
        Zero by default. With a mean the *covariance* has the given spectrum, and the second
        moment is the covariance plus mean mean'.

    Examples
    --------
    >>> import numpy as np
    >>> from onepass.sources.synthetic import Gaussian
    >>> spiked = Gaussian([9.0, 4.0], d=50, noise=0.1, rotation=0)
    >>> spiked.sample(1000, np.random.default_rng(0)).shape
    (1000, 50)
    >>> spiked.optimum(2)
    13.0
    """

    def __init__(
        self,
        spectrum: ArrayLike,
        *,
        d: int | None = None,
        noise: float = 0.0,
        rotation: int | None = None,
        mean: ArrayLike | None = None,
    ) -> None:
        weights = np.asarray(spectrum, dtype=np.float64)
        self.d = len(weights) if d is None else d
        if weights.ndim != 1 or len(weights) > self.d:
            raise ValueError(f"spectrum must have 1 to d={self.d} numbers")
        if not all(0 <= value < np.inf for value in (*weights, noise)):
            raise ValueError("spectrum and noise must be finite and not negative")
        self.mean = np.zeros(self.d) if mean is None else np.asarray(mean, dtype=np.float64)
        if self.mean.shape != (self.d,):
            raise ValueError(f"mean has shape {self.mean.shape}, not ({self.d},)")
        self._rotated = rotation is not None
        m = len(weights)
        basis = np.eye(m, self.d) if rotation is None else random_directions(m, self.d, rotation)
        self._covariance = Subspace(basis, weights, noise)

    def _radii(self, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Return n radii of mean square 1, as an (n,) array; a normal row has none of its own."""
        return np.ones(n)

    def sample(self, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Return n independent rows as an (n, d) array."""
        basis = self._covariance.basis
        deviations = np.sqrt(self._covariance.weights)
        floor = np.sqrt(self._covariance.rest)
        g = rng.standard_normal((n, self.d))
        if self._rotated:
            rows = ((g @ basis.T) * (deviations - floor)) @ basis
            rows += floor * g
        else:
            scale = np.full(self.d, floor)
            scale[: len(deviations)] = deviations
            rows = g * scale
        rows *= self._radii(n, rng)[:, None]
        return rows + self.mean

    def covariance(self) -> Subspace:
        """Return E[(x - mean)(x - mean)'], which has the given spectrum."""
        return self._covariance

    def second_moment(self) -> Subspace:
        """Return E[x x'], the covariance plus mean mean'."""
        return _with_mean(self._covariance, self.mean, 1.0)


def _with_mean(moment: Subspace, mean: NDArray[np.float64], sign: float) -> Subspace:
    """Return a matrix plus or minus mean mean'."""
    if not mean.any():
        return moment
    # Exact and small: outside of the span of the basis and the mean nothing changes.
    basis = np.linalg.qr(np.vstack([moment.basis, mean]).T)[0].T
    inside = moment.compress(basis) + sign * np.outer(basis @ mean, basis @ mean)
    weights, vectors = np.linalg.eigh(inside)
    return Subspace(vectors.T @ basis, np.maximum(weights, 0.0), moment.rest)


class StudentT(Gaussian):
    """Heavy-tailed rows: the spherical Student-t distribution, scaled to a given spectrum.

    All coordinates of a row share one radius, and the second moment is exactly the given one.

    Parameters
    ----------
    spectrum : array-like of shape (m,)
        The eigenvalues of the covariance; m <= d.
    df : float
        Degrees of freedom, above 2. The fourth moment is infinite for df <= 4.
    d, noise, rotation, mean
        As for `Gaussian`.

    Examples
    --------
    >>> from onepass.sources.synthetic import StudentT
    >>> StudentT([3.0, 2.0, 1.0], df=3).optimum(1)
    3.0
    """

    def __init__(self, spectrum: ArrayLike, df: float, **options: Any) -> None:
        super().__init__(spectrum, **options)
        if not df > 2:
            raise ValueError(f"df={df} must be above 2: the second moment is infinite below")
        self.df = df

    def _radii(self, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Return sqrt((df - 2) / chi2): E[1 / chi2] = 1 / (df - 2)."""
        return np.sqrt((self.df - 2) / rng.chisquare(self.df, size=n))


def random_directions(m: int, d: int, seed: int) -> NDArray[np.float64]:
    """Return m uniformly random orthonormal rows, as an (m, d) array."""
    q, r = np.linalg.qr(np.random.default_rng(seed).standard_normal((d, m)))
    # Without the signs the distribution would depend on LAPACK's convention.
    return np.ascontiguousarray((q * np.sign(np.diag(r))).T)


class Orthogonal(Distribution):
    """Unit basis vectors: e_i with probability p_i, p decaying geometrically.

    The distribution of Figures 1 and 2 (Section 4 of the paper). The second moment is diag(p),
    and the largest eigenvalues belong to the first axes.

    Parameters
    ----------
    d : int
        The dimension.
    tau : float
        The rate of decay, above 1.
    signed : bool
        False is the paper's text: p_i proportional to sqrt(Sigma_ii), that is to tau^(-i/2). The
        text forgets to normalise it. True is a later variant of the first author:
        p_i proportional to tau^-i, and a random sign.

    Examples
    --------
    >>> from onepass.sources.synthetic import Orthogonal
    >>> round(Orthogonal().optimum(4), 4)
    0.2218
    >>> round(Orthogonal(signed=True).optimum(4), 4)
    0.3327
    """

    def __init__(self, d: int = 32, tau: float = 1.1, *, signed: bool = False) -> None:
        if not tau > 1:
            raise ValueError(f"tau={tau} must be above 1")
        self.d, self.tau, self.signed = d, tau, signed
        decay = tau ** -(np.arange(1, d + 1) if signed else np.arange(1, d + 1) / 2)
        self.probabilities: NDArray[np.float64] = decay / decay.sum()
        self.mean = np.zeros(d) if signed else self.probabilities

    def sample(self, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Return n independent rows as an (n, d) array."""
        rows = np.zeros((n, self.d))
        axes = rng.choice(self.d, size=n, p=self.probabilities)
        rows[np.arange(n), axes] = rng.choice([-1.0, 1.0], size=n) if self.signed else 1.0
        return rows

    def second_moment(self) -> Subspace:
        """Return E[x x'] = diag(p)."""
        return Subspace(np.eye(self.d), self.probabilities)


class Toy(Distribution):
    """``[sqrt(3), 0]`` with probability 1/3 and ``[0, sqrt(2)]`` with probability 2/3.

    The larger row comes less often: the second moment is diag(1, 4/3), and with k = 1 the
    incremental algorithm nevertheless ends at ``[1, 0]`` with probability 5/9 (Section 5.2 of the
    paper).

    Examples
    --------
    >>> from onepass.sources.synthetic import Toy
    >>> Toy().optimum(1)
    1.3333333333333333
    >>> Toy().stream(1000).n_rows
    1000
    """

    d, mean = 2, np.array([np.sqrt(3.0) / 3, 2 * np.sqrt(2.0) / 3])

    def sample(self, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Return n independent rows as an (n, 2) array."""
        rows = np.diag(np.sqrt([3.0, 2.0]))
        return rows[rng.choice(2, size=n, p=[1 / 3, 2 / 3])]

    def second_moment(self) -> Subspace:
        """Return E[x x'] = diag(1, 4/3)."""
        return Subspace(np.eye(2), np.array([1.0, 4 / 3]))
