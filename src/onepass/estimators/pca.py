"""Principal components in one pass: the estimator to reach for first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from onepass.estimators import model_file_schema
from onepass.estimators.base import NOTHING_VARIES, Estimator
from onepass.estimators.parameters import estimator, is_whole
from onepass.learning.choice import Choice
from onepass.learning.pca_learner import PCALearner, PCAResult
from onepass.learning.stream import Stream

DOMINANT_SHARE = 0.99  # of the variance in one column, from which on `fit` warns


@estimator
class PCA(Estimator):
    """Principal components in one pass, with nothing to tune.

    As accurate as batch PCA on clean data and more accurate on heavy-tailed or contaminated data,
    from rows that are seen once and need not fit in memory. Up to 2048 columns the second moment
    of the rows is kept exactly, beyond that the leading part of it. Where rows are of uneven
    length, two robust candidates learn from the same rows: one bounds the length of rows, the
    other keeps what four parts of the stream agree on. Rows that none of them has learned from
    decide which one answers; `chosen_` says which, and why.

    Parameters
    ----------
    n_components : int, float or None, default=2
        The number k of components. A share of the variance, between 0 and 1, gives the fewest
        components that capture it. None gives min(n, d) components, of which the last may have no
        variance; beyond 2048 columns, as many as the sketch can tell apart.
    center : bool, default=True
        Whether to subtract the mean of the rows.
    scale : bool, default=False
        Whether to divide each column by its standard deviation: up to 2048 columns that of all
        rows, beyond that of the rows so far. Constant columns stay as they are. Components and
        variances are then those of the scaled columns.
    robust : "auto", True or False, default="auto"
        Whether to count rows that are much larger than the rest with a typical length. True does
        so always, "auto" if that captures more of new rows, and False never: ordinary PCA.
    whiten : bool, default=False
        Whether `transform` gives every component unit variance.
    half_life : float or None, default=None
        A row counts half as much after this many more rows: in means, second moments and the
        choice between candidates. In the long run the model is based on about 1.44 times as many
        rows. With None all rows count the same.

    Attributes
    ----------
    var_ : ndarray of shape (d,)
        Variances of the columns: sums over n rows are divided by n, as in scikit-learn.
    scale_ : ndarray of shape (d,)
        What the columns are divided by; ones unless `scale` is set.
    chosen_ : Choice
        `name` of the candidate that answers ("plain", "consensus" or "bounded"), the evidence for
        it (`share`, `energy`, `large`, `drift`) and what ordinary PCA would have lost
        (`lost_by_plain`). As a string, one sentence that says it.

    Notes
    -----
    Where "bounded" answers, everything comes from bounded rows: `mean_` is a robust centre, rows
    count with weights min(1, (length / distance from the centre)^2), and variances, their order,
    noise, whitening and `score_samples` are those of rows with these weights. These variances are
    close to those of the bulk of the rows, and smaller than those of all rows.

    Candidates merge as sums over rows do: second moments are moved to a common point and added,
    robust centres are averaged with their weights, evidence adds up. With `half_life` all sums
    fade. Files and merged models keep all candidates.

    Every row that is passed counts as a new one. Rows that are passed several times are scored
    after they were learned from, so that the choice and `captured_` are no longer fair: `robust`
    says which candidate to take.

    Examples
    --------
    >>> import numpy as np
    >>> from onepass import PCA
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(5000, 20)) * 0.7 ** np.arange(20) + 100
    >>> model = PCA(3)
    >>> for block in np.array_split(X, 9):
    ...     model = model.partial_fit(block)
    >>> model.explained_variance_ratio_.round(2)
    array([0.52, 0.25, 0.12])
    >>> PCA(0.9).fit(X).n_components_
    4
    >>> X[10:4000:400] += 1000 * rng.normal(size=(10, 20))
    >>> PCA(3).fit(X).chosen_.name
    'bounded'
    """

    scale: bool = False
    robust: Any = "auto"
    whiten: bool = False
    half_life: float | None = None
    takes_shares: ClassVar[bool] = True

    def _learner_for(self, stream: Stream) -> PCALearner:
        k = self._component_count(stream) if is_whole(self.n_components) else self.n_components
        return PCALearner(stream, k, self.robust, bool(self.scale))

    def _schema(self, stream: Stream) -> model_file_schema.Record:
        return model_file_schema.pca(stream, self.n_components)

    def _warning_message(self) -> str:
        k, found, seen = self.n_components, self.n_components_, self.n_samples_seen_
        captured = self.explained_variance_ratio_.sum()
        variances = self._result().column_variances
        column = int(variances.argmax())
        share = variances[column] / (variances.sum() or 1.0)
        leads = self.components_[0, column] ** 2 > 0.5  # outliers in a column may be left out
        if self.explained_variance_[0] == 0.0:
            return NOTHING_VARIES.format(seen)
        if is_whole(k) and found < k:
            return (
                f"{seen} rows span {found} directions only: there are {found} components, not "
                f"n_components={k}"
            )
        if k is not None and not is_whole(k) and captured < k - 1e-9:
            return (
                f"{found} components, all that can be told apart, capture {captured:.3g} of the "
                f"variance, less than n_components={k}"
            )
        if share > DOMINANT_SHARE and leads and len(variances) > 1 and not self.scale:
            names = getattr(self, "feature_names_in_", range(len(variances)))
            return (
                f"column {names[column]!r} has {share:.1%} of the variance, which hides the other "
                "columns: if their units differ, pass scale=True"
            )
        return ""

    def transform(self, X: Any) -> NDArray[np.floating]:
        """Return the coordinates of the rows of X in the components, shape (n, k)."""
        return super().transform(X) / self._deviations() if self.whiten else super().transform(X)

    def inverse_transform(self, X: Any) -> NDArray[np.floating]:
        """Return rows (n, d) in the original columns from coordinates X of shape (n, k)."""
        rows = super().inverse_transform(X)
        return rows * self.scale_ if self.scale else rows

    def _axes(self) -> NDArray[np.floating]:
        return self._deviations()[:, None] * super()._axes() if self.whiten else super()._axes()

    def _checked(self, X: Any) -> Iterator[Any]:
        """Yield the checked rows of X with their columns scaled."""
        for rows in super()._checked(X):
            if not self.scale:
                yield rows
            elif sparse.issparse(rows):
                yield sparse.csr_array(rows @ sparse.diags_array(1.0 / self._result().scale))
            else:
                yield rows / self.scale_

    def _deviations(self) -> NDArray[np.floating]:
        """Return the standard deviations along the components, one where there is none."""
        deviation = np.sqrt(self.explained_variance_)
        return np.where(deviation > 0.0, deviation, 1.0).astype(deviation.dtype)

    def _result(self) -> PCAResult:
        result = super()._result()
        assert isinstance(result, PCAResult)
        return result

    def get_covariance(self) -> NDArray[np.floating]:
        """Return the covariance (d, d) of the model: components, and noise everywhere else."""
        return self.scale_[:, None] * super().get_covariance() * self.scale_

    def get_precision(self) -> NDArray[np.floating]:
        """Return the inverse (d, d) of the covariance of the model."""
        return super().get_precision() / self.scale_[:, None] / self.scale_

    @property
    def mean_(self) -> NDArray[np.floating]:
        """Mean of the rows seen (d,), robust where the bounded candidate answers."""
        result = self._result()
        return (result.mean * result.scale).astype(result.mean.dtype)

    @property
    def var_(self) -> NDArray[np.floating]:
        """Variances of the columns, shape (d,)."""
        result = self._result()
        return result.column_variances.astype(result.components.dtype)

    @property
    def scale_(self) -> NDArray[np.floating]:
        """What the columns are divided by, shape (d,)."""
        result = self._result()
        return result.scale.astype(result.components.dtype)

    @property
    def chosen_(self) -> Choice:
        """Which candidate answers, and why."""
        return self._result().chosen
