"""Figure 3: MNIST, k in {1, 4, 8}, against iterations and estimated runtime."""

from __future__ import annotations

import gzip
import hashlib
import itertools
import os
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from onepass.schedules import Constant
from onepass.threads import one_thread
from reproduction.algorithms import (
    RANK_LIMIT,
    WIDER,
    HeldOut,
    Training,
    checkpoints,
    run_weights,
    weighted_pca,
)
from reproduction.claims import Measured, Part, Quantity, Reading, Table, across, exact, ratio
from reproduction.figure2 import Curves, Measure, Panels, draw_panels
from reproduction.runs import Arrays, Run, Scope, gather, repetitions, seed_of

KS, HIGH_KS = (1, 4, 8), (4, 8)  # some claims are about the high ones only
GRASSMANN = "Grassmannian SGD"
OTHERS = ("MSG", "Capped MSG", "Warmuth-Kuzmin", GRASSMANN)  # all but the incremental algorithm
COSTED = ("MSG", "Capped MSG", "Incremental", "Warmuth-Kuzmin")  # whose runtimes are compared
PAPER = (*COSTED, GRASSMANN)
ALGORITHMS = (*PAPER, WIDER, "AdaOja", "ERM")
ROW_SECONDS = 3e-3  # for all algorithms, k and steps
LONGEST = 0.01  # share of the training rows that are "the longest"
WHOLE_ROWS = ("Incremental", "Capped MSG")  # run again without these, under the reading "unit"
WHOLE_ROW_SECONDS = 4e-4  # for these algorithms, all k and steps

CHUNK_ROWS = 4000  # images that are scaled together
FILES = ("train-images-idx3-ubyte", "t10k-images-idx3-ubyte")
IMAGES_MAGIC = b"\x00\x00\x08\x03"  # unsigned bytes in three dimensions

# Section 6 divides feature j by "the product of its standard deviation s_j and the data dimension",
# which gives a mean squared norm of 1/d, "so that each feature vector is [of] unit norm".
PRINTED = Reading("printed", "s_j d", r"divided by $s_j d$ (as printed)")
UNIT = Reading("unit", "s_j sqrt(d)", r"divided by $s_j \sqrt{d}$ (unit norm)")
WHOLE = Reading("whole", "one scale", "one scale for all pixels")
MNIST = (PRINTED, UNIT, WHOLE)


def load_images(folder: str | os.PathLike[str] | None) -> NDArray[np.uint8]:
    """Return all images, (n, 784), from the idx files in a folder or else from scikit-learn."""
    if folder is not None:
        return np.vstack([read_idx(Path(folder), name) for name in FILES])
    from sklearn.datasets import fetch_openml

    try:
        images = fetch_openml("mnist_784", version=1, as_frame=False, parser="liac-arff").data
    except (OSError, ValueError) as error:
        raise OSError(
            "MNIST is not here and could not be downloaded "
            f"({error}). Give the folder of its idx files (--mnist DIR, with "
            f"{FILES[0]}[.gz] and {FILES[1]}[.gz]), or run once with a network connection: "
            "scikit-learn's fetch_openml('mnist_784') then keeps a copy."
        ) from error
    return images.astype(np.uint8)


def read_idx(folder: Path, name: str) -> NDArray[np.uint8]:
    """Return the images of an idx file, (n, pixels)."""
    if (folder / name).exists():
        content = (folder / name).read_bytes()
    elif (folder / f"{name}.gz").exists():
        content = gzip.decompress((folder / f"{name}.gz").read_bytes())
    else:
        raise FileNotFoundError(f"{folder} has neither {name} nor {name}.gz")
    if content[:4] != IMAGES_MAGIC:
        raise ValueError(f"{folder}: {name} is not an idx file of images")
    count, height, width = (int(n) for n in np.frombuffer(content, ">i4", 3, offset=4))
    if len(content) != 16 + count * height * width:
        raise ValueError(f"{folder}: {name} is cut short")
    return np.frombuffer(content, np.uint8, offset=16).reshape(count, height * width)


class Scaling:
    """x = (image - mean) / scale, under a reading of the text; constant pixels become zero.

    The paper divides pixel j by its standard deviation s_j and by d ("printed"), which gives
    E|x|^2 = 1/d. To have E|x|^2 = 1, as the text says, "unit" divides by s_j and by the root of the
    number of pixels that are not constant, and "whole" divides all pixels by one number.
    """

    def __init__(self, images: NDArray[np.uint8], reading: str) -> None:
        self.mean, deviation = images.mean(axis=0), images.std(axis=0)
        varying = deviation > 0
        factor = images.shape[1] if reading == PRINTED.key else np.sqrt(varying.sum())
        self.scale = np.where(varying, deviation * factor, np.inf)
        if reading == WHOLE.key:
            self.scale = np.sqrt((deviation**2).sum())

    def __call__(self, images: NDArray[np.uint8]) -> NDArray[np.float64]:
        """Return scaled rows."""
        return (images - self.mean) / self.scale

    def second_moment(self, images: NDArray[np.uint8]) -> NDArray[np.float64]:
        """Return the (d, d) second moment of the scaled rows."""
        return np.sum([rows.T @ rows for rows in self._parts(images)], axis=0) / len(images)

    def norm_moments(self, images: NDArray[np.uint8]) -> tuple[float, float]:
        """Return E|x|^2 and E|x|^4 of the scaled rows."""
        squares = np.concatenate([(rows**2).sum(axis=1) for rows in self._parts(images)])
        return float(squares.mean()), float((squares**2).mean())

    def _parts(self, images: NDArray[np.uint8]) -> Iterator[NDArray[np.float64]]:
        """Scale some images at a time."""
        return map(self, np.array_split(images, np.arange(CHUNK_ROWS, len(images), CHUNK_ROWS)))


