"""Grassmannian SGD, GROUSE: L. Balzano, R. Nowak, B. Recht (2010); the paper's Section 6.

    U(t+1) = U + [(cos theta - 1) p/|p| + sin theta r/|r|] w'/|w|

with w = U' x, p = U w, r = x - p and theta = eta |r| |p|: a step along a geodesic of the
Grassmannian. Of a row with gaps only the coordinates O are observed:

    w = argmin |U_O w - x_O|,    p = U w,    r = x_O - U_O w on O and 0 elsewhere

That is the step above with the row p + r, since U' r = 0: `completed` fills gaps from p.

U' is the `basis` of the state (its k rows are the columns of U). The core takes the steps, by
single rows.
"""

from __future__ import annotations

from dataclasses import dataclass

from onepass.algorithms.oja import Oja
from onepass.precision import Doubles
from onepass.subspace import Subspace


@dataclass
class Grouse(Oja):
    """Turn k directions towards every row."""

    name = "grouse"
    fixed_rank = True

    def step(self, state: Subspace, rows: Doubles, size: float) -> Subspace:
        raise NotImplementedError("Grassmannian SGD steps by single rows")
