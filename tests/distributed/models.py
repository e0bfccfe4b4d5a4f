"""Models compared bit by bit, and rows to learn from."""

import numpy as np


def same_bits(first, second):
    """Whether two models are equal in everything that a model file holds."""
    return first.to_bytes() == second.to_bytes()


def made_rows(n, d=12, seed=0):
    """Return rows of shape (n, d) with a mean and a few leading directions."""
    rng = np.random.default_rng(seed)
    scale = np.concatenate([[8.0, 5.0, 3.0], np.linspace(1.0, 0.5, d - 3)])
    turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
    return (rng.normal(size=(n, d)) * scale) @ turn + rng.normal(size=d)
