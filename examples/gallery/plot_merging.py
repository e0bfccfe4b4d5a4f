"""
Merging across machines
=======================

Each of eight machines learns from its own rows. Machines exchange models, never rows. The merged
model is as good as that of one machine with all rows. Here the "machines" are a loop;
``onepass.distributed.fit`` does the same on a Dask cluster.
"""

import matplotlib.pyplot as plt
import numpy as np

import onepass
from onepass import PCA, metrics

variances = np.arange(1, 81) ** -0.7
truth = metrics.from_dense(np.diag(variances))
rng = np.random.default_rng(0)
shards = [rng.normal(size=(1500, 80)) * np.sqrt(variances) for _ in range(8)]

alone = [PCA(5).fit(shard) for shard in shards]
merged = [onepass.merge(*alone[:count]) for count in range(1, 9)]
whole = PCA(5).fit(np.vstack(shards))

print(
    f"one pass {metrics.suboptimality(whole.components_, truth):.2e}, "
    f"merged {metrics.suboptimality(merged[-1].components_, truth):.2e}"
)

# %%
fig, axis = plt.subplots(figsize=(8, 4.2), layout="constrained")
numbers = np.arange(1, 9)
axis.scatter(
    np.ones(8),
    [metrics.suboptimality(m.components_, truth) for m in alone],
    color="#7F7F7F",
    label="each machine alone",
    zorder=3,
)
axis.plot(
    numbers,
    [metrics.suboptimality(m.components_, truth) for m in merged],
    color="#0072B2",
    marker="o",
    label="merged",
)
axis.axhline(
    metrics.suboptimality(whole.components_, truth),
    color="#D55E00",
    ls="--",
    label="one pass over all rows",
)
axis.set(xlabel="machines", ylabel="variance missed", yscale="log")
axis.legend(frameon=False)
plt.show()
