"""scikit-learn's IncrementalPCA, exact and from any number of rows at a time."""

from __future__ import annotations

from dataclasses import field
from typing import Any, ClassVar, Self

from onepass.estimators.attributes import Attributes
from onepass.estimators.base import arbitrary_components, component_count, fewer_components
from onepass.estimators.parameters import check_whole, estimator
from onepass.estimators.pca import PCA
from onepass.model import Model
from onepass.pca.learner import PCALearner
from onepass.rows.stream import Stream

ROWS_PER_COLUMN = 5  # of `batch_size_` where none is given, as in scikit-learn


@estimator
class IncrementalPCA(Attributes):
    """Ordinary PCA with the parameters and attributes of scikit-learn's IncrementalPCA.

    Change the import, and keep the rest of your code. The result is that of batch PCA on all rows:
    exact as long as `PCA` is, whatever the batches were. A call takes any number of rows, one
    included, sparse ones too.

    Parameters
    ----------
    n_components : int or None, default=None
        The number k of components; None is the smaller one of the numbers of rows and columns.
        Beyond 4,096 columns (8,192 of sparse rows) None keeps fewer, and `fit` says how many.
    whiten : bool, default=False
        Whether `transform` gives every component unit variance.
    copy : bool, default=True
        Accepted and without effect: X is never changed.
    batch_size : int or None, default=None
        How many rows scikit-learn's `fit` would take at a time. It changes no result.

    Attributes
    ----------
    var_ : ndarray of shape (d,)
        Variances of the columns, sums over n rows divided by n.
    batch_size_ : int
        The batch size, or five times the number of columns.

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

    n_components: Any = field(default=None, kw_only=False)
    whiten: bool = False
    copy: bool = True
    batch_size: int | None = None
    takes_none: ClassVar[bool] = True
    var_ = PCA.var_

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
        super()._check_parameters()
        if self.batch_size is not None:
            check_whole("batch_size", self.batch_size)

    def _learner_for(self, stream: Stream) -> PCALearner:
        k = self.n_components
        if k is not None:
            k = component_count(k, stream)
        return PCALearner(stream, k, keep_all=True)

    def _warning_message(self, model: Model) -> str:
        arbitrary = arbitrary_components(model, self.n_components or 0, center=True)
        return arbitrary or fewer_components(model, self.n_components, center=True)

    @property
    def batch_size_(self) -> int:
        """How many rows scikit-learn's `fit` would have taken at a time."""
        return self.batch_size or ROWS_PER_COLUMN * self._model().d
