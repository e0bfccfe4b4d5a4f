"""The tree of merges: fixed by the number of leaves alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")

FAN_IN = 4  # a third as many tasks as two at a time, and still little to fetch for each


def fold(leaves: Sequence[T], join: Callable[..., T]) -> T:
    """Return what is left when neighbours are joined, `FAN_IN` at a time, until there is one.

    Examples
    --------
    >>> from onepass.distributed.tree import fold
    >>> fold("abcdefghi", lambda *parts: f"({''.join(parts)})")
    '((abcd)(efgh)i)'
    """
    while len(leaves) > 1:
        groups = [leaves[first : first + FAN_IN] for first in range(0, len(leaves), FAN_IN)]
        leaves = [join(*group) if len(group) > 1 else group[0] for group in groups]
    return leaves[0]


def branches(leaves: Sequence[T], most: int) -> list[Sequence[T]]:
    """Return the leaves in groups, at most so many: folded one by one, then together, as `fold`.

    Examples
    --------
    >>> from onepass.distributed.tree import branches
    >>> branches("abcdefghi", 3)
    ['abcd', 'efgh', 'i']
    """
    size = 1
    while size * most < len(leaves):
        size *= FAN_IN
    return [leaves[first : first + size] for first in range(0, len(leaves), size)]
