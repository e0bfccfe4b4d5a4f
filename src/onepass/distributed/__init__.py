"""More than one machine: Dask learns from shards of the rows, and their models are merged."""

from onepass.distributed.fitting import fit
from onepass.distributed.learning import ShardError

__all__ = ["ShardError", "fit"]
