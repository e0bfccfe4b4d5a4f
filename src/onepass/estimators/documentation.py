"""Parts of docstrings that estimators share, written once.

A line ``<<name>>`` in the docstring of an estimator is replaced by the section of that name.
"""

from __future__ import annotations

import re
import textwrap
from dataclasses import fields
from typing import Any

SHARED = {
    "n_components": """
        n_components : int, default=2
            The number k of components.
        """,
    "center": """
        center : bool, default=True
            Whether to subtract the running mean of the rows. The paper's algorithms do not: pass
            False for them, with rows whose mean is near zero.
        """,
    "verbose": """
        verbose : int, default=0
            1 shows progress while a source or an iterable is read.
        """,
    "step_size": """
        step_size : "auto", float or Schedule, default="auto"
            "auto" is `onepass.schedules.AdaGradNorm`, which needs no tuning. A number c means steps
            of c / sqrt(t), as in the paper's experiments.
        """,
    "average": """
        average : bool, default=True
            True: the components come from the average of the iterates. It loses several times less
            variance, and the paper's theorem is about it. False: they come from the last iterate,
            which is quicker. The paper's experiments use it.
        """,
    "batch_size": """
        batch_size : int, default=1
            Rows per gradient step. 1 is the paper's algorithm. More rows make one step, with the
            mean of their gradients.
        """,
    "trace": """
        trace : {"at_most", "exact"}, default="at_most"
            The constraint tr M <= k or tr M = k. The optimum is the same. The iterate starts at
            rank one with "at_most", and at full rank with "exact".
        """,
    "rounding": """
        rounding : {"top", "sample"}, default="top"
            How k directions come from the iterate or average: its k leading eigenvectors, or a
            random draw whose projection is the iterate in expectation (Lemma 3.1).
        """,
    "init": """
        init : "random" or array-like of shape (k, d), default="random"
            The directions to start from.
        """,
    "random_state": """
        random_state : int, RandomState instance or None, default=None
            The seed for ``init="random"`` or ``rounding="sample"``.
        """,
    "parameters": """
        Parameters
        ----------
        """,
    "attributes": """
        Attributes
        ----------
        components_ : ndarray of shape (k, d)
            Orthonormal, ordered by variance, mutually uncorrelated on the rows seen; the largest
            entry of each is positive.
        explained_variance_, explained_variance_ratio_, singular_values_ : ndarray of shape (k,)
            Of the rows seen, along the components.
        noise_variance_ : float
            Mean variance of the directions left out.
        mean_ : ndarray of shape (d,)
            Mean of the rows seen; zeros unless `center` is set.
        captured_ : Captured
            The share of the variance of new rows that these components capture: `mean` and
            `standard_error`, from rows that were scored before the model learned from them. NaN for
            very few rows. The standard error assumes independent rows; if neighbouring rows
            resemble each other, the true error is larger.
        n_components_, n_samples_seen_, n_features_in_ : int
        feature_names_in_ : ndarray of shape (d,)
            The names of the columns, if the rows had any.
        """,
    "iterate": """
        subspace_ : Subspace
            The current iterate M: basis, weights, and the eigenvalue of everything else.
        average_ : Subspace
            The average of the iterates, where one is kept.
        """,
    "references": """
        References
        ----------
        .. [1] R. Arora, A. Cotter, N. Srebro, "Stochastic Optimization of PCA with Capped MSG",
           NIPS 2013.
        """,
    "examples": """
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
        """,
}
_MARK = re.compile(r"^( *)<<(\w+)>>$", re.MULTILINE)


def complete(docstring: str, cls: Any) -> str:
    """Return the docstring of a dataclass with its marks replaced by the shared texts.

    The section of parameters begins with those that the docstring does not describe itself.
    """
    names = [each.name for each in fields(cls) if each.init]
    shared = [name for name in names if not re.search(rf"^ *{name} : ", docstring, re.MULTILINE)]
    made = f"{cls.__name__}(2{', random_state=0' if 'random_state' in names else ''})"

    def text(mark: re.Match[str]) -> str:
        listed = [SHARED[mark[2]]]
        if mark[2] == "parameters":
            listed += [SHARED[name] for name in shared]
        section = "\n".join(textwrap.dedent(part).strip() for part in listed)
        section = section.replace("NAME(2)", made).replace("NAME", cls.__name__)
        return textwrap.indent(section, mark[1])

    return _MARK.sub(text, docstring)
