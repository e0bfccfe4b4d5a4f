"""A fit that was interrupted goes on and ends with the same bits."""

import numpy as np
import pytest

from onepass import PCA, CappedMSG, ModelFileError, Oja, OnepassWarning, ShardError, load
from onepass.distributed import fit
from tests.distributed.models import made_rows, same_bits

dask = pytest.importorskip("dask")

X = made_rows(1200)


class Given:
    """Shards that note when they are read; reading one of them may fail."""

    def __init__(self, count=6, fails_at=None):
        self.read, self.fails_at = [], fails_at
        parts = enumerate(np.array_split(X, count))
        self.shards = [dask.delayed(self.shard)(number, part) for number, part in parts]

    def shard(self, number, rows):
        self.read.append(number)
        if number == self.fails_at:
            raise OSError("the disk is gone")
        return rows


@pytest.mark.parametrize("estimator", [PCA(3), CappedMSG(3, random_state=3), Oja(3)], ids=repr)
@pytest.mark.parametrize(("fails_at", "count"), [(1, 6), (5, 6), (19, 40)])
def test_resuming_ends_with_the_same_bits(estimator, fails_at, count, tmp_path):
    path = tmp_path / "run.onepass"
    with pytest.raises(ShardError, match=f"shard {fails_at}: the disk is gone"):
        fit(estimator, Given(count, fails_at).shards, checkpoint=path)
    assert load(path).n_samples_seen_ == 1200 // count * fails_at
    again = Given(count)
    found = fit(estimator, again.shards, checkpoint=path, resume=True)
    assert again.read == list(range(fails_at, count))
    if isinstance(estimator, Oja):  # a seed that was drawn is kept
        estimator = Oja(3, random_state=found.random_state)
    assert same_bits(found, fit(estimator, Given(count).shards))
    assert same_bits(found, fit(estimator, Given(count, 0).shards, checkpoint=path, resume=True))


def test_a_checkpoint_of_another_run_is_refused(tmp_path):
    path, rows = tmp_path / "run.onepass", tmp_path / "rows.npy"
    fit(PCA(3), Given().shards, checkpoint=path)
    with pytest.raises(ValueError, match="n_components was 3 and is 2"):
        fit(PCA(2), Given().shards, checkpoint=path, resume=True)
    with pytest.raises(ValueError, match="shards were"):
        fit(PCA(3), Given(5).shards, checkpoint=path, resume=True)
    PCA(3).fit(X).save(path)
    with pytest.raises(ModelFileError, match="checkpoint"):
        fit(PCA(3), Given().shards, checkpoint=path, resume=True)
    np.save(rows, X)
    fit(PCA(3), [rows], checkpoint=path)
    np.save(rows, X + 1.0)
    with pytest.raises(ValueError, match=r"rows\.npy was changed"):
        fit(PCA(3), [rows], checkpoint=path, resume=True)


@pytest.mark.parametrize("every", [0.0, 1000.0])
def test_checkpoints_come_as_often_as_asked_for(every, tmp_path):
    path, seen = tmp_path / "run.onepass", []

    def note(rows):
        seen.append(load(path).n_samples_seen_ if path.exists() else 0)

    fit(PCA(3), Given().shards, checkpoint=path, checkpoint_every=every, progress=note)
    assert seen == ([0, 200, 400, 600, 800, 1000] if every == 0.0 else [0] * 6)
    assert load(path).n_samples_seen_ == 1200


def test_a_disk_that_fails_is_no_reason_to_stop(tmp_path):
    with pytest.warns(OnepassWarning, match="could not be written"):
        found = fit(PCA(3), Given().shards, checkpoint=tmp_path / "nowhere" / "run.onepass")
    assert same_bits(found, fit(PCA(3), Given().shards))
