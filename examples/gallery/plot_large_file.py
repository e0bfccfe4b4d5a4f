"""
A file larger than memory
=========================

Memory depends on the number of columns, not on the number of rows. Here a file grows from 40 to
320 megabytes. Batch PCA has to hold all of it in memory. A source reads about 64 megabytes at a
time, so that a fit needs no more than two such parts, however large the file is.
"""

import tempfile
import tracemalloc
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from onepass import PCA, open_source

folder = tempfile.TemporaryDirectory()
path = Path(folder.name, "rows.npy")
rng, d = np.random.default_rng(0), 100


def peak(work):
    """Return the most memory, in megabytes, that some work held at one time."""
    tracemalloc.start()
    work()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most / 2**20


def batch():
    """Hold everything, as batch PCA does: the rows, centred."""
    X = np.load(path)
    X -= X.mean(axis=0)
    return np.linalg.eigh(X.T @ X)


# %%
sizes, ours, theirs = [], [], []
part = rng.normal(size=(50_000, d)) * 0.95 ** np.arange(d)
for n in (50_000, 100_000, 200_000, 400_000):
    rows = np.lib.format.open_memmap(path, mode="w+", dtype=np.float64, shape=(n, d))
    for start in range(0, n, len(part)):  # the file itself is written in parts, too
        rows[start : start + len(part)] = part
    rows.flush()
    del rows
    sizes.append(path.stat().st_size / 2**20)
    ours.append(peak(lambda: PCA(5).fit(open_source(path)).components_))
    theirs.append(peak(batch))
folder.cleanup()

# %%
fig, axis = plt.subplots(figsize=(7.5, 4), layout="constrained")
axis.plot(sizes, theirs, color="#7F7F7F", ls="--", marker="o", label="batch PCA")
axis.plot(sizes, ours, color="#0072B2", marker="o", label="onepass.PCA from the file")
axis.set(xlabel="size of the file, MB", ylabel="most memory at one time, MB", ylim=(0, None))
axis.legend(frameon=False)
plt.show()
