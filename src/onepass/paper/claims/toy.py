"""Section 5.2: the 5/9, and Capped MSG."""

from __future__ import annotations

import numpy as np

from onepass.paper.claims.claim import Claim
from onepass.paper.runs import Arrays


def about_toy(wrong: Arrays) -> list[Claim]:
    """Section 5.2: the 5/9, and Capped MSG."""
    share, count = wrong["Incremental"].mean(), len(wrong["Incremental"])
    error = np.sqrt(5 / 9 * 4 / 9 / count)
    capped = int(wrong["Capped MSG"].sum())
    return [
        Claim(
            "The incremental algorithm with k=1 converges to [1,0] with probability 5/9",
            "Section 5.2",
            f"5/9 = 0.556, within 3 standard errors ({3 * error:.3f})",
            f"{share:.4f} of {count} runs",
            bool(abs(share - 5 / 9) <= 3 * error),
        ),
        Claim(
            "Capped MSG with K > k does not get stuck in such situations",
            "Section 5.2",
            "no run ends at [1,0]",
            f"{capped} of {count} runs",
            capped == 0,
        ),
    ]
