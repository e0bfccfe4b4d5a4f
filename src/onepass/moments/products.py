"""Products of directions with the second moment of some rows, which is never formed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from onepass.kernels.orthonormal import orthonormal
from onepass.moments.mean import Mean
from onepass.subspace import Subspace

PANEL = 2048  # columns of rows that stay in the cache while they are combined


def multiply(
    directions: NDArray[np.floating],
    rows: Any,
    weights: NDArray[np.float64],
    center: bool,
    step: NDArray[np.float64],
) -> tuple[NDArray[np.floating], NDArray[np.float64]]:
    """Return ``directions @ S`` and ``directions @ S @ directions.T``, S the scatter of rows.

    Parameters
    ----------
    directions : ndarray of shape (j, d)
        In the dtype of the rows.
    rows : ndarray or CSR array of shape (b, d)
    weights : ndarray of shape (b,)
    center : bool
        Whether S is about the mean of these rows or about zero.
    step : ndarray of shape (d,) or (0,)
        One more row of S, already centred.

    Returns
    -------
    product : ndarray of shape (j, d)
    core : ndarray of shape (j, j)
    """
    inner = np.asarray(rows @ directions.T)
    if center:
        inner = inner - weights @ inner / weights.sum()
    weighted = (weights[:, None] * inner).astype(directions.dtype, copy=False)
    product = combine(weighted.T, rows)
    core = weighted.T.astype(np.float64, copy=False) @ inner
    if step.size:
        along = directions @ step
        product += np.outer(along, step).astype(directions.dtype, copy=False)
        core += np.outer(along, along)
    return product, core


def combine(coefficients: NDArray[np.floating], rows: Any) -> NDArray[np.floating]:
    """Return ``coefficients @ rows``: few combinations (j, b) of dense or sparse rows (b, d)."""
    d = rows.shape[1]
    if issparse(rows) or d <= PANEL:
        return np.ascontiguousarray(coefficients @ rows)
    product = np.empty((len(coefficients), d), np.result_type(coefficients, rows))
    for start in range(0, d, PANEL):
        columns = slice(start, start + PANEL)
        np.matmul(coefficients, rows[:, columns], out=product[:, columns])
    return product


def leading_of_rows(
    rows: Any, weights: NDArray[np.float64], center: bool, max_rank: int
) -> Subspace:
    """Return the leading eigenvectors of the scatter of rows (b, d), from their Gram matrix.

    The scatter is about the mean of the rows, or about zero. What rounding may have made is left
    out.
    """
    gram = rows @ rows.T
    gram = np.asarray(gram.toarray() if issparse(gram) else gram, dtype=np.float64)
    mixing = np.diag(np.sqrt(weights))
    if center:
        mixing = mixing - np.outer(np.sqrt(weights), weights / weights.sum())
    gram = mixing @ gram @ mixing.T
    values, vectors = np.linalg.eigh(gram)
    cut = float(np.finfo(rows.dtype).eps) ** 0.75
    kept = np.flatnonzero(values > cut * values[-1])[::-1][:max_rank]
    turn = (vectors[:, kept] / np.sqrt(values[kept])).T @ mixing
    return Subspace(orthonormal(combine(turn.astype(rows.dtype), rows)), values[kept])


def mean_step(before: Mean, after: Mean) -> NDArray[np.float64]:
    """Return the row by which the scatter of rows about their own mean becomes that of all.

    It is the mean of the rows seen between two means minus the mean before, weighted; of shape
    (d,), or (0,) where there were no rows before.
    """
    added = after.weight - before.weight
    if not (before.weight > 0.0 and added > 0.0):
        return np.zeros(0)
    return np.sqrt(before.weight / added * after.weight) * (after.vector - before.vector)


def in_range(rows: Any) -> Any:
    """Return rows in double precision where their third powers would leave the range of single."""
    if rows.dtype == np.float32:
        largest = np.abs(rows.data if issparse(rows) else rows).max(initial=0.0)
        if not 1e-10 < largest < 1e10:
            return rows.astype(np.float64)
    return rows
