"""Measure what distributed work costs, and work out what that means for 10 to 1,000 workers.

    python -m benchmarks.distributed [--speed] [--memory] [--accuracy]

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
from pathlib import Path
from typing import Any

import numpy as np

from onepass import ERM, PCA, CappedMSG
from onepass.distributed import fit
from onepass.distributed.shards import join, learn

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
    models = [learn(PCA(k), part, "shard") for part in rows]
    learning = best_of(3, lambda: learn(PCA(k), rows[0], "shard"))
    merging = best_of(3, lambda: join(*models))
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

    While the workers learn, the scheduler hands out two tasks for each shard, and the client
    fetches the models one after the other and merges them.
    """
    learning = math.ceil(shards / workers) * rows * costs.row
    fetching = shards * (2 * costs.task + costs.size / BANDWIDTH + costs.merge)
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


def peak_memory() -> float:
    """Return the most megabytes that this process has had since it was started (on Linux)."""
    # Unlike what getrusage says, this is not inherited from the process that has started it.
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def show_memory() -> None:
    """Print what a worker needs at most, against the number of shards."""
    from dask import delayed

    print("\n| shards | MB in a new worker | MB at most |")
    print("|---|---|---|")
    for count in (4, 16, 64, 256):
        with cluster_of(1) as client:
            fit(PCA(8), [delayed(shard)(784, 2000, 0)], client)
            new = max(client.run(peak_memory).values())
            fit(PCA(8), [delayed(shard)(784, 2000, seed) for seed in range(count)], client)
            most = max(client.run(peak_memory).values())
        print(f"| {count} | {new:.0f} | {most:.0f} |", flush=True)


def show_sizes() -> None:
    """Print how many rows of d numbers a shard sends."""
    print("\n| algorithm | k | 80 columns | 300 | 1,000 | 5,000 |")
    print("|---|---|---|---|---|---|")
    for kind in (PCA, CappedMSG):
        for k in (2, 8, 32):
            cells = []
            for d in (80, 300, 1000, 5000):
                parts = [learn(kind(k), shard(d, 1500, seed), "shard") for seed in range(2)]
                most = max(len(pickle.dumps(each)) for each in (*parts, join(*parts)))
                cells.append(f"{most / 8 / d:.0f}")
            print(f"| {kind.__name__} | {k} | {' | '.join(cells)} |", flush=True)


def compare_accuracy() -> None:
    """Print the excess of one pass and of merged shards, in units of batch PCA's."""
    print("\n| tails | columns | rows a shard | one pass | 16 shards, merged |")
    print("|---|---|---|---|---|")
    for freedom, d, rows, apart in (
        (50.0, 40, 3000, 0.0), (50.0, 300, 3000, 0.0), (2.5, 40, 3000, 0.0), (2.5, 300, 3000, 0.0),
        (2.5, 40, 1000, 0.0), (2.5, 40, 3000, 3.0), (2.5, 300, 3000, 3.0),
    ):  # fmt: skip
        excesses = [_excesses(freedom, d, rows, apart, seed) for seed in range(3)]
        cells = " | ".join(f"{mean:.2f}" for mean in np.exp(np.mean(np.log(excesses), axis=0)))
        means = ", other means" if apart else ""
        print(f"| t{freedom:g}{means} | {d} | {rows:,} | {cells} |", flush=True)


def _excesses(freedom: float, d: int, rows: int, apart: float, seed: int) -> np.ndarray:
    """Return what one pass and merged shards lose on the population, against batch PCA."""
    from dask import delayed

    k, rng = 3, np.random.default_rng(seed)
    scale = np.concatenate([[6, 4, 3], np.ones(d - 3)])
    parts = rng.normal(size=(16, rows, d)) * scale
    parts *= np.sqrt(freedom / rng.chisquare(freedom, size=(16, rows, 1)))
    means = apart * rng.normal(size=(16, 1, d))
    covariance = freedom / (freedom - 2) * np.diag(scale**2) + np.cov(means[:, 0].T, bias=True)
    X = np.concatenate(parts + means)
    shards = [delayed(part) for part in np.split(X, 16)]
    models = [ERM(k, center=True).fit(X), PCA(k).fit(X), fit(PCA(k), shards)]
    best = np.linalg.eigvalsh(covariance)[-k:].sum()
    lost = [best - np.trace(m.components_ @ covariance @ m.components_.T) for m in models]
    return np.array(lost[1:]) / lost[0]


def main() -> None:
    parser = argparse.ArgumentParser("python -m benchmarks.distributed", description=__doc__)
    parser.add_argument(
        "--speed", action="store_true", help="two workers against one, nothing else"
    )
    parser.add_argument("--accuracy", action="store_true", help="against one pass, nothing else")
    parser.add_argument("--memory", action="store_true", help="of a worker, nothing else")
    args = parser.parse_args()
    if args.speed or args.memory or args.accuracy:
        for wanted, show in (
            (args.speed, compare_speed),
            (args.memory, show_memory),
            (args.accuracy, compare_accuracy),
        ):
            if wanted:
                show()
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
    show_sizes()


if __name__ == "__main__":
    main()
