import os

import numpy as np
import pytest

from onepass import PCA, CappedMSG, ModelFileError, Oja, OnepassWarning, load
from onepass.distributed import ShardError, fit
from onepass.persistence import archive
from tests.distributed.models import made_rows, same_bits

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")

X = made_rows(1200)
SEEDED = [PCA(3), *(kind(3, random_state=3) for kind in (CappedMSG, Oja))]


class Fails:
    """Gives rows, but not the n-th time it is asked."""

    def __init__(self, fails_at):
        self.asked, self.fails_at = 0, fails_at

    def shard(self, rows):
        self.asked += 1
        if self.asked == self.fails_at:
            raise OSError("the disk is gone")
        return rows


def shards(given):
    return [dask.delayed(given.shard)(part) for part in np.array_split(X, 6)]


@pytest.mark.parametrize("estimator", SEEDED, ids=repr)
@pytest.mark.parametrize("fails_at", [2, 3, 6])
def test_resuming_ends_with_the_same_bits(estimator, fails_at, tmp_path):
    path = tmp_path / "run.onepass"
    whole = fit(estimator, shards(Fails(0)))
    with pytest.raises(OSError, match="the disk is gone"):
        fit(estimator, shards(Fails(fails_at)), checkpoint=path)
    assert load(path).n_samples_seen_ == 200 * (fails_at - 1)
    again = Fails(0)
    found = fit(estimator, shards(again), checkpoint=path, resume=True)
    assert again.asked == 7 - fails_at
    assert same_bits(found, whole)
    assert same_bits(load(path), whole)


def test_a_seed_that_was_drawn_is_kept(tmp_path):
    path = tmp_path / "run.onepass"
    with pytest.raises(OSError):
        fit(Oja(3), shards(Fails(5)), checkpoint=path)
    resumed = [
        fit(Oja(3), shards(Fails(0)), checkpoint=copy, resume=True)
        for copy in (_copy(path, "a"), _copy(path, "b"))
    ]
    assert same_bits(*resumed)


def _copy(path, name):
    twin = path.with_name(name)
    twin.write_bytes(path.read_bytes())
    return twin


def test_a_finished_run_is_not_done_again(tmp_path):
    path = tmp_path / "run.onepass"
    whole = fit(PCA(3), shards(Fails(0)), checkpoint=path)
    found = fit(PCA(3), shards(Fails(1)), checkpoint=path, resume=True)
    assert same_bits(found, whole)
    with pytest.raises(OSError):
        fit(PCA(3), shards(Fails(1)), checkpoint=path)


def test_a_checkpoint_of_another_run_is_refused(tmp_path):
    path = tmp_path / "run.onepass"
    fit(PCA(3), shards(Fails(0)), checkpoint=path)
    with pytest.raises(ValueError, match="another run: n_components was 3 and is 2"):
        fit(PCA(2), shards(Fails(0)), checkpoint=path, resume=True)
    with pytest.raises(ValueError, match="another run: the shards were shard 0,shard 1"):
        fit(PCA(3), shards(Fails(0))[:5], checkpoint=path, resume=True)
    PCA(3).fit(X).save(path)
    with pytest.raises(ModelFileError, match="and not a checkpoint"):
        fit(PCA(3), shards(Fails(0)), checkpoint=path, resume=True)


def test_an_error_in_a_shard_is_the_same_without_a_cluster():
    bad = [dask.delayed(part) for part in (X[:5], np.full((5, 12), np.inf))]
    with pytest.raises(ShardError, match="shard 1: X contains inf at row 0, column 0"):
        fit(PCA(3), bad)


def test_losing_the_scheduler_costs_what_was_being_done(client, tmp_path):
    path = tmp_path / "run.onepass"
    parts = [dask.delayed(part) for part in np.array_split(X, 12)]
    expected = fit(PCA(3), parts)
    cluster = distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0"
    )
    counted = []

    def lose(rows):
        counted.append(rows)
        if len(counted) == 5:
            cluster.close()

    with (
        distributed.Client(cluster, set_as_default=False) as lost,
        pytest.raises(ConnectionError, match="is gone, or the work was cancelled"),
    ):
        fit(PCA(3), parts, lost, checkpoint=path, checkpoint_every=1000, progress=lose)
    saved = load(path).n_samples_seen_
    assert saved >= 500
    again = []
    found = fit(PCA(3), parts, client, checkpoint=path, resume=True, progress=again.append)
    assert sum(again) == 1200 - saved
    assert same_bits(found, expected)


@pytest.mark.parametrize("every", [0.0, 1000.0])
def test_checkpoints_come_as_often_as_asked_for(every, tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(archive, "write", lambda path, header, arrays: seen.append(header))
    fit(PCA(3), shards(Fails(0)), checkpoint=tmp_path / "a", checkpoint_every=every)
    rows = [header["n_samples_seen"] for header in seen]
    assert rows == ([200, 400, 600, 800, 1000, 1200] if every == 0.0 else [1200])


def test_a_disk_that_is_full_is_no_reason_to_stop(tmp_path, monkeypatch):
    def full(*content):
        raise OSError("no space left")

    monkeypatch.setattr(archive, "write", full)
    with pytest.warns(OnepassWarning, match="could not be written .no space left"):
        found = fit(PCA(3), shards(Fails(0)), checkpoint=tmp_path / "a")
    assert same_bits(found, fit(PCA(3), shards(Fails(0))))


def test_a_file_that_was_changed_is_another_run(tmp_path):
    path, rows = tmp_path / "run.onepass", tmp_path / "rows.npy"
    np.save(rows, X)
    fit(PCA(3), [rows], checkpoint=path)
    fit(PCA(3), [rows], checkpoint=path, resume=True)
    status, edited = rows.stat(), X.copy()
    edited[len(X) // 2] += 1.0  # neither the size nor, put back, the time says so
    np.save(rows, edited)
    os.utime(rows, ns=(status.st_atime_ns, status.st_mtime_ns))
    with pytest.raises(ValueError, match=r"another run: .*rows\.npy has another content"):
        fit(PCA(3), [rows], checkpoint=path, resume=True)
    np.save(rows, X[:600])
    with pytest.raises(ValueError, match=r"another run: .* bytes and has"):
        fit(PCA(3), [rows], checkpoint=path, resume=True)
