"""Measure what distributed work costs, and work out what that means for 10 to 1,000 workers.

    python -m benchmarks.distributed [--speed]

One shard's learning, one merge, one message and one task of Dask are measured; the rest is
arithmetic, in `predicted`. Times are of the processor, so that a busy machine does little harm,
but for `--speed`, which needs two idle cores and takes a minute.
"""

from __future__ import annotations

import argparse
import math
import pickle
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from onepass import PCA, merge
from onepass.distributed import fit

BANDWIDTH = 1e9 / 8  # bytes a second between two machines: a slow network
LEAST_ROWS, MOST_ROWS = 1 << 13, 1 << 16  # of the shards that are measured
NUMBERS = 1 << 24  # in them, between these two


@dataclass(frozen=True)
class Costs:
    """Seconds and bytes for rows of d columns and k directions."""

    d: int
    k: int
    row: float  # seconds to learn from a row
    merge: float  # seconds to merge two models
    size: int  # bytes of a model
    task: float  # seconds of the scheduler for a task


def shard(d: int, rows: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(rows, d)) * np.linspace(3.0, 0.5, d)


@contextmanager
def cluster_of(workers: int) -> Iterator[Any]:
    """Give a client of so many processes."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=workers, threads_per_worker=1, dashboard_address="127.0.0.1:0"
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def best_of(
    times: int, work: Callable[[], Any], clock: Callable[[], float] = time.process_time
) -> float:
    best = math.inf
    for _ in range(times):
        begin = clock()
        work()
        best = min(best, clock() - begin)
    return best


def measured(d: int, k: int, task: float) -> Costs:
    """Return the costs of `PCA(k)`, the best of three."""
    count = max(LEAST_ROWS, min(MOST_ROWS, NUMBERS // d))
    rows = [shard(d, count, seed) for seed in range(2)]
    models = [fit(PCA(k), [part]) for part in rows]
    learning = best_of(3, lambda: fit(PCA(k), rows[:1]))
    merging = best_of(3, lambda: merge(*models))
    return Costs(d, k, learning / count, merging, len(pickle.dumps(models[0])), task)


def task_seconds(client: Any) -> float:
    """Return what one task costs Dask's scheduler, from thousands that do nothing."""
    client.gather(client.map(int, range(100), pure=False))
    # The scheduler runs in this process, the worker does not.
    begin = time.process_time()
    client.gather(client.map(int, range(3000), pure=False))
    return (time.process_time() - begin) / 3000


def predicted(costs: Costs, workers: int, shards: int, rows: int) -> float:
    """Return the seconds for so many shards of so many rows each.

    While the workers learn, the scheduler hands out a task for each shard, and the client
    fetches the models one after the other and merges them.
    """
    learning = math.ceil(shards / workers) * rows * costs.row
    fetching = shards * (costs.task + costs.size / BANDWIDTH + costs.merge)
    return max(learning, fetching) + costs.size / BANDWIDTH + costs.merge


def efficiency(costs: Costs, workers: int, rows: int, each: int) -> float:
    """Return the share of the time that is learning, with so many shards for each worker."""
    shards = workers * each
    return each * rows * costs.row / predicted(costs, workers, shards, rows)


def compare_speed() -> None:
    """Print how much faster two workers are than one; the machine has to be idle."""
    from dask import delayed
    from distributed import wait

    seconds = {}
    for count in (1, 2):
        with cluster_of(count) as client:
            shards = [delayed(shard)(80, 25_000, seed) for seed in range(16)]
            kept = client.persist(shards)
            wait(kept)
            fit(PCA(8), kept[:4], client)  # compiled code is loaded
            seconds[count] = best_of(3, partial(fit, PCA(8), kept, client), time.perf_counter)
    print(f"1 worker {seconds[1]:.2f} s, 2 workers {seconds[2]:.2f} s: "
          f"{seconds[1] / seconds[2]:.2f} times as fast")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser("python -m benchmarks.distributed", description=__doc__)
    parser.add_argument("--speed", action="store_true", help="only two workers against one")
    if parser.parse_args().speed:
        compare_speed()
        return
    with cluster_of(1) as client:
        task = task_seconds(client)
    print("| columns | k | us a row | ms a merge | kB a model | rows of d numbers | us a task |")
    print("|---|---|---|---|---|---|---|")
    found = [measured(d, k, task) for d, k in ((80, 8), (784, 8), (784, 40), (5000, 8))]
    for c in found:
        print(f"| {c.d} | {c.k} | {1e6 * c.row:.1f} | {1e3 * c.merge:.1f} | {c.size / 1e3:.0f} "
              f"| {c.size / 8 / c.d:.0f} | {1e6 * c.task:.0f} |")  # fmt: skip
    print("\n| columns | k | rows a shard | 10 workers | 100 | 1,000 |")
    print("|---|---|---|---|---|---|")
    for c in found:
        for rows in (10_000, 100_000, 1_000_000):
            shares = [efficiency(c, count, rows, 4) for count in (10, 100, 1000)]
            cells = " | ".join(f"{share:.0%}" for share in shares)
            print(f"| {c.d} | {c.k} | {rows:,} | {cells} |")


if __name__ == "__main__":
    main()
