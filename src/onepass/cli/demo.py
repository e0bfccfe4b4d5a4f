"""``onepass demo``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.table import Table

COMPONENTS = 8


@click.command(
    epilog="""\b
Examples:
  onepass demo                                      in a folder that is removed afterwards
  onepass demo --keep digits                        in ./digits, to look at the files""",
)
@click.option(
    "--keep",
    type=click.Path(file_okay=False),
    metavar="FOLDER",
    help="Write the files there and leave them.",
)
@click.pass_context
def demo(ctx: click.Context, keep: str | None) -> None:
    """Show all of it on scikit-learn's digits: fit from a file, transform, score, compare."""
    import os
    import tempfile

    from rich.console import Console

    with tempfile.TemporaryDirectory() as temporary:
        folder = keep or temporary
        os.makedirs(folder, exist_ok=True)
        train, held_out = _write_digits(folder)
        model, coordinates = (os.path.join(folder, name) for name in ("model.onepass", "out.npy"))
        _run(ctx, "fit", train, "-k", str(COMPONENTS), "-o", model)
        _run(ctx, "transform", model, held_out, "-o", coordinates)
        _run(ctx, "score", model, held_out)
        console = Console()
        console.print(f"\nEvery algorithm, in one pass over {train} in pieces of 100 rows:\n")
        console.print(_comparison(train, held_out))


def _write_digits(folder: str) -> tuple[str, str]:
    """Write 64-pixel images of digits as csv, two thirds to learn from and the rest held out."""
    import os

    import numpy as np
    from sklearn.datasets import load_digits

    rows = load_digits().data
    rows = rows[np.random.default_rng(0).permutation(len(rows))]
    names = ",".join(f"pixel_{i // 8}_{i % 8}" for i in range(rows.shape[1]))
    paths = os.path.join(folder, "digits.csv"), os.path.join(folder, "held-out.csv")
    for path, part in zip(paths, (rows[:1200], rows[1200:]), strict=True):
        np.savetxt(path, part, fmt="%g", delimiter=",", header=names, comments="")
        click.echo(f"wrote {path}: {len(part)} rows of {part.shape[1]} columns")
    return paths


def _run(ctx: click.Context, *words: str) -> None:
    """Show a command and run it."""
    import shlex

    click.secho(f"\n$ {shlex.join(['onepass', *words])}", bold=True)
    group = ctx.find_root().command
    assert isinstance(group, click.Group)
    command = group.commands[words[0]]
    with command.make_context(words[0], list(words[1:]), parent=ctx) as inner:
        command.invoke(inner)


def _comparison(train: str, held_out: str) -> Table:
    """Fit every algorithm, and batch PCA; return what each captures of the held-out rows."""
    import time

    from rich.table import Table
    from sklearn.decomposition import PCA as BatchPCA

    from onepass import open_source
    from onepass.cli.algorithms import ALGORITHMS, estimator

    table = Table(title=f"Share of the variance of held-out rows, k = {COMPONENTS}")
    for heading in ("algorithm", "captured", "of batch PCA", "seconds"):
        table.add_column(heading, justify="left" if heading == "algorithm" else "right")
    rows = _all_rows(train)
    # The mean of these rows is the centre for all, so that all shares are of the same variance.
    begin = time.perf_counter()
    batch = BatchPCA(COMPONENTS).fit(rows)
    seconds = time.perf_counter() - begin
    best = _captured(batch.mean_, batch.components_, held_out)
    table.add_row("batch PCA, all in memory", f"{best:.2%}", "100.0%", f"{seconds:.2f}")
    table.add_section()
    for name in ALGORITHMS:
        begin = time.perf_counter()
        model = estimator(name, COMPONENTS, center=True).fit(open_source(train, batch_rows=100))
        seconds = time.perf_counter() - begin
        share = _captured(batch.mean_, model.components_, held_out)
        table.add_row(name, f"{share:.2%}", f"{share / best:.1%}", f"{seconds:.2f}")
    return table


def _all_rows(path: str) -> Any:
    """Return all rows of a small file as one array."""
    import numpy as np

    from onepass import open_source

    return np.concatenate(list(open_source(path)))


def _captured(mean: Any, components: Any, path: str) -> float:
    """Return the share of the variance of the rows in a file along components of shape (k, d)."""
    rows = _all_rows(path) - mean
    return float(((rows @ components.T) ** 2).sum() / (rows**2).sum())
