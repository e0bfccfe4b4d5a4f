"""Section 4: rank and spectrum of MSG."""

from __future__ import annotations

import numpy as np

from onepass.paper import figure1
from onepass.paper.claims.claim import Claim
from onepass.paper.runs import Arrays

AROUND = 3  # "around 15" is 12 to 18


def about_figure1(results: dict[str, Arrays]) -> list[Claim]:
    """Section 4: rank and spectrum of MSG."""
    ranks = {name: figure1.settled(run["ranks"]) for name, run in results.items()}
    middle = {name: float(np.median(found)) for name, found in ranks.items()}
    extras = figure1.extras(results["text"]["spectrum"])
    stays = results["text"]["stays"]
    rise = int(np.diff(results["text"]["ranks"], prepend=0).max())
    low, high = np.quantile(ranks["text"], [0.05, 0.95])
    return [
        Claim(
            "MSG maintains a subspace of dimension around 15 (k=4, p as in the text)",
            "Figure 1, left",
            f"median rank {15 - AROUND} to {15 + AROUND}",
            f"median {middle['text']:.0f}, 90% of the time {low:.0f} to {high:.0f}",
            abs(middle["text"] - 15) <= AROUND,
        ),
        Claim(
            "The same with probabilities proportional to tau^-i instead of tau^(-i/2), as in a "
            "later file of the first author",
            "Figure 1, left",
            f"median rank {15 - AROUND} to {15 + AROUND}",
            f"median {middle['signed']:.0f}",
            abs(middle["signed"] - 15) <= AROUND,
        ),
        Claim(
            "The ranks are typically much lower than the dimensionality",
            "Section 4",
            f"median rank at most 2/3 of d={figure1.D}",
            f"median {middle['text']:.0f}, largest {int(results['text']['ranks'].max())}",
            middle["text"] <= 2 / 3 * figure1.D,
        ),
        Claim(
            "Each MSG update increases the rank by at most 1",
            "Section 4",
            "at most 1 at every row",
            f"largest increase {rise} in {len(results['text']['ranks'])} rows",
            rise <= 1,
        ),
        Claim(
            "Many of the extra dimensions are wasted on very small eigenvalues",
            "Figure 1, right",
            "more than half of the eigenvalues beyond the k largest are below 0.05",
            f"{(extras < 0.05).mean():.0%} are below 0.05; median {np.median(extras):.4f}",
            bool((extras < 0.05).mean() > 0.5),
        ),
        Claim(
            "They correspond to directions that leave only a handful of iterations after entering",
            "Figure 1, right",
            "the median direction that leaves stays for at most d=32 rows",
            f"median {np.median(stays):.0f} rows, 90% at most {np.quantile(stays, 0.9):.0f} "
            f"({len(stays)} visits)",
            bool(np.median(stays) <= figure1.D),
        ),
    ]
