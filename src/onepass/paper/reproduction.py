"""All of it: run, judge, draw, and put it on a page."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from onepass.model_file import replacing
from onepass.paper import figure1, figure2, figure3, theorem1
from onepass.paper.claims import judge, words
from onepass.paper.mnist import load_images
from onepass.paper.page import write_page
from onepass.paper.part import FULL, QUICK, Part
from onepass.paper.runs import complete

FIGURES: dict[str, list[Any]] = {"1": [figure1], "2": [figure2, theorem1], "3": [figure3]}


def run(
    out: str | os.PathLike[str],
    figures: Sequence[str | int] | None = None,
    mnist: str | os.PathLike[str] | None = None,
    quick: bool = False,
    splits: int | None = None,
    jobs: int = 1,
    seed: int = 0,
    markdown: str | os.PathLike[str] | None = None,
) -> list[dict[str, Any]]:
    """Reproduce the paper's figures and measure its claims.

    Writes pictures (png and svg), ``claims.json`` and, from that, the page ``index.html`` and the
    same as Markdown. Finished runs are kept in ``out/runs`` as arrays that NumPy reads: an
    interrupted reproduction goes on where it was.

    Parameters
    ----------
    out : path
        The folder to write to; made if it is not there.
    figures : sequence of "1", "2", "3", optional
        All by default. The toy of Section 5.2 and Theorem 1 belong to figure 2.
    mnist : path, optional
        The folder of MNIST's idx files, compressed or not; by default scikit-learn fetches them.
    quick : bool
        Fewer rows, runs and splits.
    splits : int, optional
        Random splits of MNIST for each reading: 10 by default, 2 if quick, 100 in the paper.
    jobs : int
        The number of processes.
    seed : int
        The same seed gives the same numbers.
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
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    scope = replace(QUICK if quick else FULL, seed=seed)
    if splits:
        scope = replace(scope, splits=splits)
    if "3" in wanted:  # before anything takes long: is there something to learn from?
        scope = replace(scope, images=load_images(mnist)[:: scope.every_image])
    modules = [module for figure in sorted(wanted) for module in FIGURES[figure]]
    planned = [run for module in modules for run in module.make_runs(scope)]
    results = complete(planned, folder / "runs", jobs)
    parts: list[Part] = [module.report(results, scope, folder) for module in modules]
    options = [f"--figure {figure}" for figure in sorted(wanted)] if figures else []
    options += ["--quick"] * quick + ["--mnist DIR"] * (mnist is not None)
    options += [f"--splits {splits}"] * bool(splits) + [f"--seed {seed}"] * bool(seed)
    claims = [claim for part in parts for claim in judged(part)]
    document: dict[str, Any] = {
        "command": " ".join(["onepass paper", *options]),
        "version": ", ".join(sorted({str(result["version"]) for result in results.values()})),
        "cpu_minutes": sum(float(result["cpu_seconds"]) for result in results.values()) / 60,
        "quick": quick,
        "claims": claims,
        "parts": {
            part.name: {"facts": part.facts, "tables": [asdict(table) for table in part.tables]}
            for part in parts
        },
    }
    with replacing(folder / "claims.json") as file:
        file.write(json.dumps(document, indent=1).encode())
    write_page(folder, Path(markdown) if markdown else folder / "index.md")
    return claims


def judged(part: Part) -> list[dict[str, Any]]:
    """Judge the claims of a part under every reading that they were measured for."""
    said = {claim["name"]: claim for claim in words()[part.name]["claims"]}
    return [
        {"part": part.name, **judge(said[name], reading, quantities)}
        for reading, measured in part.measured.items()
        for name, quantities in measured.items()
    ]
