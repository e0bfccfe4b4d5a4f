"""Rows from tables, sources and iterables: names of columns, and how rows lie in memory."""

import numpy as np
import pandas as pd
import pytest

from onepass import PCA
from onepass.sources import Source

RNG = np.random.default_rng(0)
X = RNG.normal(size=(700, 6)) * [5, 4, 3, 1, 1, 0.5]
TABLE = pd.DataFrame(X, columns=list("abcdef"))
TURNED = TABLE[list("fedcba")]


class Named(Source):
    """A source of one block whose columns have names."""

    def __init__(self, table):
        self.table, self.n_features, self.n_rows = table, table.shape[1], len(table)
        self.feature_names = list(table.columns)

    def blocks(self, start=None):
        yield (0, len(self.table)), self.table.to_numpy()


def test_columns_of_sources_are_known_by_name():
    model = PCA(2).fit(Named(TABLE))
    assert list(model.feature_names_in_) == list("abcdef")
    assert model.score(Named(TABLE)) == pytest.approx(model.score(TABLE))
    for use in (model.transform, model.score, model.partial_fit):
        with pytest.raises(ValueError, match="feature names"):
            use(Named(TURNED))
        with pytest.raises(ValueError, match="feature names"):
            use(iter([TURNED]))
    blocks = PCA(2).fit([TABLE[:300], TABLE[300:]])
    assert list(blocks.feature_names_in_) == list("abcdef")
    with pytest.raises(ValueError, match="feature names"):
        PCA(2).fit([TABLE[:300], TURNED[300:]])


def test_an_error_says_after_how_many_rows_its_block_came():
    bad = np.ones((5, 3))
    bad[4, 1] = np.inf
    with pytest.raises(
        ValueError, match=r"The block after 10 rows contains inf at row 4, column 1"
    ):
        PCA(1).fit(iter([np.eye(10, 3), bad]))
