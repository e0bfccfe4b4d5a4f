"""Figure 3: MNIST, k in {1, 4, 8}, against iterations, estimated runtime and seconds."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from onepass.paper.algorithms import AVERAGED, make_rule
from onepass.paper.grid import EXPONENTS, HeldOut, Look, Shared, choose
from onepass.paper.mnist import Normalisation, Scaling, split
from onepass.paper.runs import Arrays, Run, complete, seed_of
from onepass.paper.trajectory import BLOCK_ROWS, checkpoints, trajectory
from onepass.schedules import Constant
from onepass.threads import one_thread

KS = (1, 4, 8)
PAPER = ("MSG", "Capped MSG", "Incremental", "Warmuth-Kuzmin", "Grassmannian SGD")
STEPPED = (
    "MSG",
    "Capped MSG",
    "Warmuth-Kuzmin",
    "Grassmannian SGD",
    "Oja",
    "Capped MSG" + AVERAGED,
)
BEYOND = ("Oja", "Capped MSG" + AVERAGED, "PCA", "IncrementalPCA", "ERM")
TOGETHER = 100  # rows that scikit-learn's IncrementalPCA gets at once
RANK_LIMIT = 32  # + 4k directions at most: small steps fill the trace late, at full rank


def one_split(
    images: NDArray[np.uint8],
    data: str,
    seed: int,
    train_rows: int,
    scaling: Scaling,
    marks_count: int,
) -> Arrays:
    """Run everything on one random split of the images, which `data` identifies.

    Returns
    -------
    dict
        `marks` (s,) and, under "algorithm/k/what": `suboptimality` on the test rows, `cost` and
        `seconds`, each (s,), `c` and `limited`, and `grid` (18,), the average suboptimality on
        validation rows.
    """
    train, validation_images, test_images = split(images, seed)
    scaled = Normalisation.of(images, scaling)
    with one_thread():
        rows = scaled(train[:train_rows])
        validation = HeldOut.of(scaled.second_moment(validation_images))
        test = HeldOut.of(scaled.second_moment(test_images))
        marks = checkpoints(10, len(rows), marks_count)
        erm = weighted_erm(rows, marks, np.ones(len(rows)))[0]
        looks, trace, largest = weighted_erm(rows, marks, np.arange(1.0, len(rows) + 1) ** -0.5)
        # Nobody runs MSG by eigenvalues of S(t): there is no time to report.
        shared = Shared([replace(look, seconds=np.nan) for look in looks], trace, largest)
        result: Arrays = {"marks": marks}
        for name in (*STEPPED, "Incremental"):  # nothing is compiled or loaded while time is taken
            _warm_up(name, rows)
        for k in KS:
            for name in STEPPED:
                limit = RANK_LIMIT + 4 * k
                chosen = choose(name, k, rows, marks, validation, shared, limit, seed)
                _keep(result, f"{name}/{k}", chosen.looks, test, k)
                result[f"{name}/{k}/c"] = np.array(chosen.c)
                grid = [chosen.averages.get(e, np.nan) for e in EXPONENTS]
                result[f"{name}/{k}/grid"] = np.array(grid)
            _keep(result, f"Incremental/{k}", list(_incremental(k, rows, marks)), test, k)
            _keep(result, f"ERM/{k}", erm, test, k)
            for name, model, together in _estimators(k):
                _keep(
                    result, f"{name}/{k}", list(_estimator(model, together, rows, marks)), test, k
                )
    return result


def _warm_up(name: str, rows: NDArray[np.float64]) -> None:
    """Take a few rows with an algorithm."""
    rule, averaging = make_rule(name, 1, rows.shape[1]), name.endswith(AVERAGED)
    few = min(len(rows), 2 * BLOCK_ROWS)
    list(trajectory(rule, rows, Constant(1.0), [few], averaging=averaging))


def _keep(result: Arrays, key: str, looks: list[Look], test: HeldOut, k: int) -> None:
    """Measure the looks at a run on the test rows."""
    curve = [test.suboptimality(look.directions[:k], k) for look in looks]
    result[f"{key}/suboptimality"] = np.array(curve)
    result[f"{key}/cost"] = np.array([look.cost for look in looks])
    result[f"{key}/seconds"] = np.array([look.seconds for look in looks])
    result[f"{key}/limited"] = np.array(looks[-1].limited)


def weighted_erm(
    rows: NDArray[np.float64], marks: NDArray[np.int64], weights: NDArray[np.float64]
) -> tuple[list[Look], float, float]:
    """Look at S(t) = sum_s w_s x_s x_s' at every checkpoint; its trace and norm at the end.

    Its rank, for the estimated runtime, is that of rows in general position.
    """
    d = rows.shape[1]
    live = int((np.abs(rows).max(axis=0) > 0).sum())
    ranks = np.minimum(np.arange(1, len(rows) + 1), live)
    costs = np.cumsum(ranks.astype(float) ** 2)
    total, seen, looks, seconds = np.zeros((d, d)), 0, [], 0.0
    largest = 0.0
    for mark in marks:
        start = time.process_time()
        part = rows[seen:mark]
        total += (part * weights[seen:mark, None]).T @ part
        seen = int(mark)
        values, vectors = scipy.linalg.eigh(total, subset_by_index=[d - max(KS), d - 1])
        seconds += time.process_time() - start
        largest = float(values[-1])
        looks.append(Look(vectors[:, ::-1].T.copy(), costs[mark - 1], seconds, False))
    return looks, float(np.trace(total)), largest


def _incremental(k: int, rows: NDArray[np.float64], marks: NDArray[np.int64]) -> Iterator[Look]:
    """Look at the incremental algorithm, which has no step."""
    rule = make_rule("Incremental", k, rows.shape[1])
    for moment in trajectory(rule, rows, Constant(1.0), marks):
        yield Look(moment.iterate.top(k).copy(), moment.cost, moment.seconds, False)


def _estimators(k: int) -> Iterator[tuple[str, Any, int | None]]:
    """Return the estimators to compare with, and how many rows they get at once if that matters."""
    import onepass

    if hasattr(onepass, "PCA"):
        yield "PCA", onepass.PCA(k, random_state=0), None
    from sklearn.decomposition import IncrementalPCA

    yield "IncrementalPCA", IncrementalPCA(k), TOGETHER


def _estimator(
    model: Any, together: int | None, rows: NDArray[np.float64], marks: NDArray[np.int64]
) -> Iterator[Look]:
    """Look at an estimator at every checkpoint, after what it could be given up to there."""
    seen, seconds = 0, 0.0
    directions = np.zeros((0, rows.shape[1]))
    for mark in marks:
        stop = mark if together is None else mark // together * together
        start = time.process_time()
        while seen < stop:
            upto = stop if together is None else seen + together
            model.partial_fit(rows[seen:upto])
            seen = upto
        seconds += time.process_time() - start
        if seen:
            directions = model.components_
        yield Look(directions, np.nan, seconds, False)


def run_all(
    out: Path,
    images: NDArray[np.uint8],
    train_rows: int,
    marks_count: int,
    splits: Mapping[Scaling, int],
    jobs: int,
    seed: int,
) -> dict[Scaling, list[Arrays]]:
    """Run all splits, so many with each scaling; those of the same number are the same split."""
    data = hashlib.sha256(images.tobytes()).hexdigest()
    pieces = [(scaling, i) for scaling, count in splits.items() for i in range(count)]
    runs = [
        Run(
            f"figure3-{scaling}-{i}",
            one_split,
            {
                "seed": seed_of(seed, "figure 3", i),
                "train_rows": train_rows,
                "marks_count": marks_count,
                "data": data,
                "scaling": scaling,
            },
            {"images": images},
        )
        for scaling, i in pieces
    ]
    found = dict(zip(pieces, complete(runs, out / "runs", jobs, "Figure 3"), strict=True))
    return {s: [found[s, i] for i in range(count)] for s, count in splits.items()}
