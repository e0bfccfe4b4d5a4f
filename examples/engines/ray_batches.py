"""One model of a Ray data set: python ray_batches.py model.onepass rows/*."""

import sys

import pyarrow as pa
import ray

import onepass


def learn(table: pa.Table) -> pa.Table:
    """Return the model of a batch as one row."""
    return pa.table({"model": [onepass.PCA(5).fit(table).to_bytes()]})


@ray.remote
def combine(*tables: pa.Table) -> pa.Table:
    """Return one model for all models in some tables."""
    models = [onepass.from_bytes(data.as_py()) for table in tables for data in table["model"]]
    return pa.table({"model": [onepass.merge(*models).to_bytes()]})


def fit(rows: ray.data.Dataset, fan_in: int = 16) -> onepass.PCA:
    """Return one model of all rows: models are merged by the workers, in a tree."""
    models = rows.map_batches(learn, batch_format="pyarrow", batch_size=None)
    level = models.to_arrow_refs()
    while len(level) > 1:
        groups = [level[start : start + fan_in] for start in range(0, len(level), fan_in)]
        level = [combine.remote(*group) for group in groups]
    return onepass.from_bytes(ray.get(combine.remote(*level))["model"][0].as_py())


if __name__ == "__main__":
    ray.init(num_cpus=2)  # on a cluster: ray.init()
    rows = ray.data.read_parquet(sys.argv[2:]).repartition(8)  # Ray reads small files as one block
    fit(rows).save(sys.argv[1])
