"""More than one machine: workers learn from shards of the rows, and their models are merged."""

from onepass.distributed.fitting import fit
from onepass.distributed.shards import ShardError

__all__ = ["ShardError", "fit"]
