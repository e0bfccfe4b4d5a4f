"""State that is declared once: copied, faded, saved and restored by its fields."""

from math import inf, nan

import numpy as np
import pytest

from onepass.persistence.fields import (
    MOST_SUM,
    Array,
    Number,
    Size,
    State,
    String,
    triangle,
    whole,
)


class One(State):
    """A state of a single field."""

    def __init__(self, field, value=None):
        self.field, self.value = field, value

    def fields(self):
        return {"value": self.field}


MATRIX = Array((Size("rows", 3), 2), least=-1.0, most=1.0)
REFUSED = [
    (whole(0, 5), 6, "outside of 0 to 5"),
    (whole(0, 5), 2.0, "not of type int"),
    (whole(0, 5), True, "not of type int"),
    (Number(bool, 0, 1), 1, "not of type bool"),
    (Number(), nan, "outside of 0 to"),
    (Number(), inf, "outside of 0 to"),
    (Number(), None, "float"),
    (String(), 3, "not a text"),
    (String(most=4), "abcde", "at most 4 letters"),
    (MATRIX, np.zeros((2, 2), np.float32), "is of type float32, not float64"),
    (MATRIX, np.zeros(2), "has 1 dimensions, not 2"),
    (MATRIX, np.zeros((2, 3)), "has a length of 3, not 2"),
    (MATRIX, np.zeros((4, 2)), "has a length of 4, outside of 0 to 3"),
    (MATRIX, np.full((1, 2), 1.5), "has entries outside of -1 to 1"),
    (MATRIX, np.full((1, 2), nan), "has entries outside of -1 to 1"),
    (Array((3,), descending=True), np.array([1.0, 2.0, 0.0]), "not in descending order"),
    (Array((2, 3), orthonormal=True), 1.01 * np.eye(2, 3), "not orthonormal"),
    (triangle(3), np.zeros(5), "has a length of 5, not 6"),
]


@pytest.mark.parametrize(("field", "value", "message"), REFUSED)
def test_what_is_refused(field, value, message):
    with pytest.raises(ValueError, match=f"^value .*{message}"):
        One(field).restore({}, {"value": value})


@pytest.mark.parametrize(
    ("field", "value", "stored"),
    [
        (Number(), 1e300, MOST_SUM),
        (Number(most=inf), inf, "inf"),
        (Array((2,)), np.array([inf, -1e300]), [MOST_SUM, -MOST_SUM]),
        (Array((1,), ("float32",), most=2.0), np.array([3.0], np.float32), [2.0]),
    ],
)
def test_what_is_beyond_a_limit_is_saved_as_the_limit(field, value, stored):
    """So that every model can be saved, and every file that was written can be read."""
    numbers, arrays = One(field, value).saved()
    found = (numbers | arrays)["value"]
    np.testing.assert_array_equal(found, stored)
    One(field).restore(numbers, arrays)
