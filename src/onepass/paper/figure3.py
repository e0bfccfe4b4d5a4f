"""Figure 3: MNIST, k in {1, 4, 8}, against iterations and estimated runtime."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from onepass.paper.grid import (
    EXPONENTS,
    HeldOut,
    Leading,
    Training,
    choose,
    leading,
    weighted_pca,
)
from onepass.paper.mnist import Scaling, split
from onepass.paper.readings import MNIST
from onepass.paper.runs import Arrays, Run, seed_of
from onepass.paper.trajectory import AVERAGED, WIDER, checkpoints
from onepass.schedules import Constant
from onepass.threads import one_thread

KS = (1, 4, 8)
PAPER = ("MSG", "Capped MSG", "Incremental", "Warmuth-Kuzmin", "Grassmannian SGD")
BEYOND = (WIDER, "Capped MSG" + AVERAGED, "Oja", "ERM")
ALGORITHMS = (*PAPER, *BEYOND)
ROW_SECONDS = 4e-3  # of all algorithms, k and steps together


def one_split(
    images: NDArray[np.uint8],
    data: str,
    seed: int,
    reading: str,
    train_rows: int,
    marks_count: int,
) -> Arrays:
    """Run everything on one random split of the images, which `data` identifies.

    Returns
    -------
    dict
        `marks` (s,) and, under "algorithm/k/what": `suboptimality` on the test rows, relative to
        the optimum, and `cost`, each (s,), `limited`, and where there is a step `c` and `grid`
        (18,), the average suboptimality on validation rows.
    """
    train, validation_images, test_images = split(images, seed)
    scaled = Scaling.of(images, reading)
    with one_thread():
        rows = scaled(train[:train_rows])
        number = np.arange(1.0, len(rows) + 1)
        marks = checkpoints(10, len(rows), marks_count)
        test = HeldOut.of(scaled.second_moment(test_images))
        training = Training(
            rows,
            marks,
            HeldOut.of(scaled.second_moment(validation_images)),
            weighted_pca(rows, marks, number**-0.5, max(KS)),
            seed,
        )
        erm = weighted_pca(rows, marks, np.ones(len(rows)), max(KS)).run
        result: Arrays = {"marks": marks}
        for k in KS:
            for name in ALGORITHMS:
                key = f"{name}/{k}"
                if name == "ERM":
                    run = erm
                elif name == "Incremental":  # it has no step
                    run = list(leading(name, k, Constant(1.0), training))
                else:
                    chosen = choose(name, k, training)
                    run = chosen.run
                    grid = [chosen.averages.get(e, np.nan) for e in EXPONENTS]
                    result[f"{key}/c"], result[f"{key}/grid"] = np.array(chosen.c), np.array(grid)
                result.update(_measured(key, run, test, k))
    return result


def _measured(key: str, run: list[Leading], test: HeldOut, k: int) -> Arrays:
    """Measure a run on the test rows."""
    return {
        f"{key}/suboptimality": np.array(
            [test.suboptimality(at.directions[:k], k) for at in run]
        ),
        f"{key}/cost": np.array([at.cost for at in run]),
        f"{key}/limited": np.array(run[-1].limited),
    }


def make_runs(
    images: NDArray[np.uint8], train_rows: int, marks_count: int, splits: int, seed: int
) -> list[Run]:
    """Return a run per split and reading; the splits are the same for all readings."""
    data = hashlib.sha256(images.tobytes()).hexdigest()
    return [
        Run(
            f"figure3-{reading.key}-{i}",
            one_split,
            {
                "seed": seed_of(seed, "figure 3", i),
                "reading": reading.key,
                "train_rows": train_rows,
                "marks_count": marks_count,
                "data": data,
            },
            {"images": images},
            expected_seconds=train_rows * ROW_SECONDS,
        )
        for i in range(splits)
        for reading in MNIST
    ]
