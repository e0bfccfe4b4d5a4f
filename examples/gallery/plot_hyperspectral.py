"""
A hyperspectral image in false colours
======================================

The scene is simulated: 200 x 300 pixels with 150 bands each. Three components, shown as red, green
and blue, separate materials that look alike in visible light. The lines of the image come one by
one, as from a sensor on a satellite.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import gaussian_filter

from onepass import PCA

rng = np.random.default_rng(5)
height, width, bands, materials = 200, 300, 150, 6
fields = np.stack([gaussian_filter(rng.normal(size=(height, width)), 14) for _ in range(materials)])
share = np.exp(fields / fields.std() * 3.0)
share /= share.sum(axis=0)
wave = np.linspace(0, 1, bands)
infrared = 1 / (1 + np.exp(-(wave - 0.45) / 0.04))  # materials differ where eyes do not see
shapes = np.sin(2 * np.pi * (1.2 * wave + rng.uniform(size=(materials, 1))))
dips = np.exp(-(((wave - rng.uniform(0.5, 0.95, size=(materials, 1))) / 0.03) ** 2))
spectra = 0.4 + 0.1 * wave + infrared * (0.15 * shapes - 0.15 * dips) + 0.01 * shapes

# %%
# One line of the image after another; the light changes from line to line.

model = PCA(3)
scene = np.empty((height, width, bands), dtype=np.float32)
for line in range(height):
    light = 1 + 0.1 * np.sin(line / 25)
    scene[line] = light * (share[:, line].T @ spectra) + 0.02 * rng.normal(size=(width, bands))
    model.partial_fit(scene[line])

print(f"{model.explained_variance_ratio_.sum():.1%} of {bands} bands in three numbers")


def colours(values):
    """Stretch three channels to the range of colours."""
    low, high = np.percentile(values, [2, 98], axis=(0, 1))
    return np.clip((values - low) / (high - low), 0, 1)


coordinates = model.transform(scene.reshape(-1, bands)).reshape(height, width, 3)
fig, axes = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained", width_ratios=[1, 1, 0.9])
axes[0].imshow(colours(scene[:, :, [45, 28, 10]]))
axes[0].set(title="three bands that eyes see", xticks=[], yticks=[])
axes[1].imshow(colours(coordinates))
axes[1].set(title="three components", xticks=[], yticks=[])
for component, colour in zip(model.components_, ("#D55E00", "#009E73", "#0072B2"), strict=True):
    axes[2].plot(component, color=colour)
axes[2].set(title="what they are made of", xlabel="band", ylabel="weight")
plt.show()
