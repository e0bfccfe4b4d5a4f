"""Step sizes: what the formulas say, for any block of consecutive steps."""

import numpy as np
import pytest

from onepass.schedules import AdaGradNorm, Constant, InverseSqrt

NUMBER = np.arange(1.0, 9.0)
GRADIENTS = np.array([0.0, 0.0, 1.0, 2.0, 2.0, 5.0, 1e100, 1e100])


@pytest.mark.parametrize("start", [0, 1, 3])
@pytest.mark.parametrize(
    ("schedule", "wanted"),
    [
        (InverseSqrt(0.5), 0.5 / np.sqrt(NUMBER)),
        (Constant(0.1), np.full(8, 0.1)),
        (AdaGradNorm(), np.r_[0, 0, 3 / np.sqrt(2) / GRADIENTS[2:]]),
        (AdaGradNorm(4.0), np.r_[0, 0, 12 / np.sqrt(2) / GRADIENTS[2:]]),
    ],
)
def test_steps_are_those_of_the_formula_wherever_a_block_begins(schedule, wanted, start):
    found = schedule.steps(NUMBER[start:], GRADIENTS[start:], 3.0)
    np.testing.assert_allclose(found, wanted[start:], rtol=1e-14)
    twin = type(schedule)(*schedule.__dict__.values())
    assert (twin, hash(twin)) == (schedule, hash(schedule))


@pytest.mark.parametrize("wrong", [0.0, -1.0, np.nan, np.inf])
@pytest.mark.parametrize("schedule", [InverseSqrt, Constant, AdaGradNorm])
def test_steps_that_are_not_positive_are_refused(schedule, wrong):
    with pytest.raises(ValueError, match=f"positive number, got {wrong}"):
        schedule(wrong)
