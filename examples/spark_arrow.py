"""Merge models with Spark: `mapInArrow` turns each partition into one row that holds its model.

spark-submit examples/spark_arrow.py rows.parquet
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

import onepass


def learn(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the model file of a partition's rows as one row of one column; nothing if empty."""
    model = onepass.PCA(n_components=3)
    rows = 0
    for batch in batches:
        if batch.num_rows:
            model.partial_fit(pa.Table.from_batches([batch]))
            rows += batch.num_rows
    if rows:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.onepass")
            model.save(path)
            with open(path, "rb") as file:
                yield pa.RecordBatch.from_pydict({"model": [file.read()]})


def fit(frame: Any) -> onepass.PCA:
    """Return one model for all rows of a Spark data frame whose columns are numbers."""
    models = []
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.onepass")
        for row in frame.mapInArrow(learn, "model binary").collect():
            with open(path, "wb") as file:
                file.write(row.model)
            models.append(onepass.load(path))
    return onepass.merge(*models)


if __name__ == "__main__":
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.getOrCreate()
    model = fit(spark.read.parquet(sys.argv[1]))
    print(f"{model.n_samples_seen_:,} rows, variances {model.explained_variance_}")
