"""The other algorithms of the paper, at the rank k + 1 of Capped MSG where it can be chosen."""

from __future__ import annotations

from typing import Any

from benchmarks.solver import Directions, Solver
from benchmarks.solvers.capped_msg import PAPER
from onepass import MEG, MSG, Grouse, Incremental, Oja


def msg(X: Any, k: int) -> Directions:
    return MSG(k, **PAPER).fit(X).components_


def meg(X: Any, k: int) -> Directions:
    return MEG(k, **PAPER).fit(X).components_


def incremental(X: Any, k: int) -> Directions:
    return Incremental(k, max_rank=k + 1, center=False).fit(X).components_


def oja(X: Any, k: int) -> Directions:
    return Oja(k + 1, random_state=0, **PAPER).fit(X).components_[:k]


def grouse(X: Any, k: int) -> Directions:
    return Grouse(k + 1, random_state=0, **PAPER).fit(X).components_[:k]


SOLVERS = [
    Solver("msg", msg, sparse=True),
    Solver("meg", meg, sparse=True),
    Solver("incremental", incremental, sparse=True),
    Solver("oja", oja, sparse=True),
    Solver("grouse", grouse, sparse=True),
]