def split(images: NDArray[np.uint8], seed: int) -> list[NDArray[np.uint8]]:
    """Return 40% for training, 20% for validation and 40% for testing, in random order."""
    order = np.random.default_rng(seed).permutation(len(images))
    return np.split(images[order], [2 * len(images) // 5, 3 * len(images) // 5])


def one_split(
    images: NDArray[np.uint8],
    data: str,
    seed: int,
    reading: str,
    train_rows: int,
    marks_count: int,
    names: Sequence[str] = ALGORITHMS,
    without_longest: bool = False,
) -> Arrays:
    """Run algorithms on one random split of the images, which `data` identifies.

    Return `longest`, the share of the longest training rows in the sum of |x|^4, `marks` (s,) and,
    under "algorithm/k/what": `suboptimality` on the test rows, relative to the optimum, and
    `cost`, each (s,), `limited`, and where there is a step `c`.
    """
    train, *held_out = split(images, seed)
    scaled = Scaling(images, reading)
    result: Arrays = {}
    with one_thread():
        rows = scaled(train[:train_rows])
        fourth = (rows**2).sum(axis=1) ** 2
        longest = np.argsort(fourth)[-max(1, round(LONGEST * len(rows))) :]
        result["longest"] = fourth[longest].sum() / fourth.sum()
        if without_longest:
            rows = np.delete(rows, longest, axis=0)
        result["marks"] = marks = checkpoints(10, len(rows), marks_count)
        validation, test = (HeldOut(scaled.second_moment(part)) for part in held_out)
        small_steps = weighted_pca(rows, marks, np.arange(1.0, len(rows) + 1) ** -0.5, max(KS))
        training = Training(rows, marks, validation, small_steps, seed)
        erm = weighted_pca(rows, marks, np.ones(len(rows)), max(KS)) if "ERM" in names else []
        for k, name in itertools.product(KS, names):
            key = f"{name}/{k}"
            if name == "ERM":
                run = erm
            elif name in ("Incremental", "AdaOja"):  # no step to choose
                run = list(training.run(name, k, Constant(1.0)))
            else:
                c, run = training.choose(name, k)
                result[f"{key}/c"] = np.array(c)
            result[f"{key}/suboptimality"] = np.array([test.suboptimality(at, k) for at in run])
            result[f"{key}/cost"] = np.array([at.cost for at in run])
            result[f"{key}/limited"] = np.array(run[-1].limited)
    return result


def make_runs(scope: Scope) -> Iterator[Run]:
    """Give a run per split and reading, and one without the longest rows, on the same splits."""
    assert scope.images is not None
    data, rows = {"images": scope.images}, scope.train_rows
    for i in range(scope.splits):
        common = {
            "seed": seed_of(scope.seed, "figure 3", i),
            "train_rows": rows,
            "marks_count": scope.marks,
            "data": hashlib.sha256(scope.images.tobytes()).hexdigest(),
        }
        for reading in MNIST:
            settings = {**common, "reading": reading.key}
            name = f"figure3-{reading.key}-{i}"
            yield Run(name, one_split, settings, rows * ROW_SECONDS, data)
        settings = {**common, "reading": UNIT.key, "names": WHOLE_ROWS, "without_longest": True}
        yield Run(f"figure3-shorter-{i}", one_split, settings, rows * WHOLE_ROW_SECONDS, data)


def average(run: Arrays, name: str, k: int) -> NDArray[np.float64]:
    """Return the average suboptimality over the run of each split."""
    return run[f"{name}/{k}/suboptimality"] @ run_weights(run["marks"])


def cost(run: Arrays, name: str, k: int) -> NDArray[np.float64]:
    """Return the estimated runtime of a pass, per row: the mean square of k_t'."""
    return run[f"{name}/{k}/cost"][:, -1] / run["marks"][-1]


def rank(run: Arrays, name: str, k: int) -> NDArray[np.float64]:
    """Return the root mean square of k_t'."""
    return np.sqrt(cost(run, name, k))


def at_equal_cost(run: Arrays, name: str, k: int) -> NDArray[np.float64]:
    """Return the suboptimality after an estimated runtime of T k^2."""
    budget = run["marks"][-1] * k**2
    pairs = zip(run[f"{name}/{k}/cost"], run[f"{name}/{k}/suboptimality"], strict=True)
    return np.array([np.interp(budget, *pair) for pair in pairs])


def report(results: Mapping[str, Arrays], scope: Scope, out: Path) -> Part:
    """Draw the figure and measure what Section 6 says about it."""
    assert scope.images is not None
    runs = {reading: repetitions(results, f"figure3-{reading.key}") for reading in MNIST}
    shorter = repetitions(results, "figure3-shorter")
    count = min(len(shorter), *map(len, runs.values()))
    curves: Curves = {reading: gather(found[:count]) for reading, found in runs.items()}
    draw(curves, out)
    measured = {}
    for reading, run in curves.items():
        second, fourth = Scaling(scope.images, reading.key).norm_moments(scope.images)
        norms = {"unit norm": [exact(second)], "fourth moment": [exact(fourth)]}
        measured[reading.name] = {**norms, **measure(run)}
    without = gather(shorter[:count])
    measured[UNIT.name]["long rows"] = [
        ratio(average(curves[UNIT], name, k), average(without, name, k), f"{name}, k={k}")
        for name, k in itertools.product(WHOLE_ROWS, KS)
    ]
    rows = int(curves[PRINTED]["marks"][-1])
    facts = {
        "rows": rows,
        "count": count,
        "rank_limit": RANK_LIMIT,
        "longest": f"{LONGEST:.0%}",
        "longest_share": across([float(run["longest"]) for run in runs[UNIT][:count]]).text(".0%"),
    }
    return Part("figure3", measured, facts, [tabulate(curves)])


def measure(run: Arrays) -> Measured:
    """Measure the claims about the curves."""

    def against(
        what: Measure, name: str, others: Sequence[str], worst: bool = False, ks: Sequence[int] = KS
    ) -> list[Quantity]:
        """Divide the measure of an algorithm by that of the best, or worst, of others."""
        pick = np.max if worst else np.min
        best = {k: pick([what(run, other, k) for other in others], axis=0) for k in ks}
        return [ratio(what(run, name, k), best[k], f"k={k}") for k in ks]

    entropy = {k: average(run, "Warmuth-Kuzmin", k) / average(run, "MSG", k) for k in KS}
    capped = ("MSG", "Capped MSG")
    return {
        "incremental progress": against(average, "Incremental", OTHERS),
        "incremental fastest": against(at_equal_cost, "Incremental", OTHERS[:3]),
        "comparable": against(average, "MSG", ["Incremental"]),
        "representation": [across(rank(run, "MSG", k) / k, f"k={k}") for k in KS],
        "capped faster": against(cost, "MSG", ["Capped MSG"]),
        "almost as fast": against(at_equal_cost, "Capped MSG", ["Incremental"]),
        "entropy k=1": [ratio(entropy[1], np.ones(1), "k=1")],
        "entropy drops": [ratio(entropy[k], entropy[1], f"k={k}") for k in HIGH_KS],
        "entropy rank": against(rank, "Warmuth-Kuzmin", ["MSG"], ks=HIGH_KS),
        "grassmann entropy": against(average, GRASSMANN, ["Warmuth-Kuzmin"], ks=HIGH_KS),
        "grassmann much worse": against(average, GRASSMANN, capped, worst=True, ks=HIGH_KS),
        "grassmann k=1": against(average, GRASSMANN, capped, worst=True, ks=[1]),
    }


def tabulate(curves: Curves) -> Table:
    """Return a line for every reading, k and algorithm, the best algorithm first."""
    columns = ["Average suboptimality", "At the end", "RMS rank", "c chosen"]
    lines = []
    for (reading, run), k in itertools.product(curves.items(), KS):
        averages = {name: average(run, name, k) for name in ALGORITHMS}
        for name in sorted(ALGORITHMS, key=lambda name: averages[name].mean()):
            key = f"{name}/{k}"
            cut = int(run[f"{key}/limited"].sum())
            steps = "-"
            if f"{key}/c" in run:
                exponents = np.log2(run[f"{key}/c"])
                steps = f"2^{exponents.min():.0f} .. 2^{exponents.max():.0f}"
            cells = [
                across(averages[name]).text(".3g"),
                f"{run[f'{key}/suboptimality'][:, -1].mean():.3g}",
                f"{rank(run, name, k).mean():.1f}" + f", cut in {cut}" * bool(cut),
                steps,
            ]
            lines.append([reading.name, str(k), name, *cells])
    return {"columns": ["Reading", "k", "Algorithm", *columns], "lines": lines}


def draw(curves: Curves, out: Path) -> None:
    """Draw the mean over splits against iterations and against estimated runtime."""
    by_row: Panels = defaultdict(dict)
    by_cost: Panels = defaultdict(dict)
    for (reading, run), k, name in itertools.product(curves.items(), KS, (*PAPER, "AdaOja", "ERM")):
        mean = run[f"{name}/{k}/suboptimality"].mean(axis=0)
        by_row[reading, k][name] = run["marks"], mean
        if name in COSTED:
            by_cost[reading, k][name] = run[f"{name}/{k}/cost"].mean(axis=0), mean
    ylabel = "Relative suboptimality"
    draw_panels(out / "figure3", by_row, "Iterations", ylabel)
    draw_panels(out / "figure3-runtime", by_cost, "Estimated runtime", ylabel)
