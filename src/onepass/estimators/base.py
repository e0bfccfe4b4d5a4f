"""What all estimators share: learning, publishing, transforming."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from functools import partial
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from onepass.estimators.checking import (
    check_block,
    check_finite,
    check_rows,
    check_weighted,
    check_weights,
    is_plain,
    is_source,
    is_table,
)
from onepass.estimators.fitted import Fitted
from onepass.estimators.learner import Learner, Look
from onepass.estimators.merging import merge
from onepass.estimators.persistence import save

LOOK = partial(check_finite, together=True)  # at rows that are to be learned from
NO_ROWS = "The source has no rows; an iterator can be read only once"


class Estimator(Fitted, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A transformer that learns from rows as they come.

    Subclasses say which learner they are with `_learner_for` and which directions a learner
    stands for with `_directions`.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "center": ["boolean"],
        "random_state": ["random_state"],
        "block_size": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
    }
    n_components: int
    center: bool
    random_state: Any
    block_size: Any
    _learned_with: dict[str, Any]

    @abstractmethod
    def _learner_for(self, X: Any) -> Learner:
        """Return the learner for a stream that begins with the rows X, of shape (n, d)."""

    def fit(self, X: Any, y: Any = None, **weights: Any) -> Self:
        """Learn from X alone, forgetting what was learned before.

        Parameters
        ----------
        X : array, sparse matrix, table or source of n rows and d columns
            Or an iterable of blocks of rows.
        y : ignored
            Here for scikit-learn's conventions.
        **weights : sample_weight, array of shape (n,)
            As in `partial_fit`. It is no named parameter because a weight of 2 is one step with
            twice the gradient, not the same row twice, which is what scikit-learn means by it.

        Returns
        -------
        self
        """
        unknown = set(weights) - {"sample_weight"}
        if unknown:
            raise TypeError(f"fit() got an unexpected argument {unknown.pop()!r}")
        return self._learn(X, weights.get("sample_weight"), anew=True)

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Go on learning with the rows of X, any number of them.

        How the rows are split into calls does not change the result.

        Parameters
        ----------
        X : array, sparse matrix, table or source of n rows and d columns
            Or an iterable of blocks of rows.
        y : ignored
            Here for scikit-learn's conventions.
        sample_weight : array of shape (n,), optional
            A row of weight w counts as sqrt(w) times the row; of weight 0 as if absent.

        Returns
        -------
        self
        """
        return self._learn(X, sample_weight, anew=not self.__sklearn_is_fitted__())

    def _learn(self, X: Any, sample_weight: Any, *, anew: bool) -> Self:
        """Check, then advance; on any error everything is as it was."""
        learner: Learner | None = None if anew else self._learner
        if learner is not None:
            self._check_unchanged()
        if learner is not None and sample_weight is None and self._is_plain(X, learner):
            self._learner = learner.with_rows(X, None, LOOK)
            return self
        before = self.__dict__.copy()
        try:
            if anew:
                self._validate_params()
            if is_source(X):
                if sample_weight is not None:
                    raise ValueError("sample_weight needs rows, and X is a source of blocks")
                learner = self._learn_source(X, learner)
            else:
                rows = check_rows(self, X, reset=anew, finite=False)
                weights = check_weights(sample_weight, rows.shape[0])
                learner = learner or self._learner_for(rows)
                converted = learner.plan.convert(rows)
                look: Look | None = partial(LOOK, estimator=self)
                if weights is not None:  # rows of no weight are left out on the way
                    check_finite(converted, 0, self)
                    check_weighted(converted, weights)
                    look = None
                learner = learner.with_rows(converted, weights, look)
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        self._learner = learner
        if anew:
            self._learned_with = self.get_params(deep=False)
        return self

    def _check_unchanged(self) -> None:
        """Refuse to go on with other parameters than learning began with."""
        for name, value in self._learned_with.items():
            now = getattr(self, name)
            if now is not value and not np.array_equal(now, value):
                self._validate_params()
                raise ValueError(
                    f"{name} was {value!r} when learning began and is {now!r} now; "
                    "fit begins anew, partial_fit cannot go on"
                )

    def _is_plain(self, X: Any, learner: Learner) -> bool:
        """Whether X is so plain that there is nothing to convert: calls with one row are cheap."""
        plan = learner.plan
        return (
            is_plain(X)
            and X.shape[1] == plan.d
            and X.dtype == plan.dtype
            and not plan.is_sparse
            and not hasattr(self, "feature_names_in_")
        )

    def _learn_source(self, X: Any, learner: Learner | None) -> Learner:
        """Learn from every block of a source, on a copy."""
        begun, rows_before = learner is not None, 0 if learner is None else learner.rows_seen
        learner = learner.copy() if learner is not None else None
        if not begun:
            self.__dict__.pop("feature_names_in_", None)
            self.__dict__.pop("n_features_in_", None)
            names = getattr(X, "feature_names", None)
            if names is not None:
                self.feature_names_in_ = np.asarray(names, dtype=object)
        look: Look = partial(LOOK, name="A block")
        for rows in self._rows_of(X, finite=False):
            if learner is None:
                learner = self._learner_for(rows)
                self.n_features_in_ = rows.shape[1]
            learner.push(learner.plan.convert(rows), None, look)
        nothing = learner is None or learner.rows_seen == rows_before
        if learner is None or (nothing and isinstance(X, Iterator)):
            raise ValueError(NO_ROWS)
        return learner

    def _rows_of(self, source: Any, *, finite: bool = True) -> Iterator[Any]:
        """Yield the checked blocks of a source, with the columns that the estimator knows.

        Where `finite` is False, it is left to the caller to look at the entries.
        """
        ours, names = (
            getattr(self, "feature_names_in_", None),
            getattr(source, "feature_names", None),
        )
        if ours is not None and names is not None and list(ours) != list(names):
            raise ValueError(
                f"The source has the columns {list(names)}, the estimator was fitted with "
                f"{list(ours)}"
            )
        for block in source:
            if is_table(block):
                new = not hasattr(self, "n_features_in_")
                yield check_rows(self, block, reset=new, finite=finite)
            else:
                yield check_block(block, getattr(self, "n_features_in_", None), finite=finite)

    def transform(self, X: Any) -> NDArray[np.floating]:
        """Return the coordinates of the rows of X in the components, of shape (n, k)."""
        check_is_fitted(self)
        if is_source(X):
            parts = [self._project(rows) for rows in self._rows_of(X)]
            if not parts:
                raise ValueError(NO_ROWS)
            return np.vstack(parts)
        return self._project(check_rows(self, X, reset=False))

    def _project(self, rows: Any) -> NDArray[np.floating]:
        """Return (rows - mean) @ components', for sparse rows without making them dense."""
        components = self._published().components
        if not self._learner.plan.center:
            return np.asarray(rows @ components.T)
        if sparse.issparse(rows):
            return np.asarray(rows @ components.T) - (self.mean_ @ components.T)
        return (rows - self.mean_) @ components.T

    def inverse_transform(self, X: Any) -> NDArray[np.floating]:
        """Return rows in the original columns from coordinates X of shape (n, k)."""
        check_is_fitted(self)
        X = check_block(X, self.n_components_)
        return np.asarray(X @ self.components_) + self.mean_

    def score(self, X: Any, y: Any = None) -> float:
        """Return the fraction of the variance of X, about `mean_`, that the components capture."""
        check_is_fitted(self)
        blocks = self._rows_of(X) if is_source(X) else [check_rows(self, X, reset=False)]
        captured = total = 0.0
        for rows in blocks:
            captured += float(np.sum(self._project(rows).astype(np.float64) ** 2))
            total += self._energy(rows)
        return captured / total if total > 0.0 else float("nan")

    def _energy(self, rows: Any) -> float:
        """Return the sum of the squared distances of rows to the mean."""
        if not sparse.issparse(rows):
            return float(np.sum((rows - self.mean_).astype(np.float64) ** 2))
        mean = self.mean_.astype(np.float64)
        cross = float(np.sum(rows @ mean))
        squares = float(np.sum(rows.data.astype(np.float64) ** 2))
        return squares - 2 * cross + rows.shape[0] * float(mean @ mean)

    def get_covariance(self) -> NDArray[np.floating]:
        """Return the covariance of the model: components, and noise in all other directions."""
        check_is_fitted(self)
        components = self.components_
        excess = np.maximum(self.explained_variance_ - self.noise_variance_, 0.0)
        covariance = (components.T * excess) @ components
        covariance.flat[:: len(covariance) + 1] += self.noise_variance_
        return covariance

    def save(self, path: Any) -> None:
        """Write the whole state to a model file, so that `onepass.load` goes on where it was.

        Parameters
        ----------
        path : str or path
            Usually ending in ``.onepass``. What was there before is replaced in one move, or
            left untouched if anything goes wrong.
        """
        check_is_fitted(self)
        save(self, path)

    def merge(self, *others: Self) -> Self:
        """Return one estimator for the rows of this and of others: all stay as they are.

        Parameters
        ----------
        *others : estimators
            Of the same kind, with the same parameters and columns, fitted on other rows.

        Returns
        -------
        estimator
            Up to truncation what one pass over all rows would give: means, variances and
            averages merge in closed form.
        """
        return merge(self, *others)

    def __sklearn_is_fitted__(self) -> bool:
        return getattr(self, "_learner", None) is not None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def _seed(self) -> int:
        """Return a seed from `random_state`."""
        return int(check_random_state(self.random_state).randint(2**31))
