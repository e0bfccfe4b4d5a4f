"""The paper, transcribed naively: d x d matrices, `eigh`, bisection, one loop.

Every algorithm is a generator of its iterates M (d x d), the one before the first step included.
It is given *pushes*: for each gradient step an array A of shape (b, d) with A'A = eta_t g_t, where
g_t is the gradient (x x' for one row, the mean of x x' over a batch). Working with sqrt(eta) x
instead of eta and x x' keeps rows of any scale representable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
# A step rule maps (norms of the gradients up to now, diameter of the feasible set) to step sizes.
StepRule = Callable[[Array, float], Array]


class Outcome(NamedTuple):
    """The iterate after the last step; the average of those before each step; batches and those."""

    last: Array
    average: Array
    batches: list[Array]
    before: list[Array]


def bisect(excess: Callable[[float], float], low: float, high: float) -> float:
    """Return a zero of an increasing function, to the last bit."""
    while low < (middle := 0.5 * (low + high)) < high:
        low, high = (middle, high) if excess(middle) < 0 else (low, middle)
    return high


def project(values: Array, k: int, trace: str) -> Array:
    """Lemma 3.2: shift and clip to [0, 1] so that the sum is k ("exact") or at most k."""
    if trace == "at_most" and np.clip(values, 0, 1).sum() <= k:
        return np.clip(values, 0, 1)
    if len(values) <= k:
        return np.ones_like(values)
    shift = bisect(lambda S: np.clip(values + S, 0, 1).sum() - k, -values.max(), 1 - values.min())
    return np.clip(values + shift, 0, 1)


def cap_logarithms(logs: Array, total: float) -> Array:
    """MEG's projection: log of min(1, a exp(logs)), with a such that these sum to `total`."""
    floor = np.log(total / len(logs)) - logs.max()
    shift = bisect(lambda a: np.exp(np.minimum(0, logs + a)).sum() - total, floor, -logs.min())
    return np.minimum(0, logs + shift)


def compose(values: Array, vectors: Array) -> Array:
    """Return the symmetric matrix with these eigenvalues and eigenvectors (columns)."""
    return (vectors * values) @ vectors.T


def msg(pushes: list[Array], d: int, k: int, trace: str = "at_most") -> Iterator[Array]:
    """Section 3.1: M <- P(M + eta x x')."""
    yield (M := np.zeros((d, d)))
    for A in pushes:
        values, vectors = np.linalg.eigh(M + A.T @ A)
        yield (M := compose(project(values, k, trace), vectors))


def capped_msg(
    pushes: list[Array], d: int, k: int, trace: str = "at_most", max_rank: int | None = None
) -> Iterator[Array]:
    """Section 5: as MSG, but only the K largest eigenvalues that exist at all are projected.

    For K < d a zero eigenvalue has no direction of its own and stays zero; K >= d caps nothing.
    """
    K = k + 1 if max_rank is None else max_rank
    if d <= K:
        yield from msg(pushes, d, k, trace)
        return
    yield (M := np.zeros((d, d)))
    for A in pushes:
        values, vectors = np.linalg.eigh(M + A.T @ A)
        kept = np.flatnonzero(values > 1e-12 * values[-1])[-K:]
        if len(kept):
            M = compose(project(values[kept], k, trace), vectors[:, kept])
        yield M


def meg(pushes: list[Array], d: int, k: int) -> Iterator[Array]:
    """Section 3.3: W <- P(exp(log W - eta x x')), W = I - M; log W is what is kept."""
    if k == d:  # W = 0 for ever
        yield from [np.eye(d)] * (len(pushes) + 1)
        return
    log_W = np.log((d - k) / d) * np.eye(d)
    yield k / d * np.eye(d)
    for A in pushes:
        values, vectors = np.linalg.eigh(log_W - A.T @ A)
        logs = cap_logarithms(values, d - k)
        log_W = compose(logs, vectors)
        yield compose(-np.expm1(logs), vectors)


