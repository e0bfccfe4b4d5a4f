"""Anything that holds rows -> blocks of rows."""

from onepass.sources.arrays import ArraySource
from onepass.sources.base import Block, Position, Source, SourceError
from onepass.sources.files.opening import open_source
from onepass.sources.iterables import BlockSource
from onepass.sources.sparse import SparseSource

__all__ = [
    "ArraySource",
    "Block",
    "BlockSource",
    "Position",
    "Source",
    "SourceError",
    "SparseSource",
    "open_source",
]
