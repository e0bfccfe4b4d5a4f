"""The command line: one module per command.

Modules named after a command import click alone, so that ``onepass --help`` answers at once; what
a command works with is imported when it runs.
"""

from __future__ import annotations

import click

from onepass import __version__
from onepass.cli.completion import completion
from onepass.cli.demo import demo
from onepass.cli.fit import fit
from onepass.cli.guarding import GuardedGroup
from onepass.cli.info import info
from onepass.cli.merge import merge
from onepass.cli.paper import paper
from onepass.cli.score import score
from onepass.cli.transform import transform

__all__ = ["main"]


@click.group(
    cls=GuardedGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="""\b
Start here:
  onepass demo                                   all of it, on small data
  onepass fit events/*.parquet -k 20             learn 20 components in a pass
  onepass info model.onepass                     what was learned
  onepass score model.onepass more.parquet       share of variance captured
  onepass transform model.onepass more.parquet -o coordinates.npy

Formats are told by the suffix: npy, npz (dense and scipy sparse), csv, tsv, txt and svmlight (also
with .gz, .bz2 or .zst), parquet, arrow, feather, h5, zarr. Folders, quoted patterns and addresses
such as s3://bucket/a.parquet work too, and - is csv on standard input.

\b
Completion of commands and options with the tab key:
  eval "$(onepass completion bash)"              in ~/.bashrc; zsh, fish alike

Exit codes: 0 done, 1 a file could not be written, 2 wrong usage or bad data, 130 stopped by
Ctrl-C. `onepass COMMAND --help` explains a command with examples.""",
)
@click.version_option(__version__, prog_name="onepass")
def main() -> None:
    """Principal components in one pass over data that need not fit in memory."""


for _command in (fit, transform, score, info, merge, demo, paper, completion):
    main.add_command(_command)
