"""How much memory a fit takes, and how much is free."""

from __future__ import annotations

import os

from onepass.pca.bounds import exact_columns

PROGRAM = 250 << 20  # Python with NumPy, SciPy, scikit-learn and pyarrow
READING = 48 << 20  # blocks that are read ahead, and buffers
_COLUMN = 256 << 10  # of a parquet file with long pages, which are read in parts
_COLUMNS = 192 << 20  # at most: files of very many columns have short pages
_CHUNK = 4 << 20
_ROWS_AT_ONCE = 48


def estimate(algorithm: str, n_components: int | float, n_features: int) -> int:
    """Return about how many bytes a fit of dense rows takes at most, for any number of rows.

    The rank of ``msg`` and ``meg`` depends on the data: full rank is assumed up to a few hundred
    columns, and a guess above. A share of the variance counts as 100 components.

    >>> shown(estimate("pca", 8, 100))
    '348 MB'
    >>> shown(estimate("erm", 8, 50_000))
    '75.0 GB'
    """
    d = n_features
    k = min(d, n_components if isinstance(n_components, int) else 100)
    return PROGRAM + READING + min(_COLUMNS, d * _COLUMN) + learning(algorithm, k, d)


def learning(algorithm: str, k: int, d: int) -> int:
    """Return about how many bytes an estimator takes at most, for k components of d columns."""
    row = 8 * d
    waiting = max(_CHUNK, _ROWS_AT_ONCE * row)
    if algorithm == "erm":
        return 3 * waiting + 4 * d * row
    if algorithm == "pca" and d <= exact_columns(
        is_sparse=False
    ):  # a few matrices, and copies of them
        return 6 * waiting + 10 * d * row
    rank = min(d, {"msg": 300, "meg": 300, "pca": 8 * k + 50}.get(algorithm, 2 * k + 10))
    # The state, its copy while rows are learned from, the sketch, and products with a block.
    return 6 * waiting + 8 * (rank + _ROWS_AT_ONCE) * row


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
    return f"{size / 2**20:.0f} MB" if size >= 2**20 else f"{size / 2**10:.0f} KB"
