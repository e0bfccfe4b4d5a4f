"""
Patches of a photograph
=======================

The components of small patches of a photograph look like waves, long ones first. The patches come
as a stream and are never held in memory all at once.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_sample_image

from onepass import PCA

photo = load_sample_image("china.jpg").mean(axis=2) / 255.0
side = 12


def patches(count, seed):
    """Yield blocks of patches from random places, as rows of 144 numbers."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        top = rng.integers(photo.shape[0] - side, size=1000)
        left = rng.integers(photo.shape[1] - side, size=1000)
        block = [photo[i : i + side, j : j + side].ravel() for i, j in zip(top, left, strict=True)]
        yield np.asarray(block)


model = PCA(24).fit(patches(12, seed=0))
print(f"{model.n_samples_seen_:,} patches, {model.explained_variance_ratio_.sum():.1%} captured")

# %%
# Now every patch of the photograph is described by 24 numbers instead of 144.

height, width = (n - n % side for n in photo.shape)
tiles = photo[:height, :width].reshape(height // side, side, width // side, side).swapaxes(1, 2)
rows = tiles.reshape(-1, side * side)
restored = model.inverse_transform(model.transform(rows))
image = restored.reshape(tiles.shape).swapaxes(1, 2).reshape(height, width)

fig = plt.figure(figsize=(10, 5.2), layout="constrained")
left, right = fig.subfigures(1, 2, width_ratios=[1, 1.25])
for axis, component in zip(left.subplots(6, 4).flat, model.components_, strict=True):
    limit = np.abs(component).max()
    axis.imshow(component.reshape(side, side), cmap="RdBu_r", vmin=-limit, vmax=limit)
    axis.set(xticks=[], yticks=[])
for axis, picture, name in zip(
    right.subplots(2, 1), (photo[:height, :width], image), ("as it is", "24 of 144"), strict=True
):
    axis.imshow(picture, cmap="gray", vmin=0, vmax=1)
    axis.set(xticks=[], yticks=[], title=name)
left.suptitle("24 components of patches")
plt.show()
