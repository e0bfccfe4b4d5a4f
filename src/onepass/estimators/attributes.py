"""The public attributes and methods of a fitted estimator: all of them are read from its model."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.decomposition import PCA
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from onepass.estimators.containers import opened
from onepass.estimators.input import check_block
from onepass.model import Model
from onepass.moments.standard_errors import Captured
from onepass.schedules import is_positive
from onepass.warning import OnepassWarning


class Attributes(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """The half of an estimator that is read: all of it comes from an immutable model."""

    @property
    @abstractmethod
    def model_(self) -> Model:
        """What is read after fitting: it never changes."""

    @abstractmethod
    def _rows_of(self, X: Any) -> Iterator[tuple[Any, bool]]:
        """Yield the checked rows of X, and whether entries of them are missing."""

    def checked(self, X: Any) -> Iterator[Any]:
        """Yield the rows of X block by block, as float arrays (b, d) or CSR."""
        for rows, _ in self._rows_of(opened(X)):
            yield rows

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
        model = self.model_
        return np.vstack([model.transform(rows) for rows in self.checked(X)])

    def inverse_transform(self, X: Any) -> NDArray[np.floating]:
        """Return rows (n, d) in the original columns from coordinates X of shape (n, k)."""
        model = self.model_
        X, has_gaps = check_block(X, None, "X")
        if has_gaps:
            raise ValueError("X has NaN among its coordinates: impute fills the gaps of rows")
        if X.shape[1] != model.k:
            raise ValueError(
                f"X has shape {X.shape}, and there are {model.k} components: pass coordinates of "
                f"shape (n, {model.k}), as transform returns them"
            )
        return model.inverse_transform(X)

    def impute(self, X: Any, *, return_std: bool = False) -> Any:
        """Return the rows of X with their gaps filled; observed entries stay as they are.

        A gap becomes the conditional mean of its entry, given what is observed of its row, under
        the Gaussian model of the rows that were learned from.

        Parameters
        ----------
        X : array, table or source of n rows and d columns
            NaN where entries are missing.
        return_std : bool, default=False
            Whether to return the conditional standard deviations, too: how sure each entry is.

        Returns
        -------
        ndarray or csr_array of shape (n, d)
            Sparse if X is. And another one, zero where entries were observed, if `return_std` is
            set.

        Examples
        --------
        >>> import numpy as np
        >>> from onepass import PCA
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(2000, 1)) * [1.0, 2.0, 3.0] + 0.01 * rng.normal(size=(2000, 3))
        >>> model = PCA(1).fit(X)
        >>> model.impute([[np.nan, 2.0, 3.0]]).round(1)
        array([[1., 2., 3.]])
        """
        model, rows, deviations = self.model_, [], []
        for block in self.checked(X):
            filled, spread = model.impute(block)
            rows.append(filled)
            deviations.append(spread)
        stack: Any = sparse.vstack if sparse.issparse(rows[0]) else np.vstack
        return (stack(rows), stack(deviations)) if return_std else stack(rows)

    def score(self, X: Any, y: Any = None) -> float:
        """Return the fraction of the variance of X, about `mean_`, that the components capture."""
        model, inside, total = self.model_, 0.0, 0.0
        for rows in self.checked(X):
            captured, energy = model.captured_energy(rows)
            inside, total = inside + captured, total + energy
        return inside / total if total > 0.0 else float("nan")

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
        model = self.model_
        return np.concatenate([model.reconstruction_error(rows) for rows in self.checked(X)])

    def error_threshold(self, quantile: float = 0.99) -> float:
        """Return the reconstruction error that a share of new rows stays below.

        A row whose `reconstruction_error` is above it does not fit the model. Errors were measured
        on each row before the model learned from it, over at least the last half of the stream;
        those of the first rows of `PCA`, `IncrementalPCA` and `ERM` along directions from the other
        half of them. The model has learned more since then: its errors on the same rows have a
        quantile that differs from this one by up to about a tenth, or more with ``scale=True`` and
        outliers.

        From few rows, a large quantile is not known: of n rows and a new one, each has the largest
        error with probability 1 / (n + 1). So a quantile q needs the errors of q / (1 - q) rows: 9
        for 0.9, 99 for 0.99, 999 for 0.999. With twice as many in the stream it is always known;
        with fewer, a warning says how many were measured. ``PCA(robust=True)`` does not measure the
        first 128 rows.

        Parameters
        ----------
        quantile : float, default=0.99
            The share, above 0 and at most 1.

        Returns
        -------
        float
            Within 3% of the quantile. NaN, with a warning, where it is not known: then
            comparisons say nothing about rows. Where the components span all columns it is 0, as
            all errors are.

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
        model = self.model_
        reason = model.why_no_threshold(float(quantile))
        if reason:
            warnings.warn(reason, OnepassWarning, stacklevel=2)
        return model.error_threshold(float(quantile))

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """Return the log-likelihood of each row of X, shape (n,), as scikit-learn's PCA does.

        The model is probabilistic PCA: a Gaussian with the covariance of `get_covariance`.
        """
        model = self.model_
        return np.concatenate([model.score_samples(rows) for rows in self.checked(X)])

    def get_covariance(self) -> NDArray[np.floating]:
        """Return the covariance (d, d) of the model: components, and noise everywhere else.

        A variance along a component that is below the noise counts as the noise.
        """
        return self.model_.covariance()

    def get_precision(self) -> NDArray[np.floating]:
        """Return the inverse (d, d) of the covariance of the model."""
        return self.model_.precision()

    def to_sklearn(self) -> Any:
        """Return a fitted estimator of scikit-learn that transforms as this one does.

        It needs no onepass, so tools for scikit-learn, such as skl2onnx, can take it. It fills no
        gaps. Rows far from zero lose digits, because it subtracts the mean after the product.

        Returns
        -------
        sklearn.decomposition.PCA
            With ``scale=True`` a `Pipeline` of a `StandardScaler` and a `PCA`, whose densities are
            those of scaled rows. With ``whiten=True`` its densities are those of another
            covariance, as always in scikit-learn.

        Examples
        --------
        >>> import numpy as np
        >>> from onepass import CappedMSG
        >>> X = np.random.default_rng(0).normal(size=(500, 5))
        >>> model = CappedMSG(2).fit(X)
        >>> bool(np.allclose(model.to_sklearn().transform(X), model.transform(X)))
        True
        """
        model = self.model_
        found = PCA(model.k, whiten=model.whiten)
        found.n_features_in_, found.n_samples_ = model.d, model.rows
        found.components_, found.n_components_ = self.components_, model.k
        found.explained_variance_ = self.explained_variance_
        found.explained_variance_ratio_ = self.explained_variance_ratio_
        found.singular_values_ = self.singular_values_
        found.noise_variance_ = self.noise_variance_
        found.mean_ = self.mean_
        first: Any = found
        if model.scale is not None:
            first = StandardScaler(with_mean=model.center)
            first.n_features_in_, first.n_samples_seen_ = model.d, model.rows
            first.mean_, first.var_ = self.mean_, model.column_variances
            first.scale_ = model.scale.astype(model.components.dtype)
            found.mean_ = np.zeros_like(self.mean_)
        if hasattr(self, "feature_names_in_"):
            first.feature_names_in_ = self.feature_names_in_
        return found if first is found else Pipeline([("scale", first), ("pca", found)])

    def plot(self, X: Any = None, *, grid: tuple[int, int] | None = None) -> Any:
        """Draw variances, learning curve, some rows of X and the loadings.

        Needs the extra ``report``.

        Parameters
        ----------
        X : array, table or source of n rows and d columns, optional
            Rows to draw as points, such as those of `fit`. Without it there are no points.
        grid : tuple of int, optional
            Height and width, where columns are the pixels of images. Square images are recognised.

        Returns
        -------
        matplotlib.figure.Figure

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from onepass import PCA
        >>> X = load_digits().data
        >>> len(PCA(5).fit(X).plot(X).axes)
        4
        """
        check_is_fitted(self)
        from onepass import report

        return report.plot(self, X, grid=grid)

    def _repr_html_(self) -> str:
        from onepass import report

        return report.summary_html(self)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    @property
    def components_(self) -> NDArray[np.floating]:
        """Orthonormal rows (k, d), ordered by variance."""
        return self.model_.components.copy()

    @property
    def explained_variance_(self) -> NDArray[np.floating]:
        """Variance of all rows along each component, shape (k,)."""
        return self.model_.explained_variance.copy()

    @property
    def explained_variance_ratio_(self) -> NDArray[np.floating]:
        """Share of the total variance along each component, shape (k,)."""
        model = self.model_
        return model.explained_variance / (model.total_variance or 1.0)

    @property
    def singular_values_(self) -> NDArray[np.floating]:
        """Singular values (k,) of the matrix of all rows seen, along the components."""
        model = self.model_
        return np.sqrt(model.explained_variance * model.degrees)

    @property
    def noise_variance_(self) -> float:
        """Mean variance of the directions that are left out."""
        return np.float64(self.model_.noise_variance)  # with methods, as scikit-learn's has

    @property
    def n_components_(self) -> int:
        """The number k of components."""
        return self.model_.k

    @property
    def mean_(self) -> NDArray[np.floating]:
        """Mean of the rows seen (d,); zeros where `center` is False."""
        return self.model_.mean.copy()

    @property
    def column_names_(self) -> Sequence[str | int]:
        """The names of the columns; their numbers if they have none."""
        return getattr(self, "feature_names_in_", range(self.n_features_in_))

    @property
    def components_error_(self) -> NDArray[np.floating]:
        """Standard errors (k, d) of the entries of `components_`; NaN where they are not known.

        `degrees_of_freedom_` says of which Student's t an interval has its quantile. They are
        right for heavy tails, and for rows that depend on their neighbours.
        """
        return self.model_.standard_errors.components.copy()

    @property
    def explained_variance_error_(self) -> NDArray[np.floating]:
        """Standard errors (k,) of `explained_variance_`; NaN where they are not known."""
        return self.model_.standard_errors.variances.copy()

    @property
    def angle_(self) -> NDArray[np.float64]:
        """Expected angles (k,), in degrees, from the components of the whole population.

        They are the roots of the sums of the squared errors, at most 90; NaN where they are not
        known. A component above 45 degrees cannot be told from its neighbours.
        """
        return self.model_.standard_errors.angles.copy()

    @property
    def degrees_of_freedom_(self) -> float:
        """Degrees of freedom of Student's t for an interval; NaN where errors are not known."""
        return self.model_.standard_errors.degrees

    @property
    def captured_(self) -> Captured:
        """The share of the variance of new rows that the components capture."""
        return self.model_.captured

    @property
    def missing_share_(self) -> NDArray[np.float64]:
        """The share of the rows that lack an entry in each column, shape (d,)."""
        model = self.model_
        return np.zeros(model.d) if model.missing is None else model.missing.missing_share

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _n_features_out(self) -> int:
        return self.n_components_
