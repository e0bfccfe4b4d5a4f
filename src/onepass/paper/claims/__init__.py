"""Every claim of the text about its experiments, and what was measured here.

A claim is a sentence of the paper, a condition that stands for it, the numbers, and whether they
meet the condition. Conditions are stated in `expected`; nothing is forced.
"""

from onepass.paper.claims.claim import Claim
from onepass.paper.claims.figure1 import about_figure1
from onepass.paper.claims.figure2 import about_figure2
from onepass.paper.claims.figure3 import about_figure3, about_tails
from onepass.paper.claims.theorem1 import about_theorem1
from onepass.paper.claims.toy import about_toy

__all__ = [
    "Claim",
    "about_figure1",
    "about_figure2",
    "about_figure3",
    "about_tails",
    "about_theorem1",
    "about_toy",
]
