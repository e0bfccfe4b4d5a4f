"""How good directions are: captured variance, suboptimality, principal angles.

Directions are rows, and only their span counts: they need not be orthonormal. What they are
measured on is one of

- rows: an array or a scipy sparse matrix of shape (n, d), for the second moment X'X / n;
- a second moment itself: a `Subspace`;
- a distribution: anything with a method ``second_moment()`` that returns a `Subspace`.

A dense second moment becomes a `Subspace` with `from_dense`; it is not taken as it is, because
nothing tells a d x d matrix from d rows.
"""

from onepass.metrics.angles import principal_angles
from onepass.metrics.second_moment import from_dense
from onepass.metrics.variance import captured, captured_share, suboptimality

__all__ = ["captured", "captured_share", "from_dense", "principal_angles", "suboptimality"]