def incremental(
    pushes: list[Array], d: int, k: int, max_rank: int | None = None
) -> Iterator[Array]:
    """Section 5.2: M <- the best approximation of M + x x' of rank K."""
    K = k if max_rank is None else max_rank
    yield (M := np.zeros((d, d)))
    for A in pushes:
        values, vectors = np.linalg.eigh(M + A.T @ A)
        yield (M := compose(values[-K:], vectors[:, -K:]))


def orthonormal(U: Array) -> Array:
    """Return an orthonormal basis of the span of the rows of U (k, d)."""
    return np.linalg.qr(U.T)[0].T


def oja(pushes: list[Array], d: int, k: int, init: Array) -> Iterator[Array]:
    """Section 3, the stochastic power method: U <- orth(U + eta x x' U), U with k rows here."""
    U = orthonormal(init)
    yield U.T @ U
    for A in pushes:
        U = orthonormal(U + U @ A.T @ A)
        yield U.T @ U


def ada_oja(
    pushes: list[Array], d: int, k: int, init: Array, step_size: float = 1.0
) -> Iterator[Array]:
    """Oja's step with eta_t = b / sqrt(sum_{s<=t} |g_s|^2), g = x x' U, b = step_size."""
    U, norm = orthonormal(init), 0.0
    yield U.T @ U
    for A in pushes:
        gradient = U @ A.T @ A
        norm = np.hypot.reduce(gradient.ravel(), initial=norm)
        if norm > 0:
            U = orthonormal(U + step_size / norm * gradient)
        yield U.T @ U


def grouse(pushes: list[Array], d: int, k: int, init: Array) -> Iterator[Array]:
    """Section 6: rotate p = U'w towards r by theta = eta |r| |p|. One row per step.

    Entries that are NaN are missing: then w is found from the others, and r is zero there.
    """
    U = orthonormal(init)
    yield U.T @ U
    for (x,) in pushes:  # x is sqrt(eta) times the row, so that theta = |r| |p|
        observed = ~np.isnan(x)
        w = np.linalg.lstsq(U[:, observed].T, x[observed], rcond=None)[0]
        p = w @ U
        r = np.where(observed, x - p, 0.0)
        size_p, size_r = np.linalg.norm(p), np.linalg.norm(r)
        if size_p > 0 and size_r > 0:
            theta = size_p * size_r
            turn = (np.cos(theta) - 1) * p / size_p + np.sin(theta) * r / size_r
            U = U + np.outer(w / np.linalg.norm(w), turn)
        yield U.T @ U


ALGORITHMS: dict[str, Callable[..., Iterator[Array]]] = {
    "MSG": msg,
    "CappedMSG": capped_msg,
    "MEG": meg,
    "Incremental": incremental,
    "Oja": oja,
    "AdaOja": ada_oja,
    "Grouse": grouse,
}


def inverse_sqrt(c: float) -> StepRule:
    """eta_t = c / sqrt(t)."""
    return lambda norms, diameter: c / np.sqrt(np.arange(1, len(norms) + 1))


def constant(c: float) -> StepRule:
    """eta_t = c."""
    return lambda norms, diameter: np.full(len(norms), c)


def adagrad_norm(scale: float = 1.0) -> StepRule:
    """eta_t = scale D / sqrt(2 sum_{s<=t} |g_s|^2); 0 while all gradients are zero."""

    def steps(norms: Array, diameter: float) -> Array:
        root = np.sqrt(2) * np.hypot.accumulate(norms)
        return scale * diameter * np.divide(1, root, out=np.zeros_like(root), where=root > 0)

    return steps


def diameter(algorithm: str, d: int, k: int, trace: str) -> float:
    """The D of the AdaGrad-norm step."""
    if algorithm == "MEG":
        return np.sqrt(2 * k * np.log(d / k))
    if algorithm in ("MSG", "CappedMSG") and trace == "at_most":
        return np.sqrt(min(2 * k, d))
    return np.sqrt(2 * min(k, d - k))


