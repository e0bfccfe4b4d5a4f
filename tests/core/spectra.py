"""Generated diagonals and vectors for the rank-one update, each kind with its own difficulty."""

import numpy as np

EPS = np.finfo(float).eps
NARROWEST, WIDEST = 1, 14


def _plain(rng, shape):
    return rng.random(shape), rng.standard_normal(shape)


def _ties(rng, shape):
    return rng.integers(0, 4, shape) / 3, rng.standard_normal(shape)


def _zeros(rng, shape):
    z = rng.standard_normal(shape)
    z[rng.random(shape) < 0.6] = 0.0
    return rng.integers(0, 4, shape) / 3, z


def _one_hot(rng, shape):
    z = np.zeros(shape)
    z[np.arange(shape[0]), rng.integers(0, shape[1], shape[0])] = 1.0
    return rng.random(shape).round(1), z


def _near_ties(rng, shape):
    return 1.0 + EPS * rng.integers(-3, 4, shape), rng.standard_normal(shape)


def _graded(rng, shape):
    return 10.0 ** rng.integers(-20, 21, shape), 10.0 ** rng.integers(-10, 11, shape)


def _tiny_entries(rng, shape):
    d = 1.0 + 10.0 ** rng.integers(-17, 0, shape)
    return d, rng.standard_normal(shape) * 10.0 ** rng.integers(-30, 1, shape)


def _any_sign(rng, shape):
    return rng.standard_normal(shape), rng.standard_normal(shape)


def _far_scales(rng, shape):
    d_scale = 10.0 ** rng.integers(-300, 301, (shape[0], 1))
    z_scale = 10.0 ** rng.integers(-150, 150, (shape[0], 1))
    return rng.random(shape).round(1) * d_scale, rng.standard_normal(shape) * z_scale


def _small_eigenvalues(rng, shape):
    d = rng.random(shape) * 10.0 ** rng.integers(-300, 1, shape)
    return d, rng.standard_normal(shape) * 10.0 ** rng.integers(-150, 1, shape)


KINDS = [
    _plain, _ties, _zeros, _one_hot, _near_ties, _graded, _tiny_entries, _any_sign, _far_scales,
    _small_eigenvalues,
]  # fmt: skip


def spectra(cases, seed=0):
    """Yield (diagonals, zs) of shape (cases of one kind and width, n), about `cases` in all."""
    rng = np.random.default_rng(seed)
    widths = range(NARROWEST, WIDEST + 1)
    each = -(-cases // (len(KINDS) * len(widths)))
    for kind in KINDS:
        for n in widths:
            d, z = kind(rng, (each, n))
            d[::2] = -np.sort(-d[::2], axis=1)
            yield d, z
