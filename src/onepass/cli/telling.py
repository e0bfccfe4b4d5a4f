"""What is said beside results: as --quiet and --verbose ask for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from onepass.sources.files.source import FileSource

_MOST = 6  # names of columns that are listed


def is_quiet() -> bool:
    """Return whether --quiet was given."""
    return _given("quiet")


def is_verbose() -> bool:
    """Return whether --verbose was given."""
    return _given("verbose") and not is_quiet()


def _given(name: str) -> bool:
    """Return whether an option was given to the running command."""
    ctx = click.get_current_context(silent=True)
    return ctx is not None and bool(ctx.meta.get(f"onepass.{name}"))


def note(message: str) -> None:
    """Say something on standard error that is good to know."""
    if not is_quiet():
        click.echo(f"onepass: {message}", err=True)


def progress_visible() -> bool | None:
    """Return whether progress is shown: not with --quiet, otherwise on terminals."""
    return False if is_quiet() else None


def tell_source(source: FileSource, rows: int | None) -> None:
    """Say what is going to be read: files, rows, columns and where their names come from."""
    if is_quiet():
        return
    paths, names = source.paths, source.feature_names or []
    files = paths[0] if len(paths) == 1 else f"{len(paths):,} files, {paths[0]} to {paths[-1]}"
    about = "" if source.n_rows is not None else "about "
    count = "rows" if rows is None else f"{about}{rows:,} rows"
    columns = f"{source.n_features:,} columns"
    if source.named:
        shown = names if is_verbose() else names[:_MOST]
        columns += f" with the names {', '.join(shown)}{', ...' * (len(names) > len(shown))}"
    else:
        columns += " without names" + (f", numbers {', '.join(names[:_MOST])}" if names else "")
    click.echo(f"reading {files}: {count} of {columns}")
    if is_verbose() and len(paths) > 1:
        for path, known in source.files:
            click.echo(f"  {path}" + ("" if known is None else f": {known:,} rows"))
