"""
Topics of texts
===============

Each text becomes a sparse row with one column per word. The components of such rows are topics. The
texts are generated: each is about one or two of five subjects, mixed with words that mean nothing.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer

from onepass import PCA

rng = np.random.default_rng(1)
words_of = {
    "space": "orbit rocket moon launch satellite astronaut engine mission station telescope",
    "kitchen": "flour butter oven sugar recipe salt bake dough pan spice",
    "music": "guitar melody drum concert song chord band album tune rhythm",
    "garden": "soil seed flower root leaf rose water prune compost spring",
    "money": "bank price share market profit bond trade credit budget tax",
}
subjects = {name: words.split() for name, words in words_of.items()}
plain = [f"word{i}" for i in range(400)]
common = 1.0 / np.arange(1, 401)


def texts(count):
    """Return texts and the subject that most of each is about."""
    made, labels = [], []
    for _ in range(count):
        first, second = rng.choice(list(subjects), 2, replace=False)
        words = [
            *rng.choice(subjects[first], rng.integers(6, 14)),
            *rng.choice(subjects[second], rng.integers(0, 4)),
            *rng.choice(plain, rng.integers(5, 15), p=common / common.sum()),
        ]
        made.append(" ".join(rng.permutation(words)))
        labels.append(first)
    return made, np.array(labels)


# %%
# Each block of texts is turned into a sparse matrix, learned from, and forgotten.

vectorizer = HashingVectorizer(n_features=2**10, alternate_sign=False)
model = PCA(4)
for _ in range(10):
    model.partial_fit(vectorizer.transform(texts(400)[0]))

# %%
# New texts, along the first four components: each subject has its own corner.

new, labels = texts(800)
coordinates = model.transform(vectorizer.transform(new))
fig, axes = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
for axis, (a, b) in zip(axes, ((0, 1), (2, 3)), strict=True):
    for subject, colour in zip(
        subjects, ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00"), strict=True
    ):
        chosen = coordinates[labels == subject]
        axis.scatter(chosen[:, a], chosen[:, b], s=9, color=colour, label=subject, alpha=0.7)
    axis.set(xlabel=f"component {a}", ylabel=f"component {b}")
axes[1].legend(frameon=False, markerscale=2)
plt.show()
