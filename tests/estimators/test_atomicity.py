"""A call that is refused or interrupted changes nothing; the next one goes on."""

import numpy as np
import pytest

import onepass
from onepass.schedules import Constant, Schedule
from tests.contracts.results import assert_identical
from tests.contracts.variants import build

NAMES = tuple(onepass.ESTIMATORS)
RNG = np.random.default_rng(0)
X = RNG.normal(size=(700, 6)) * [5, 4, 3, 1, 1, 0.5]


@pytest.mark.parametrize("name", NAMES)
def test_an_interrupted_call_changes_nothing(name):
    def interrupted():
        for _ in range(5):
            yield X
        raise KeyboardInterrupt

    model = build(name, 2, random_state=0).fit(X)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(interrupted())
    assert model.n_samples_seen_ == len(X)
    assert_identical(model, build(name, 2, random_state=0).fit(X))
    with pytest.raises(KeyboardInterrupt) as raised:
        model.fit(interrupted())
    assert "3,500 rows" in raised.value.__notes__[0]  # that a loop of partial_fit keeps
    assert_identical(model, build(name, 2, random_state=0).fit(X))
    again = build(name, 2, random_state=0).fit(np.vstack([X, X, X]))
    assert_identical(model.partial_fit(np.vstack([X, X])), again)


class Interrupted(Schedule):
    """Steps of the usual length, until one comes that is interrupted."""

    ends = float("inf")

    def steps(self, number, gradients, diameter):
        if np.max(number) > self.ends:
            raise KeyboardInterrupt
        return Constant(0.1).steps(number, gradients, diameter)


@pytest.mark.parametrize("name", ["MSG", "CappedMSG", "MEG", "Oja", "Grouse"])
@pytest.mark.parametrize(("before", "calls"), [(700, 2), (700, 6), (5, 6)])
def test_an_interrupted_step_changes_nothing(name, before, calls):
    """Also where no chunk was learned from before, and all rows so far wait."""
    schedule = Interrupted()
    model, twin = (
        build(name, 2, step_size=schedule, random_state=0).partial_fit(X[:before]) for _ in range(2)
    )
    schedule.ends = 1500
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(np.vstack([X] * calls))
    schedule.ends = float("inf")
    assert_identical(model, twin)
    assert_identical(model.partial_fit(X), twin.partial_fit(X))
