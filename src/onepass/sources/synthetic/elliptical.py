"""Gaussian and heavy-tailed rows with a given spectrum."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onepass.sources.synthetic.distribution import Distribution
from onepass.subspace import Subspace


class _Elliptical(Distribution):
    """``mean + radius * sqrt(covariance) @ g``, with g standard normal and E[radius^2] = 1."""

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
        basis = np.eye(m, self.d) if rotation is None else _frame(m, self.d, rotation)
        self._covariance = Subspace(basis, weights, noise)

    @abstractmethod
    def _radii(self, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Return n radii of mean square 1, as an (n,) array."""

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
        if not self.mean.any():
            return self._covariance
        # Exact and small: outside of the span of the basis and the mean nothing changes.
        basis, noise = self._covariance.basis, self._covariance.rest
        residual = self.mean - (self.mean @ basis.T) @ basis
        residual -= (residual @ basis.T) @ basis
        length = np.linalg.norm(residual)
        if len(basis) < self.d and length > 1e-14 * np.linalg.norm(self.mean):
            basis = np.vstack([basis, residual / length])
        moment = self._covariance.compress(basis) + np.outer(basis @ self.mean, basis @ self.mean)
        weights, vectors = np.linalg.eigh(moment)
        return Subspace(vectors.T @ basis, np.maximum(weights, 0.0), noise)


class Gaussian(_Elliptical):
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

    def _radii(self, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Return ones: a normal row has no radius of its own."""
        return np.ones(n)


class StudentT(_Elliptical):
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

    def __init__(
        self,
        spectrum: ArrayLike,
        df: float,
        *,
        d: int | None = None,
        noise: float = 0.0,
        rotation: int | None = None,
        mean: ArrayLike | None = None,
    ) -> None:
        super().__init__(spectrum, d=d, noise=noise, rotation=rotation, mean=mean)
        if not df > 2:
            raise ValueError(f"df={df} must be above 2: the second moment is infinite below")
        self.df = df

    def _radii(self, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Return sqrt((df - 2) / chi2): E[1 / chi2] = 1 / (df - 2)."""
        return np.sqrt((self.df - 2) / rng.chisquare(self.df, size=n))


def _frame(m: int, d: int, seed: int) -> NDArray[np.float64]:
    """Return m uniformly random orthonormal rows, as an (m, d) array."""
    q, r = np.linalg.qr(np.random.default_rng(seed).standard_normal((d, m)))
    # Without the signs the distribution would depend on LAPACK's convention.
    return np.ascontiguousarray((q * np.sign(np.diag(r))).T)
