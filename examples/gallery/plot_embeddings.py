"""
Embeddings in a parquet file
============================

Embeddings of texts or images are usually stored in a list column, next to an id and the text. Here
they are generated: 20,000 documents on six subjects, as rows of 384 numbers in single precision
that vary along few directions, as real embeddings do.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from onepass import PCA, open_source

rng = np.random.default_rng(0)
n_rows, width, n_subjects = 20_000, 384, 6
spread = 1 / np.arange(1, width + 1) ** 0.7  # how much embeddings vary along each direction
directions = np.linalg.qr(rng.standard_normal((width, width)))[0]
centres = rng.standard_normal((n_subjects, width)) * spread * 2.2
subject = rng.integers(n_subjects, size=n_rows)
rows = (centres[subject] + rng.standard_normal((n_rows, width)) * spread) @ directions
rows += rng.standard_normal(width)  # embeddings are seldom centred
rows /= np.linalg.norm(rows, axis=1, keepdims=True)

folder = tempfile.TemporaryDirectory()
path = Path(folder.name, "documents.parquet")
lists = pa.FixedSizeListArray.from_arrays(rows.astype(np.float32).ravel(), width)
pq.write_table(pa.table({"id": range(n_rows), "embedding": lists}), path)

# %%
# ``columns=["embedding"]`` reads all 384 numbers, in parts and in single precision.

source = open_source(path, columns=["embedding"])
model = PCA(64).fit(source)
print(source.n_features, "columns:", ", ".join(source.feature_names[:3]), "...")
coordinates = model.transform(source)
print(coordinates.shape, coordinates.dtype)

# %%
# How many numbers are needed? The nearest neighbours of a document in its first k components are
# compared with those in all numbers.


def neighbours(points, count=10):
    """The nearest rows of 200 documents, by angle."""
    points = points / np.linalg.norm(points, axis=1, keepdims=True)
    nearness = points[:200] @ points.T
    np.fill_diagonal(nearness, -1)
    return np.argpartition(-nearness, count, axis=1)[:, :count]


wanted = neighbours(rows - rows.mean(axis=0))
sizes = (2, 4, 8, 16, 32, 64)
found = []
for k in sizes:
    pairs = zip(wanted, neighbours(coordinates[:, :k]), strict=True)
    found.append(np.mean([len(set(before) & set(after)) / 10 for before, after in pairs]))

fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained")
left.scatter(coordinates[:, 0], coordinates[:, 1], c=subject, s=2, alpha=0.4, cmap="Dark2")
left.set(xlabel="component 0", ylabel="component 1", title="documents, by subject")
variance = np.cumsum(model.explained_variance_ratio_)
right.plot(range(1, 65), variance, color="#0072B2", label="variance captured")
right.plot(sizes, found, "o-", color="#D55E00", label="nearest neighbours kept")
right.set(xlabel="components", ylim=(0, 1), title="64 numbers instead of 384")
right.legend(frameon=False, loc="lower right")
plt.show()
folder.cleanup()
