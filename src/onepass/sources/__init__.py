"""Anything that holds rows -> blocks of rows."""

from onepass.sources.base import Block, Position, Source, SourceError
from onepass.sources.files import open_source
from onepass.sources.memory import ArraySource, BlockSource

__all__ = [
    "ArraySource",
    "Block",
    "BlockSource",
    "Position",
    "Source",
    "SourceError",
    "open_source",
]
