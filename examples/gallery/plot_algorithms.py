"""
All algorithms of the paper on one stream
=========================================

MSG, Capped MSG, MEG, the incremental algorithm, Oja's algorithm, AdaOja and Grouse learn from the
same rows, one by one. The picture shows how much variance each of them misses, compared with the
best four directions.
"""

import matplotlib.pyplot as plt
import numpy as np

from onepass import ERM, MEG, MSG, PCA, AdaOja, CappedMSG, Grouse, Incremental, Oja, metrics

spectrum = 0.8 ** np.arange(32)
k, n = 4, 8_000
rows = np.random.default_rng(4).normal(size=(n, 32)) * np.sqrt(spectrum)
second_moment = metrics.from_dense(np.diag(spectrum))
models = {
    "MSG": (MSG(k, average=True), "#0072B2", "-"),
    "CappedMSG": (CappedMSG(k, average=True), "#D55E00", "-"),
    "MEG": (MEG(k, average=True), "#E69F00", "-."),
    "Incremental": (Incremental(k), "#009E73", "--"),
    "Oja": (Oja(k, average=True, random_state=0), "#CC79A7", ":"),
    "AdaOja": (AdaOja(k, average=True, random_state=0), "#7F7F7F", "-"),
    "Grouse": (Grouse(k, average=True, random_state=0), "#CC79A7", "-"),
    "ERM": (ERM(k), "#000000", ":"),
    "PCA": (PCA(k, center=False), "#56B4E9", "-"),
}
marks = np.unique(np.geomspace(20, n, 16).astype(int))
missed = {name: [] for name in models}
for block in np.split(rows, marks[:-1]):
    for name, (model, _, _) in models.items():
        model.partial_fit(block)
        missed[name].append(metrics.suboptimality(model.components_, second_moment, k))

# %%
fig, axis = plt.subplots(figsize=(9, 5), layout="constrained")
for name, (_, colour, dash) in models.items():
    axis.plot(marks, missed[name], color=colour, ls=dash, label=name, lw=1.9)
axis.set(xscale="log", yscale="log", xlabel="rows", ylabel="variance missed")
axis.legend(frameon=False, ncols=2)
plt.show()
