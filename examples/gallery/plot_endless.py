"""
A stream that never ends
========================

A generator yields rows without end; a model with a half-life follows, and a picture is drawn again and
again. In a terminal the loop would run until Ctrl-C, with ``plt.pause`` after each picture. Here it
stops after twelve, which are shown side by side.
"""

import itertools

import matplotlib.pyplot as plt
import numpy as np

from onepass import PCA


def orders(seed=0):
    """Yield blocks of points on a plane that turns, in six dimensions, without end."""
    rng = np.random.default_rng(seed)
    frame = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    for t in itertools.count():
        angle = t / 12
        plane = np.cos(angle) * frame[:2] + np.sin(angle) * frame[2:4]
        phase = rng.uniform(0, 2 * np.pi, size=300)
        circle = np.stack([3 * np.cos(phase), 1.8 * np.sin(phase)], axis=1)
        yield circle @ plane + rng.normal(scale=0.25, size=(300, 6))


# %%
model = PCA(2, half_life=400)
fig, axes = plt.subplots(2, 6, figsize=(11, 4), layout="constrained", sharex=True, sharey=True)
for step, block in enumerate(orders()):
    model.partial_fit(block)
    picture, rest = divmod(step, 4)
    if rest == 0:
        axis = axes.flat[picture]
        points = model.transform(block)
        errors = model.reconstruction_error(block)
        axis.scatter(*points.T, s=6, c=errors, cmap="viridis_r", vmin=0, vmax=2)
        axis.set_title(f"{model.n_samples_seen_:,} rows", fontsize=10)
        axis.set_aspect("equal")
    if step == 44:
        break
plt.show()
