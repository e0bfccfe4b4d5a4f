"""
All algorithms of the paper on one stream
=========================================

MSG, Capped MSG, MEG, the incremental algorithm, Oja's algorithm and Grouse see the same rows, one
by one. The picture shows how much variance each of them misses, compared with the best four
directions.
"""

import matplotlib.pyplot as plt
import numpy as np

from onepass import ERM, MEG, MSG, PCA, CappedMSG, Grouse, Incremental, Oja, compare
from onepass.sources.synthetic import Gaussian

rows = Gaussian(spectrum=0.8 ** np.arange(32))
k, n = 4, 8_000
models = {
    "MSG": (MSG(k, average=True), "#0072B2", "-"),
    "CappedMSG": (CappedMSG(k, average=True), "#D55E00", "-"),
    "MEG": (MEG(k, average=True), "#E69F00", "-."),
    "Incremental": (Incremental(k), "#009E73", "--"),
    "Oja": (Oja(k, average=True, random_state=0), "#CC79A7", ":"),
    "Grouse": (Grouse(k, average=True, random_state=0), "#CC79A7", "-"),
    "ERM": (ERM(k), "#000000", ":"),
    "PCA": (PCA(k, center=False), "#56B4E9", "-"),
}
marks = np.unique(np.geomspace(20, n, 16).astype(int))
estimators = {name: model for name, (model, _, _) in models.items()}
curves = compare(estimators, rows.stream(n, seed=4), at=marks)

# %%
fig, axis = plt.subplots(figsize=(9, 5), layout="constrained")
for name, (_, colour, dash) in models.items():
    missed = curves["suboptimality"][curves["algorithm"] == name]
    axis.plot(marks, missed, color=colour, ls=dash, label=name, lw=1.9)
axis.set(xscale="log", yscale="log", xlabel="rows", ylabel="variance missed")
axis.legend(frameon=False, ncols=2)
plt.show()
