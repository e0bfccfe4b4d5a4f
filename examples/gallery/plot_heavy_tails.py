"""
Heavy tails against batch PCA
=============================

A Student t distribution with few degrees of freedom has rare, huge values. They pull the
components of ordinary PCA away from the true ones. With ``robust=True``, ``onepass.PCA`` bounds
their influence, in one pass over the same rows.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn import decomposition

from onepass import PCA, metrics

spectrum = 0.85 ** np.arange(40)
truth = metrics.from_dense(np.diag(spectrum))
degrees = [2.5, 3.0, 4.0, 6.0, 10.0, np.inf]
losses = {"batch PCA": [], "IncrementalPCA": [], "onepass.PCA(robust=True)": []}
for nu in degrees:
    found = {name: [] for name in losses}
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(5000, 40)) * np.sqrt(spectrum)
        if np.isfinite(nu):  # one radius for each row makes it a Student t of variance one
            X *= np.sqrt((nu - 2) / rng.chisquare(nu, size=(5000, 1)))
        for name, model in (
            ("batch PCA", decomposition.PCA(4)),
            ("IncrementalPCA", decomposition.IncrementalPCA(4, batch_size=100)),
            ("onepass.PCA(robust=True)", PCA(4, robust=True)),
        ):
            model.fit(X)
            found[name].append(metrics.suboptimality(model.components_, truth))
    for name in losses:
        losses[name].append(np.exp(np.mean(np.log(found[name]))))

# %%
fig, axis = plt.subplots(figsize=(8, 4.4), layout="constrained")
for (name, values), (colour, dash) in zip(
    losses.items(), (("#000000", ":"), ("#7F7F7F", "--"), ("#0072B2", "-")), strict=True
):
    axis.plot(range(len(degrees)), values, color=colour, ls=dash, marker="o", label=name)
names = ["Gaussian" if np.isinf(nu) else f"t{nu:g}" for nu in degrees]
axis.set_xticks(range(len(degrees)), names)
axis.set(yscale="log", xlabel="tails: heavy to none", ylabel="variance missed")
axis.legend(frameon=False)
plt.show()
