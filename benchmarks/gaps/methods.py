"""Methods for rows with gaps, as one would write them down; X (n, d) has NaN in its gaps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.losses import Directions, Numbers, batch_pca

LEAST_NOISE = 0.05  # of a column, in units of the mean of the variances left out
SETTLED = 1e-4  # change of the covariance between two steps, relative
MOST_STEPS = 200
ROWS_AT_ONCE = 500  # that are completed together: 20 MB at 300 columns
# Rows of which fewer directions are observed well are not used by primePCA: its default.
PRIME_THRESHOLD = 10.0
PRIME_STEPS = 100


@dataclass(frozen=True)
class Gaussian:
    """x = mean + loadings z + noise, z of variance 1, noise of its own variance in each column."""

    mean: Numbers  # (d,)
    loadings: Numbers  # (d, r)
    noise: Numbers  # (d,)

    def complete(self, X: Numbers) -> tuple[Numbers, Numbers, Numbers]:
        """Return completed rows (n, d), standard deviations of entries, and sum of covariances.

        Missing entries become their conditional means given what is observed. The sum over the rows
        of their conditional covariances has shape (d, d).
        """
        filled, deviations, d = X.copy(), np.zeros(X.shape), len(self.mean)
        total = np.zeros((d, d))
        for start in range(0, len(X), ROWS_AT_ONCE):
            part = slice(start, start + ROWS_AT_ONCE)
            filled[part], deviations[part], covariance = self._complete(X[part])
            total += covariance
        return filled, deviations, total

    def _complete(self, X: Numbers) -> tuple[Numbers, Numbers, Numbers]:
        """Return the same of a few rows, all at once."""
        (n, d), W, psi = X.shape, self.loadings, self.noise
        seen, r = ~np.isnan(X), W.shape[1]
        A = W / psi[:, None]
        # G = I + the sum of w w' / psi over observed entries, of each row.
        G = np.eye(r) + (seen @ (A[:, :, None] * W[:, None, :]).reshape(d, -1)).reshape(n, r, r)
        h = np.where(seen, X - self.mean, 0.0) @ A
        z = np.linalg.solve(G, h[:, :, None])[:, :, 0]
        root = np.linalg.inv(np.linalg.cholesky(G))  # G^-1 = root' root
        # Of missing entries the covariance is B' B + diag(psi).
        B = (root @ W.T) * ~seen[:, None, :]
        variances = np.where(seen, 0.0, np.einsum("nrd,nrd->nd", B, B) + psi)
        flat = B.reshape(-1, d)
        total = flat.T @ flat + np.diag(np.where(seen, 0.0, psi).sum(axis=0))
        return np.where(seen, X, self.mean + z @ W.T), np.sqrt(variances), total


def model_of(mean: Numbers, covariance: Numbers, rank: int) -> Gaussian:
    """Return the model of some rank of a covariance (d, d)."""
    values, vectors = np.linalg.eigh(covariance)
    values, vectors = values[::-1], vectors[:, ::-1]
    rest = max(float(values[rank:].mean()), 1e-9 * float(values[0]))
    loadings = vectors[:, :rank] * np.sqrt(np.maximum(values[:rank] - rest, 0.0))
    noise = np.maximum(np.diag(covariance) - (loadings**2).sum(axis=1), LEAST_NOISE * rest)
    return Gaussian(mean, loadings, noise)


def batch_em(X: Numbers, k: int) -> tuple[Directions, Gaussian]:
    """Return k directions and the model, by EM over all rows until it settles."""
    n, d = X.shape
    observed = ~np.isnan(X)
    rank = int(max(1, min(2 * k + 8, d - 1, n * observed.mean() / 8)))
    mean = np.nanmean(X, axis=0)
    centred = np.where(observed, X - mean, 0.0)
    covariance = centred.T @ centred / np.maximum(observed.T.astype(float) @ observed, 1.0)
    for _ in range(MOST_STEPS):
        model = model_of(mean, covariance, rank)
        filled, _, extra = model.complete(X)
        mean = filled.mean(axis=0)
        before, covariance = covariance, ((filled - mean).T @ (filled - mean) + extra) / n
        if np.linalg.norm(covariance - before) < SETTLED * np.linalg.norm(covariance):
            break
    return np.linalg.eigh(covariance)[1][:, ::-1][:, :k].T, model_of(mean, covariance, rank)


def mean_filling(X: Numbers, k: int) -> Directions:
    """Return the directions of rows whose gaps are filled with the means of their columns."""
    return batch_pca(np.where(np.isnan(X), np.nanmean(X, axis=0), X), k)


def pairwise(X: Numbers, k: int) -> Directions:
    """Return those of the matrix of moments of pairs of columns, where both are observed."""
    observed = ~np.isnan(X)
    centred = np.where(observed, X - np.nanmean(X, axis=0), 0.0)
    moments = centred.T @ centred / np.maximum(observed.T.astype(float) @ observed, 1.0)
    return np.linalg.eigh(moments)[1][:, ::-1][:, :k].T


def prime_pca(X: Numbers, k: int) -> Directions:
    """Return those of primePCA (Zhu, Wang and Samworth 2022), started from pairwise moments.

    Rows are completed by least squares on their observed entries, if these see all directions well
    enough, and the right singular vectors of the completed rows are the next directions.
    """
    observed = ~np.isnan(X)
    (n, d), counts = X.shape, observed.sum(axis=1)
    centred = np.where(observed, X - np.nanmean(X, axis=0), 0.0)
    basis = pairwise(X, k)
    for _ in range(PRIME_STEPS):
        V = basis.T
        # The sums of v v' over the rows v of V that are observed, (n, k, k).
        grams = (observed @ (V[:, :, None] * V[:, None, :]).reshape(d, -1)).reshape(n, k, k)
        least = np.sqrt(np.maximum(np.linalg.eigvalsh(grams)[:, 0], 0.0))
        good = (counts > k) & (PRIME_THRESHOLD * least >= np.sqrt(counts / d))
        if np.count_nonzero(good) <= k:
            return basis
        z = np.linalg.solve(grams[good], (centred[good] @ V)[:, :, None])[:, :, 0]
        completed = np.where(observed[good], centred[good], z @ basis)
        before, basis = basis, np.linalg.svd(completed, full_matrices=False)[2][:k]
        if sine_theta(basis, before) < SETTLED:
            break
    return basis


def fill_em(X: Numbers, k: int) -> Directions:
    """Return those of statsmodels' ``PCA(missing="fill-em")``; raises ImportError without it."""
    from statsmodels.multivariate.pca import PCA

    model = PCA(X, ncomp=k, standardize=False, missing="fill-em")
    return np.asarray(model.eigenvecs)[:, :k].T


def sine_theta(first: Directions, second: Directions) -> float:
    """Return the root of the sum of squared sines of the angles between two subspaces (k, d)."""
    cosines = np.linalg.svd(first @ second.T, compute_uv=False)
    return float(np.sqrt(np.maximum(1.0 - cosines**2, 0.0).sum()))
