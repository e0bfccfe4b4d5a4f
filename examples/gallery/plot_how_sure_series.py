"""
How sure, when rows depend on their neighbours?
===============================================

Twelve sensors are read every minute, and each minute is much like the one before. Two thousand such
rows carry less information than two thousand independent ones. Standard errors from segments of the
stream account for it. A bootstrap of single rows does not: its intervals are too short.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.signal import lfilter
from scipy.stats import t

from onepass import PCA

d, n = 12, 2000
mixing = np.linalg.qr(np.random.default_rng(1).normal(size=(d, d)))[0]
truth = mixing[0]


def series(seed):
    """Return rows (n, d) of which each is 0.9 times the one before, and noise."""
    noise = np.random.default_rng(seed).normal(size=(n + 100, d))
    return (
        lfilter([0.19**0.5], [1.0, -0.9], noise, axis=0)[100:] / np.arange(1, d + 1) ** 0.5 @ mixing
    )


def aligned(components):
    """Return the first component with the sign of the true one."""
    return components[0] * np.sign(components[0] @ truth)


# %%
X = series(0)
model = PCA(1).fit(X)
width = t.ppf(0.975, model.degrees_of_freedom_) * model.components_error_[0]

rng = np.random.default_rng(2)
samples = [aligned(PCA(1).fit(X[rng.integers(n, size=n)]).components_) for _ in range(100)]
bootstrap = 1.96 * np.std(samples, axis=0)

found = aligned(model.components_)
columns = np.arange(d)
fig, axis = plt.subplots(figsize=(9, 4), layout="constrained")
bars = {"fmt": "o", "ms": 3, "capsize": 4, "lw": 1.8}
axis.errorbar(columns - 0.1, found, yerr=width, color="#0072B2", label="onepass", **bars)
axis.errorbar(columns + 0.1, found, yerr=bootstrap, color="#E69F00", label="bootstrap", **bars)
axis.plot(columns, truth, "k_", ms=18, label="truth")
axis.axhline(0.0, color="#333333", lw=0.8)
axis.set(xlabel="sensor", ylabel="loading with 95% interval", xticks=columns)
axis.legend(frameon=False, ncols=3)
plt.show()

# %%
# Forty more series: how often do the intervals contain the truth?
held = {"onepass": [], "bootstrap": []}
for seed in range(40):
    X = series(100 + seed)
    model = PCA(1).fit(X)
    off = np.abs(aligned(model.components_) - truth)
    width = t.ppf(0.975, model.degrees_of_freedom_) * model.components_error_[0]
    samples = [aligned(PCA(1).fit(X[rng.integers(n, size=n)]).components_) for _ in range(30)]
    held["onepass"].append(off <= width)
    held["bootstrap"].append(off <= 1.96 * np.std(samples, axis=0))
for name, inside in held.items():
    print(f"{name}: 95% intervals hold {np.mean(inside):.0%} of the time")
