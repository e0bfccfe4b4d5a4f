"""What a distributed fit relies on when models are merged."""

import pytest
import scipy.sparse as sp

from onepass import PCA, merge
from tests.distributed.models import made_rows


def test_dense_and_sparse_models_do_not_merge():
    X = made_rows(300, d=400)
    with pytest.raises(
        ValueError, match="model 2 has learned from sparse float64 rows, the first from dense"
    ):
        merge(PCA(2).fit(X), PCA(2).fit(sp.csr_array(X)))
