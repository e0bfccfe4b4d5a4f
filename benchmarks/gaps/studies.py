"""The studies: each yields rows of the tables."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.accuracy.study import STATISTICS
from benchmarks.data import rows_of, standardised
from benchmarks.gaps import methods
from benchmarks.gaps.patterns import (
    Observed,
    Pattern,
    at_random,
    by_columns,
    drop_outs,
    hidden,
)
from benchmarks.losses import Directions, Numbers, batch_pca, loss
from benchmarks.results import Row
from benchmarks.rows import gaussian, power, spiked, student
from onepass import PCA, merge

BUDGET = "onepass.gaps.completion", "KEPT_NUMBERS"  # numbers in rows with gaps that are kept
SIZES = ((20, 3, 3000, 3), (50, 5, 3000, 3), (300, 5, 2000, 1))  # columns, k, rows, seeds
NARROW = 50  # columns up to which statsmodels takes seconds
PATTERNS: dict[str, Pattern] = {
    "20%": at_random(0.2),
    "drop-outs": drop_outs,
    "50%": at_random(0.5),
    "column rates": by_columns,
}
PRIME_RUNS = 2  # of each setting of primePCA, half a minute each: the whole study takes 25 minutes
NORMAL_90 = 1.645  # standard deviations of an interval of 90%
MOST_ROWS = 3000  # of real data
NEAREST = 20  # columns that IterativeImputer looks at: all of 200 would take half an hour


@dataclass(frozen=True)
class Study:
    """Something that yields rows of one table.

    Attributes
    ----------
    name : str
        As on the command line.
    rows : callable
        ``rows(seed, folder, quick)`` yields them.
    """

    name: str
    rows: Callable[[int, Path | None, bool], Iterator[Row]]


@dataclass(frozen=True)
class Case:
    """Rows with gaps, and the distribution that they come from.

    Attributes
    ----------
    X : array of shape (n, d)
        With NaN.
    complete : array of shape (n, d)
        The same rows before anything was hidden.
    k : int
        How many directions are looked for.
    spectrum, turn : arrays of shape (d,) and (d, d)
        The rows are those of this spectrum, times `turn`.
    """

    X: Numbers
    complete: Numbers
    k: int
    spectrum: Numbers
    turn: Numbers

    def loss(self, directions: Directions) -> float:
        """Return by how much directions (k, d) capture less than the best."""
        return loss(directions @ self.turn.T, self.spectrum, self.k)


@contextmanager
def budget(numbers: int) -> Iterator[None]:
    """Let `PCA` keep so many numbers of rows with gaps."""
    module, name = importlib.import_module(BUDGET[0]), BUDGET[1]
    before = getattr(module, name)
    setattr(module, name, numbers)
    try:
        yield
    finally:
        setattr(module, name, before)


def ours(X: Numbers, k: int, robust: bool = False) -> Directions:
    """Return the components of `PCA`."""
    return PCA(k, robust=robust).fit(X).components_


def spectra(d: int, k: int) -> dict[str, Numbers]:
    """Return the variances of four distributions."""
    return {
        "spikes": spiked(d, k, 20.0, 10.0),
        "weak spikes": spiked(d, k, 5.0, 2.5),
        "i^-1": power(d, 1.0),
        "low rank": np.concatenate([np.linspace(10.0, 5.0, k), np.full(d - k, 0.01)]),
    }


def drawn(pattern: Pattern, spectrum: Numbers, n: int, k: int, df: float, seed: int) -> Case:
    """Return rows with gaps; they are turned, because gaps are along columns."""
    d = len(spectrum)
    rng = np.random.default_rng([seed, n, d, int(1e3 * spectrum.sum())])
    turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
    rows = gaussian(n, spectrum, rng) if df == np.inf else student(n, spectrum, df, rng)
    complete = rows @ turn
    return Case(hidden(complete, pattern(n, d, rng)), complete, k, spectrum, turn)


@cache
def case_of(pattern: str, name: str, d: int, k: int, n: int, seed: int) -> tuple[Case, float]:
    """Return a case and the loss of batch EM, which takes longest."""
    case = drawn(PATTERNS[pattern], spectra(d, k)[name], n, k, np.inf, seed)
    return case, case.loss(methods.batch_em(case.X, k)[0])


def cases(pattern: str, seed: int, quick: bool) -> Iterator[tuple[Case, float]]:
    """Yield all sizes and distributions of a pattern; of small sizes with several seeds."""
    for d, k, n, seeds in SIZES[:1] if quick else SIZES:
        for name in spectra(d, k):
            for number in range(1 if quick else seeds):
                yield case_of(pattern, name, d, k, n // 3 if quick else n, seed + number)


def ratios(
    pattern: str, title: str, share: float, mean: float | None, worst: float | None
) -> Callable[[int, Path | None, bool], Iterator[Row]]:
    """Return the study of a pattern with a budget that is a share of the rows."""

    def rows(seed: int, folder: Path | None, quick: bool) -> Iterator[Row]:
        found: dict[str, list[float]] = {}
        for case, em in cases(pattern, seed, quick):
            with budget(int(share * case.X.size)):
                answers = {"PCA": ours(case.X, case.k)}
            answers["means"] = methods.mean_filling(case.X, case.k)
            answers["pairwise"] = methods.pairwise(case.X, case.k)
            if case.X.shape[1] <= NARROW and share < 1.0:
                answers |= optional(case.X, case.k)
            for name, directions in answers.items():
                found.setdefault(name, []).append(case.loss(directions) / em)
        yield ratio_row(f"ratio-{pattern}-{share:.1g}", title, found, mean, worst)

    return rows


def optional(X: Numbers, k: int) -> dict[str, Directions]:
    """Return the directions of statsmodels, where it is installed and takes the rows.

    It refuses rows that have fewer entries than there are components.
    """
    try:
        return {"statsmodels fill-em": methods.fill_em(X, k)}
    except (ImportError, ValueError):
        return {}


def ratio_row(
    name: str, title: str, found: dict[str, list[float]], mean: float | None, worst: float | None
) -> Row:
    """Return the row of ratios: geometric mean and worst of each method."""
    statistics = {
        method: {name: STATISTICS[name](np.array(values)) for name in ("mean", "worst")}
        for method, values in found.items()
    }
    limits = {"mean": mean, "worst": worst}
    kept = [statistics["PCA"][key] <= limit for key, limit in limits.items() if limit is not None]
    return {
        "name": name,
        "group": "ratio",
        "title": title,
        "promised": limits,
        "methods": statistics,
        "runs": len(found["PCA"]),
        "met": all(kept) if kept else None,
    }


def merged(seed: int, folder: Path | None, quick: bool) -> Iterator[Row]:
    """Yield the loss of two merged halves over that of one pass."""
    found: dict[str, list[float]] = {"PCA": []}
    for case, _ in cases("20%", seed, quick):
        with budget(case.X.size // 3):
            once = case.loss(ours(case.X, case.k))
            halves = [PCA(case.k).fit(half) for half in np.array_split(case.X, 2)]
            found["PCA"].append(case.loss(merge(*halves).components_) / once)
    yield ratio_row("merged", "20% missing, merged halves over one pass", found, None, 1.1)


def heavy_tails(seed: int, folder: Path | None, quick: bool) -> Iterator[Row]:
    """Yield t3 rows with 20% missing, over batch PCA of the complete rows."""
    found: dict[str, list[float]] = {"PCA": [], "means": []}
    for number in range(1 if quick else 10):
        for spectrum in (power(50, 1.0), spiked(50, 5, 5.0, 2.5)):
            n = 500 if quick else 4000
            case = drawn(at_random(0.2), spectrum, n, 5, 3.0, seed + number)
            batch = case.loss(batch_pca(case.complete, 5))
            found["PCA"].append(case.loss(ours(case.X, 5, robust=True)) / batch)
            found["means"].append(case.loss(methods.mean_filling(case.X, 5)) / batch)
    title = "Student t3, 20% missing, `robust=True`, over batch PCA of complete rows"
    yield ratio_row("heavy-tails", title, found, 0.3, None)


def prime(words: str) -> Callable[[int, Path | None, bool], Iterator[Row]]:
    """Return the study of a setting of primePCA: 2,000 x 500, two directions, 5% observed."""

    def rows(seed: int, folder: Path | None, quick: bool) -> Iterator[Row]:
        n, d, k = (400, 40, 2) if quick else (2000, 500, 2)
        share = 0.3 if quick else 0.05
        basis = np.stack([np.ones(d), np.r_[np.ones(d // 2), -np.ones(d - d // 2)]]) / np.sqrt(d)
        for variance in (20, 40, 60):
            losses: dict[str, list[float]] = {}
            for number in range(1 if quick else PRIME_RUNS):
                rng = np.random.default_rng([seed + number, variance, len(words)])
                X = np.sqrt(variance) * rng.normal(size=(n, k)) @ basis + rng.normal(size=(n, d))
                X = hidden(X, rng.random((n, d)) < _rates(words, share, n, d, rng))
                for name, method in (
                    ("PCA", ours),
                    ("pairwise", methods.pairwise),
                    ("primePCA", methods.prime_pca),
                ):
                    value = methods.sine_theta(np.asarray(method(X, k), np.float64), basis)
                    losses.setdefault(name, []).append(value)
            yield {
                "name": f"prime-{words.split()[-1]}-{variance}",
                "group": "prime",
                "title": f"signal {variance}, {share:.0%} observed {words}",
                "methods": {name: float(np.mean(values)) for name, values in losses.items()},
                "runs": len(losses["PCA"]),
                "met": None,
            }

    return rows


def _rates(words: str, share: float, n: int, d: int, rng: np.random.Generator) -> Any:
    """Return observed shares that are uniform between a tenth of the mean and nearly twice it."""
    if words == "uniformly":
        return share
    shape = (n, 1) if words == "rates by rows" else (1, d)
    return rng.uniform(0.1 * share, 1.9 * share, size=shape)


def imputation(name: str, k: int) -> Callable[[int, Path | None, bool], Iterator[Row]]:
    """Return the study of hidden entries of real data, a fifth of them, in standard deviations."""

    def rows(seed: int, folder: Path | None, quick: bool) -> Iterator[Row]:
        try:
            X = table_of(name, folder, seed, 300 if quick else MOST_ROWS)
        except FileNotFoundError as error:
            print(f"note: {error}")
            return
        observed = np.random.default_rng(seed).random(X.shape) >= 0.2
        row, covered = imputed(np.where(observed, X, np.nan), X, observed, k, quick)
        yield {
            "name": f"impute-{name}",
            "group": "imputation",
            "title": f"{name}, {len(X):,} x {X.shape[1]}, k = {k}",
            "methods": row,
            "coverage": covered,
            "met": 0.85 <= covered <= 0.95,
        }

    return rows


def table_of(name: str, folder: Path | None, seed: int, most: int) -> Numbers:
    """Return rows of a data set in their order, standardised, without constant columns."""
    if name == "digits":
        from sklearn.datasets import load_digits

        X = load_digits().data
    else:
        X = rows_of(name, folder)
    chosen = np.sort(np.random.default_rng(seed).permutation(len(X))[:most])
    X = X[chosen]
    return standardised(X[:, X.std(axis=0) > 0.0])


def imputed(
    hidden_rows: Numbers, X: Numbers, observed: Observed, k: int, quick: bool
) -> tuple[dict[str, dict[str, float]], float]:
    """Return error and CPU seconds of each method, and how often 90% intervals hold the truth."""
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    from sklearn.impute import IterativeImputer

    gaps = ~observed
    deviations = np.zeros(0)

    def by_pca() -> Numbers:
        nonlocal deviations
        filled, deviations = PCA(k).fit(hidden_rows).impute(hidden_rows, return_std=True)
        return filled

    def by_iterative_imputer() -> Numbers:
        nearest = NEAREST if X.shape[1] > NEAREST else None
        rounds = 2 if quick else 10
        imputer = IterativeImputer(n_nearest_features=nearest, max_iter=rounds, random_state=0)
        return imputer.fit_transform(hidden_rows)

    found = {}
    for name, work in (
        ("PCA", by_pca),
        ("means", lambda: np.where(observed, X, np.nanmean(hidden_rows, axis=0))),
        ("IterativeImputer", by_iterative_imputer),
        ("batch EM", lambda: methods.batch_em(hidden_rows, k)[1].complete(hidden_rows)[0]),
    ):
        start = time.process_time()
        filled = work()
        seconds = time.process_time() - start
        found[name] = {"error": float(np.abs(filled - X)[gaps].mean()), "seconds": seconds}
        if name == "PCA":
            held = np.abs(filled - X)[gaps] <= NORMAL_90 * deviations[gaps]
    return found, float(held.mean())


STUDIES = [
    Study("20", ratios("20%", "20% missing", 1 / 3, 1.04, 1.1)),
    Study("drop-outs", ratios("drop-outs", "drop-outs, a fifth of the time", 1 / 3, 1.1, 1.3)),
    Study("within", ratios("20%", "20% missing, all within the budget", 1.1, 1.01, 1.05)),
    Study("50", ratios("50%", "50% missing (a goal: 1.15 / 1.4)", 1 / 3, None, None)),
    Study(
        "column-rates",
        ratios("column rates", "column rates Beta(1, 2) (a goal: 1.7 / 2.3)", 1 / 3, None, None),
    ),
    Study("merged", merged),
    Study("heavy-tails", heavy_tails),
    Study("prime-uniformly", prime("uniformly")),
    Study("prime-rows", prime("rates by rows")),
    Study("prime-columns", prime("rates by columns")),
    Study("impute-digits", imputation("digits", 10)),
    Study("impute-gas-drift", imputation("gas-drift", 10)),
    Study("impute-covtype", imputation("covtype", 5)),
    Study("impute-los-speed", imputation("los-speed", 10)),
    Study("impute-indian-pines", imputation("indian-pines", 10)),
]
