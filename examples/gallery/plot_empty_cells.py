"""
A table with empty cells
========================

Measurements of 569 tumours, thirty columns, in a csv file from which a quarter of the cells was
lost. ``onepass`` reads empty cells as missing entries and fits, transforms and fills the table. We
compare it with two common remedies: the mean of the column, and complete rows alone.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn import decomposition
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from onepass import PCA, open_source

data = load_breast_cancer()
table, malignant = data.data, data.target == 0
rng = np.random.default_rng(0)
lost = rng.random(table.shape) < 0.25
path = Path(tempfile.mkdtemp()) / "tumours.csv"
cells = np.where(lost, "", table.round(6).astype(str))
path.write_text("\n".join(",".join(row) for row in [data.feature_names, *cells]))
print(path.read_text().splitlines()[1][:80], "...")

# %%
# From the shell: ``onepass fit tumours.csv -k 2 --scale``.
source = open_source(path)
model = PCA(2, scale=True).fit(source)
missing = model.missing_share_
print(f"{missing.mean():.0%} missing, at most {missing.max():.0%} of a column")

full = StandardScaler().fit_transform(table)  # what nobody has
best = decomposition.PCA(2).fit(full)
observed = np.where(lost, np.nan, table)
with_means = np.where(lost, np.nanmean(observed, axis=0), table)
standard = StandardScaler().fit(with_means)
means = decomposition.PCA(2).fit(standard.transform(with_means))
print(f"complete rows: {(~lost.any(axis=1)).sum()} of {len(table)}")

# %%
# Coordinates of the tumours. Filling with column means pulls every row towards the middle, so that
# the two groups overlap. There are too few complete rows for a picture.
panels = {
    "without gaps": best.transform(full),
    "onepass.PCA": model.transform(source),
    "gaps as column means": means.transform(standard.transform(with_means)),
}
fig, axes = plt.subplots(1, 3, figsize=(11, 3.9), layout="constrained", sharex=True, sharey=True)
for axis, (name, points) in zip(axes, panels.items(), strict=True):
    points = points * np.sign((points * panels["without gaps"]).sum(axis=0))
    error = np.sqrt(np.mean((points - panels["without gaps"]) ** 2))
    for group, colour in ((malignant, "#D55E00"), (~malignant, "#0072B2")):
        axis.plot(*points[group].T, ".", ms=4, alpha=0.7, color=colour)
    axis.set(xlabel="component 1", title=name if error < 1e-9 else f"{name}: off by {error:.2f}")
axes[0].set(ylabel="component 2")
axes[0].legend(["malignant", "benign"], frameon=False)
plt.show()

# %%
# How far the filled values are from the lost ones.
filled, deviations = model.impute(source, return_std=True)
for name, values in (("onepass.PCA", filled), ("column means", with_means)):
    error = ((values - table) / table.std(axis=0))[lost]
    print(f"{name:14} {np.sqrt(np.mean(error**2)):.2f} standard deviations")
