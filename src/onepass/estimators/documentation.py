"""Docstrings of estimators: what several of them share is written once.

The docstring of an estimator holds what is its own, in the sections of numpydoc. Here it gets the
parameters that it does not describe, the attributes that all have, the reference of the paper's
algorithms and what they do with gaps, and an example if it has none.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import fields
from typing import Any

from onepass import ESTIMATORS

ORDER = ("Parameters", "Attributes", "See Also", "Notes", "References", "Examples")  # of numpydoc
ITERATES = ("subspace_", "rank_", "average_")  # attributes that only some estimators have
SHARED = """
Parameters
----------
n_components : int, default=2
    The number k of components.
center : bool, default=True
    Whether to subtract the running mean of the rows. The paper's algorithms do not: pass False for
    them, with rows whose mean is near zero.
verbose : int, default=0
    1 shows progress while a source or an iterable is read.
step_size : "auto", float or Schedule, default="auto"
    "auto" is `onepass.schedules.AdaGradNorm`, which needs no tuning. A number c means steps of
    c / sqrt(t), as in the paper's experiments.
average : bool, default=True
    True: the components come from the average of the iterates, each as it was before its row was
    learned from, so that the last row does not count yet. It loses several times less variance, and
    the paper's theorem is about it. False: they come from the last iterate, which is quicker. The
    paper's experiments use it.
batch_size : int, default=1
    Rows per gradient step. 1 is the paper's algorithm. More rows make one step, with the mean of
    their gradients.
trace : {"at_most", "exact"}, default="at_most"
    The constraint tr M <= k or tr M = k. The optimum is the same. The iterate starts at rank one
    with "at_most", and at full rank with "exact". With a rank that is capped, tr M is k as soon as
    there are k directions.
rounding : {"top", "sample"}, default="top"
    How k directions come from the iterate or average: its k leading eigenvectors, or a random draw
    whose projection is the iterate in expectation (Lemma 3.1).
init : "random" or array-like of shape (k, d), default="random"
    The directions to start from.
random_state : int, RandomState instance or None, default=None
    The seed for ``init="random"`` or ``rounding="sample"``.

Attributes
----------
components_ : ndarray of shape (k, d)
    Orthonormal, ordered by variance, mutually uncorrelated on the rows seen; the largest entry of
    each is positive.
explained_variance_, explained_variance_ratio_, singular_values_ : ndarray of shape (k,)
    Of the rows seen, along the components.
noise_variance_ : float
    Mean variance of the directions left out.
mean_ : ndarray of shape (d,)
    Mean of the rows seen; zeros unless `center` is set.
captured_ : Captured
    The share of the variance of new rows that these components capture: `mean` and
    `standard_error`, from rows that were held out before the model learned from them. Where it is
    not known, both are NaN, and `reason` says why. The standard error assumes independent rows; if
    neighbouring rows resemble each other, the true error is larger.
n_components_, n_samples_seen_, n_features_in_ : int
feature_names_in_ : ndarray of shape (d,)
    The names of the columns, if the rows had any.
subspace_ : Subspace
    The current iterate M: basis, weights, and the eigenvalue of everything else.
rank_ : int
    The number of directions that the iterate keeps one by one. It is the rank of M where the
    eigenvalue of everything else, ``subspace_.rest``, is zero: always, but for early iterates of
    MEG and of MSG with ``trace="exact"``.
average_ : Subspace
    The average of the iterates before each step, where one is kept.

Notes
-----
The gaps of a row are filled before its step by the running mean plus U w, with U the k leading
directions of the iterate and w the least-squares fit to the observed entries.

References
----------
.. [1] R. Arora, A. Cotter, N. Srebro, "Stochastic Optimization of PCA with Capped MSG",
   NIPS 2013.

Examples
--------
>>> import numpy as np
>>> from onepass import NAME
>>> X = np.random.default_rng(0).normal(size=(2000, 5)) * [4, 3, 1, 1, 1]
>>> model = NAME(2)
>>> for block in np.array_split(X, 7):
...     model = model.partial_fit(block)
>>> model.transform(X).shape
(2000, 2)
>>> bool(model.score(X) > 0.85)
True
"""


def complete(docstring: str, cls: Any) -> str:
    """Return the docstring of an estimator with what it shares with others."""
    text, own = _sections(docstring)
    _, shared = _sections(SHARED)
    parameters, attributes = (
        _entries(shared[title]) | _entries(own.pop(title, ""))
        for title in ("Parameters", "Attributes")
    )
    names = [each.name for each in fields(cls) if each.init]
    listed = [name for name in attributes if name not in ITERATES or hasattr(cls, name)]
    sections = {
        "Parameters": "\n".join(dict.fromkeys(_entry(parameters, name) for name in names)),
        "Attributes": "\n".join(attributes[name] for name in listed),
        **own,
    }
    if hasattr(cls, "subspace_"):
        sections.setdefault("Notes", shared["Notes"])
    if ESTIMATORS[cls.__name__] == "algorithms":
        sections["References"] = f"{shared['References']}\n{own.get('References', '')}".strip()
    made = f"{cls.__name__}(2{', random_state=0' if 'random_state' in names else ''})"
    example = shared["Examples"].replace("NAME(2)", made).replace("NAME", cls.__name__)
    sections.setdefault("Examples", example)
    for title in (title for title in ORDER if title in sections):
        text += f"\n\n{title}\n{'-' * len(title)}\n{sections[title]}"
    return text


def _entry(entries: dict[str, str], name: str) -> str:
    """Return the entry that describes a parameter, alone or with others."""
    return next(text for key, text in entries.items() if name in key.split(", "))


def _sections(docstring: str) -> tuple[str, dict[str, str]]:
    """Return the text before the first section, and the sections by their titles."""
    text, *parts = re.split(r"^([\w ]+)\n-+\n", inspect.cleandoc(docstring), flags=re.MULTILINE)
    return text.strip(), {parts[i]: parts[i + 1].strip() for i in range(0, len(parts), 2)}


def _entries(section: str) -> dict[str, str]:
    """Return the entries of a section by what they describe."""
    return {
        re.split(r" : |\n", entry)[0]: entry for entry in re.split(r"\n(?=\S)", section) if entry
    }
