"""
Sensors that drift
==================

Forty sensors measure two hidden causes. The sensors age, so the way in which they respond changes
slowly. A model that never forgets describes an average over all times. A model with a half-life
follows the change.
"""

import matplotlib.pyplot as plt
import numpy as np

from onepass import PCA

rng = np.random.default_rng(2)
d, n, block = 40, 16_000, 400
start = np.linalg.qr(rng.normal(size=(d, 2)))[0]
end = np.linalg.qr(rng.normal(size=(d, 2)))[0]


def rows(t):
    """Return a block of rows at time t between 0 and 1, and the true directions."""
    angle = 0.5 * np.pi * min(1.0, max(0.0, (t - 0.25) / 0.5))
    directions = np.linalg.qr(np.cos(angle) * start + np.sin(angle) * end)[0]
    causes = rng.normal(size=(block, 2)) * [3.0, 2.0]
    return causes @ directions.T + rng.normal(scale=0.7, size=(block, d)), directions


# %%
models = {
    "never forgets": PCA(2),
    "half_life=5000": PCA(2, half_life=5000),
    "half_life=500": PCA(2, half_life=500),
    "half_life=80": PCA(2, half_life=80),
}
missed = {name: [] for name in models}
for i in range(n // block):
    X, truth = rows(i * block / n)
    for name, model in models.items():
        if i:
            cosines = np.linalg.svd(model.components_ @ truth, compute_uv=False)
            missed[name].append(np.degrees(np.arccos(min(1.0, cosines[-1]))))
        model.partial_fit(X)

fig, axis = plt.subplots(figsize=(9, 4.2), layout="constrained")
axis.axvspan(0.25 * n, 0.75 * n, color="#f0f0f0", label="sensors age")
for (name, values), colour in zip(
    missed.items(), ("#7F7F7F", "#E69F00", "#0072B2", "#CC79A7"), strict=True
):
    axis.plot(np.arange(1, len(values) + 1) * block, values, label=name, color=colour, lw=1.8)
axis.set(xlabel="rows", ylabel="largest angle to the truth, degrees", ylim=(0, 92))
axis.legend(frameon=False)
plt.show()
