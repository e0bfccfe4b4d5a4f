"""How often 95% intervals of loadings, variances and `captured_` hold those of the population.

Each row of the first table is a kind of stream whose covariance is known, fitted with k = 3 at
several lengths. Next to the intervals of `PCA` are those of Anderson's formula for independent
Gaussian rows, and of the standard deviation over 100 resamples of all rows in memory, in a tenth of
the runs (300 columns: a hundredth, and none of 20,000 rows).

On real tables, errors are compared with the bootstrap, and `captured_` with ten folds, for rows as
they come, reversed and shuffled. The last rows are what errors cost: the time of a fit over that of
one whose segments are never added to.

It takes half an hour; ``--add --only 'ar-*' --first-seed SEED`` runs a part of it.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from unittest import mock

import numpy as np
from scipy import sparse
from scipy.signal import detrend, lfilter
from scipy.stats import t as student_t
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from threadpoolctl import threadpool_limits

from benchmarks.results import Results, Row, chosen, parser
from benchmarks.rows import Numbers, gaussian, one_hot, power, spiked, student
from onepass import PCA, IncrementalPCA, OnepassWarning, merge
from onepass.moments.segments import Segments

K = 3
RESAMPLES = 100  # of a bootstrap
BOOTSTRAPPED = 3.0  # share of the runs that have a bootstrap, times columns
NORMAL, CONFIDENCE = 1.96, 0.975
SIZES = (600, 3000, 20_000)
FEW_ROWS = 1000  # below which less is promised
LARGE, LARGE_RUNS = 100_000, 0.4  # numbers in the rows of a run, above which there are fewer runs
FOLDS, REPEATS = 10, 5
AGREES = 0.25  # of the bootstrap's, by which errors may differ in the median
PROMISED = {"loadings": (0.92, 0.985), "variances": (0.88, 0.99), "captured": (0.9, 1.0)}
PROMISED_OF_FEW = {"loadings": (0.87, 0.99), "variances": (0.87, 0.99), "captured": (0.9, 1.0)}

# Rows (n, d) of a stream, and their covariance (d, d).
Draw = Callable[[int, int, np.random.Generator], Any]
Truth = Callable[[int], Numbers]


@cache
def turn(d: int) -> Numbers:
    """Return a rotation (d, d), always the same, so that no loading is zero."""
    return np.linalg.qr(np.random.default_rng(1).normal(size=(d, d)))[0]


def _covariance(d: int) -> Numbers:
    return (turn(d).T * power(d, 1.0)) @ turn(d)


def _decay(n: int, d: int, rng: np.random.Generator) -> Numbers:
    return gaussian(n, power(d, 1.0), rng) @ turn(d)


def _t5(n: int, d: int, rng: np.random.Generator) -> Numbers:
    return student(n, power(d, 1.0), 5.0, rng) @ turn(d)


def _spikes(d: int) -> Numbers:
    return spiked(d, K, 2.0, 1.5)


def _series(n: int, d: int, rng: np.random.Generator) -> Numbers:
    """Return rows of which each is 0.8 times the one before, and noise; all have variance one."""
    noise = rng.normal(size=(n + 50, d))
    return lfilter([0.6], [1.0, -0.8], noise, axis=0)[50:]


def _autoregressive(n: int, d: int, rng: np.random.Generator) -> Numbers:
    return _series(n, d, rng) * np.sqrt(power(d, 1.0)) @ turn(d)


SEASON = 12


def _waves(d: int) -> Numbers:
    """Return the amplitudes (2, d) of the yearly cosine and sine of each column."""
    return np.random.default_rng(2).normal(size=(2, d)) * np.array([[0.7], [0.4]])


def _seasonal(n: int, d: int, rng: np.random.Generator) -> Numbers:
    """Return a seasonal series with a trend, which is removed by least squares."""
    phase = 2.0 * np.pi * np.arange(n) / SEASON
    season = np.column_stack([np.cos(phase), np.sin(phase)]) @ _waves(d)
    trend = np.linspace(0.0, 1.0, n)[:, None] * rng.normal(size=d)
    return detrend(season + trend + _autoregressive(n, d, rng), axis=0)


def _seasonal_covariance(d: int) -> Numbers:
    return _covariance(d) + 0.5 * _waves(d).T @ _waves(d)


def _centres(d: int) -> Numbers:
    return np.random.default_rng(7).normal(size=(4, d)) * 2.0


def _mixture(n: int, d: int, rng: np.random.Generator) -> Numbers:
    return _centres(d)[rng.integers(4, size=n)] + 0.5 * rng.normal(size=(n, d))


def _mixture_covariance(d: int) -> Numbers:
    return np.cov(_centres(d).T, bias=True) + 0.25 * np.eye(d)


def _shares(d: int) -> Numbers:
    return power(d, 1.0) / power(d, 1.0).sum()


def _one_hot(n: int, d: int, rng: np.random.Generator) -> Numbers:
    return one_hot(n, _shares(d), rng)


def _one_hot_covariance(d: int) -> Numbers:
    return np.diag(_shares(d)) - np.outer(_shares(d), _shares(d))


@cache
def _codes(d: int) -> Numbers:
    """Return what stands for each of d categories; one-hot columns have equal correlations."""
    return np.random.default_rng(3).normal(size=(d, d)) * power(d, 1.0)[:, None]


def _coded(n: int, d: int, rng: np.random.Generator) -> Numbers:
    return _codes(d)[rng.choice(d, size=n, p=_shares(d))]


def _coded_covariance(d: int) -> Numbers:
    return _codes(d).T @ _one_hot_covariance(d) @ _codes(d)


TOPICS, LENGTH = 5, 80.0  # of a document, on average; twice as many in some of them


@cache
def _topics(d: int) -> Numbers:
    """Return the shares (topics, d) of words in topics."""
    return np.random.default_rng(4).dirichlet(5.0 * _shares(d) + 0.01, size=TOPICS)


def _words(n: int, d: int, rng: np.random.Generator) -> Any:
    """Return counts of words in documents that mix topics and have lengths of a gamma law."""
    mixed = rng.dirichlet(np.arange(1.0, TOPICS + 1) / TOPICS, size=n)
    length = rng.gamma(4.0, LENGTH / 4.0, size=(n, 1))
    return sparse.csr_array(rng.poisson(length * (mixed @ _topics(d))).astype(np.float64))


def _words_covariance(d: int) -> Numbers:
    concentration = np.arange(1.0, TOPICS + 1) / TOPICS
    total = concentration.sum()
    mean = concentration / total
    spread = (np.diag(mean) - np.outer(mean, mean)) / (total + 1.0)
    squares = LENGTH**2 * 1.25  # the mean of a squared length
    of_topics = squares * (spread + np.outer(mean, mean)) - LENGTH**2 * np.outer(mean, mean)
    return np.diag(LENGTH * mean @ _topics(d)) + _topics(d).T @ of_topics @ _topics(d)


def _plain(n: int, d: int, rng: np.random.Generator) -> Numbers:
    """Return rows whose columns are the components: a rotation of so many would take memory."""
    return gaussian(n, power(d, 1.0), rng)


KINDS: dict[str, tuple[str, Draw, Truth]] = {
    "decay": ("i^-1", _decay, _covariance),
    "t5": ("Student t5", _t5, _covariance),
    "mixture": ("four groups", _mixture, _mixture_covariance),
    "one-hot": ("one-hot", _one_hot, _one_hot_covariance),
    "coded": ("codes of categories", _coded, _coded_covariance),
    "ar": ("AR(0.8)", _autoregressive, _covariance),
    "seasonal": ("seasonal, trend removed", _seasonal, _seasonal_covariance),
    "words": ("word counts", _words, _words_covariance),
    "spikes": (
        "weak spikes",
        lambda n, d, rng: gaussian(n, _spikes(d), rng) @ turn(d),
        lambda d: (turn(d).T * _spikes(d)) @ turn(d),
    ),
    "wide": ("i^-1", _plain, lambda d: sparse.diags_array(power(d, 1.0))),
}


@dataclass(frozen=True)
class Truths:
    """Leading variances (k,) and components (k, d) of a covariance, as far as others need them."""

    covariance: Any
    variances: Numbers
    components: Numbers

    @classmethod
    @cache
    def of(cls, kind: str, d: int, scale: bool) -> Truths:
        """Return those of a kind of stream of d columns, standardised or not."""
        covariance = KINDS[kind][2](d)
        if sparse.issparse(covariance):
            return cls(covariance, covariance.diagonal()[:K], np.eye(K, d))
        deviations = np.sqrt(covariance.diagonal()) if scale else np.ones(d)
        values, vectors = np.linalg.eigh(covariance / np.outer(deviations, deviations))
        return cls(covariance, values[::-1][:K], vectors[:, ::-1][:, :K].T)


@dataclass(frozen=True)
class Coverage:
    """A row of the table: a kind of stream, read in some way."""

    kind: str
    d: int = 30
    params: dict[str, Any] = field(default_factory=dict)
    how: str = ""  # in words
    parts: int = 1
    gaps: float = 0.0
    sizes: tuple[int, ...] = SIZES
    most_runs: int = 1000
    is_stream: bool = False  # whether rows come by `partial_fit`, which reads them once

    @property
    def name(self) -> str:
        """What ``--only`` calls it."""
        words = [self.kind, str(self.d), *self.how.split()]
        return "-".join(word.strip("%,") for word in words)

    @property
    def title(self) -> str:
        """What the table calls it."""
        return ", ".join(filter(None, [KINDS[self.kind][0], f"{self.d:,} columns", self.how]))

    def measure(self, first_seed: int, runs: int) -> Row:
        """Return shares of intervals that hold the truth, for each number of rows."""
        counts = []
        for n in self.sizes:
            fewer = LARGE_RUNS if n * self.d > LARGE else 1.0
            counts.append(min(max(round(fewer * runs), 2), self.most_runs))
        sizes = [self._measure(n, first_seed, r) for n, r in zip(self.sizes, counts, strict=True)]
        return {
            "name": self.name,
            "group": "coverage",
            "title": self.title,
            "rows": list(self.sizes),
            "runs": counts,
            **{what: [found[what] for found in sizes] for what in sizes[0]},
        }

    def _measure(self, n: int, first_seed: int, runs: int) -> Row:
        held: dict[str, list[float]] = {}
        for run in range(runs):
            is_bootstrapped = run < max(1.0, runs * BOOTSTRAPPED / self.d)
            is_bootstrapped &= self.d <= 30 or n * self.d < 10 * LARGE
            rng = np.random.default_rng([first_seed, run, n, self.d])
            for what, value in self.once(n, rng, is_bootstrapped).items():
                held.setdefault(what, []).append(value)
        means: dict[str, float | None] = {what: float(np.mean(all_)) for what, all_ in held.items()}
        promised = PROMISED_OF_FEW if n < FEW_ROWS else PROMISED
        missed = [
            what
            for what, (low, high) in promised.items()
            if not low <= (means[what] or 0.0) <= high
        ]
        none = dict.fromkeys(("anderson", "bootstrap", "bootstrap seconds"))
        return {**none, **means, "missed": missed}

    def once(self, n: int, rng: np.random.Generator, is_bootstrapped: bool) -> dict[str, float]:
        """Return which share of each kind of interval holds the truth in one run."""
        scale = self.params.get("scale", False)
        truth = Truths.of(self.kind, self.d, scale)
        X = KINDS[self.kind][1](n, self.d, rng)
        rows = np.where(rng.random(X.shape) < self.gaps, np.nan, X) if self.gaps else X
        parts = np.array_split(np.arange(n), self.parts)
        start = time.process_time()
        models = []
        for part in parts:
            model = PCA(K, **self.params)
            learn = model.partial_fit if self.is_stream else model.fit
            models.append(learn(rows[part[0] : part[-1] + 1]))
        model = merge(*models) if self.parts > 1 else models[0]
        errors = model.components_error_
        seconds = time.process_time() - start
        width = student_t.ppf(CONFIDENCE, model.degrees_of_freedom_)
        off = _aligned(model.components_, truth.components) - truth.components
        variances_off = model.explained_variance_ - truth.variances
        captured = model.captured_
        raw = model.components_ / (model.scale_ if scale else 1.0)
        total = truth.covariance.diagonal() / (model.scale_**2 if scale else 1.0)
        share = np.vdot((truth.covariance @ raw.T).T, raw) / total.sum()
        width_of_share = student_t.ppf(CONFIDENCE, captured.degrees_of_freedom)
        found = {
            "loadings": np.mean(np.abs(off) <= width * errors),
            "variances": np.mean(np.abs(variances_off) <= width * model.explained_variance_error_),
            "captured": abs(captured.mean - share) <= width_of_share * captured.standard_error,
            "angle": np.sqrt(np.mean(model.angle_**2)),
            "true angle": np.rad2deg(np.linalg.norm(off)) / np.sqrt(K),
            "seconds": seconds,
        }
        if self.d <= 300 and not self.gaps:
            X = X.toarray() if sparse.issparse(X) else X
            values, vectors = _eigh(np.cov(X.T), scale)
            found["anderson"] = np.mean(np.abs(off) <= NORMAL * anderson(values, vectors, n))
            if is_bootstrapped:
                start = time.process_time()
                spread = bootstrap(X, scale, rng)
                found["bootstrap seconds"] = time.process_time() - start
                found["bootstrap"] = np.mean(np.abs(off) <= NORMAL * spread)
        return {what: float(value) for what, value in found.items()}


def _aligned(components: Numbers, others: Numbers) -> Numbers:
    """Return components (k, d) with the signs of others."""
    return components * np.sign(np.sum(components * others, axis=1))[:, None]


def _eigh(covariance: Numbers, scale: bool) -> tuple[Numbers, Numbers]:
    """Return variances (d,) and components (d, d), the leading ones first."""
    deviations = np.sqrt(covariance.diagonal().clip(min=1e-300)) if scale else np.ones(1)
    values, vectors = np.linalg.eigh(covariance / deviations / deviations.reshape(-1, 1))
    return values[::-1], vectors[:, ::-1].T


def anderson(values: Numbers, components: Numbers, n: int) -> Numbers:
    """Return errors (k, d) of components of n independent Gaussian rows (Anderson 1963)."""
    gaps = values[:K, None] - values
    np.fill_diagonal(gaps, np.inf)
    squares = (values[:K, None] * values / gaps**2) @ components**2
    return np.sqrt(squares.clip(min=0.0) / n)


def bootstrap(X: Numbers, scale: bool, rng: np.random.Generator) -> Numbers:
    """Return standard deviations (k, d) of components over resamples of rows (n, d)."""
    first, found = _eigh(np.cov(X.T), scale)[1][:K], []
    for _ in range(RESAMPLES):
        weights = rng.multinomial(len(X), np.full(len(X), 1.0 / len(X)))
        components = _eigh(np.cov(X.T, fweights=weights), scale)[1][:K]
        found.append(_aligned(components, first))
    return np.std(found, axis=0, ddof=1)


def _groups() -> Numbers:
    """Return rows of three groups, one after the other."""
    rng = np.random.default_rng(0)
    centres = np.repeat(rng.normal(size=(3, 8)) * 4.0, 400, axis=0)
    return centres + rng.normal(size=(1200, 8))


TABLES: dict[str, tuple[str, Callable[[], Numbers], bool, int]] = {
    "wine": ("wine, standardised", lambda: load_wine().data, True, 3),
    "cancer": ("breast cancer, standardised", lambda: load_breast_cancer().data, True, 3),
    "digits": ("digits", lambda: load_digits().data, False, 3),
    "groups": ("three groups", _groups, False, 2),
}


@dataclass(frozen=True)
class Table:
    """A table in memory: `captured_` in three orders of its rows, and errors of loadings."""

    kind: str

    @property
    def name(self) -> str:
        """What ``--only`` calls it."""
        return f"table-{self.kind}"

    def measure(self, first_seed: int, runs: int) -> Row:
        """Return `captured_`, the mean of ten folds, and errors over those of a bootstrap."""
        title, load, scale, k = TABLES[self.kind]
        X, rng = load(), np.random.default_rng(first_seed)
        shuffled = X[rng.permutation(len(X))]
        folds = [share for _ in range(REPEATS) for share in _folds(X, k, scale, rng)]
        truth, orders = float(np.mean(folds)), {}
        for order, rows in (("as it comes", X), ("reversed", X[::-1]), ("shuffled", shuffled)):
            found = PCA(k, scale=scale).fit(rows).captured_
            width = student_t.ppf(CONFIDENCE, found.degrees_of_freedom) * found.standard_error
            held = abs(found.mean - truth) <= width
            orders[order] = [found.mean, found.standard_error, bool(held)]
        # The bootstrap takes rows for independent of their neighbours, so they are shuffled.
        spread = bootstrap(shuffled, scale, rng)[:k]
        errors = PCA(k, scale=scale).fit(shuffled).components_error_
        varies = spread > 1e-9
        ratio = float(np.median(errors[varies] / spread[varies]))
        return {
            "name": self.name,
            "group": "tables",
            "title": f"{title}, {X.shape[0]:,} x {X.shape[1]}, k = {k}",
            "folds": truth,
            "orders": orders,
            "ratio": ratio,
            "met": abs(ratio - 1.0) <= AGREES and all(held for _, _, held in orders.values()),
        }


def _folds(X: Numbers, k: int, scale: bool, rng: np.random.Generator) -> list[float]:
    """Return the shares of the variance of each fold that components of the others capture."""
    found = []
    for part in np.array_split(rng.permutation(len(X)), FOLDS):
        model = PCA(k, scale=scale).fit(np.delete(X, part, axis=0))
        rows = (X[part] - model.mean_) / (model.scale_ if scale else 1.0)
        found.append(float(np.sum((rows @ model.components_.T) ** 2) / np.sum(rows**2)))
    return found


def _add_without(self: Segments, rows: Any, weights: Numbers, sums: Any = None) -> None:
    """Take the place of `Segments.add`: include rows in the second moment alone."""
    if sums is not None:
        sums.__self__.add(rows, weights)


@dataclass(frozen=True)
class Cost:
    """What errors cost: the time of a fit over that of one without segments."""

    kind: type
    n: int
    d: int
    promised: float

    @property
    def name(self) -> str:
        """What ``--only`` calls it."""
        return f"cost-{self.kind.__name__}-{self.d}"

    def measure(self, first_seed: int, runs: int) -> Row:
        """Return the median of interleaved ratios of processor times."""
        rng = np.random.default_rng(first_seed)
        X = rng.normal(size=(self.n, self.d)) / np.sqrt(np.arange(1, self.d + 1))
        ratios = []
        for _ in range(2 if runs < 10 else 9):
            times = [self._seconds(X)]
            with (
                mock.patch.object(Segments, "add", _add_without),
                mock.patch.object(Segments, "turn", return_value=None),
            ):
                times.append(self._seconds(X))
            ratios.append(times[0] / times[1])
        ratio = float(np.median(ratios))
        return {
            "name": self.name,
            "group": "cost",
            "title": f"`{self.kind.__name__}(8)`, {self.n:,} x {self.d}",
            "promised": self.promised,
            "measured": ratio,
            "met": ratio <= self.promised,
        }

    def _seconds(self, X: Numbers) -> float:
        start = time.process_time()
        self.kind(8).fit(X)
        return time.process_time() - start


SCALE = {"scale": True}
STREAMS = ("decay", "t5", "mixture", "one-hot", "ar", "seasonal", "words")
ROWS: list[Coverage | Table | Cost] = [
    *(Coverage(kind, d) for d in (30, 300) for kind in STREAMS),
    *(
        Coverage("coded" if kind == "one-hot" else kind, d, SCALE, "standardised")
        for d in (30, 300)
        for kind in STREAMS
    ),
    Coverage("spikes", 100),
    *(
        Coverage(kind, how=f"merged from {parts} parts", parts=parts, sizes=(20_000,))
        for parts in (8, 40)
        for kind in ("decay", "t5", "ar", "spikes")
    ),
    *(
        Coverage(kind, 30, {"half_life": 3000}, "half-life 3,000", sizes=(20_000,))
        for kind in ("decay", "t5", "ar")
    ),
    *(
        Coverage(kind, d, params, how, gaps=gaps, sizes=(600, 3000))
        for d, params, how, gaps in (
            (30, {}, "10% gaps", 0.1),
            (30, SCALE, "10% gaps, standardised", 0.1),
            (30, {}, "40% gaps", 0.4),
            (300, {}, "10% gaps", 0.1),
        )
        for kind in ("decay", "t5", "mixture")
    ),
    *(Coverage(kind, d, {"robust": True}, "robust") for d in (30, 300) for kind in ("decay", "t5")),
    Coverage("wide", 5000, sizes=(600, 3000), most_runs=30),
    Coverage("wide", 5000, {}, "read once", sizes=(600, 3000), most_runs=30, is_stream=True),
    *(Table(kind) for kind in TABLES),
    *(
        Cost(kind, n, d, promised)
        for kind in (PCA, IncrementalPCA)
        for n, d, promised in ((60_000, 784, 1.08), (200_000, 100, 1.1), (200_000, 50, 1.1))
    ),
]


def main(arguments: list[str] | None = None) -> None:
    """Measure the rows one by one."""
    options = parser("intervals", __doc__)
    options.add_argument("--runs", type=int, default=100, help="of each row (default: 100)")
    args = options.parse_args(arguments)
    results = Results("intervals", args)
    warnings.simplefilter("ignore", OnepassWarning)
    with threadpool_limits(limits=1):
        for row in chosen(ROWS, args):
            results.add(row.measure(results.seed, 2 if args.quick else args.runs))


if __name__ == "__main__":
    main()
