"""gensim's LsiModel: latent semantic indexing in one pass, about zero, for sparse rows."""

from __future__ import annotations

from typing import Any

from benchmarks.rivals.solver import Found, Solver, in_memory

REQUIRES = ["gensim", "h5py"]


def _lsi(X: Any, k: int) -> Found:
    from gensim.matutils import Sparse2Corpus
    from gensim.models import LsiModel

    words = {i: str(i) for i in range(X.shape[1])}
    corpus = Sparse2Corpus(X, documents_columns=False)
    return LsiModel(corpus, num_topics=k, id2word=words).projection.u.T, None


SOLVERS = [Solver("gensim LsiModel", _lsi, in_memory(_lsi), dense=False, sparse=True)]
