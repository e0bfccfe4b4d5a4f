"""The public attributes and methods of a fitted model, all of which are read from its `Model`.

Nothing here needs scikit-learn, whose import takes most of the time of a short command.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from onepass.estimators.doubts import check_observed, far_fills
from onepass.estimators.entries import checked_blocks
from onepass.estimators.origin import Origin
from onepass.learner import Learner
from onepass.model import Model
from onepass.moments.standard_errors import Captured
from onepass.schedules import is_positive
from onepass.threads import give_way, one_thread
from onepass.warning import OnepassWarning

NO_LEARNER = (
    "this model was made for transforming only, by for_transform, and cannot {}: "
    "go back to the model that it was made from"
)


@dataclass(frozen=True)
class Snapshot:
    """A model, and what it was read from.

    Attributes
    ----------
    learner : Learner or None
        None for a model that cannot learn.
    rows : int
        That the learner had seen.
    finished : Learner or None
        The same learner with no row waiting.
    model : Model
    """

    learner: Learner | None
    rows: int
    finished: Learner | None
    model: Model


class Attributes:
    """What is read of a fitted model: all of it comes from an immutable `Model`."""

    _learner: Learner | None = None
    _snapshot: Snapshot | None = None
    _origin: Origin = Origin()
    n_features_in_: int
    whiten: bool = False

    @property
    def algorithm_(self) -> str:
        """The name of the estimator."""
        return type(self).__name__

    def _check_fitted(self) -> None:
        """Raise an error if nothing has been learned."""

    def _read(self) -> Snapshot:
        """Return the model, read from a copy of the learner unless it is up to date.

        There is no lock: the learner is replaced, never changed, but for rows that are added to
        its buffer. Should it be replaced while it is copied, it is read again.
        """
        self._check_fitted()
        give_way()
        while True:
            learner, found = self._learner, self._snapshot
            rows = 0 if learner is None else learner.rows_seen
            if learner is None or (found and found.learner is learner and found.rows == rows):
                break
            finished = learner.finished()
            if self._learner is learner:
                with one_thread():
                    found = Snapshot(learner, rows, finished, finished.model())
                break
        assert found is not None
        if found.model.whiten != bool(self.whiten):
            found = replace(found, model=replace(found.model, whiten=bool(self.whiten)))
        self._snapshot = found
        return found

    def _set_model(self, model: Model) -> None:
        """Hold a model without a learner."""
        self._learner, self._snapshot = None, Snapshot(None, model.rows, None, model)

    def _finished(self) -> Any:
        """Return the learner with all rows learned from."""
        finished = self._read().finished
        if finished is None:
            raise AttributeError(NO_LEARNER.format("show what only the learner knows"))
        return finished

    @property
    def model_(self) -> Model:
        """What is read after fitting: it never changes."""
        model = self._read().model
        if model.missing is not None:
            check_observed(model, self.column_names_)
        return model

    @property
    def learner_(self) -> Any:
        """The learner with all rows learned from; None if the model cannot learn any more."""
        return self._read().finished

    @property
    def origin_(self) -> Origin:
        """How the rows were read that learning began with."""
        self._check_fitted()
        return self._origin

    @property
    def n_samples_seen_(self) -> int:
        """How many rows have been seen, those of weight 0 left out."""
        self._check_fitted()
        return self.model_.rows if self._learner is None else self._learner.rows_seen

    def checked(self, X: Any) -> Iterator[Any]:
        """Yield the rows of a source block by block, as float arrays (b, d) or CSR."""
        self._check_fitted()
        self._origin.check_prepared(X)
        names = getattr(self, "feature_names_in_", None)
        for _, rows, _ in checked_blocks(X, names, self.n_features_in_):
            yield rows

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
        far = np.zeros(model.d, np.intp)
        for block in self.checked(X):
            filled, spread = model.impute(block)
            far += model.far_fills(block, filled)
            rows.append(filled)
            deviations.append(spread)
        if doubt := far_fills(far, self.column_names_):
            warnings.warn(doubt, OnepassWarning, stacklevel=2)
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
    def var_(self) -> NDArray[np.floating]:
        """Variances of the columns of all rows, shape (d,); the paper's algorithms have none."""
        return self._of_columns(self.model_.column_variances)

    @property
    def scale_(self) -> NDArray[np.floating]:
        """What the columns are divided by, shape (d,): their standard deviations, or ones."""
        model = self.model_
        return self._of_columns(np.ones(model.d) if model.scale is None else model.scale)

    @property
    def long_rows_(self) -> float:
        """The share of the variance that the longest 1% of the rows hold; NaN of fewer than 100."""
        return self.model_.long_rows

    def _of_columns(self, values: NDArray[np.float64] | None) -> NDArray[np.floating]:
        """Return numbers (d,) of columns in the type of the rows, where variances are known."""
        model = self.model_
        if values is None or model.column_variances is None:
            raise AttributeError(f"{self.algorithm_} does not keep variances of columns")
        return values.astype(model.components.dtype)

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
