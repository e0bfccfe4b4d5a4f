"""
An accident in a traffic network
================================

The data are the speeds at 120 sensors of a road network, every five minutes for four weeks. Days
and rush hours are regular, so a few components describe them. An accident is not regular: its
rows have a large reconstruction error. The sensors that contribute most to the error show where
it happened.
"""

import matplotlib.pyplot as plt
import numpy as np

from onepass import PCA

rng = np.random.default_rng(3)
days, per_day, sensors = 28, 288, 120
time = np.arange(days * per_day)
hour = time % per_day / 12
weekday = (time // per_day) % 7 < 5
morning = np.exp(-(((hour - 8) / 1.3) ** 2)) * weekday
evening = np.exp(-(((hour - 17.5) / 1.8) ** 2)) * (0.4 + 0.6 * weekday)
inbound, outbound = rng.uniform(0, 25, sensors), rng.uniform(0, 25, sensors)
strength = 1 + 0.15 * rng.normal(size=(days, 2)).repeat(per_day, axis=0)
speed = (
    100 - np.outer(strength[:, 0] * morning, inbound) - np.outer(strength[:, 1] * evening, outbound)
)
speed += rng.normal(scale=2.0, size=speed.shape)

start = 24 * per_day + 14 * 12  # day 24, two in the afternoon
for sensor, drop in zip(range(40, 52), np.linspace(60, 20, 12), strict=True):
    delay = (sensor - 40) * 2  # the jam grows upstream
    jam = np.exp(-0.5 * ((np.arange(36) - 14) / 8) ** 2)
    speed[start + delay : start + delay + 36, sensor] -= drop * jam

# %%
# The model learns what is normal from the first three weeks. After that, every row is compared with
# the model first, and learned from only if it is below ``error_threshold``, so that an accident
# does not become normal.

model = PCA(2).fit(speed[: 21 * per_day])
limit = model.error_threshold(0.999)  # 999 of 1000 normal rows stay below
errors, rests = [], []
for row in range(21 * per_day, days * per_day, 12):  # an hour at a time
    block = speed[row : row + 12]
    error = model.reconstruction_error(block)
    errors.append(error)
    rests.append(block - model.inverse_transform(model.transform(block)))
    if (error < limit).any():
        model.partial_fit(block[error < limit])
errors, rests = np.concatenate(errors), np.concatenate(rests)
found = 21 * per_day + int(errors.argmax())
print(
    f"largest error on day {found // per_day} at {hour[found]:.1f} h: {errors.max():.0f}, "
    f"{errors.max() / np.median(errors):.0f} times the median"
)

# %%
fig, axes = plt.subplots(2, 1, figsize=(10, 6), layout="constrained")
axes[0].plot(time[21 * per_day :] / per_day, errors, color="#0072B2", lw=0.8)
axes[0].axhline(limit, color="#D55E00", lw=1.5, ls="--", label="error_threshold(0.999)")
axes[0].set(xlabel="day", ylabel="reconstruction error", ylim=(0, None))
axes[0].legend(frameon=False, loc="upper left")
first = start - 21 * per_day - 24
image = axes[1].imshow(
    rests[first : first + 96].T,
    aspect="auto",
    cmap="RdBu",
    vmin=-50,
    vmax=50,
    extent=(12, 20, sensors, 0),
)
axes[1].set(xlabel="hour of day 24", ylabel="sensor")
fig.colorbar(image, ax=axes[1], label="km/h above expected")
plt.show()
