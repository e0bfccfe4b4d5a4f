"""``onepass demo``."""

from __future__ import annotations

import contextlib
import os
import shlex
import tempfile
import time

import click
import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA as BatchPCA

from onepass import open_source
from onepass.cli.commands import main
from onepass.cli.options import ALGORITHMS, estimator

COMPONENTS = 8
TRAIN, HELD_OUT = "digits.csv", "held-out.csv"


def demo(keep: str | None) -> None:
    """Run every command, in a folder to keep or in a temporary one."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = keep or temporary
        os.makedirs(folder, exist_ok=True)
        with contextlib.chdir(folder):  # for commands that are short to read
            _write_digits()
            _run("fit", TRAIN, "-k", str(COMPONENTS), "-o", "model.onepass")
            _run("transform", "model.onepass", HELD_OUT, "-o", "coordinates.npy")
            _run("score", "model.onepass", HELD_OUT)
            click.echo(f"\nEvery algorithm, in one pass over {TRAIN} in pieces of 100 rows:\n")
            Console().print(_comparison())


def _write_digits() -> None:
    """Write 64-pixel images of digits as csv, two thirds to learn from and the rest held out."""
    rows = load_digits().data
    rows = rows[np.random.default_rng(0).permutation(len(rows))]
    names = ",".join(f"pixel_{i // 8}_{i % 8}" for i in range(rows.shape[1]))
    for path, part in ((TRAIN, rows[:1200]), (HELD_OUT, rows[1200:])):
        np.savetxt(path, part, fmt="%g", delimiter=",", header=names, comments="")
        click.echo(f"wrote {path}: {len(part)} rows of {part.shape[1]} columns")


def _run(*words: str) -> None:
    """Show a command and run it."""
    click.secho(f"\n$ {shlex.join(['onepass', *words])}", bold=True)
    if code := main(words, prog_name="onepass", standalone_mode=False):
        raise click.exceptions.Exit(code)


def _comparison() -> Table:
    """Fit every algorithm, and batch PCA; return what each captures of the held-out rows."""
    table = Table(title=f"Share of the variance of held-out rows, k = {COMPONENTS}")
    for heading in ("algorithm", "captured", "of batch PCA", "seconds"):
        table.add_column(heading, justify="left" if heading == "algorithm" else "right")
    train, held_out = (np.concatenate(list(open_source(path))) for path in (TRAIN, HELD_OUT))
    held_out -= train.mean(axis=0)  # for all, so that all shares are of the same variance
    best = 0.0
    for name in ("batch PCA, all in memory", *ALGORITHMS):
        is_batch = name not in ALGORITHMS
        model = BatchPCA(COMPONENTS) if is_batch else estimator(name, COMPONENTS)
        begin = time.perf_counter()
        model.fit(train if is_batch else open_source(TRAIN, batch_rows=100))
        components, seconds = model.components_, time.perf_counter() - begin
        share = float(((held_out @ components.T) ** 2).sum() / (held_out**2).sum())
        best = best or share
        row = (name, f"{share:.2%}", f"{share / best:.1%}", f"{seconds:.2f}")
        table.add_row(*row, end_section=is_batch)
    return table
