"""Rows from tables, sources and iterables: names of columns, and how rows lie in memory."""

import numpy as np
import pandas as pd
import pytest

import onepass
from onepass import PCA
from onepass.sources import Source
from tests.contracts.results import assert_identical
from tests.contracts.variants import build

NAMES = tuple(onepass.ESTIMATORS)
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


def test_iterables_of_blocks_of_any_kind():
    polars = pytest.importorskip("polars")
    expected = PCA(2).fit(X).components_
    named = [polars.DataFrame(X[:300], schema=list("abcdef"))]
    named += [polars.DataFrame(X[300:], schema=list("abcdef"))]
    for blocks in (named, {1: X[:300], 2: X[300:]}.values(), iter([X[:300], X[300:]])):
        np.testing.assert_array_equal(PCA(2).fit(blocks).components_, expected)


def test_sources_that_run_empty_say_so():
    model = PCA(2).fit(X)
    for use in (model.transform, model.partial_fit, PCA(2).fit):
        for empty in (iter([]), {}.values()):
            with pytest.raises(ValueError, match="no rows"):
                use(empty)
    with pytest.raises(ValueError, match="only once"):
        PCA(2).fit_transform(X[i : i + 100] for i in range(0, 700, 100))
    assert model.n_samples_seen_ == 700


@pytest.mark.parametrize("name", NAMES)
def test_rows_that_lie_in_another_order_or_are_read_only_give_the_same_bits(name):
    rows = np.random.default_rng(0).normal(size=(1200, 9))
    locked = rows.copy()
    locked.setflags(write=False)
    expected = build(name, 2, random_state=0).fit(rows)
    for other in (locked, np.asfortranarray(rows), rows[::-1][::-1], [locked[:999], locked[999:]]):
        assert_identical(build(name, 2, random_state=0).fit(other), expected)


def test_an_error_says_after_how_many_rows_its_block_came():
    bad = np.ones((5, 3))
    bad[4, 1] = np.inf
    with pytest.raises(
        ValueError, match=r"The block after 10 rows contains inf at row 4, column 1"
    ):
        PCA(1).fit(iter([np.eye(10, 3), bad]))
