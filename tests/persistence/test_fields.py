"""State that is declared once: copied, faded, saved and restored by its fields."""

from math import inf, nan

import numpy as np
import pytest

from onepass.persistence.fields import (
    MOST_SUM,
    Array,
    Number,
    Part,
    Parts,
    Size,
    State,
    String,
    triangle,
    weight,
    whole,
)

D = 4


class Leaf(State):
    """A state of each kind of array."""

    def __init__(self):
        self.count = 3
        self.sum = 8.0
        self.square = 8.0
        self.table = np.full((2, 3), 8.0)
        self.matrix = np.asfortranarray(np.tril(np.arange(16.0).reshape(D, D)))

    def fields(self):
        return {
            "count": whole(),
            "sum": weight(),
            "square": Number(fades=2),
            "table": Array((Size("rows", 5), 3), least=0.0, fades=(0, 1, 2)),
            "matrix": triangle(D),
        }


class Holder(State):
    """A state with others inside."""

    def __init__(self, leaves=1):
        self.leaf = Leaf()
        self.leaves = [Leaf() for _ in range(leaves)]

    def fields(self):
        return {"leaf": Part(), "leaves": Parts(Leaf, 1, 3)}


class One(State):
    """A state of a single field."""

    def __init__(self, field, value=None):
        self.field, self.value = field, value

    def fields(self):
        return {"value": self.field}


def content(state):
    """Return everything that a state holds."""
    numbers, arrays = state.saved()
    return numbers, {name: array.tolist() for name, array in arrays.items()}


def test_sums_fade_by_their_powers():
    state = Holder(2)
    kept = state.copy()
    state.fade(0.5)
    for leaf, old in zip((state.leaf, *state.leaves), (kept.leaf, *kept.leaves), strict=True):
        assert (leaf.count, leaf.sum, leaf.square) == (3, 4.0, 2.0)
        assert type(leaf.sum) is float  # a number of NumPy would decide the type of results
        np.testing.assert_array_equal(leaf.table, [[8.0, 4.0, 2.0]] * 2)
        np.testing.assert_array_equal(leaf.matrix, 0.5 * old.matrix)


def test_what_is_saved_is_restored():
    state = Holder(3)
    state.leaf.count = 7
    state.leaves[1].table = np.ones((4, 3))  # each in a list has its own sizes
    numbers, arrays = state.saved()
    assert numbers["leaves.count"] == 3
    assert arrays["leaf.matrix"].shape == (D * (D + 1) // 2,)
    again = Holder()
    again.restore(numbers, arrays)
    assert content(again) == content(state)
    numbers.pop("leaves.0.sum")
    with pytest.raises(ValueError, match=r"leaves\.0\.sum is missing"):
        again.restore(numbers, arrays)
    assert again.leaf.matrix.flags.f_contiguous


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
