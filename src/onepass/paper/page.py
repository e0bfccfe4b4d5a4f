"""The page that a reproduction ends with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from onepass.model_file import replacing
from onepass.paper import figure3_pictures
from onepass.paper.claims import Claim
from onepass.paper.figure3_summary import Summary
from onepass.report.page import Picture, Section, Table, render, render_markdown

TITLE = "Stochastic Optimization of PCA with Capped MSG, measured again"
LEAD = (
    "Figures 1 to 3 of Arora, Cotter and Srebro (2013) and every claim of the text about them, run "
    "with onepass. A claim that does not hold is reported with its numbers."
)
QUICK = "This is the quick version: fewer rows, runs and splits. The full one takes longer. "

FIGURE1 = Section(
    "Figure 1: rank and spectrum of MSG",
    [
        "Orthogonal distribution, d=32, tau=1.1, k=4: unit vectors e_i with probability "
        "proportional to tau^(-i/2), the text's sqrt(Sigma_ii) made to sum to one, and for the "
        "left plot also to tau^-i with random signs. MSG with tr M <= k and AdaGrad-norm steps, "
        "which are sqrt(k/t) on unit rows; nothing is tuned. The rank is read after every row.",
    ],
    [Picture("figure1.png", "The ranks k_t' (left) and the eigenvalues (right) of the iterates.")],
)
FIGURE2 = Section(
    "Figure 2: suboptimality on the orthogonal distribution",
    [
        "All algorithms see the same sequences and use AdaGrad-norm steps; Capped MSG has K=k+1. "
        "Suboptimality is on the population, of the k leading eigenvectors of M(t). A run is stuck "
        "if it ends worse than batch PCA of the same rows and has not moved in the last nine "
        "tenths of them. Zero is drawn at the lower edge: 0.001 is less than the "
        "smallest difference of two eigenvalues.",
    ],
    [Picture("figure2.png", "One sequence (top) and median and quartiles of all (bottom).")],
)
THEOREM1 = Section(
    "Theorem 1: regret against its bound",
    [
        "Regret against the best k directions in hindsight on sequences from the orthogonal "
        "distribution, k=4, with the horizon's step sqrt(k/T) and with AdaGrad-norm steps, which "
        "know no horizon.",
    ],
    [Picture("theorem1.png", "Mean regret over sequences, and the bounds.")],
)
REASONS = Section(
    "Where a claim fails, and why",
    [
        "Figure 1: the rank depends on the probabilities. Proportional to tau^-i, they give the "
        "paper's rank of around 15; the text's sqrt(Sigma_ii), tau^(-i/2), is flatter: about 20.",
        "Figure 2: a new direction enters Capped MSG with the weight of a step, and only if that "
        "is more than the smallest of its K eigenvalues. Orthogonal rows never add to a direction "
        "that is not held, so that plateaus grow longer as steps decay.",
        "Theorem 1: the two terms of the proof's bound are sqrt(k/T)/2 each. The theorem prints "
        "one of them.",
        "Figure 3: dividing every pixel by its standard deviation makes pixels that are nearly "
        "always black rare and huge. The fourth moment, which the analysis assumes to be at most "
        "1, is far from it; a few rows throw the incremental algorithm, MSG and Capped MSG, and "
        "those that move a basis by small angles, or average, withstand them. With one scale for "
        "all pixels the order of the algorithms is nearer to the paper's.",
        "Figure 3: chosen by average suboptimality alone, c is often so small that the constraints "
        "are hardly met. MSG and Warmuth-Kuzmin are then weighted batch PCA, with a rank far above "
        "k: good per iteration, and costly.",
    ],
)
METHOD3 = (
    "40% of the images for training, 20% for validation and 40% for testing. Steps c/sqrt(t), c in "
    "2^-12 .. 2^5 by average suboptimality over the run on the validation rows; all curves are on "
    "the test rows, averaged over {count} random splits. Estimated runtime is the sum of "
    "(k_s')^2, the rank read every 24 rows and cut at 32+4k. CPU seconds are of the updates alone, "
    "one thread; they are not the same from run to run. Where the chosen steps are so small that "
    "the constraints are never met, MSG and Warmuth-Kuzmin are batch PCA of rows weighted by "
    "1/sqrt(t): they are evaluated as such, at full rank, and not timed."
)
SCALES = {
    "figure3": (
        "Figure 3: MNIST",
        "Every pixel has mean zero and is divided by its standard deviation, and all by sqrt(d), "
        "which gives the unit norm that the text wants; it prints d. Pixels that are nearly always "
        "black become rare and huge, and rows heavy-tailed.",
    ),
    "figure3-whole": (
        "Figure 3 with one scale for all pixels",
        "Beyond the paper: mean zero, and all pixels divided by the same number. Rows are no "
        "longer heavy-tailed.",
    ),
}


def write_page(
    out: Path,
    claims: Sequence[Claim],
    summaries: Mapping[str, Summary],
    figures: set[str],
    quick: bool,
) -> None:
    """Write ``index.html`` and, the same, ``index.md``."""
    sections = [claims_section(claims)]
    if "1" in figures:
        sections.append(FIGURE1)
    if "2" in figures:
        sections += [FIGURE2, THEOREM1]
    sections += [_figure3(stem, summary) for stem, summary in summaries.items()]
    sections.append(REASONS)
    lead = (QUICK if quick else "") + LEAD
    for name, write in (("index.html", render), ("index.md", render_markdown)):
        with replacing(out / name) as file:
            file.write(write(TITLE, lead, sections).encode())


def claims_section(claims: Sequence[Claim]) -> Section:
    """Return the table of claims."""
    holding = sum(claim.holds for claim in claims)
    rows = [
        [claim.claim, claim.where, claim.expected, claim.measured, "yes" if claim.holds else "NO"]
        for claim in claims
    ]
    return Section(
        "The claims",
        [f"{holding} of {len(claims)} hold."],
        tables=[Table(["Claim", "Where", "Expected", "Measured", "Holds"], rows)],
    )


def _figure3(stem: str, summary: Summary) -> Section:
    """Return the section of a scaling of MNIST."""
    title, scale = SCALES[stem]
    return Section(
        title,
        [scale, METHOD3.format(count=summary.count)],
        [
            Picture(f"{stem}.png", "As in the paper: against iterations and estimated runtime."),
            Picture(f"{stem}-beyond.png", "More algorithms, against iterations and CPU seconds."),
        ],
        [Table(figure3_pictures.COLUMNS, figure3_pictures.table(summary))],
    )
