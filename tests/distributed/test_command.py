"""``onepass fit --workers`` and ``--dask``."""

import numpy as np

from onepass import load
from tests.cli.commands import onepass, parts, rows


def test_the_command_gives_the_model_of_all_files(client, tmp_path):
    paths = parts(tmp_path)
    output = tmp_path / "model.onepass"
    onepass("fit", *paths, "-k", 2, "-o", output, "--dask", client.scheduler.address)
    X = np.concatenate([rows(60, seed=seed) for seed in range(5)])
    model = load(output)
    assert model.n_samples_seen_ == len(X)
    np.testing.assert_allclose(model.mean_, X.mean(axis=0))
    variances = np.linalg.eigvalsh(np.cov(X.T))[::-1][:2]
    np.testing.assert_allclose(model.explained_variance_, variances)


def test_errors_are_one_line(client, tmp_path):
    paths = parts(tmp_path)
    bad = rows(60)
    bad[7, 2] = np.nan
    np.save(paths[3], bad)
    words = ["fit", *paths, "-k", 2, "-o", tmp_path / "m.onepass"]
    cluster = ["--dask", client.scheduler.address]
    result = onepass(*words, *cluster, code=2)
    assert "shard 3" in result.stderr
    assert "part-3.npy, row 8, column [2]" in result.stderr
    assert "--resume goes with one process" in onepass(*words, "--resume", *cluster, code=2).stderr
    missing = onepass(*words, "--dask", "nonsense://x", code=2).stderr
    assert "there is no scheduler" in missing
    piped = onepass("fit", "-", "-k", 2, *cluster, code=2, given="1,2\n3,4\n").stderr
    assert "standard input" in piped
