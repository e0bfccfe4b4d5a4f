"""What all estimators share: learning, results, transforming."""

from __future__ import annotations

import os
import threading
import warnings
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from onepass import model_file
from onepass.estimators import model_file_schema, onnx_export, persistence
from onepass.estimators.containers import Columns, is_table, opened
from onepass.estimators.input import (
    check_block,
    check_finite,
    check_names,
    check_rows,
    check_weights,
    is_plain,
)
from onepass.estimators.merging import merge
from onepass.estimators.parameters import (
    CHECKS,
    check_component_count,
    estimator,
    is_positive,
    is_same,
)
from onepass.learning.captured_share import Captured
from onepass.learning.learner import Learner
from onepass.learning.result import Result
from onepass.learning.stream import Stream
from onepass.metrics import OfRows
from onepass.progress import Progress
from onepass.sources import Source
from onepass.warning import OnepassWarning

NOTHING_VARIES = "{} rows span 0 directions only: nothing varies, and components are any directions"
ROUNDING = 8 * np.finfo(np.float64).eps  # of the total variance: a smaller one is none
PIECE_BYTES = 2**24  # of sparse rows that are made dense at a time, to measure their distances


@estimator
class Estimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A transformer that learns from rows as they come.

    Subclasses say with `_learner_for` how they learn, and with `_schema` what a model file holds.
    """

    n_components: Any = field(default=2, kw_only=False)
    center: bool = True
    verbose: int = 0
    takes_shares: ClassVar[bool] = False  # of the variance, as `n_components`
    _learner: Learner = field(init=False)
    _learned_with: dict[str, Any] = field(init=False)  # the parameters when learning began

    @abstractmethod
    def _learner_for(self, stream: Stream) -> Learner:
        """Return the learner for a stream of which nothing has been seen."""

    @abstractmethod
    def _schema(self, stream: Stream) -> model_file_schema.Record:
        """Return what the state of such a learner consists of."""

    def _check_parameters(self) -> None:
        """Refuse parameters that make no sense."""
        check_component_count(self.n_components, shares=self.takes_shares)
        for name, value in self.get_params(deep=False).items():
            if name in CHECKS:
                CHECKS[name](name, value)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from X alone, forgetting what was learned before.

        Parameters
        ----------
        X : array, sparse matrix, table or source of n rows and d columns
            Or an iterable of blocks of rows. Dask's arrays and dataframes are read chunk by chunk;
            `onepass.distributed.fit` learns from the chunks where they are.
        y : None
            Ignored.
        sample_weight : array of shape (n,), optional
            A row of weight w is learned as sqrt(w) times the row, and one of weight 0 is left out.

        Returns
        -------
        self
        """
        with self._lock():
            return self._learn(X, sample_weight, fresh=True, whole=True)

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more rows, any number of them, and keep what was learned before.

        How rows are split into calls does not change the result.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`; rows that all have weight 0 change nothing, while `fit` refuses them.

        Returns
        -------
        self
        """
        with self._lock():  # two threads must not both find that nothing has been learned yet
            return self._learn(X, sample_weight, fresh=getattr(self, "_learner", None) is None)

    def _learn(self, X: Any, sample_weight: Any, *, fresh: bool, whole: bool = False) -> Self:
        """Check, then learn; after an error everything is as it was.

        `fresh` forgets what was learned before; `whole` says that no further rows will come.
        """
        if not fresh:
            self._check_unchanged()
            if sample_weight is None and self._is_plain(X):
                self._learner = self._learner.push(check_finite(X))
                return self
        before = self.__dict__.copy()
        try:
            if fresh:
                self._check_parameters()
                self._learned_with = self.get_params(deep=False)
            X, learner = opened(X), None if fresh else self._learner
            in_blocks = isinstance(X, Source)
            if in_blocks and sample_weight is not None:
                raise ValueError(
                    "sample_weight needs rows, and X is read in blocks: call partial_fit with "
                    "each block and its weights"
                )
            if in_blocks and learner is not None:
                learner = learner.copy()  # a later block may be refused
            total = X.n_rows if in_blocks else None
            with Progress("fit", total, visible=in_blocks and self.verbose > 0) as progress:
                for rows in self._rows_of(X, fresh=fresh):
                    weights = check_weights(sample_weight, rows, whole=whole)
                    learner = self._start(rows) if learner is None else learner
                    rows = check_finite(learner.stream.convert(rows))
                    learner = learner.push(rows, weights)
                    progress.advance(rows.shape[0])
                    if progress.wants_captured():
                        progress.captured(learner.result().captured.mean)
            assert learner is not None  # there was at least one block
            self._learner = learner
            message = self._warning_message() if whole else ""
            if message:
                warnings.warn(message, OnepassWarning, stacklevel=3)
        except BaseException:
            self.__dict__ = before  # in one move: the lock, for which others may wait, stays
            raise
        return self

    def _lock(self) -> threading.RLock:
        """Return the lock that serialises learning from several threads."""
        return self.__dict__.setdefault("_learning_lock", threading.RLock())

    def _start(self, rows: Any) -> Learner:
        """Return the learner for a stream that begins with these rows."""
        half_life = getattr(self, "half_life", None)
        is_sparse = sparse.issparse(rows)
        return self._learner_for(
            Stream(rows.shape[1], rows.dtype, is_sparse, bool(self.center), half_life)
        )

    def _warning_message(self) -> str:
        """Return why the components are not what was asked for; an empty string if they are."""
        rows, k = self.n_samples_seen_, self.n_components
        spanned = rows - int(self.center)
        if spanned < k:
            return (
                f"{rows} row{'s' * (rows != 1)}{', centred,' * bool(self.center)} can only "
                f"determine {spanned} of n_components={k}: the others are arbitrary; pass more "
                "rows, or ask for fewer components"
            )
        return "" if self.explained_variance_[0] > 0.0 else NOTHING_VARIES.format(rows)

    def _check_unchanged(self) -> None:
        """Refuse to go on with parameters other than those that learning began with."""
        for name, value in self._learned_with.items():
            now = getattr(self, name)
            if name != "verbose" and now is not value and not is_same(now, value):
                self._check_parameters()
                raise ValueError(
                    f"{name} was {value!r} when learning began and is {now!r} now; partial_fit "
                    "cannot go on with it, fit starts again"
                )

    def _is_plain(self, X: Any) -> bool:
        """Return whether X needs no conversion, which makes calls with one row cheap."""
        stream = self._learner.stream
        return (
            is_plain(X)
            and X.shape[1] == stream.d
            and X.dtype == stream.dtype
            and not stream.is_sparse
            and not hasattr(self, "feature_names_in_")
        )

    def _rows_of(self, X: Any, *, fresh: bool = False) -> Iterator[Any]:
        """Yield the checked rows of X: all at once, or block by block of a source.

        Where learning begins, `fresh`, the estimator remembers the columns, else it compares them.
        """
        if not isinstance(X, Source):
            yield check_rows(self, X, reset=fresh)
            return
        if fresh:
            self.__dict__.pop("n_features_in_", None)
        check_names(self, X.feature_names, reset=fresh)
        is_empty = True
        for end, block in X.blocks():
            is_empty, known = False, getattr(self, "n_features_in_", None)
            with X.naming_places(end, block):
                if isinstance(block, Columns) or is_table(block):
                    rows = check_rows(self, block, reset=known is None)
                else:
                    rows = check_block(block, known)
                    self.n_features_in_ = rows.shape[1]
            yield rows
        if is_empty:
            raise ValueError("The source has no rows; an iterator can be read only once")

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Learn from X alone, and return the coordinates of its rows, shape (n, k).

        X is read twice: an iterator, which can be read only once, is refused.
        """
        if isinstance(X, Iterator):
            raise ValueError(
                f"fit_transform reads X twice, and a {type(X).__name__} can be read only once: "
                "write fit(X), and then transform with the rows read again"
            )
        return super().fit_transform(X, y, **fit_params)

    def transform(self, X: Any) -> NDArray[np.floating]:
        """Return the coordinates of the rows of X in the components, shape (n, k)."""
        return np.vstack([self._project(rows) for rows in self._checked(X)])

    def _checked(self, X: Any) -> Iterator[Any]:
        """Yield the checked rows of X, for a model that is fitted."""
        check_is_fitted(self)
        yield from self._rows_of(opened(X))

    def _project(self, rows: Any) -> NDArray[np.floating]:
        """Return (rows - mean) @ components.T, for sparse rows without making them dense."""
        components, mean = self._result().components, self._result().mean
        if sparse.issparse(rows) or not self._learner.stream.center:
            return np.asarray(rows @ components.T) - mean @ components.T
        return (rows - mean) @ components.T

    def inverse_transform(self, X: Any) -> NDArray[np.floating]:
        """Return rows (n, d) in the original columns from coordinates X of shape (n, k)."""
        X, k = check_block(X, None, "X"), self.n_components_
        if X.shape[1] != k:
            raise ValueError(
                f"X has shape {X.shape}, and there are {k} components: pass coordinates of shape "
                f"(n, {k}), as transform returns them"
            )
        return np.asarray(X @ self._axes()) + self._result().mean

    def _axes(self) -> NDArray[np.floating]:
        """Return the rows (k, d) that coordinates are multiples of."""
        return self._result().components

    def score(self, X: Any, y: Any = None) -> float:
        """Return the fraction of the variance of X, about `mean_`, that the components capture."""
        captured = total = 0.0
        for rows in self._checked(X):
            moment = OfRows(rows, self._result().mean)
            captured += moment.n * moment.captured(self._result().components.astype(np.float64))
            total += moment.n * moment.trace
        return captured / total if total > 0.0 else float("nan")

    def reconstruction_error(self, X: Any) -> NDArray[np.float64]:
        """Return the squared distance of each row of X from the subspace, shape (n,).

        Examples
        --------
        >>> import numpy as np
        >>> from onepass import PCA
        >>> X = np.random.default_rng(0).normal(size=(500, 4)) * [9, 5, 0.1, 0.1]
        >>> model = PCA(2).fit(X)
        >>> bool(model.reconstruction_error([[0, 0, 3, 0]])[0] > 8)
        True
        """
        return np.concatenate([self._split(rows)[1] for rows in self._checked(X)])

    def _split(self, rows: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the coordinates (n, k) of rows and their squared distances (n,) from the span."""
        components = self._result().components.astype(np.float64)
        mean = self._result().mean.astype(np.float64)
        length = max(1, PIECE_BYTES // (8 * rows.shape[1]))
        inside, outside = [], []
        for start in range(0, rows.shape[0], length):
            piece = rows[start : start + length]
            centred = (piece.toarray() if sparse.issparse(piece) else piece) - mean
            coordinates = centred @ components.T
            rest = (
                centred - coordinates @ components if len(components) < len(mean) else 0 * centred
            )
            inside.append(coordinates)
            outside.append(np.einsum("ij,ij->i", rest, rest))
        return np.vstack(inside), np.concatenate(outside)

    def error_threshold(self, quantile: float = 0.99) -> float:
        """Return the reconstruction error that a share of the rows seen stayed below.

        A row whose `reconstruction_error` is above it does not fit the model. Errors were measured
        on each row before the model learned from it, over at least the last half of the stream.
        The model has learned more since then: its errors on the same rows have a quantile that
        differs from this one by up to about a tenth, or more with ``scale=True`` and outliers.

        Parameters
        ----------
        quantile : float, default=0.99
            The share, above 0 and at most 1.

        Returns
        -------
        float
            Within 3% of the quantile; NaN where no row was measured. Where the components span
            all columns it is 0, as all errors are.

        Examples
        --------
        >>> import numpy as np
        >>> from onepass import CappedMSG
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(4000, 4)) * [9, 5, 0.1, 0.1]
        >>> model = CappedMSG(2, average=True).fit(X)
        >>> new = np.array([[1, 2, 0, 0.1], [1, 2, 0, 3]])
        >>> (model.reconstruction_error(new) > model.error_threshold(0.99)).tolist()
        [False, True]
        """
        if not (is_positive(quantile) and quantile <= 1.0):
            raise ValueError(f"quantile must be above 0 and at most 1, got {quantile!r}")
        k, d = self._result().components.shape
        return self._settled().errors.quantile(float(quantile)) if k < d else 0.0

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """Return the log-likelihood of each row of X, shape (n,), as scikit-learn's PCA does.

        The model is probabilistic PCA: a Gaussian with the covariance of `get_covariance`.
        """
        k, d = self._result().components.shape
        variances, noise = self._positive_variances("log-likelihood")
        constant = np.log(variances).sum() + d * np.log(2.0 * np.pi) + (d - k) * np.log(noise)
        parts = []
        for rows in self._checked(X):
            inside, outside = self._split(rows)
            distance = (inside**2 / variances).sum(axis=1) + outside / noise
            parts.append(-0.5 * (distance + constant))
        return np.concatenate(parts)

    def get_covariance(self) -> NDArray[np.floating]:
        """Return the covariance (d, d) of the model: components, and noise everywhere else."""
        components = self.components_
        excess = np.maximum(self.explained_variance_ - self.noise_variance_, 0.0)
        covariance = (components.T * excess) @ components
        covariance.flat[:: len(covariance) + 1] += self.noise_variance_
        return covariance

    def get_precision(self) -> NDArray[np.floating]:
        """Return the inverse (d, d) of the covariance of the model."""
        result = self._result()
        variances, noise = self._positive_variances("precision")
        outside = 1.0 / noise if len(variances) < self.n_features_in_ else 0.0
        precision = (result.components.T * (1.0 / variances - outside)) @ result.components
        precision.flat[:: len(precision) + 1] += outside
        return precision.astype(result.explained_variance.dtype)

    def _positive_variances(self, what: str) -> tuple[NDArray[np.float64], float]:
        """Return the variances (k,) along the components, and the noise outside, one if k = d.

        They are for `what`, which is not defined where one of them is zero to rounding.
        """
        result = self._result()
        k, d, noise = *result.components.shape, result.noise_variance
        variances = np.maximum(result.explained_variance.astype(np.float64), noise)
        least = ROUNDING * result.total_variance
        if (k < d and not noise > least) or not variances.min() > least:
            raise ValueError(
                f"the {what} is not defined: there are directions without any variance"
            )
        return variances, noise if k < d else 1.0

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the whole state to a model file, which `onepass.load` reads.

        Parameters
        ----------
        path : str or path
            Usually ending in ``.onepass``. What was there before is replaced in one move, or
            left untouched if anything goes wrong.
        """
        check_is_fitted(self)
        model_file.write(path, *persistence.pack(self))

    def merge(self, *others: Self) -> Self:
        """Return one estimator for the rows of this one and of others, which stay as they are.

        Parameters
        ----------
        *others : estimators
            Of the same kind, with the same parameters and columns, fitted on other rows.

        Returns
        -------
        estimator
            What one pass over all rows would give, up to truncation.
        """
        return merge(self, *others)

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
        onnx_export.export(self, path)

    def plot(self, *, grid: tuple[int, int] | None = None) -> Any:
        """Draw variances, learning curve, a sample of rows and the loadings.

        Needs the extra ``report``.

        Parameters
        ----------
        grid : tuple of int, optional
            Height and width, where columns are the pixels of images. Square images are recognised.

        Returns
        -------
        matplotlib.figure.Figure

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from onepass import PCA
        >>> len(PCA(5).fit(load_digits().data).plot().axes)
        4
        """
        check_is_fitted(self)
        from onepass import report

        return report.plot(self, grid=grid)

    def _repr_html_(self) -> str:
        from onepass import report

        return report.summary_html(self)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def _result(self) -> Result:
        """Return what is read after fitting."""
        check_is_fitted(self)
        with self._lock():
            return self._learner.result()

    def _settled(self) -> Any:
        """Return the learner with all rows learned from."""
        check_is_fitted(self)
        with self._lock():
            return self._learner.settled()

    @property
    def components_(self) -> NDArray[np.floating]:
        """Orthonormal rows (k, d), ordered by variance and uncorrelated on the rows seen."""
        return self._result().components.copy()

    @property
    def explained_variance_(self) -> NDArray[np.floating]:
        """Variance along each component, shape (k,)."""
        return self._result().explained_variance.copy()

    @property
    def explained_variance_ratio_(self) -> NDArray[np.floating]:
        """Share of the total variance along each component, shape (k,)."""
        result = self._result()
        return result.explained_variance / (result.total_variance or 1.0)

    @property
    def singular_values_(self) -> NDArray[np.floating]:
        """Singular values (k,) of the matrix of all rows seen, along the components."""
        result = self._result()
        return np.sqrt(result.explained_variance * result.degrees)

    @property
    def noise_variance_(self) -> float:
        """Mean variance of the directions that are left out."""
        return self._result().noise_variance

    @property
    def n_components_(self) -> int:
        """The number k of components."""
        return len(self._result().components)

    @property
    def mean_(self) -> NDArray[np.floating]:
        """Mean of the rows seen (d,); zeros where `center` is False."""
        return self._result().mean.copy()

    @property
    def n_samples_seen_(self) -> int:
        """How many rows have been seen, those of weight 0 left out."""
        check_is_fitted(self)
        return self._learner.rows_seen

    @property
    def captured_(self) -> Captured:
        """The share of the variance of new rows that the components capture."""
        return self._result().captured

    def __sklearn_is_fitted__(self) -> bool:
        return getattr(self, "_learner", None) is not None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def __getstate__(self) -> dict[str, Any]:
        return {name: v for name, v in super().__getstate__().items() if name != "_learning_lock"}

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def _component_count(self, stream: Stream) -> int:
        """Return the number k of components, which cannot be more than the columns."""
        if self.n_components > stream.d:
            raise ValueError(
                f"n_components={self.n_components} is more than the n_features={stream.d} of X"
            )
        return int(self.n_components)
