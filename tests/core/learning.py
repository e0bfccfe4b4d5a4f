"""The core beside the naive transcription of the paper."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onepass import _core
from tests import reference


@dataclass
class State:
    """What a stream carries from call to call."""

    rule: _core.Rule
    basis: np.ndarray
    weights: np.ndarray
    rest: float = 0.0
    seen: float = 0.0

    def iterate(self):
        """Return M (d, d)."""
        weights, rest = self.weights, self.rest
        if self.rule.name == "meg":
            weights, rest = -np.expm1(-weights), -np.expm1(-rest)
        basis = self.basis.astype(float)
        return (basis.T * (weights - rest)) @ basis + rest * np.eye(basis.shape[1])


@dataclass
class Method:
    """An algorithm, as the core and as the reference know it."""

    name: str
    algorithm: str  # in the reference
    rule: str
    extra_rank: int | None = None
    exact: bool = False

    def __str__(self):
        return self.name

    @property
    def trace(self):
        return "exact" if self.exact else "at_most"

    def start(self, d, k, dtype=np.float64):
        """Return the state before the first row."""
        rank = d if self.extra_rank is None else min(d, k + self.extra_rank)
        rule = _core.Rule(self.rule, k, max_rank=rank, exact_trace=self.exact)
        if self.rule in ("oja", "grouse"):
            return State(rule, self.init(d, k).astype(dtype), np.ones(k))
        empty = np.zeros((0, d), dtype)
        if self.rule == "meg":
            return State(rule, empty, np.zeros(0), -np.log1p(-k / d) if k < d else np.inf)
        return State(rule, empty, np.zeros(0))

    def init(self, d, k):
        rng = np.random.default_rng([d, k])
        return np.ascontiguousarray(np.linalg.qr(rng.normal(size=(d, k)))[0].T)

    def scale(self, d, k):
        """Return the numerator of the AdaGrad-norm steps."""
        return reference.diameter(self.algorithm, d, k, self.trace) / np.sqrt(2)

    def expected(self, rows, k):
        """Return what the reference makes of the rows."""
        d, options = rows.shape[1], {}
        if self.algorithm in ("MSG", "CappedMSG"):
            options["trace"] = self.trace
        if self.algorithm in ("CappedMSG", "Incremental"):
            options["max_rank"] = min(d, k + self.extra_rank)
        if self.rule in ("oja", "grouse"):
            options["init"] = self.init(d, k)
        return reference.run(self.algorithm, rows, k, step=reference.adagrad_norm(), **options)


METHODS = [
    Method("msg", "MSG", "msg"),
    Method("msg-exact", "MSG", "msg", exact=True),
    Method("capped", "CappedMSG", "msg", extra_rank=1),
    Method("capped-exact", "CappedMSG", "msg", extra_rank=2, exact=True),
    Method("meg", "MEG", "meg"),
    Method("incremental", "Incremental", "incremental", extra_rank=0),
    Method("incremental-wide", "Incremental", "incremental", extra_rank=3),
    Method("oja", "Oja", "oja", extra_rank=0),
    Method("grouse", "Grouse", "grouse", extra_rank=0),
]


def well_posed(method, name, d, k):
    """Return whether the paper defines the result on these rows to the digits compared."""
    if name in ("one_hot", "unit_one_hot"):  # ties leave open which direction is dropped
        return method.algorithm not in ("CappedMSG", "Incremental") or (
            name == "one_hot" and method.algorithm == "Incremental"
        )
    if method.name == "capped-exact":  # an exact trace may lift rounding, or 1e-9, to weight one
        rank = {"nearly_in_span": min(d - 1, k + 5), "in_small_span": max(1, k - 1)}.get(name, d)
        return rank >= k + 2
    return True


def advance(state, rows, steps=None, **options):
    """Take rows and return the new state and what came out."""
    out = _core.advance(
        state.rule, state.basis, state.weights, state.rest, rows, steps, seen=state.seen, **options
    )
    return State(out.rule, out.basis, out.weights, out.rest, out.seen), out


def assert_close(actual, wanted, tolerance=1e-10):
    scale = max(1.0, np.abs(wanted).max(initial=0.0))
    np.testing.assert_allclose(actual / scale, wanted / scale, rtol=0, atol=tolerance)


def assert_orthonormal(basis, tolerance=1e-12):
    gram = basis.astype(float) @ basis.T.astype(float)
    np.testing.assert_allclose(gram, np.eye(len(basis)), rtol=0, atol=tolerance)
