"""
Sensors that drop out
=====================

Thirty sensors on a line hear the same three waves. Each of them is silent for hours at a time, and
on cold days a whole group of them is. Almost no row is complete. ``onepass.PCA`` reads NaN as a
missing entry: it learns from the observed entries, and fills each gap with its expected value and
a standard deviation.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn import decomposition

from onepass import PCA

rng = np.random.default_rng(3)
n, d, k = 6000, 30, 3
hours, places = np.arange(n), np.linspace(0.0, 1.0, d)
waves = np.array([np.sin(2 * np.pi * (j * places + 0.13 * j)) for j in (1, 2, 3)])
strengths = np.cumsum(rng.normal(size=(n, k)), axis=0)
strengths -= np.array([np.convolve(s, np.ones(200) / 200, "same") for s in strengths.T]).T
truth = (strengths * [1.0, 0.7, 0.5]) @ waves + 20.0
X = truth + rng.normal(scale=0.8, size=(n, d))

gaps = np.zeros((n, d), dtype=bool)
for sensor in range(d):
    for start in rng.choice(n, size=10):
        gaps[start : start + rng.integers(20, 200), sensor] = True
for start in rng.choice(n, size=6):  # cold days: the first ten sensors together
    gaps[start : start + 48, :10] = True
observed = np.where(gaps, np.nan, X)
complete = ~gaps.any(axis=1)
print(
    f"{gaps.mean():.0%} of the entries are missing; {complete.mean():.0%} of the rows are complete"
)

# %%
# Three ways to learn the components. scikit-learn's PCA refuses gaps: fill them with column means,
# or leave out every row with a gap.
model = PCA(k).fit(observed)
means = decomposition.PCA(k).fit(np.where(gaps, np.nanmean(observed, axis=0), X))
rows = decomposition.PCA(k).fit(X[complete])
best = decomposition.PCA(k).fit(X)


def angle(components):
    """Return the largest angle to the components of all rows without gaps, in degrees."""
    cosines = np.linalg.svd(components @ best.components_.T, compute_uv=False)
    return np.degrees(np.arccos(min(1.0, cosines[-1])))


angles = {
    "gaps as column means": angle(means.components_),
    "complete rows alone": angle(rows.components_),
    "onepass.PCA": angle(model.components_),
}
print({name: round(float(value), 1) for name, value in angles.items()})

# %%
# Values for the gaps, with standard deviations.
filled, deviations = model.impute(observed, return_std=True)
inside = np.abs(filled - X)[gaps] < 1.645 * deviations[gaps]
print(f"intervals of 90% hold {inside.mean():.0%} of what was hidden")

sensor = 4
longest = max(
    np.split(np.arange(n), np.flatnonzero(np.diff(gaps[:, sensor])) + 1),
    key=lambda part: len(part) if gaps[part[0], sensor] else 0,
)
window = slice(max(longest[0] - 60, 0), longest[-1] + 60)
fig, (left, right) = plt.subplots(
    1, 2, figsize=(11, 4), layout="constrained", width_ratios=[2.2, 1]
)
t, y, s = hours[window], filled[window, sensor], deviations[window, sensor]
left.fill_between(t, y - 1.645 * s, y + 1.645 * s, color="#9ecae1", label="filled, 90%")
left.plot(t, X[window, sensor], ".", color="#D55E00", ms=4, label="hidden")
left.plot(t, observed[window, sensor], ".", color="black", ms=4, label="measured")
left.axhline(np.nanmean(observed[:, sensor]), color="#7F7F7F", ls=":", label="column mean")
left.set(xlabel="hour", ylabel=f"sensor {sensor}", title="A silent sensor, filled from the others")
left.legend(frameon=False, ncols=2, fontsize=8)
right.barh(list(angles), list(angles.values()), color=["#7F7F7F", "#7F7F7F", "#0072B2"])
right.set(xlabel="degrees from the truth", title="Error of the components")
plt.show()
