"""All of it: run, judge, draw, and put it on a page."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from onepass.model_file import replacing
from onepass.paper import figure1, figure2, figure3, theorem1
from onepass.paper.claims import judge, words
from onepass.paper.mnist import load_images
from onepass.paper.page import write_page
from onepass.paper.part import Part
from onepass.paper.runs import Run, complete

FIGURES = ("1", "2", "3")


@dataclass(frozen=True)
class Size:
    """How much is run.

    Attributes
    ----------
    figure1_rows, figure2_rows, toy_rows, train_rows : int
        Rows per run; `train_rows` of MNIST.
    figure1_sequences, figure2_sequences, toy_sequences, excess_sequences, exhibit_sequences : int
        Runs; the last two of Theorem 1.
    horizons : tuple of int
        The T of Theorem 1 on the orthogonal distribution.
    marks : int
        Checkpoints of a run on MNIST.
    every_image : int
        One image in so many is used.
    splits : int
        Splits of MNIST.
    """

    figure1_rows: int = 100_000
    figure1_sequences: int = 10
    figure2_rows: int = 300_000
    figure2_sequences: int = 100
    toy_rows: int = 1000
    toy_sequences: int = 10_000
    horizons: tuple[int, ...] = (10, 30, 100, 300, 1000, 3000, 10_000)
    excess_sequences: int = 200
    exhibit_sequences: int = 4000
    train_rows: int = 28_000
    marks: int = 45
    every_image: int = 1
    splits: int = 10


QUICK = Size(
    figure1_rows=10_000,
    figure1_sequences=2,
    figure2_rows=20_000,
    figure2_sequences=6,
    toy_rows=500,
    toy_sequences=1000,
    horizons=(10, 30, 100, 300, 1000),
    excess_sequences=20,
    exhibit_sequences=300,
    train_rows=700,
    marks=16,
    every_image=10,
    splits=2,
)


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

    Writes pictures (png and svg), raw numbers (csv), ``claims.json`` and, from that, the page
    ``index.html`` and the same as Markdown. Finished runs are kept in ``out/runs``: an interrupted
    reproduction goes on where it was.

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
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    size = QUICK if quick else Size()
    count = splits or size.splits
    # Before anything takes long: is there something to learn from?
    images = load_images(mnist)[:: size.every_image] if "3" in wanted else None
    planned: list[Run] = []
    if "1" in wanted:
        planned += figure1.make_runs(size.figure1_rows, size.figure1_sequences, seed)
    if "2" in wanted:
        planned.append(figure2.make_toy_run(size.toy_rows, size.toy_sequences, seed))
        planned += theorem1.make_runs(
            size.horizons, size.excess_sequences, size.exhibit_sequences, seed
        )
        planned += figure2.make_runs(size.figure2_rows, size.figure2_sequences, seed)
    if images is not None:
        planned += figure3.make_runs(images, size.train_rows, size.marks, count, seed)
    results = complete(planned, folder / "runs", jobs)

    parts = []
    if "1" in wanted:
        parts.append(figure1.report(results, size.figure1_sequences, folder))
    if "2" in wanted:
        parts.append(figure2.report(results, size.figure2_sequences, folder))
        parts.append(theorem1.report(results, folder))
    if images is not None:
        parts.append(figure3.report(results, images, count, folder))
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
    """Judge the claims of a part under every reading that it measured them for."""
    said = {claim["name"]: claim for claim in words()[part.name]["claims"]}
    return [
        {"part": part.name, **judge(said[name], reading, quantities)}
        for (name, reading), quantities in part.quantities.items()
    ]
