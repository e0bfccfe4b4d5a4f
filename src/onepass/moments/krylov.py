"""Leading eigenpairs of a symmetric matrix A: by block Krylov iteration, or by LAPACK.

Block Krylov iteration needs products with A alone. From a block V of some directions more than are
wanted, it finds the best approximations in the span of V, A V, A^2 V, ... (Golub and Underwood
1977; Musco and Musco 2015). A start that was found before needs fewer products.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import eigh, solve_triangular

from onepass.persistence.fields import Array, Field, Size, State, whole
from onepass.precision import ROUNDING, TINY, Doubles

SMALL = 256  # columns up to which LAPACK takes no longer than an iteration
MANY = 12  # columns for each eigenvector below which an iteration takes too long
BESIDE = 8  # random directions in a block besides those that are known or wanted
CONVERGED = 1e-10  # of the sum of the eigenvalues: what directions that are found may lack
LEAST_PRODUCTS = 4  # before it is known how fast an iteration converges
MOST_PRODUCTS = 40  # LAPACK is faster where a spectrum needs more
# Smallest pivot of the Gram matrix of unit columns from which its Cholesky factor, used twice,
# makes them orthonormal to rounding; below, QR does.
LEAST_PIVOT = 1e-6
Times = Callable[[Doubles], Doubles]  # A V (d, m) of V (d, m), in C order
Eigenpairs = tuple[Doubles, Doubles]  # directions (k, d), and eigenvalues (k,), largest first


class Krylov(State):
    """A basis of the span of V, A V, A^2 V, ... and A in it: ``add(times(block))`` takes a step.

    The rows of `start` (m, d) span V.

    Attributes
    ----------
    block : ndarray of shape (d, m)
        Orthonormal, in C order: what is to be multiplied next. It is empty where nothing is left.
    width : int
        How many directions the first block has.
    inner : ndarray of shape (m, m)
        A in the basis.
    values : ndarray of shape (m,)
        Ritz values, eigenvalues of A in the basis, largest first.
    """

    def __init__(self, start: Doubles) -> None:
        self.inner: Doubles = np.zeros((0, 0))
        self.values: Doubles = np.zeros(0)
        self._blocks: list[Doubles] = []
        self._turn: Doubles = np.zeros((0, 0))  # eigenvectors of A in the basis, in columns
        self._rest: Doubles = np.zeros((0, 0))  # Gram matrix of what the last product has besides
        self._next: Doubles | None = None  # the span of the next block, until it is read
        self.d = start.shape[1]
        columns = start.T[:, : self.d]
        self.block = self._orthonormal(columns) if len(start) else columns
        self.width = self.block.shape[1]

    def fields(self) -> dict[str, Field]:
        d = self.d
        known, more = Size("directions of a basis", d), Size("directions of a block", d)
        return {
            "width": whole(0, d),
            "basis": Array((d, known), least=-2.0, most=2.0),
            "inner": Array((known, known)),
            "block": Array((d, more), least=-2.0, most=2.0),
        }

    @property
    def block(self) -> Doubles:
        """What is to be multiplied next: found when it is read, as the last one never is."""
        if self._next is not None:
            self.block = self._orthonormal(self._next)
        return self._block

    @block.setter
    def block(self, block: Doubles) -> None:
        self._block, self._next = block, None

    @property
    def basis(self) -> Doubles:
        """Orthonormal directions, in columns (d, m): all blocks but the next."""
        return np.hstack([np.zeros((self.d, 0)), *self._blocks])

    def take(self, content: dict[str, Any]) -> None:
        """Take over what a file holds."""
        self.width, self.inner = content["width"], content["inner"]
        self.block, basis = content["block"], content["basis"]
        starts = range(0, basis.shape[1], max(self.width, 1))
        self._blocks = [np.ascontiguousarray(basis[:, at : at + self.width]) for at in starts]
        self._decompose()

    def _decompose(self) -> None:
        """Find the eigenpairs of A in the basis."""
        values, turn = np.linalg.eigh(self.inner)
        self.values, self._turn = values[::-1], turn[:, ::-1]

    def add(self, product: Doubles) -> None:
        """Include the product of A with the block, (d, m), which is overwritten."""
        before, width = len(self.inner), self.block.shape[1]
        self._blocks = [*self._blocks, self.block]
        # The product has no part along earlier blocks, which are orthogonal to A times the last.
        along = self._take_away(product, self._blocks[-2:])
        first = before + width - len(along)
        inner = np.zeros((before + width,) * 2)
        inner[:before, :before] = self.inner
        inner[first:, before:] = along
        inner[before:] = inner[:, before:].T
        inner[before:, before:] = (along[-width:] + along[-width:].T) / 2
        self.inner = inner
        self._decompose()
        self._rest = product.T @ product
        left = min(width, len(product) - len(inner))
        self._next = product[:, :left]

    def captured(self, k: int) -> float:
        """Return the sum of the k largest Ritz values."""
        return float(self.values[:k].sum())

    def lost(self, k: int) -> float:
        """Return about how much the k leading eigenvalues exceed the k largest Ritz values.

        An eigenvalue is at most the residual away from its Ritz value, and at most the square of
        the residual over the gap to what is left out.
        """
        last = self._turn[-len(self._rest) :, :k]
        residuals = np.sqrt(np.einsum("ij,ij->j", last, self._rest @ last).clip(min=0.0))
        gaps = self.values[:k] - self.values[k : k + 1].sum()
        return float((residuals**2 / np.maximum(gaps, residuals).clip(min=TINY)).sum())

    def directions(self, k: int) -> Doubles:
        """Return the directions (k, d) of the k largest Ritz values."""
        found, first = np.zeros((self.d, min(k, len(self.inner)))), 0
        for block in self._blocks:
            found += block @ self._turn[first : first + block.shape[1], :k]
            first += block.shape[1]
        return np.ascontiguousarray(found.T)

    def _take_away(self, columns: Doubles, blocks: list[Doubles]) -> Doubles:
        """Take the part along blocks away from columns (d, m); return its coordinates."""
        found = []
        for block in blocks:
            found.append(block.T @ columns)
            columns -= block @ found[-1]
        return np.vstack(found)

    def _orthonormal(self, columns: Doubles) -> Doubles:
        """Return an orthonormal basis (d, m) of columns (d, m), orthogonal to all blocks."""
        for again in (False, True):
            if again and self._blocks:
                self._take_away(columns, self._blocks)
            gram = columns.T @ columns
            norms = np.sqrt(gram.diagonal()).clip(min=1e-300)
            try:
                factor = np.linalg.cholesky(gram / norms / norms[:, None])
            except np.linalg.LinAlgError:
                factor = np.zeros((1, 1))
            if not factor.diagonal().min(initial=1.0) > LEAST_PIVOT:
                both = np.hstack([*self._blocks, columns])
                return np.ascontiguousarray(np.linalg.qr(both)[0][:, len(self.inner) :])
            columns = solve_triangular(factor, (columns / norms).T, lower=True).T
        return np.ascontiguousarray(columns)


def with_random(directions: Doubles, width: int, d: int) -> Doubles:
    """Return directions (m, d) and random ones besides, (width, d): a start that misses nothing."""
    beside = np.random.default_rng(0).normal(size=(max(width - len(directions), 0), d))
    return np.vstack([directions, beside / np.sqrt(d)])


def iterates(d: int, k: int) -> bool:
    """Return whether k of d eigenvectors are found faster by iteration than by LAPACK."""
    return d > SMALL and MANY * k <= d


def iterated(
    times: Times, start: Doubles, k: int, more: int = 0, most: int = MOST_PRODUCTS
) -> Eigenpairs | None:
    """Return the k leading eigenpairs, from directions (m, d) to start with; None if it fails.

    So many `more` are returned, too, as well as they are known. With fewer products allowed than
    usual it fails as soon as so many will hardly do.
    """
    d = start.shape[1]
    if most < LEAST_PRODUCTS:
        return None
    krylov, lost = Krylov(with_random(start, min(k + BESIDE, d), d)), np.inf
    for done in range(1, most + 1):
        krylov.add(times(krylov.block))
        before, lost = lost, krylov.lost(k) / max(krylov.captured(k), TINY)
        if lost <= CONVERGED or not krylov.block.shape[1]:
            return krylov.directions(k + more), krylov.values[: k + more].clip(min=0.0)
        # What is lost falls by about the same factor with each product.
        at_end = lost * (lost / before) ** (most - done)
        if done >= LEAST_PRODUCTS and most < MOST_PRODUCTS and at_end > CONVERGED:
            return None
    return None


def improved(times: Times, start: Doubles) -> Eigenpairs:
    """Return about the leading eigenpairs, from previous directions (k, d) and a single product.

    They are those of Nystrom's approximation A V (V' A V)^-1 V' A (Tropp, Yurtsever, Udell and
    Cevher 2017), where V has random directions as well: what is orthogonal to all previous ones
    would never be seen otherwise.
    """
    k, d = start.shape
    basis = np.linalg.qr(with_random(start, min(k + BESIDE, d), d).T)[0]
    product = times(basis)
    values, turn = np.linalg.eigh(basis.T @ product)
    roots = np.sqrt(np.maximum(values, max(d * ROUNDING * values[-1], TINY)))
    directions, sizes, _ = np.linalg.svd(product @ turn / roots, full_matrices=False)
    return np.ascontiguousarray(directions[:, :k].T), sizes[:k] ** 2


def decomposed(matrix: Doubles, k: int) -> Eigenpairs:
    """Return the k leading eigenpairs by LAPACK, from the lower triangle of a matrix (d, d)."""
    d = len(matrix)
    if 4 * k > d:  # all of them are found faster than some
        values, vectors = np.linalg.eigh(matrix)
    else:
        values, vectors = eigh(matrix, subset_by_index=(d - k, d - 1), check_finite=False)
    values, vectors = values[-k:], vectors[:, -k:]
    return np.ascontiguousarray(vectors.T[::-1]), values[::-1].clip(min=0.0)
