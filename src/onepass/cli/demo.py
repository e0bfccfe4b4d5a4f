"""``onepass demo``."""

from __future__ import annotations

import click


@click.command()
def demo() -> None:
    """Show all of it on scikit-learn's digits."""
