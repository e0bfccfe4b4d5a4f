"""Section 3.1: the bound, as the proof gives it and as it is printed."""

from __future__ import annotations

import numpy as np

from onepass.paper import theorem1
from onepass.paper.claims.claim import Claim
from onepass.paper.runs import Arrays


def about_theorem1(results: dict[str, Arrays]) -> list[Claim]:
    """Section 3.1: the bound, as the proof gives it and as it is printed."""
    run, excess = results["regret"], results["printed"]["excess"]
    last = int(run["horizons"][-1])
    worst = np.unravel_index(excess.argmax(), excess.shape)
    share = results["printed"]["shares"][worst[0]]
    T = results["printed"]["horizons"][worst[1]]
    claims = [
        Claim(
            f"The regret of MSG with {what} is at most {bound:g} sqrt(kT)",
            "Theorem 1 (its proof)" if bound == 1 else "beyond the paper",
            f"at most {bound:g} on every sequence and for every T up to {last}",
            f"largest {run[name].max():.2f} of {run[name].size} runs",
            bool(run[name].max() <= bound),
        )
        for (name, bound), what in zip(
            theorem1.BOUNDS.items(), ("eta = sqrt(k/T)", "AdaGrad-norm steps"), strict=True
        )
    ]
    claims.append(
        Claim(
            "The expected excess of the averaged iterate is at most sqrt(k/T)/2",
            "Theorem 1 (as printed)",
            "at most 0.5 sqrt(k/T) on every distribution",
            f"{excess.max():.2f} sqrt(k/T) for k=1, T={T} and rows e_1 with probability {share:g}, "
            "else e_2. The proof gives sqrt(k/T): both of its terms are half of that",
            bool(excess.max() <= 0.5),
        )
    )
    return claims
