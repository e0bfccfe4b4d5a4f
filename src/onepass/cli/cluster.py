"""The work of ``onepass fit`` on more than one process or machine."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from onepass.cli.guarding import Failure, MachineFailure
from onepass.cli.progress import Progress


@contextmanager
def connected(address: str | None, workers: int | None) -> Iterator[Any]:
    """Give a Dask client: of a running cluster, or of a new one on this machine."""
    try:
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise ImportError("--dask and --workers need dask: pip install 'onepass[dask]'") from error
    if address is not None:
        try:
            client = Client(address, set_as_default=False)
        except (OSError, ValueError) as error:
            raise Failure(f"--dask {address}: there is no scheduler: {error}") from error
        with client:
            yield client
    else:
        with (
            LocalCluster(
                n_workers=workers, threads_per_worker=1, dashboard_address="127.0.0.1:0"
            ) as cluster,
            Client(cluster, set_as_default=False) as client,
        ):
            yield client


def shards_of(
    source: Any, columns: list[str] | None, skip_non_numeric: bool, *, resume: bool
) -> list[Any]:
    """Return a source for each file of a source, for a worker to read."""
    from onepass.sources import open_source

    if resume:
        raise Failure("--resume goes with one process: --dask and --workers leave no checkpoint")
    if "standard input" in source.paths:
        raise Failure("standard input cannot be shared: --dask and --workers need files")
    chosen = source.feature_names if skip_non_numeric else columns
    return [open_source(path, columns=chosen) for path in source.paths]


def fit_on_cluster(
    model: Any, shards: list[Any], client: Any, progress: Progress
) -> tuple[Any, float]:
    """Return the model of all shards, and how many seconds that took.

    Parameters
    ----------
    model : estimator
        Not fitted.
    shards : list of FileSource
        Of one file each.
    client : distributed.Client
        From `connected`.
    progress : Progress
        Told about every shard that is done.
    """
    from onepass.distributed import fit

    begin = time.monotonic()
    try:
        found = fit(model, shards, client, progress=progress.advance)
    except ConnectionError as error:
        raise MachineFailure(str(error)) from error
    return found, time.monotonic() - begin
