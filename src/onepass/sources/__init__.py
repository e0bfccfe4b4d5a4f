"""Anything that holds rows -> blocks of rows."""

from onepass.sources.base import Block, Position, Source, SourceError

__all__ = ["Block", "Position", "Source", "SourceError"]
