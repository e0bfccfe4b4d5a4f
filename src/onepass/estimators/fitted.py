"""What a fitted estimator shows.

Everything is worked out when it is asked for and kept until more rows come, so that learning row
by row does not pay for it.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from onepass.estimators.captured import Captured
from onepass.estimators.onnx_export import export
from onepass.estimators.published import Published, publish


class Fitted:
    """The attributes of an estimator that has a learner."""

    _learner: Any

    @abstractmethod
    def _directions(self, learner: Any) -> NDArray[np.floating]:
        """Return the directions that a learner with nothing waiting stands for, of shape (k, d)."""

    def _settled(self) -> Any:
        """Return the learner with all rows taken."""
        check_is_fitted(self)
        return self._learner.settled()

    def _published(self) -> Published:
        """Return what is shown of it."""
        check_is_fitted(self)
        return self._learner.shown(lambda learner: publish(learner, self._directions(learner)))

    @property
    def components_(self) -> NDArray[np.floating]:
        """Orthonormal rows (k, d), ordered by variance and uncorrelated on the rows seen."""
        return self._published().components.copy()

    @property
    def explained_variance_(self) -> NDArray[np.floating]:
        """Variance along each component (k,), of the rows seen."""
        return self._published().explained_variance.copy()

    @property
    def explained_variance_ratio_(self) -> NDArray[np.floating]:
        """Share of the total variance along each component (k,)."""
        published = self._published()
        if published.total_variance == 0.0:
            return np.zeros_like(published.explained_variance)
        return published.explained_variance / published.total_variance

    @property
    def singular_values_(self) -> NDArray[np.floating]:
        """Singular values (k,) of the matrix of all rows seen, along the components."""
        published = self._published()
        return np.sqrt(published.explained_variance * published.degrees)

    @property
    def noise_variance_(self) -> float:
        """Mean variance of the directions that are left out."""
        return self._published().noise_variance

    @property
    def n_components_(self) -> int:
        """The number k of components."""
        return len(self._published().components)

    @property
    def mean_(self) -> NDArray[np.floating]:
        """Mean of the rows seen (d,); zeros where `center` is False."""
        learner = self._settled()
        return learner.mean.vector.astype(learner.plan.dtype)

    @property
    def n_samples_seen_(self) -> int:
        """How many rows have been seen, those of weight 0 left out."""
        check_is_fitted(self)
        return self._learner.rows_seen

    @property
    def captured_(self) -> Captured:
        """The share of variance captured, each row scored before it was learned from."""
        return self._settled().score.value()

    def to_onnx(self, path: str | os.PathLike[str]) -> None:
        """Write what `transform` does to an ONNX file, for programs without Python.

        Its input is ``X``, any number of dense rows of shape (n, d), of the type that the estimator
        was fitted on; its output is ``coordinates``, of shape (n, k). Names of columns, where there
        are any, are in its metadata as ``feature_names``. Needs the extra ``onnx``.

        Parameters
        ----------
        path : str or path
            Usually ending in ``.onnx``. What was there before is replaced in one move, or left
            untouched if anything goes wrong.

        Examples
        --------
        >>> import numpy as np, onnxruntime, os, tempfile
        >>> from onepass import PCA
        >>> X = np.random.default_rng(0).normal(size=(500, 5)) + 100
        >>> model, path = PCA(2).fit(X), os.path.join(tempfile.mkdtemp(), "model.onnx")
        >>> model.to_onnx(path)
        >>> (coordinates,) = onnxruntime.InferenceSession(path).run(None, {"X": X})
        >>> np.allclose(coordinates, model.transform(X))
        True
        """
        check_is_fitted(self)
        export(self, path)
