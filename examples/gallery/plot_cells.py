"""
Types of cells
==============

A file of single cells holds counts: how often each gene was seen in each cell. Most counts are
zero, and some cells are sequenced ten times as deeply as others. The counts are generated here:
five types of cells, each with a few dozen genes that it uses more than the others do.
"""

import tempfile
from pathlib import Path

import anndata
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy import sparse

from onepass import PCA, open_source

rng = np.random.default_rng(0)
types = np.array(["T cells", "B cells", "monocytes", "NK cells", "platelets"])
shares = [0.4, 0.2, 0.2, 0.15, 0.05]
n_cells, n_genes = 4000, 1200

typical = rng.gamma(0.3, size=n_genes)
usage = np.tile(typical, (len(types), 1))
for row in usage:
    row[rng.choice(n_genes, 80, replace=False)] += rng.uniform(1, 4, size=80)
usage /= usage.sum(axis=1, keepdims=True)
type_of = rng.choice(len(types), n_cells, p=shares)
depth = np.exp(rng.normal(7.6, 0.6, size=n_cells))  # counts of a cell
counts = sparse.csr_array(rng.poisson(depth[:, None] * usage[type_of]).astype(np.float32))

folder = tempfile.TemporaryDirectory()
path = Path(folder.name, "cells.h5ad")
cells = anndata.AnnData(
    counts,
    obs=pd.DataFrame({"type": types[type_of]}, index=[f"cell{i}" for i in range(n_cells)]),
    var=pd.DataFrame(index=[f"gene{j}" for j in range(n_genes)]),
)
cells.write_h5ad(path)
print(
    f"{n_cells} cells, {n_genes} genes, {counts.nnz / n_cells / n_genes:.0%} of the counts not zero"
)

# %%
# The file is read in parts, and rows stay sparse. Raw counts are prepared while they are read: each
# cell is divided by its sum and multiplied by 10,000, and logarithms are taken.

raw = open_source(path)
prepared = open_source(path, normalize=1e4, log1p=True)
on_counts = PCA(4).fit(raw)
on_logs = PCA(4).fit(prepared)

# %%
# Without preparation, the components mostly show how deeply a cell was sequenced, and the types
# overlap. With it, the types are separated.

colours = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00")
fig, axes = plt.subplots(1, 3, figsize=(12, 4.2), layout="constrained")
for axis, model, source, (a, b), title in (
    (axes[0], on_counts, raw, (0, 1), "raw counts"),
    (axes[1], on_logs, prepared, (0, 1), "normalize=1e4, log1p=True"),
    (axes[2], on_logs, prepared, (2, 3), "the next two components"),
):
    coordinates = model.transform(source)
    for number, colour in enumerate(colours):
        chosen = coordinates[type_of == number]
        axis.scatter(chosen[:, a], chosen[:, b], s=5, color=colour, label=types[number], alpha=0.6)
    axis.set(xlabel=f"component {a}", ylabel=f"component {b}", title=title)
axes[2].legend(frameon=False, markerscale=3)
plt.show()

# %%
# The genes with the largest weights are those that separate the types.

largest = np.abs(on_logs.components_[0]).argsort()[::-1][:5]
print("component 0:", ", ".join(on_logs.feature_names_in_[largest]))
folder.cleanup()
