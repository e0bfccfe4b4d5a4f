"""The command line.

`commands` and `options` declare what can be asked for, and import click alone: ``onepass --help``
answers at once. The other modules do the work, and are imported when a command runs.
"""

from onepass.cli.commands import main

__all__ = ["main"]
