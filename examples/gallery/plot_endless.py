"""
A stream that never ends
========================

A generator yields rows without end. One model stops learning after 1,200 rows. The other one
keeps learning and forgets old rows. In a terminal the loop would run until Ctrl-C, with
``plt.pause`` after each picture. Here it stops after six pictures, which are shown side by side.
"""

import itertools

import matplotlib.pyplot as plt
import numpy as np

from onepass import PCA


def points():
    """Yield blocks of points on a ring, in a plane that turns in six dimensions, without end."""
    rng = np.random.default_rng(0)
    frame = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    for t in itertools.count():
        angle = t / 28
        plane = np.cos(angle) * frame[:2] + np.sin(angle) * frame[2:4]
        phase = rng.uniform(0, 2 * np.pi, size=300)
        ring = np.stack([3 * np.cos(phase), 1.8 * np.sin(phase)], axis=1)
        yield ring @ plane + rng.normal(scale=0.2, size=(300, 6))


# %%
# Each picture shows new points in the plane that the model has found. Dark points are far from that
# plane: their reconstruction error is large. In the plane of the model that stopped, the ring
# shrinks to a dot.

stopped, goes_on = PCA(2), PCA(2, half_life=400)
fig, axes = plt.subplots(2, 6, figsize=(11, 3.4), layout="constrained", sharex=True, sharey=True)
for step, block in enumerate(points()):
    if step < 4:
        stopped.partial_fit(block)
    goes_on.partial_fit(block)
    picture, rest = divmod(step - 3, 8)
    if step >= 3 and rest == 0:
        for axis, model in zip(axes[:, picture], (stopped, goes_on), strict=True):
            errors = model.reconstruction_error(block)
            axis.scatter(*model.transform(block).T, s=6, c=errors, cmap="YlGnBu", vmin=-2, vmax=7)
            axis.set_aspect("equal")
        axes[0, picture].set_title(f"row {goes_on.n_samples_seen_:,}", fontsize=10)
        if picture == 5:
            break
axes[0, 0].set_ylabel("stopped at 1,200")
axes[1, 0].set_ylabel("half_life=400")
plt.show()
