from hypothesis import given
from hypothesis import strategies as st

from onepass.distributed.fitting import FAN_IN, branches, fold


@given(st.integers(1, 300))
def test_every_leaf_is_joined_once_and_in_order(count):
    joins = []

    def join(*parts):
        joins.append(len(parts))
        return [leaf for part in parts for leaf in part]

    assert fold(range(count), lambda leaf: [leaf], join) == list(range(count))
    assert all(2 <= size <= FAN_IN for size in joins)
    assert sum(size - 1 for size in joins) == count - 1


@given(st.integers(2, 2000))
def test_the_tree_is_as_low_as_it_can_be(count):
    height = fold(range(count), lambda leaf: 0, lambda *parts: 1 + max(parts))
    assert FAN_IN ** (height - 1) < count <= FAN_IN**height


@given(st.integers(1, 600), st.integers(1, 40))
def test_branches_are_folded_into_the_same_tree(count, most):
    def join(*parts):
        return f"({' '.join(parts)})"

    leaves = [str(leaf) for leaf in range(count)]
    found = branches(leaves, most)
    assert len(found) <= most
    whole = fold(leaves, str, join)
    assert fold([fold(branch, str, join) for branch in found], str, join) == whole
