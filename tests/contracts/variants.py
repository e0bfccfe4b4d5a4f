"""The one list of estimators that every contract is tried on."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import onepass
from onepass.schedules import AdaGradNorm, Constant
from tests import reference

Array = NDArray[np.float64]

BATCH = ("ERM", "PCA", "IncrementalPCA")  # whose result is that of batch PCA
# How a step size is written for an estimator, and what it means to the reference.
STEPS: dict[str, tuple[Any, reference.StepRule | None]] = {
    "sqrt": (0.7, reference.inverse_sqrt(0.7)),
    "constant": (Constant(0.2), reference.constant(0.2)),
    "auto": ("auto", reference.adagrad_norm()),
    "adagrad": (AdaGradNorm(scale=3.0), reference.adagrad_norm(3.0)),
    "gentle": (AdaGradNorm(scale=0.2), reference.adagrad_norm(0.2)),
}


def build(algorithm: str, k: int, **params: Any) -> Any:
    """Return an estimator; parameters that it does not need are left out.

    These are a seed where nothing is random, and what it does anyway.
    """
    kind = getattr(onepass, algorithm)
    known = inspect.signature(kind).parameters
    given = {
        name: value
        for name, value in params.items()
        if name in known
        or (name not in ("random_state", "robust", "verbose") and (name, value) != ("center", True))
    }
    return kind(k, **given)


@dataclass(frozen=True)
class Variant:
    """An algorithm with parameters. `extra_rank` is max_rank - k; `step` is a key of STEPS."""

    algorithm: str
    step: str | None = None
    extra_rank: int | None = None
    params: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        options = [f"{name}={value}" for name, value in self.params.items()]
        extra = [] if self.extra_rank is None else [f"k+{self.extra_rank}"]
        return "-".join([self.algorithm, *([self.step] if self.step else []), *extra, *options])

    @property
    def parameters(self) -> Any:
        """The names of the estimator's parameters."""
        return inspect.signature(getattr(onepass, self.algorithm)).parameters

    @property
    def has_init(self) -> bool:
        """Whether the iterate starts at k directions, and always has k."""
        return "init" in self.parameters

    @property
    def scale_free(self) -> bool:
        """Whether multiplying all rows by one number leaves the iterates as they are."""
        return self.step in ("auto", "adagrad", "gentle") or self.algorithm == "AdaOja"

    @property
    def trace(self) -> str:
        """The constraint on the trace of the iterate; "none" for Incremental."""
        if self.algorithm in ("MSG", "CappedMSG"):
            return self.params.get("trace", "at_most")
        return "none" if self.algorithm == "Incremental" else "exact"

    @property
    def is_batch(self) -> bool:
        """Whether the result is that of batch PCA instead of an iterate."""
        return self.algorithm in BATCH

    @property
    def center(self) -> bool:
        """Whether the mean is taken off."""
        return self.params.get("center", self.algorithm in ("PCA", "IncrementalPCA"))

    @property
    def averages(self) -> bool:
        """Whether it keeps an average."""
        return self.params.get("average", False)

    def max_rank(self, d: int, k: int) -> int:
        """The largest number of directions that the iterate may have."""
        if self.algorithm in ("MSG", "MEG"):
            return d
        extra = {"CappedMSG": 1}.get(self.algorithm, 0)
        return min(d, k + (extra if self.extra_rank is None else self.extra_rank))

    def well_posed_on(self, rows: str, d: int, k: int) -> bool:
        """Whether the paper defines the result on these rows, to more digits than are compared."""
        # A tie leaves open which direction is dropped. Orthogonal rows and steps so large that
        # several weights are cut to one and then shifted together make ties out of rows without.
        if rows == "unit_one_hot":
            return self.algorithm not in ("CappedMSG", "Incremental")
        if rows == "one_hot" and self.algorithm == "CappedMSG":
            return self.step not in ("auto", "adagrad")
        # A residual of 1e-9 gives a direction to 1e-7; an exact trace may lift it to weight one.
        if rows == "nearly_in_span" and self.algorithm == "CappedMSG" and self.trace == "exact":
            return min(d - 1, k + 5) > self.max_rank(d, k)
        return True

    def _options(self, d: int, k: int) -> dict[str, Any]:
        """Options that depend on the shape and mean the same to estimator and reference."""
        options: dict[str, Any] = {}
        if self.extra_rank is not None:
            options["max_rank"] = self.max_rank(d, k)
        if self.has_init:
            rng = np.random.default_rng([d, k])
            options["init"] = reference.orthonormal(rng.normal(size=(k, d)))
        return options

    def build(self, d: int, k: int, **params: Any) -> Any:
        """Return the estimator for rows of d entries and k components."""
        paper: dict[str, Any] = {"center": self.center}
        if "average" in self.parameters:
            paper["average"] = self.averages
        step = {"step_size": STEPS[self.step][0]} if self.step else {}
        given = {**paper, **step, **self._options(d, k), **self.params, **params}
        return build(self.algorithm, k, **given)

    def with_params(self, **params: Any) -> Variant:
        """Return the variant with other parameters."""
        return replace(self, params={**self.params, **params})

    def expected(self, rows: Array, k: int, weights: Array | None = None) -> reference.Outcome:
        """Return what the reference makes of the rows (n, d)."""
        options = {**self._options(rows.shape[1], k), **self.params}
        options.pop("average", None)
        step = STEPS[self.step][1] if self.step else None
        return reference.run(self.algorithm, rows, k, step=step, weights=weights, **options)


