"""How much memory a fit takes, and how much is free."""

from __future__ import annotations

import math
import os

import numpy as np

from onepass.cli.options import make_estimator
from onepass.learner import Learner
from onepass.persistence.fields import Array, Part, Parts, Size, State, Triangle
from onepass.rows.completion import KEPT_NUMBERS, RANK_FACTOR, RANK_MORE
from onepass.rows.stream import Stream

PROGRAM = 250 << 20  # Python with NumPy, SciPy, scikit-learn and pyarrow
READING = 48 << 20  # blocks that are read ahead, and buffers
_COLUMN = 256 << 10  # of a parquet file with long pages, which are read in parts
_COLUMNS = 192 << 20  # at most: files of very many columns have short pages
_SHARE = 100  # components that a share of the variance is taken for
_MANY_ROWS = 1 << 40  # after which chunks do not become longer
_FREE_RANK = 300  # directions of msg and meg, whose number depends on the data: a guess
# How many times less than the estimate a fit of few and even rows takes; a test compares them.
SHORT = 10
# Copies of what is learned: in use, the successor that learns, and one that results are read from.
_COPIES = 3
_MATRICES = 4  # of d x d for eigenvectors: the matrix, LAPACK's copy, its work, and the vectors
# Arrays as large as a chunk while it is learned from: rows as they came, about a point, scaled,
# in double precision, their products, and those that wait.
_CHUNKS = 6


def estimate(algorithm: str, n_components: int | float, n_features: int) -> int:
    """Return about how many bytes a fit of dense rows takes at most, for any number of rows.

    The rank of ``msg`` and ``meg`` depends on the data, and is a guess where there are many
    columns. A share of the variance counts as 100 components.

    >>> estimate("pca", 8, 100) < estimate("pca", 8, 10_000) < estimate("erm", 8, 10_000)
    True
    """
    d = n_features
    return PROGRAM + READING + min(_COLUMNS, d * _COLUMN) + learning(algorithm, n_components, d)


def learning(algorithm: str, n_components: int | float, d: int) -> int:
    """Return about how many bytes an estimator takes at most for d columns.

    What it holds is counted in the fields of the learner that it would learn with.
    """
    k = min(d, n_components if isinstance(n_components, int) else _SHARE)
    stream = Stream(d, np.dtype(np.float64), False, True, None)
    learner: Learner = make_estimator(algorithm, k)._learner_for(stream)
    learner.rows_learned = _MANY_ROWS
    chunk = learner.next_chunk_rows()
    sizes = {
        "evaluated components": k,
        "waiting": chunk,
        "stored": 0,  # of sparse rows
        "kept rows": 0,  # see below
        "rank of the model": RANK_FACTOR * k + RANK_MORE,
        "rank": _FREE_RANK,
        "measured directions": _FREE_RANK,
    }
    held, matrices = _held(learner, sizes)
    kept = 8 * min(2 * KEPT_NUMBERS, 2 * chunk * d) if algorithm in ("pca", "erm") else 0
    work = _MATRICES * 8 * d * d if matrices else 0
    return _COPIES * (held + kept) + work + _CHUNKS * chunk * 8 * d


def _held(state: State, sizes: dict[str, int]) -> tuple[int, int]:
    """Return how many bytes the arrays of a state take at most, and how many are matrices (d, d).

    `sizes` has the lengths of axes that depend on the data, where their limits are far away.
    """
    total = matrices = 0
    for name, field in state.fields().items():
        if isinstance(field, Part | Parts):
            part = field.make() if isinstance(field, Parts) else getattr(state, name)
            count = field.most if isinstance(field, Parts) else 1
            found = _held(part, sizes)
            total, matrices = total + count * found[0], matrices + count * found[1]
        elif isinstance(field, Triangle):
            total, matrices = total + 8 * field.d**2, matrices + 1
        elif isinstance(field, Array):
            lengths = [
                min(size.most, sizes.get(size.name, size.most)) if isinstance(size, Size) else size
                for size in field.shape
            ]
            total += np.dtype(field.types[-1]).itemsize * math.prod(lengths)
    return total, matrices


def limit() -> int | None:
    """Return the bytes of memory of the machine, or of this process under ``ulimit -v``."""
    try:
        import resource

        most = resource.getrlimit(resource.RLIMIT_AS)[0]
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ImportError, AttributeError, OSError, ValueError):  # on Windows there are neither
        return None
    return memory if most == resource.RLIM_INFINITY else min(memory, most)


def available() -> int | None:
    """Return the bytes of memory that are free, if the system says so."""
    try:
        with open("/proc/meminfo") as file:
            free = next(line.split()[1] for line in file if line.startswith("MemAvailable:"))
            return int(free) * 1024
    except (OSError, StopIteration):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def shown(size: int) -> str:
    """Return a number of bytes as text."""
    if size >= 2**30:
        return f"{size / 2**30:.1f} GB"
    if size >= 2**20:
        return f"{size / 2**20:.0f} MB"
    return f"{size / 2**10:.0f} KB" if size >= 2**10 else f"{size} bytes"
