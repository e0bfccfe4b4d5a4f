"""More than one machine: shards of the rows are learned from by Dask, and their models merge."""

from onepass.distributed.fitting import fit
from onepass.distributed.learning import ShardError

__all__ = ["ShardError", "fit"]
