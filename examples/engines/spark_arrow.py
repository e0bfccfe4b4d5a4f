"""One model of a Spark data frame: spark-submit spark_arrow.py model.onepass rows/*."""

import sys
from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

import onepass


def learn(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the model of a partition as one row, and no row for an empty partition."""
    model, rows = onepass.PCA(5), 0
    for batch in batches:
        if batch.num_rows:
            model.partial_fit(batch)
            rows += batch.num_rows
    if rows:
        yield pa.RecordBatch.from_pydict({"model": [model.to_bytes()]})


def combine(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield one model for all models of a partition."""
    models = [onepass.from_bytes(data.as_py()) for batch in batches for data in batch["model"]]
    if models:
        yield pa.RecordBatch.from_pydict({"model": [onepass.merge(*models).to_bytes()]})


def fit(frame: DataFrame, fan_in: int = 16) -> onepass.PCA:
    """Return one model of all rows: models are merged on the workers, then on the driver."""
    groups = -(-frame.rdd.getNumPartitions() // fan_in)
    models = frame.mapInArrow(learn, "model binary").repartition(groups)
    merged = models.mapInArrow(combine, "model binary").collect()
    return onepass.merge(*(onepass.from_bytes(row.model) for row in merged))


if __name__ == "__main__":
    spark = SparkSession.builder.getOrCreate()
    fit(spark.read.parquet(*sys.argv[2:])).save(sys.argv[1])
