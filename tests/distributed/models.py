"""Models compared bit by bit, and rows to learn from."""

import numpy as np

from onepass.estimators.saving import pack


def same_bits(first, second):
    """Whether two models are equal in everything that a model file holds, but for the seed."""
    (ours, arrays), (theirs, others) = pack(first), pack(second)
    for header in (ours, theirs):
        header["params"].pop("random_state", None)
    return (
        ours == theirs
        and arrays.keys() == others.keys()
        and all(arrays[key].tobytes() == others[key].tobytes() for key in arrays)
    )


def made_rows(n, d=12, seed=0):
    """Return rows of shape (n, d) with a mean and a few leading directions."""
    rng = np.random.default_rng(seed)
    scale = np.concatenate([[8.0, 5.0, 3.0], np.linspace(1.0, 0.5, d - 3)])
    turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
    return (rng.normal(size=(n, d)) * scale) @ turn + rng.normal(size=d)