def weigh(rows: Array, weights: Array, center: bool) -> Array:
    """Fold weights, and the running mean of the rows before, into the rows; drop weight 0."""
    rows, weights = rows[weights > 0], weights[weights > 0]
    if not center:
        return np.sqrt(weights)[:, None] * rows
    mean, total = np.zeros(rows.shape[1]), 0.0
    centred = np.zeros_like(rows)
    for t, (x, w) in enumerate(zip(rows, weights, strict=True)):
        centred[t] = np.sqrt(w * total / (total + w)) * (x - mean)
        total += w
        mean = mean + w / total * (x - mean)
    return centred


def run(
    algorithm: str,
    rows: Array,
    k: int,
    *,
    step: StepRule | None = None,
    batch_size: int = 1,
    center: bool = False,
    weights: Array | None = None,
    **options: object,
) -> Outcome:
    """Run one algorithm over all rows; `options` go to it (trace, max_rank, init)."""
    n, d = rows.shape
    rows = weigh(rows, np.ones(n) if weights is None else weights, center)
    batches = [rows[i : i + batch_size] for i in range(0, len(rows), batch_size)]
    roots = [Y / np.sqrt(len(Y)) for Y in batches]  # Y'Y is the gradient
    if algorithm == "Incremental":
        pushes = batches
    elif step is None:  # AdaOja has its own
        pushes = roots
    else:
        norms = np.array([np.hypot.reduce((Y @ Y.T).ravel()) for Y in roots])
        steps = step(norms, diameter(algorithm, d, k, str(options.get("trace", "at_most"))))
        pushes = [np.sqrt(eta) * Y for eta, Y in zip(steps, roots, strict=True)]
    *before, last = ALGORITHMS[algorithm](pushes, d, k, **options)
    return Outcome(last, np.mean(before, axis=0), batches, before)


def scatter(rows: Array, weights: Array | None = None, *, center: bool) -> tuple[Array, Array]:
    """Return mean (d,) and sum of squares (d, d) of weighted rows, about it or about zero."""
    weights = np.ones(len(rows)) if weights is None else weights
    mean = weights @ rows / weights.sum() if center else np.zeros(rows.shape[1])
    return mean, (rows - mean).T @ (weights[:, None] * (rows - mean))


class Conditioned(NamedTuple):
    """A row whose gaps have their conditional means, and what goes with it."""

    row: Array
    covariance: Array  # of the missing entries; zero elsewhere
    log_determinant: float  # of the covariance of the observed entries
    distance: float  # their squared Mahalanobis distance from the mean


def complete(row: Array, mean: Array, covariance: Array) -> Conditioned:
    """Condition a normal distribution on the entries of a row that are not NaN."""
    seen, gaps = np.flatnonzero(~np.isnan(row)), np.flatnonzero(np.isnan(row))
    inverse = np.linalg.inv(covariance[np.ix_(seen, seen)])
    across, deviation = covariance[np.ix_(gaps, seen)] @ inverse, row[seen] - mean[seen]
    completed, left = row.copy(), np.zeros_like(covariance)
    completed[gaps] = mean[gaps] + across @ deviation
    of_gaps, between = covariance[np.ix_(gaps, gaps)], covariance[np.ix_(seen, gaps)]
    left[np.ix_(gaps, gaps)] = of_gaps - across @ between
    log_determinant = float(np.linalg.slogdet(covariance[np.ix_(seen, seen)])[1])
    return Conditioned(completed, left, log_determinant, float(deviation @ inverse @ deviation))


def captured(outcome: Outcome, k: int, latest: int = 0) -> float:
    """The share of variance in the top k of each iterate, of the batch that it sees next.

    It is that of all rows, or of so many of the latest.
    """
    inside: list[float] = []
    total: list[float] = []
    for batch, M in zip(outcome.batches, outcome.before, strict=True):
        values, vectors = np.linalg.eigh(M)
        top = vectors[:, -k:][:, values[-k:] > 1e-12 * values[-1]]
        inside += np.sum((batch @ top) ** 2, axis=1).tolist()
        total += np.sum(batch**2, axis=1).tolist()
    return sum(inside[-latest:]) / sum(total[-latest:])
