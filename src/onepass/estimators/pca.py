"""Principal components in one pass: the estimator to reach for first."""

from __future__ import annotations

from typing import Any, ClassVar

from onepass.estimators.calls import Estimator
from onepass.estimators.doubts import (
    NOTHING_VARIES,
    fewer_components,
    one_column,
    spanned_directions,
)
from onepass.estimators.fitted import moment_learner
from onepass.estimators.parameters import (
    check_bool,
    check_component_count,
    check_half_life,
    check_whole,
    is_whole,
)
from onepass.model import Model
from onepass.pca.learner import PCALearner
from onepass.stream import Stream


class PCA(Estimator):
    """Principal components in one pass, with nothing to tune.

    Ordinary PCA from rows that are read once and need not fit in memory. Up to 4,096 columns (8,192
    if sparse), the second moment of the rows is kept exactly, and the result is that of batch PCA,
    in any order of the rows. With more columns, the leading part of it is kept.

    Parameters
    ----------
    n_components : int, float or None, default=None
        The number k of components. A share of the variance, between 0 and 1, gives the fewest
        components that capture it. None gives min(n, d) components, of which the last may have no
        variance; where the second moment is not exact, as many as are kept.
    center : bool, default=True
        Whether to subtract the mean of the rows.
    scale : bool, default=False
        Whether to divide each column by its standard deviation: that of all rows where the second
        moment is exact, else that of the rows so far. Constant columns stay as they are. Components
        and variances are then those of the scaled columns.
    robust : bool, default=False
        False is ordinary PCA. True bounds the influence of long rows, so that a few of them cannot
        turn the components. It changes `components_` (span, rotation and order) and nothing else.
    whiten : bool, default=False
        Whether `transform` gives every component unit variance.
    half_life : float or None, default=None
        After this many more rows, a row counts half as much in means and second moments. In the
        long run the model rests on about 1.44 times as many rows. With None all rows count the
        same.
    passes : int or None, default=None
        How often `fit` may read X where no exact second moment is kept: beyond 4,096 columns, 8,192
        of sparse rows. Further passes iterate on the rows themselves, and the last one measures
        them along the final components. None is as often as it takes, at most 8, for arrays and
        sparse matrices in memory, and once for everything else. The number of components, if it is
        not given, is the one that the first pass finds. Rows with gaps, and fits with `robust` or
        `half_life`, stay with one pass, as `partial_fit` does.
    random_state : any, default=None
        Accepted and without effect: nothing is random.
    copy : bool, default=True
        Accepted and without effect: X is never changed.
    verbose : int, default=0
        1 shows progress while a source or an iterable is read.

    Attributes
    ----------
    components_ : ndarray of shape (k, d)
        Orthonormal; the largest entry of each is positive. Ordered by variance and uncorrelated on
        the rows seen, unless `robust` bounds them.
    explained_variance_, explained_variance_ratio_, singular_values_ : ndarray of shape (k,)
        Of the rows seen, along the components.
    components_error_ : ndarray of shape (k, d)
        The standard error of each entry of `components_`.
    explained_variance_error_ : ndarray of shape (k,)
        The standard error of each variance.
    angle_ : ndarray of shape (k,)
        The expected angle between each component and that of the whole population, in degrees.
    noise_variance_ : float
        Mean variance of the directions left out.
    mean_ : ndarray of shape (d,)
        Mean of the rows seen; zeros unless `center` is set.
    captured_ : Captured
        The share of the variance of new rows that these components capture, with its standard
        error.
    missing_share_ : ndarray of shape (d,)
        The share of the rows that lack an entry in each column.
    n_components_, n_samples_seen_, n_features_in_ : int
    feature_names_in_ : ndarray of shape (d,)
        The names of the columns, if the rows had any.
    var_ : ndarray of shape (d,)
        Variances of the columns: sums over n rows are divided by n, as in scikit-learn.
    long_rows_ : float
        The share of the variance that the longest 1% of the rows hold, about the mean and in units
        of `scale_`. It is at most 0.09 for Gaussian rows; `robust=True` describes the other rows.
    scale_ : ndarray of shape (d,)
        What the columns are divided by: the roots of `var_`, or ones unless `scale` is set.

    Notes
    -----
    Also with `robust=True`, `mean_`, `var_`, `scale_`, `explained_variance_`, whitening,
    `get_covariance` and `score_samples` are those of all rows: coordinates have mean zero and the
    variances `explained_variance_`. Components are ordered by the variances of the
    bounded rows, so that `explained_variance_` need not descend, and coordinates may be correlated.

    Models merge as sums over rows do: second moments are moved to a common point and added, robust
    centres are averaged with their weights. With `half_life` all sums fade.

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
    >>> PCA(1).fit(X).components_[0, :3].round(1).tolist() == [1.0, 0.0, 0.0]
    False
    >>> abs(PCA(1, robust=True).fit(X).components_[0, :3]).round(1).tolist()
    [1.0, 0.0, 0.0]
    """

    is_random: ClassVar[bool] = False

    def __init__(
        self,
        n_components: int | float | None = None,
        *,
        center: bool = True,
        scale: bool = False,
        robust: bool = False,
        whiten: bool = False,
        half_life: float | None = None,
        passes: int | None = None,
        random_state: Any = None,
        copy: bool = True,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.center = center
        self.scale = scale
        self.robust = robust
        self.whiten = whiten
        self.half_life = half_life
        self.passes = passes
        self.random_state = random_state
        self.copy = copy
        self.verbose = verbose

    def _check_parameters(self) -> None:
        check_component_count(self.n_components, shares=True, none=True)
        check_bool("center", self.center)
        check_bool("scale", self.scale)
        check_bool("robust", self.robust)
        check_bool("whiten", self.whiten)
        check_half_life(self.half_life)
        if self.passes is not None:
            check_whole("passes", self.passes)
        check_whole("verbose", self.verbose, least=0)

    def _learner_for(self, stream: Stream) -> PCALearner:
        return moment_learner("PCA", self.get_params(deep=False), stream)

    def doubts(self) -> list[str]:
        """Return what `fit` warns of: first a column that hides the others."""
        model = self.model_
        dominance = one_column(model, self.column_names_)
        return [dominance] * bool(dominance) + super().doubts()

    def _warning_message(self, model: Model) -> str:
        k, found = self.n_components, model.k
        captured = float(model.explained_variance.sum()) / (model.total_variance or 1.0)
        if model.explained_variance[0] == 0.0:
            return f"{spanned_directions(model, 0)}: {NOTHING_VARIES}"
        if is_whole(k) and found < k:
            there = "is 1 component" if found == 1 else f"are {found} components"
            return f"{spanned_directions(model, found)}: there {there}, not n_components={k}"
        if k is not None and not is_whole(k) and captured < k - 1e-9:
            return (
                f"only {found} components are kept of {model.d:,} columns, and they capture "
                f"{captured:.3g} of the variance, less than n_components={k}: pass a whole number"
            )
        if k is None and (message := fewer_components(model, center=self.center)):
            return message
        return ""
