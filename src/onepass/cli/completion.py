"""``onepass completion``."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


@click.command(
    short_help="Print what makes a shell complete commands.",
    epilog="""\b
Examples:
  eval "$(onepass completion bash)"                          in ~/.bashrc
  eval "$(onepass completion zsh)"                           in ~/.zshrc
  onepass completion fish > ~/.config/fish/completions/onepass.fish""",
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print what makes SHELL complete commands and options."""
    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(ctx.find_root().command, {}, "onepass", "_ONEPASS_COMPLETE").source())
