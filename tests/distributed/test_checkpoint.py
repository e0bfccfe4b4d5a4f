"""A fit that was interrupted goes on and ends with the same bits."""

import os

import numpy as np
import pytest

from onepass import PCA, CappedMSG, ModelFileError, Oja, OnepassWarning, ShardError, load
from onepass.distributed import fit
from tests.distributed.models import made_rows, same_bits

dask = pytest.importorskip("dask")

X = made_rows(1200)


class Fails:
    """Gives rows, but not the n-th time it is asked."""

    def __init__(self, fails_at=0):
        self.asked, self.fails_at = 0, fails_at

    def shard(self, rows):
        self.asked += 1
        if self.asked == self.fails_at:
            raise OSError("the disk is gone")
        return rows


def shards(given, count=6):
    return [dask.delayed(given.shard)(part) for part in np.array_split(X, count)]


@pytest.mark.parametrize("estimator", [PCA(3), CappedMSG(3, random_state=3)], ids=repr)
@pytest.mark.parametrize(("fails_at", "count"), [(2, 6), (6, 6), (20, 40)])
def test_resuming_ends_with_the_same_bits(estimator, fails_at, count, tmp_path):
    path = tmp_path / "run.onepass"
    whole = fit(estimator, shards(Fails(), count))
    with pytest.raises(ShardError, match=f"shard {fails_at - 1}: the disk is gone"):
        fit(estimator, shards(Fails(fails_at), count), checkpoint=path)
    assert load(path).n_samples_seen_ == 1200 // count * (fails_at - 1)
    again = Fails()
    found = fit(estimator, shards(again, count), checkpoint=path, resume=True)
    assert again.asked == count + 1 - fails_at
    assert same_bits(found, whole)
    assert same_bits(load(path), whole)


def test_a_seed_that_was_drawn_is_kept(tmp_path):
    path = tmp_path / "run.onepass"
    with pytest.raises(ShardError):
        fit(Oja(3), shards(Fails(5)), checkpoint=path)
    content = path.read_bytes()
    first = fit(Oja(3), shards(Fails()), checkpoint=path, resume=True)
    path.write_bytes(content)
    assert same_bits(fit(Oja(3), shards(Fails()), checkpoint=path, resume=True), first)
    assert same_bits(fit(Oja(3, random_state=first.random_state), shards(Fails())), first)


def test_a_finished_run_is_not_done_again(tmp_path):
    path = tmp_path / "run.onepass"
    whole = fit(PCA(3), shards(Fails()), checkpoint=path)
    found = fit(PCA(3), shards(Fails(1)), checkpoint=path, resume=True)
    assert same_bits(found, whole)
    with pytest.raises(ShardError):
        fit(PCA(3), shards(Fails(1)), checkpoint=path)


def test_a_checkpoint_of_another_run_is_refused(tmp_path):
    path = tmp_path / "run.onepass"
    fit(PCA(3), shards(Fails()), checkpoint=path)
    with pytest.raises(ValueError, match="n_components was 3 and is 2"):
        fit(PCA(2), shards(Fails()), checkpoint=path, resume=True)
    with pytest.raises(ValueError, match="shards were"):
        fit(PCA(3), shards(Fails())[:5], checkpoint=path, resume=True)
    PCA(3).fit(X).save(path)
    with pytest.raises(ModelFileError, match="checkpoint"):
        fit(PCA(3), shards(Fails()), checkpoint=path, resume=True)


def test_a_file_that_was_changed_is_another_run(tmp_path):
    path, rows = tmp_path / "run.onepass", tmp_path / "rows.npy"
    np.save(rows, X)
    fit(PCA(3), [rows], checkpoint=path)
    fit(PCA(3), [rows], checkpoint=path, resume=True)
    status, edited = rows.stat(), X.copy()
    edited[len(X) // 2] += 1.0  # neither the size nor, put back, the time says so
    np.save(rows, edited)
    os.utime(rows, ns=(status.st_atime_ns, status.st_mtime_ns))
    with pytest.raises(ValueError, match=r"rows\.npy has another content"):
        fit(PCA(3), [rows], checkpoint=path, resume=True)


@pytest.mark.parametrize("every", [0.0, 1000.0])
def test_checkpoints_come_as_often_as_asked_for(every, tmp_path):
    path, seen = tmp_path / "run.onepass", []

    def note(rows):
        seen.append(load(path).n_samples_seen_ if path.exists() else 0)

    fit(PCA(3), shards(Fails()), checkpoint=path, checkpoint_every=every, progress=note)
    assert seen == ([0, 200, 400, 600, 800, 1000] if every == 0.0 else [0] * 6)
    assert load(path).n_samples_seen_ == 1200


def test_a_disk_that_fails_is_no_reason_to_stop(tmp_path):
    with pytest.warns(OnepassWarning, match="could not be written"):
        found = fit(PCA(3), shards(Fails()), checkpoint=tmp_path / "nowhere" / "run.onepass")
    assert same_bits(found, fit(PCA(3), shards(Fails())))
