"""How rows become shards."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from onepass import ERM, PCA, ShardError, open_source
from onepass.distributed import fit
from onepass.distributed.shards import Extent, excerpt, extents, shards_of
from onepass.sources import ArraySource, Position
from tests.distributed.models import made_rows, same_bits

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

X = made_rows(900)


@given(st.lists(st.none() | st.integers(0, 500), min_size=1, max_size=5), st.integers(1, 200))
def test_extents_are_all_rows_in_their_order_in_parts_alike(counts, most):
    found = extents(counts, most)
    for file, count in enumerate(counts):
        own = [extent for extent in found if extent.file == file]
        if count is None:
            assert own == [Extent(file, 0, None)]
            continue
        rows = [row for extent in own for row in range(extent.start, extent.stop)]
        assert rows == list(range(count))
        sizes = [extent.stop - extent.start for extent in own]
        assert len(sizes) == -(-count // most)
        assert not sizes or max(sizes) - min(sizes) <= 1


@given(
    st.integers(1, 60).flatmap(lambda n: st.tuples(*[st.integers(0, n)] * 2, st.just(n))),
    st.integers(1, 9),
    st.booleans(),
)
def test_an_excerpt_has_its_rows_and_no_others(bounds, block_rows, is_sparse):
    start, stop, n = sorted(bounds)
    rows = np.arange(2.0 * n).reshape(n, 2)
    source = ArraySource(sp.csr_array(rows) if is_sparse else rows, block_rows)
    found = excerpt(source, Extent(0, start, stop))
    assert found.n_rows == stop - start
    for skipped in {0, (stop - start) // 2}:
        read = list(found.blocks(Position(0, skipped)))
        blocks = [block.toarray() if is_sparse else block for _, block in read]
        np.testing.assert_array_equal(
            np.concatenate([*blocks, np.empty((0, 2))]), rows[start + skipped : stop]
        )


class Counting(ArraySource):
    """Says how many rows were read."""

    read = 0

    def blocks(self, start=None):
        for position, block in super().blocks(start):
            self.read += len(block)
            yield position, block


def test_other_rows_are_not_read():
    source = Counting(X, block_rows=10)
    assert sum(len(block) for block in excerpt(source, Extent(0, 500, 530))) == 30
    assert source.read == 30


def test_a_file_that_lost_rows():
    with pytest.raises(ShardError, match="there are 900 rows, but there were 950"):
        fit(PCA(3), Promises(X), shard_rows=500)


class Promises(ArraySource):
    """Says that it has more rows than it has."""

    def __init__(self, rows):
        super().__init__(rows)
        self.n_rows = 950


def test_the_split_decides_whatever_the_format(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    np.save(tmp_path / "rows.npy", X)
    table = pa.table({f"c{j}": X[:, j] for j in range(12)})
    parquet.write_table(table, tmp_path / "rows.parquet", row_group_size=170)
    parts = [dask.delayed(part) for part in (X[:225], X[225:450], X[450:675], X[675:])]
    expected = fit(PCA(3), parts)
    for path in tmp_path.iterdir():
        for given_as in (path, [str(path)], open_source(path)):
            found = fit(PCA(3), given_as, shard_rows=250)
            np.testing.assert_array_equal(found.components_, expected.components_)
            np.testing.assert_array_equal(found.explained_variance_, expected.explained_variance_)
    whole = fit(PCA(3), tmp_path / "rows.npy", shard_rows=None)
    assert same_bits(whole, fit(PCA(3), [dask.delayed(X)]))


def test_a_source_of_several_files_is_split_by_files(tmp_path):
    sizes = [250, 30, 0, 620]
    for number, part in enumerate(np.split(X, np.cumsum(sizes)[:-1])):
        np.save(tmp_path / f"{number}.npy", part)
    np.savetxt(tmp_path / "9.csv", X[:40], delimiter=",")
    source = open_source([*sorted(tmp_path.glob("*.npy")), tmp_path / "9.csv"])
    labels = [shard.label for shard in shards_of(source, shard_rows=250)]
    names = [tmp_path / name for name in ("0.npy", "1.npy", "3.npy", "9.csv")]
    assert labels == [
        f"shard 0 ({names[0]})", f"shard 1 ({names[1]})", f"shard 2 ({names[2]} from row 0)",
        f"shard 3 ({names[2]} from row 206)", f"shard 4 ({names[2]} from row 413)",
        f"shard 5 ({names[3]})",
    ]  # fmt: skip
    found = fit(PCA(3), source, shard_rows=250)
    pieces = [*np.split(X, [250, 280, 486, 693]), X[:40]]
    assert same_bits(found, fit(PCA(3), [dask.delayed(piece) for piece in pieces]))


def test_errors_say_which_part_and_which_row_of_the_file(tmp_path):
    bad = X.copy()
    bad[705, 4] = np.inf
    np.save(tmp_path / "bad.npy", bad)
    # A block is checked when it is read, and may reach into the rows of the next shards.
    where = r"shard \d \(.*bad.npy from row \d+\).*bad.npy, row 706, column \[4\]"
    with pytest.raises(ShardError, match=where):
        fit(PCA(3), tmp_path / "bad.npy", shard_rows=100)


def test_a_dask_array_of_sparse_blocks():
    rows = sp.random_array(
        (600, 400), density=0.05, format="csr", random_state=np.random.default_rng(0)
    )
    array = da.from_array(rows.toarray(), chunks=(200, 400)).map_blocks(sp.csr_matrix)
    parts = [dask.delayed(rows[start : start + 200]) for start in (0, 200, 400)]
    assert same_bits(fit(PCA(3), array), fit(PCA(3), parts))


def test_a_dask_dataframe_keeps_its_names():
    pd = pytest.importorskip("pandas")
    dd = pytest.importorskip("dask.dataframe")
    table = pd.DataFrame(X, columns=[f"c{j}" for j in range(12)])
    found = fit(ERM(3), dd.from_pandas(table, npartitions=3))
    assert list(found.feature_names_in_) == list(table.columns)
    assert found.n_samples_seen_ == 900
