"""gensim's LsiModel: latent semantic indexing in one pass, for sparse rows."""

from __future__ import annotations

from typing import Any

from gensim.matutils import Sparse2Corpus
from gensim.models import LsiModel

from benchmarks.solver import Directions, Solver


def as_corpus(X: Any, k: int) -> Any:
    """Return the rows as gensim's documents."""
    return Sparse2Corpus(X.tocsr(), documents_columns=False), X.shape[1]


def lsi(prepared: Any, k: int) -> Directions:
    """Its defaults."""
    corpus, d = prepared
    model = LsiModel(corpus, num_topics=k, id2word=_Numbers(d))
    return model.projection.u.T


class _Numbers(dict):
    """Words that are their own numbers: LsiModel wants a dictionary of d of them."""

    def __init__(self, d: int) -> None:
        super().__init__((i, str(i)) for i in range(d))


SOLVERS = [Solver("gensim-lsi", lsi, as_corpus, streams=False, dense=False, sparse=True)]
