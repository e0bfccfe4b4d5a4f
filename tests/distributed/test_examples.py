"""Other engines than Dask: the examples do what they say."""

import importlib.util
import os
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from tests.distributed.models import made_rows

EXAMPLES = Path(__file__).parents[2] / "examples"
X = made_rows(1500, d=5)


@pytest.fixture
def example(monkeypatch):
    """Return a function that imports an example, so that other processes can import it, too."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(EXAMPLES), *sys.path]))
    return importlib.import_module


def check(model):
    assert model.n_samples_seen_ == len(X)
    np.testing.assert_allclose(model.mean_, X.mean(axis=0), atol=1e-12)
    variances = np.linalg.eigvalsh(np.cov(X.T))[::-1][:3]
    np.testing.assert_allclose(model.explained_variance_, variances, rtol=1e-9)


def test_joblib(example, tmp_path):
    pytest.importorskip("joblib")
    paths = [str(tmp_path / f"{number}.npy") for number in range(3)]
    for path, part in zip(paths, np.split(X, [400, 401]), strict=True):
        np.save(path, part)
    check(example("joblib_shards").fit(paths, processes=2))


@pytest.mark.long
@pytest.mark.skipif(importlib.util.find_spec("pyspark") is None, reason="Spark is not installed")
def test_spark(example, monkeypatch):
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Spark's own
        from pyspark.sql import SparkSession

        try:
            spark = (
                SparkSession.builder.master("local[1]")
                .config("spark.ui.enabled", "false")
                .getOrCreate()
            )
        except Exception as error:
            pytest.skip(f"Spark does not start here: {error}")
        try:
            columns = [f"c{j}" for j in range(5)]
            frame = spark.createDataFrame([tuple(row) for row in X.tolist()], columns)
            check(example("spark_arrow").fit(frame.repartition(3)))
        finally:
            spark.stop()
