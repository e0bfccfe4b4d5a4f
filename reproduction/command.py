"""The whole reproduction and its command: run, draw, judge the claims, and write the page."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from onepass.persistence.atomic import replacing
from onepass.report import require_report
from reproduction import figure1, figure2, figure3, theorem1
from reproduction.claims import Part, judge
from reproduction.page import html_page, page
from reproduction.runs import QUICK, Scope, complete, finished

FIGURES: dict[str, list[Any]] = {"1": [figure1], "2": [figure2, theorem1], "3": [figure3]}


def run(
    out: str | os.PathLike[str],
    figures: Sequence[str | int] | None = None,
    mnist: str | os.PathLike[str] | None = None,
    quick: bool = False,
    splits: int | None = None,
    jobs: int = 1,
    seed: int = 0,
    so_far: bool = False,
    markdown: str | os.PathLike[str] | None = None,
) -> list[dict[str, Any]]:
    """Reproduce the paper's figures and measure its claims.

    Writes pictures (png and svg), ``claims.json``, and the page as ``index.html`` and as Markdown.
    Finished runs are kept in ``out/runs`` as npz files: after an interruption, the same call
    continues with the others.

    Parameters
    ----------
    out : path
        The folder to write to, which is made if necessary.
    figures : sequence of "1", "2", "3", optional
        All by default. The toy of Section 5.2 and Theorem 1 belong to figure 2.
    mnist : path, optional
        The folder of MNIST's idx files, compressed or not; by default scikit-learn fetches them.
        If that fails, figure 3 is left out, unless it was asked for.
    quick : bool
        Fewer rows, runs and splits.
    splits : int, optional
        Random splits of MNIST for each reading: 10 by default, 2 if quick, 100 in the paper.
    jobs : int
        The number of processes.
    seed : int
        The same seed gives the same numbers.
    so_far : bool
        Run nothing: make the page from the finished runs; it says how many these are.
    markdown : path, optional
        Where to write the page as Markdown; ``out/index.md`` by default.

    Returns
    -------
    list of dict
        The claims as they are in ``claims.json``.
    """
    wanted = {str(figure) for figure in figures} if figures else set(FIGURES)
    if unknown := wanted - set(FIGURES):
        raise ValueError(f"figures must be among {', '.join(FIGURES)}, not {sorted(unknown)}")
    if splits is not None and splits < 2:
        raise ValueError(f"splits must be at least 2, for a spread, not {splits}")
    require_report()  # rather than after an hour of work
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    scope = replace(QUICK if quick else Scope(), seed=seed)
    if splits:
        scope = replace(scope, splits=splits)
    left_out = ""
    if "3" in wanted:  # before the other figures take long
        try:
            scope = replace(scope, images=figure3.load_images(mnist)[:: scope.every_image])
        except OSError as error:
            if mnist is not None or figures:
                raise
            left_out = f"Figure 3 is left out. {error}"
            click.echo(left_out, err=True)
            wanted.remove("3")
    modules = [module for figure in sorted(wanted) for module in FIGURES[figure]]
    planned = [run for module in modules for run in module.make_runs(scope)]
    kept = folder / "runs"
    results = finished(planned, kept) if so_far else complete(planned, kept, jobs)
    parts: list[Part] = [module.report(results, scope, folder) for module in modules]
    options = [f"--figure {figure}" for figure in sorted(wanted)] if figures else []
    options += ["--quick"] * quick + ["--mnist DIR"] * (mnist is not None)
    options += [f"--splits {splits}"] * bool(splits) + [f"--seed {seed}"] * bool(seed)
    claims = [claim for part in parts for claim in judge(part)]
    document = {
        "command": " ".join(["python -m reproduction", *options]),
        "version": ", ".join(sorted({str(result["version"]) for result in results.values()})),
        "cpu_minutes": sum(float(result["cpu_seconds"]) for result in results.values()) / 60,
        "quick": quick,
        "left_out": left_out,
        "finished": f"{len(results)} of {len(planned)}" if len(results) < len(planned) else "all",
        "claims": claims,
        "parts": {part.name: {"facts": part.facts, "tables": part.tables} for part in parts},
    }
    page_path = Path(markdown) if markdown else folder / "index.md"
    written = {
        folder / "claims.json": json.dumps(document, indent=1),
        folder / "index.html": html_page(document),
        page_path: page(document, os.path.relpath(folder, page_path.parent)),
    }
    for path, text in written.items():
        with replacing(path) as file:
            file.write(text.encode())
    return claims


@click.command(
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
    epilog="""\b
Examples:
  python -m reproduction --quick                       about two minutes
  python -m reproduction --figure 2                    one figure, with 100 runs
  python -m reproduction --mnist ~/data/mnist --jobs 4 with idx files of MNIST

Everything takes about an hour on one core. Finished runs are kept in the output folder: after an
interruption, the same command continues with the others. Without MNIST, Figures 1 and 2, the toy
and Theorem 1 are made, and Figure 3 is left out.""",
)
@click.option(
    "--figure",
    "figures",
    type=click.Choice(list(FIGURES)),
    multiple=True,
    help="Only this figure; may be given several times. All by default.",
)
@click.option(
    "--out",
    type=click.Path(file_okay=False),
    default="build/paper",
    help="The folder for pictures, tables and the page.",
)
@click.option(
    "--mnist",
    type=click.Path(exists=True, file_okay=False),
    help="A folder with the idx files of MNIST, compressed or not.",
)
@click.option("--quick", is_flag=True, help="Run with fewer rows, runs and splits.")
@click.option(
    "--splits",
    type=click.IntRange(2),
    help="How many random splits of MNIST to run for each reading.  [default: 10]",
)
@click.option(
    "--jobs",
    type=click.IntRange(1),
    default=1,
    help="How many runs to do at the same time, each in a process.",
)
@click.option(
    "--seed", type=click.IntRange(0), default=0, help="The same seed gives the same numbers."
)
@click.option(
    "--so-far", is_flag=True, help="Run nothing; make the page from the runs that are finished."
)
@click.option(
    "--markdown",
    type=click.Path(dir_okay=False),
    help="Write the page as Markdown to this file, not to index.md in the output folder.",
)
def main(**given: Any) -> None:
    """Reproduce the figures of the Capped MSG paper, and judge its claims under each reading."""
    run(**given)
    click.echo(f"{given['out']}/index.html: the figures, and each claim with its verdict")
