"""``onepass demo``."""

from __future__ import annotations

import contextlib
import shlex
import tempfile
from importlib.util import find_spec
from pathlib import Path

import click
import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA as BatchPCA
from sklearn.decomposition import IncrementalPCA

import onepass
from onepass.cli.commands import main
from onepass.extras import how_to_install

COMPONENTS = 8
LEARNED = 1200  # images to learn from; the other 597 are held out
MISSING, NOISE = 0.2, 0.02  # shares of pixels that are missing, and of images that are noise
DARKEST = 16.0  # the darkest pixel
SHADES = " ░▒▓█"
SHOWN = 4  # images of the picture in the terminal
TRAIN, HELD_OUT, MODEL, PAGE = "digits.csv", "held-out.csv", "digits.onepass", "digits.html"
WHOLE, ERRORS = "whole.csv", "errors.csv"


def demo(keep: str | None) -> None:
    """Run the commands on digits with gaps and outliers, in a folder that stays."""
    folder = Path(keep or tempfile.mkdtemp(prefix="onepass-demo-")).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    pictures = find_spec("matplotlib") is not None and find_spec("jinja2") is not None
    with contextlib.chdir(folder):  # for commands that are short to read
        clean, damaged, broken = _write_digits()
        _run("fit", TRAIN, "-k", str(COMPONENTS), "-o", MODEL, *(["--report", PAGE] * pictures))

        click.echo("\nDo these components describe whole images that the model has not seen?")
        _run("score", MODEL, HELD_OUT)
        Console().print(_comparison(clean, damaged))

        click.echo("\nWhich of the images are noise?")
        _run("score", MODEL, TRAIN, "--rows", ERRORS, "--quantile", "0.97")
        click.echo(_largest_errors(broken))

        click.echo("\nWhat was in the gaps?")
        _run("impute", MODEL, TRAIN, "-o", WHOLE)
        click.echo(_pictures(clean, damaged, broken))
    click.secho(f"\nAll files are in {folder}", bold=True)
    if pictures:
        click.secho(f"The report page, for a browser: {folder / PAGE}", bold=True)
    else:
        click.echo(f"fit --report also writes a page of pictures: {how_to_install('report')}")


def _write_digits() -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
    """Write digits; return those to learn from, the same with gaps and noise, and which are noise.

    The first two are (n, 64), the last one (n,).
    """
    rng = np.random.default_rng(0)
    rows = load_digits().data
    clean, held_out = np.split(rows[rng.permutation(len(rows))], [LEARNED])
    damaged, broken = clean.copy(), rng.random(LEARNED) < NOISE
    damaged[broken] = rng.normal(0.0, 4.0 * DARKEST, size=(broken.sum(), rows.shape[1])).round(1)
    damaged[rng.random(damaged.shape) < MISSING] = np.nan
    names = ",".join(f"pixel_{i // 8}_{i % 8}" for i in range(rows.shape[1]))
    for path, part in ((TRAIN, damaged), (HELD_OUT, held_out)):
        lines = (",".join("" if np.isnan(x) else f"{x:g}" for x in row) for row in part)
        Path(path).write_text("\n".join([names, *lines]) + "\n")
    click.echo(
        f"{TRAIN}: {LEARNED:,} images of 8 x 8 pixels, one in a row, as data often are:\n"
        f"{MISSING:.0%} of the cells are empty, and {broken.sum()} of the images are noise."
    )
    return clean, damaged, broken


def _run(*words: str) -> None:
    """Show a command and run it."""
    click.secho(f"\n$ {shlex.join(['onepass', *words])}", bold=True)
    try:
        main(words, prog_name="onepass")
    except SystemExit as end:  # of the command; the demo goes on if it succeeded
        if end.code:
            raise


def _comparison(clean: NDArray[np.float64], damaged: NDArray[np.float64]) -> Table:
    """Return what the directions of other ways capture of the held-out images."""
    held_out = np.loadtxt(HELD_OUT, delimiter=",", skiprows=1)
    filled = np.where(np.isnan(damaged), np.nanmean(damaged, axis=0), damaged)
    found = {
        f"onepass, from {TRAIN}": onepass.load(MODEL),
        "IncrementalPCA of scikit-learn, with column means in the gaps": IncrementalPCA(
            COMPONENTS
        ).fit(filled),
        "batch PCA of the images before they were damaged": BatchPCA(COMPONENTS).fit(clean),
    }
    table = Table("found by", "captured")
    table.columns[1].justify = "right"
    for name, model in found.items():
        centred = held_out - model.mean_
        share = ((centred @ model.components_.T) ** 2).sum() / (centred**2).sum()
        table.add_row(name, f"{share:.1%}")
    return table


def _largest_errors(broken: NDArray[np.bool_]) -> str:
    """Return how many of the rows with the largest errors are noise."""
    errors = np.genfromtxt(ERRORS, delimiter=",", names=True)["reconstruction_error"]
    count = int(broken.sum())
    caught = int(broken[np.argsort(errors)[-count:]].sum())
    return f"of the {count} rows with the largest errors, {caught} are noise"


def _pictures(
    clean: NDArray[np.float64], damaged: NDArray[np.float64], broken: NDArray[np.bool_]
) -> str:
    """Return some images with gaps, filled, and as they were, in characters."""
    whole = np.loadtxt(WHOLE, delimiter=",", skiprows=1)
    shown = np.flatnonzero(~broken)[:SHOWN]
    lines = []
    for title, rows in (("with gaps (··)", damaged), ("filled", whole), ("as it was", clean)):
        lines.append(f"\n{title}")
        for y in range(8):
            pixels = [rows[i].reshape(8, 8)[y] for i in shown]
            lines.append("   ".join("".join(map(_shade, row)) for row in pixels).rstrip())
    return "\n".join(lines)


def _shade(value: float) -> str:
    """Return two characters for a pixel."""
    if np.isnan(value):
        return "··"
    return 2 * SHADES[int(np.clip(value / DARKEST, 0.0, 1.0) * (len(SHADES) - 1) + 0.5)]
