"""scikit-learn's IncrementalPCA, exact and from any number of rows at a time."""

from __future__ import annotations

from typing import Any, Self

from onepass.estimators.calls import Estimator
from onepass.estimators.doubts import arbitrary_components, fewer_components, without_variance
from onepass.estimators.fitted import moment_learner
from onepass.estimators.parameters import check_bool, check_component_count, check_whole
from onepass.model import Model
from onepass.pca.learner import PCALearner
from onepass.stream import Stream

ROWS_PER_COLUMN = 5  # of `batch_size_` where none is given, as in scikit-learn


class IncrementalPCA(Estimator):
    """Ordinary PCA with the parameters and attributes of scikit-learn's IncrementalPCA.

    Change the import, and keep the rest of your code. The result is that of batch PCA on all rows:
    exact as long as `PCA` is, whatever the batches were. A call takes any number of rows, one
    included, sparse ones too.

    Parameters
    ----------
    n_components : int or None, default=None
        The number k of components; None is the smaller one of the numbers of rows and columns.
        With more than 4,096 columns (8,192 of sparse rows) None keeps fewer, and `fit` says how
        many.
    whiten : bool, default=False
        Whether `transform` gives every component unit variance.
    copy : bool, default=True
        Accepted and without effect: X is never changed.
    batch_size : int or None, default=None
        How many rows scikit-learn's `fit` would take at a time. It changes no result.

    Attributes
    ----------
    components_ : ndarray of shape (k, d)
        Orthonormal, ordered by variance, uncorrelated on the rows seen; the largest entry of each
        is positive.
    explained_variance_, explained_variance_ratio_, singular_values_ : ndarray of shape (k,)
        Of the rows seen, along the components.
    noise_variance_ : float
        Mean variance of the directions left out.
    mean_, var_ : ndarray of shape (d,)
        Means and variances of the columns; variances are sums over n rows divided by n.
    captured_ : Captured
        The share of the variance of new rows that these components capture, with its standard
        error.
    n_components_, n_samples_seen_, n_features_in_ : int
    batch_size_ : int
        The batch size, or five times the number of columns.
    feature_names_in_ : ndarray of shape (d,)
        The names of the columns, if the rows had any.

    See Also
    --------
    PCA : Shares of the variance, scaling, robustness and streams that drift.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from onepass import IncrementalPCA
    >>> X, _ = load_digits(return_X_y=True)
    >>> transformer = IncrementalPCA(n_components=7, batch_size=200)
    >>> transformer.partial_fit(X[:100, :]).fit_transform(X).shape
    (1797, 7)
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        whiten: bool = False,
        copy: bool = True,
        batch_size: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.whiten = whiten
        self.copy = copy
        self.batch_size = batch_size

    def partial_fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, check_input: bool = True
    ) -> Self:
        """Learn from more rows, any number of them, and keep what was learned before.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`.
        check_input : bool, default=True
            Accepted and without effect: rows are always checked.

        Returns
        -------
        self
        """
        return super().partial_fit(X, y, sample_weight)

    def _check_parameters(self) -> None:
        check_component_count(self.n_components, shares=False, none=True)
        check_bool("whiten", self.whiten)
        if self.batch_size is not None:
            check_whole("batch_size", self.batch_size)

    def _learner_for(self, stream: Stream) -> PCALearner:
        return moment_learner("IncrementalPCA", self.get_params(deep=False), stream)

    def _warning_message(self, model: Model) -> str:
        if self.n_components is None:
            return arbitrary_components(model, 0, center=True) or fewer_components(
                model, center=True
            )
        return super()._warning_message(model) or without_variance(model)

    @property
    def batch_size_(self) -> int:
        """How many rows scikit-learn's `fit` would have taken at a time."""
        return self.batch_size or ROWS_PER_COLUMN * self.model_.d
