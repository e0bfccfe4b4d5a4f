"""
Digits as images
================

Components of images are images. Here are the first components of 1797 handwritten digits, learned
in one pass, and what digits look like with 2, 8 and 32 components.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from onepass import PCA

X, y = load_digits(return_X_y=True)
model = PCA(32)
for block in np.array_split(X, 18):  # as if they came from a file
    model.partial_fit(block)

print(f"{model.explained_variance_ratio_.sum():.1%} of the variance of these rows,")
print(f"{model.captured_.mean:.1%} ± {model.captured_.standard_error:.1%} of that of new ones")

# %%
# The first row shows components: red pixels have positive weights, blue ones negative. Below are
# digits, with more and more components.

fig, axes = plt.subplots(5, 8, figsize=(9, 5.8), layout="constrained")
for axis, component in zip(axes[0], model.components_, strict=False):
    axis.imshow(component.reshape(8, 8), cmap="RdBu_r", vmin=-0.4, vmax=0.4)
digits = X[[int(np.flatnonzero(y == digit)[3]) for digit in range(8)]]
coordinates = model.transform(digits)
for row, k in enumerate((2, 8, 32), start=1):
    kept = coordinates * (np.arange(32) < k)
    for axis, image in zip(axes[row], model.inverse_transform(kept), strict=True):
        axis.imshow(image.reshape(8, 8), cmap="gray_r", vmin=0, vmax=16)
for axis, image in zip(axes[4], digits, strict=True):
    axis.imshow(image.reshape(8, 8), cmap="gray_r", vmin=0, vmax=16)
for axis, name in zip(
    axes[:, 0], ["components", "k = 2", "k = 8", "k = 32", "as it is"], strict=True
):
    axis.set_ylabel(name)
for axis in axes.flat:
    axis.set(xticks=[], yticks=[])
plt.show()
