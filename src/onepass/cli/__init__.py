"""The command line.

Modules that define commands import click alone, so that ``onepass --help`` answers at once; what
a command works with is imported when it runs.
"""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from onepass import __version__
from onepass.cli.demo import demo
from onepass.cli.errors import GuardedGroup
from onepass.cli.fit import fit
from onepass.cli.model_files import info, merge
from onepass.cli.paper import paper
from onepass.cli.score import score
from onepass.cli.transform import transform

__all__ = ["main"]


@click.group(
    cls=GuardedGroup,
    context_settings={
        "help_option_names": ["-h", "--help"],
        "max_content_width": 100,
        "show_default": True,
    },
    epilog="""\b
Start here:
  onepass demo                                   every command, on small data
  onepass fit events/*.parquet -k 20             20 components, in one pass
  onepass info model.onepass                     what was learned
  onepass score model.onepass more.parquet       share of variance captured
  onepass transform model.onepass more.parquet -o coordinates.npy

The suffix decides about the format: npy, npz (dense and scipy sparse), csv, tsv, txt and svmlight
(also with .gz, .bz2 or .zst), parquet, arrow, feather, h5, zarr. Folders, quoted patterns and
addresses such as s3://bucket/a.parquet work too, and - is csv on standard input.

\b
Completion of commands and options with the tab key:
  eval "$(onepass completion bash)"              in ~/.bashrc; zsh, fish alike

Exit codes: 0 done, 1 a disk, memory or a program has failed, 2 wrong usage or bad data, 130
stopped by Ctrl-C. `onepass COMMAND --help` explains a command with examples.""",
)
@click.version_option(__version__, prog_name="onepass")
def main() -> None:
    """Principal components in one pass over data that need not fit in memory."""


@click.command(
    short_help="Print a script that makes your shell complete commands.",
    epilog="""\b
Examples:
  eval "$(onepass completion bash)"                          in ~/.bashrc
  eval "$(onepass completion zsh)"                           in ~/.zshrc
  onepass completion fish > ~/.config/fish/completions/onepass.fish""",
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print a script that makes your shell complete commands and options."""
    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(ctx.find_root().command, {}, "onepass", "_ONEPASS_COMPLETE").source())


for _command in (fit, transform, score, info, merge, demo, paper, completion):
    main.add_command(_command)