def _variants() -> list[Variant]:
    """Every algorithm plainly, and with each option at least once."""
    exact = {"trace": "exact"}
    everything = {"average": True, "batch_size": 4, "center": True}
    return [
        Variant("MSG", "sqrt"),
        Variant("MSG", "auto"),
        Variant("MSG", "constant", params={"center": True}),
        Variant("MSG", "sqrt", params=exact),
        Variant("MSG", "auto", params=exact),
        Variant("MSG", "adagrad", params=everything),
        Variant("MSG", "adagrad", params={**everything, **exact}),
        Variant("CappedMSG", "sqrt"),
        Variant("CappedMSG", "auto"),
        Variant("CappedMSG", "auto", extra_rank=0),
        Variant("CappedMSG", "gentle"),
        Variant("CappedMSG", "sqrt", extra_rank=3, params={"batch_size": 3}),
        Variant("CappedMSG", "sqrt", params=exact),
        Variant("CappedMSG", "auto", extra_rank=3, params=exact),
        Variant("CappedMSG", "gentle", params={**exact, "batch_size": 3}),
        Variant("CappedMSG", "adagrad", params=everything),
        Variant("MEG", "sqrt"),
        Variant("MEG", "auto"),
        Variant("MEG", "constant", params={"batch_size": 5}),
        Variant("MEG", "gentle", params={"average": True}),
        Variant("MEG", "adagrad", params=everything),
        Variant("Incremental"),
        Variant("Incremental", extra_rank=2, params={"center": True}),
        Variant("Incremental", params={"batch_size": 4}),
        Variant("Oja", "sqrt"),
        Variant("Oja", "auto"),
        Variant("Oja", "adagrad", params=everything),
        Variant("AdaOja", params={"step_size": 1.0}),
        Variant("AdaOja", params={**everything, "step_size": 3.0}),
        Variant("Grouse", "sqrt"),
        Variant("Grouse", "auto"),
        Variant("Grouse", "constant", params={"average": True, "center": True}),
    ]


VARIANTS = _variants()
# Batch PCA in one pass, where it is exact: nothing about these rows is left out.
BATCH_VARIANTS = [
    Variant("ERM"),
    Variant("ERM", params={"center": True}),
    Variant("PCA"),
    Variant("PCA", params={"center": False}),
    Variant("IncrementalPCA"),
]
# These have no simple reference, but how rows are split must change nothing for them either.
OTHER_VARIANTS = [
    Variant("CappedMSG", "auto", params={"max_rank": "auto"}),
    Variant("PCA", params={"robust": True}),
    Variant("PCA", params={"half_life": 100.0}),
    Variant("PCA", params={"robust": True, "half_life": 100.0, "scale": True}),
    Variant("PCA", params={"whiten": True, "center": False}),
    Variant("PCA", params={"scale": True}),
]
ESTIMATORS = tuple(onepass.ESTIMATORS)
ALGORITHMS = tuple(name for name in ESTIMATORS if name not in BATCH)
# Every estimator about zero and about the mean, as far as it can do both.
CENTERINGS = [
    (name, center)
    for name in ESTIMATORS
    for center in (False, True)
    if center or name != "IncrementalPCA"
]
