"""All of it: run, draw, judge, and put it on a page."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from onepass.model_file import replacing
from onepass.paper import claims, figure1, figure2, figure3, figure3_pictures, theorem1, toy
from onepass.paper.claims import Claim
from onepass.paper.figure3_summary import Summary
from onepass.paper.mnist import Normalisation, Scaling, load_images
from onepass.paper.page import write_page

FIGURES = ("1", "2", "3")
SCALINGS: dict[Scaling, tuple[str, str]] = {
    "pixels": ("figure3", "Figure 3"),
    "whole": ("figure3-whole", "Figure 3, one scale for all pixels"),
}


@dataclass(frozen=True)
class Size:
    """How much is run.

    Attributes
    ----------
    figure1_rows, figure2_rows, toy_rows, train_rows : int
        Rows per run; `train_rows` of MNIST.
    figure2_sequences, toy_sequences, regret_sequences : int
        Runs.
    horizons : tuple of int
        The T of Theorem 1.
    marks : int
        Checkpoints of a run on MNIST.
    every_image : int
        One image in so many is used.
    splits : int
        Splits of MNIST.
    """

    figure1_rows: int = 100_000
    figure2_rows: int = 30_000
    figure2_sequences: int = 100
    toy_rows: int = 1000
    toy_sequences: int = 2000
    regret_sequences: int = 5
    horizons: tuple[int, ...] = (10, 30, 100, 300, 1000, 3000, 10_000, 30_000)
    train_rows: int = 28_000
    marks: int = 45
    every_image: int = 1
    splits: int = 100


QUICK = Size(
    figure1_rows=20_000,
    figure2_rows=10_000,
    figure2_sequences=10,
    toy_rows=500,
    toy_sequences=300,
    regret_sequences=2,
    horizons=(10, 30, 100, 300, 1000, 3000),
    train_rows=1400,
    marks=24,
    every_image=5,
    splits=1,
)


def run(
    out: str | os.PathLike[str],
    figures: Sequence[str | int] | None = None,
    mnist: str | os.PathLike[str] | None = None,
    quick: bool = False,
    splits: int | None = None,
    jobs: int = 1,
    seed: int = 0,
) -> list[Claim]:
    """Reproduce the paper's figures and measure its claims.

    Writes pictures (png and svg), raw numbers (csv), ``claims.json`` and ``index.html``
    (the same as ``index.md``). Finished runs are kept in ``out/runs``: an interrupted reproduction
    goes on where it was.

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
        Random splits of MNIST: 100 in the paper and by default, 1 if quick. The repetition with
        one scale for all pixels, beyond the paper, takes a third of them.
    jobs : int
        The number of processes.
    seed : int
        The same seed gives the same numbers, except for seconds.

    Returns
    -------
    list of Claim
        What was measured; also in ``claims.json``.
    """
    wanted = {str(figure) for figure in figures} if figures else set(FIGURES)
    if unknown := wanted - set(FIGURES):
        raise ValueError(f"figures must be among {', '.join(FIGURES)}, not {sorted(unknown)}")
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    size = QUICK if quick else Size()
    # Before anything takes long: is there something to learn from?
    images = load_images(mnist)[:: size.every_image] if "3" in wanted else None
    summaries: dict[str, Summary] = {}
    found: list[Claim] = []
    if "1" in wanted:
        ranks = figure1.run_all(folder, size.figure1_rows, jobs, seed)
        figure1.draw(ranks, folder)
        found += claims.about_figure1(ranks)
    if "2" in wanted:
        wrong = toy.run_all(folder, size.toy_rows, size.toy_sequences, jobs, seed)
        found += claims.about_toy(wrong)
        curves = figure2.run_all(folder, size.figure2_rows, size.figure2_sequences, jobs, seed)
        figure2.draw(curves, folder)
        found += claims.about_figure2(curves)
        regrets = theorem1.run_all(folder, list(size.horizons), size.regret_sequences, jobs, seed)
        theorem1.draw(regrets, folder)
        found += claims.about_theorem1(regrets)
    if images is not None:
        count = splits or size.splits
        counts: dict[Scaling, int] = {"pixels": count, "whole": -(-count // 3)}
        found3 = figure3.run_all(folder, images, size.train_rows, size.marks, counts, jobs, seed)
        for scaling, (stem, where) in SCALINGS.items():
            summaries[stem] = Summary(found3[scaling])
            figure3_pictures.draw(summaries[stem], folder, stem)
            fourth = Normalisation.of(images, scaling).fourth_moment(images)
            found.append(claims.about_tails(fourth, where))
            found += claims.about_figure3(summaries[stem], where)
    with replacing(folder / "claims.json") as file:
        file.write(json.dumps([claim.to_json() for claim in found], indent=2).encode())
    write_page(folder, found, summaries, wanted, quick)
    return found
