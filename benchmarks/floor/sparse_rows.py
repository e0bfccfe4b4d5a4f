"""Sparse rows: the paper's algorithms on few columns, counts of genes and words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.decomposition import PCA as BatchPCA
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer

import onepass
from benchmarks.data import newsgroups
from benchmarks.floor.target import Effort, Target
from benchmarks.timing import ratio
from onepass import PCA

K = 4  # directions of the paper's algorithms
GENES = 5000
DENSITY = 0.08  # of the counts
Make = Callable[[Effort], Any]


def counts(effort: Effort) -> sparse.csr_array:
    """Return 20,000 cells of 5,000 genes in 20 types, of which 8% of the entries are not zero.

    Counts are Poisson; a type changes the levels of a fifth of the genes by a lognormal factor.
    """
    rng = np.random.default_rng(effort.seed)
    n, types = effort.rows(20_000), 20
    levels = np.exp(1.5 * rng.normal(size=GENES))
    changes = np.exp(1.5 * rng.normal(size=(types, GENES)) * (rng.random((types, GENES)) < 0.2))
    means = levels * changes
    # A Poisson count of mean m is zero with probability exp(-m): find the depth that gives 8%.
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (
            (middle, high) if np.mean(1 - np.exp(-middle * means)) < DENSITY else (low, middle)
        )
    kind = rng.integers(types, size=n)
    blocks = [
        sparse.csr_array(rng.poisson(low * means[part]).astype(np.float64))
        for part in np.array_split(kind, max(n // 1000, 1))
    ]
    return sparse.csr_array(sparse.vstack(blocks))


def words(effort: Effort) -> sparse.csr_array:
    """Return the word counts of 20 newsgroups, in natural order."""
    X = newsgroups(effort.folder)
    return X[: effort.rows(X.shape[0])]


def tf_idf(effort: Effort) -> sparse.csr_array:
    """Return their tf-idf weights."""
    return sparse.csr_array(TfidfTransformer().fit_transform(words(effort)))


def over_dense(name: str, d: int) -> Callable[[Effort], float]:
    """Return the measure of an algorithm of the paper on CSR rows over dense ones."""

    def measure(effort: Effort) -> float:
        rng = np.random.default_rng(effort.seed)
        X = rng.normal(size=(effort.rows(4000), d)) * (rng.random((effort.rows(4000), d)) < 0.1)
        given = {"random_state": 0} if name == "Oja" else {}

        def fit(rows: Any) -> Any:
            return getattr(onepass, name)(K, **given).fit(rows).components_

        rows = sparse.csr_array(X)
        return ratio(lambda: fit(rows), lambda: fit(X), turns=effort.turns)

    return measure


def over_peer(make: Make, k: int, peer: Any) -> Callable[[Effort], float]:
    """Return the measure of a fit over that of a scikit-learn estimator in memory."""

    def measure(effort: Effort) -> float:
        X = make(effort)
        return ratio(
            lambda: PCA(k).fit(X).components_,
            lambda: peer.fit(X),
            turns=min(effort.turns, 3),
        )

    return measure


def lost(make: Make, k: int) -> Callable[[Effort], float]:
    """Return the measure of the share of exact PCA's variance that is lost."""

    def measure(effort: Effort) -> float:
        X = make(effort)
        exact = BatchPCA(k, svd_solver="arpack", random_state=0).fit(X)
        ours = PCA(k).fit(X).components_
        captured = np.asarray(X @ ours.T).var(axis=0, ddof=1).sum()
        return max(float(1.0 - captured / exact.explained_variance_.sum()), 0.0)

    return measure


TARGETS = [
    *(
        Target(
            f"csr-{name}-{d}",
            f"{name} on CSR rows over dense ones, {d:,} columns",
            over_dense(name, d),
            2.0,
        )
        for name in ("CappedMSG", "MEG", "Oja")
        for d in (30, 100, 300, 1000)
    ),
    Target(
        "counts",
        '20,000 x 5,000 counts, k = 50, over `PCA(svd_solver="arpack")`',
        over_peer(counts, 50, BatchPCA(50, svd_solver="arpack", random_state=0)),
        1.05,
    ),
    *(
        Target(
            f"{name}-{k}",
            f"20 newsgroups {what}, k = {k}, over `TruncatedSVD`",
            over_peer(make, k, TruncatedSVD(k, random_state=0)),
            1.5,
        )
        for name, what, make in (("news", "counts", words), ("tf-idf", "tf-idf", tf_idf))
        for k in (8, 40)
    ),
    Target("lost-counts", "lost, 20,000 x 5,000 counts, k = 50", lost(counts, 50), 1e-8, "share"),
    Target("lost-news", "lost, 20 newsgroups counts, k = 50", lost(words, 50), 1e-4, "share"),
    Target("lost-tf-idf", "lost, 20 newsgroups tf-idf, k = 50", lost(tf_idf, 50), 1e-4, "share"),
]
