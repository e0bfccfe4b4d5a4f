"""How the paper's text can be read, where it leaves room or contradicts itself."""

from __future__ import annotations

from dataclasses import dataclass

from onepass.sources.synthetic import Orthogonal

D, TAU = 32, 1.1  # of the orthogonal distribution


@dataclass(frozen=True)
class Reading:
    """One way to read the text."""

    key: str  # in names of files
    name: str  # in tables and in ``claims.json``
    label: str  # above a column of a figure


# Section 4 draws e_i "with probability sqrt(Sigma_ii)", which does not sum to one. Normalised, it
# is proportional to tau^(-i/2). A later file of the first author draws with tau^-i, and this is
# what gives the rank of about 15 that the text reports.
STEEP = Reading("steep", "p ~ tau^-i", r"$p_i \propto \tau^{-i}$ (main reading)")
FLAT = Reading("flat", "p ~ tau^(-i/2)", r"$p_i \propto \tau^{-i/2}$ (the text)")
ORTHOGONAL = (STEEP, FLAT)

# Section 6 divides feature j by "the product of its standard deviation s_j and the data dimension",
# which gives a mean squared norm of 1/d, "so that each feature vector is [of] unit norm".
PRINTED = Reading("printed", "s_j d", r"divided by $s_j d$ (as printed)")
UNIT = Reading("unit", "s_j sqrt(d)", r"divided by $s_j \sqrt{d}$ (unit norm)")
WHOLE = Reading("whole", "one scale", "one scale for all pixels")
MNIST = (PRINTED, UNIT, WHOLE)


def orthogonal(key: str) -> Orthogonal:
    """Return the orthogonal distribution of Section 4 under a reading.

    Examples
    --------
    >>> steep, flat = orthogonal("steep").probabilities, orthogonal("flat").probabilities
    >>> round(float(steep[0] / steep[1]), 3), round(float(flat[0] / flat[1]), 3)
    (1.1, 1.049)
    """
    return Orthogonal(D, TAU, signed=key == STEEP.key)
