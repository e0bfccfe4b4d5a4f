"""A model file that is only read: everything but learning, without importing scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from onepass.estimators.attributes import Attributes
from onepass.estimators.parameters import check_component_count, component_count, is_whole
from onepass.pca.learner import PCALearner
from onepass.stream import Stream

# Estimators that learn second moments, and what their learners do that that of `PCA` does not.
MOMENTS = {
    "PCA": {},
    "IncrementalPCA": {"keep_all": True},
    "ERM": {"keep_all": True, "always_exact": True},
}


def moment_learner(algorithm: str, params: dict[str, Any], stream: Stream) -> PCALearner:
    """Return the learner of an estimator in `MOMENTS`, by its parameters."""
    k = params["n_components"]
    k = component_count(k, stream.d) if is_whole(k) else k
    robust, scale = bool(params.get("robust")), bool(params.get("scale"))
    return PCALearner(stream, k, robust=robust, scale=scale, **MOMENTS[algorithm])


class FittedModel(Attributes):
    """What a model file holds: the attributes and methods of an estimator that only read.

    Parameters
    ----------
    algorithm : str
        The name of the estimator that was saved.
    params : dict
        Its parameters, which are attributes here as they are there.
    """

    center: bool = True
    half_life: float | None = None

    def __init__(self, algorithm: str, params: dict[str, Any]) -> None:
        self._algorithm, self._params = algorithm, params
        vars(self).update(params)

    @property
    def algorithm_(self) -> str:
        """The name of the estimator that was saved."""
        return self._algorithm

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters of the estimator."""
        return dict(self._params)

    def get_feature_names_out(self) -> NDArray[np.object_]:
        """Return the names of the components, shape (k,)."""
        names = [f"{self._algorithm.lower()}{i}" for i in range(self.n_components_)]
        return np.asarray(names, dtype=object)

    def _check_parameters(self) -> None:
        """Refuse numbers of components that make no sense."""
        check_component_count(self._params["n_components"], shares=True, none=True)

    def _learner_for(self, stream: Stream) -> PCALearner:
        """Return the learner for a stream of which nothing has been seen."""
        return moment_learner(self._algorithm, self._params, stream)
