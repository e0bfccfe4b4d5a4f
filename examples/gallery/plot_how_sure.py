"""
Which loadings are real?
========================

Which loadings of thirty measurements of 569 tumours would reappear in another sample? Standard
errors come from the same pass as the components. On the right, they are compared with a bootstrap,
which fits a hundred samples of all rows in memory.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import t
from sklearn.datasets import load_breast_cancer

from onepass import PCA

data = load_breast_cancer()
rng = np.random.default_rng(0)
X = data.data[rng.permutation(len(data.data))]
model = PCA(3, scale=True).fit(X)
for j, angle in enumerate(model.angle_):
    print(f"component {j} is known to {angle:.0f} degrees")

# %%
# The bootstrap: components of other samples.
samples = []
for _ in range(100):
    components = PCA(3, scale=True).fit(X[rng.integers(len(X), size=len(X))]).components_
    signs = np.sign((components * model.components_).sum(axis=1))
    samples.append(components * signs[:, None])
spread = np.std(samples, axis=0)

# %%
# Grey loadings may be zero: their 95% interval contains zero.
j = 2
width = t.ppf(0.975, model.degrees_of_freedom_) * model.components_error_[j]
order = np.argsort(np.abs(model.components_[j]))
values, errors = model.components_[j, order], width[order]
names = data.feature_names[order]

fig, axes = plt.subplots(1, 2, figsize=(9.5, 6), layout="constrained", width_ratios=(1.3, 1))
colours = np.where(np.abs(values) > errors, "#0072B2", "#B0B0B0")
axes[0].barh(names, values, color=colours, height=0.7)
axes[0].errorbar(values, names, xerr=errors, fmt="none", ecolor="#333333", lw=1.2)
axes[0].axvline(0.0, color="#333333", lw=0.8)
axes[0].set_title(f"loadings of component {j}, in grey those that may be zero", fontsize=11)
for i, colour in enumerate(("#0072B2", "#E69F00", "#CC79A7")):
    label = f"component {i}"
    axes[1].plot(spread[i], model.components_error_[i], "o", color=colour, ms=4, label=label)
limit = 1.05 * max(spread.max(), model.components_error_.max())
axes[1].plot([0, limit], [0, limit], color="#333333", lw=0.8)
axes[1].set(xlabel="deviation of 100 bootstrap fits", ylabel="standard error, one pass")
axes[1].legend(frameon=False)
plt.show()
