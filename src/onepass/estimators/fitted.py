"""A fitted model that is read: what it knows comes from an immutable `Model`.

Nothing here needs scikit-learn, whose import takes most of the time of a short command.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from operator import attrgetter
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from onepass.estimators.doubts import check_observed, far_fills
from onepass.estimators.entries import checked_blocks
from onepass.estimators.parameters import check_component_count, component_count, is_whole
from onepass.learner import Learner
from onepass.model import Model
from onepass.pca.learner import PCALearner
from onepass.schedules import is_positive
from onepass.sources import Source
from onepass.sources.preparation import Preparation
from onepass.stream import Stream
from onepass.threads import give_way, one_thread
from onepass.warning import OnepassWarning

# Estimators that learn second moments, and what their learners do that that of `PCA` does not.
MOMENTS = {
    "PCA": {},
    "IncrementalPCA": {"keep_all": True},
    "ERM": {"keep_all": True, "always_exact": True},
}
NO_LEARNER = (
    "this model was made for transforming only, by for_transform, and cannot {}: "
    "go back to the model that it was made from"
)


def moment_learner(algorithm: str, params: dict[str, Any], stream: Stream) -> PCALearner:
    """Return the learner of an estimator in `MOMENTS`, by its parameters."""
    k = params["n_components"]
    k = component_count(k, stream.d) if is_whole(k) else k
    robust, scale = bool(params.get("robust")), bool(params.get("scale"))
    return PCALearner(stream, k, robust=robust, scale=scale, **MOMENTS[algorithm])


@dataclass(frozen=True)
class Origin:
    """How the rows were read that learning began with."""

    preparation: Preparation = field(default_factory=Preparation)  # of each row
    mapped: bool = False  # whether a function was applied to blocks
    na: tuple[str, ...] = ()  # what stood for missing entries in files
    reading: Mapping[str, Any] = field(default_factory=dict)  # other options of files
    names_are_made: bool = False  # for the numbers of lists
    # The number of rows, if reading stopped before the last of them; 0 if that is unknown.
    rows_there: int | None = None

    @classmethod
    def of(cls, source: Source) -> Self:
        """Return how a source reads its rows."""
        return cls(
            source.preparation or Preparation(),
            source.is_mapped,
            tuple(map(str, source.na)),
            dict(source.reading),
            source.names_are_made,
        )

    def options(self) -> dict[str, Any]:
        """Return what was done with each row, by the names of options."""
        found = {name: value for name, value in asdict(self.preparation).items() if value}
        return found | ({"mapped": True} if self.mapped else {})

    def combined(self, others: Sequence[Origin]) -> Origin:
        """Return the origin of rows of several models: all marks, and what all have in common."""
        marks = dict.fromkeys(mark for each in (self, *others) for mark in each.na)
        shared = dict(self.reading)
        for other in others:
            shared = {name: v for name, v in shared.items() if other.reading.get(name) == v}
        return replace(self, na=tuple(marks), reading=shared, rows_there=None)

    def check_prepared(self, source: Source) -> None:
        """Refuse a source that prepares its rows in another way, if it says how."""
        if source.preparation is not None and source.preparation != self.preparation:
            options = ", ".join(f"{name}={value!r}" for name, value in self.options().items())
            raise ValueError(
                f"the model was fitted on rows prepared by {options or 'nothing'}: open X with the "
                "same options of open_source"
            )


class Snapshot(NamedTuple):
    """A model, and what it was read from: the learner, None if there is none, after some rows."""

    learner: Learner | None
    rows: int
    finished: Learner | None  # the same learner with no row waiting
    model: Model


def of_model(path: str, meaning: str) -> Any:
    """Return a property that reads a part of the model; arrays are copies."""
    part = attrgetter(path)

    def read(fitted: Attributes) -> Any:
        value = part(fitted.model_)
        return value.copy() if isinstance(value, np.ndarray) else value

    return property(read, doc=meaning)


class Attributes:
    """What is read of a fitted model."""

    _learner: Learner | None = None
    _snapshot: Snapshot | None = None
    _origin: Origin = Origin()
    n_features_in_: int
    whiten: bool = False

    def _check_fitted(self) -> None:
        """Raise an error if nothing has been learned."""

    def _read(self) -> Snapshot:
        """Return the model, read from a copy of the learner unless it is up to date.

        There is no lock: the learner is replaced, never changed, but for rows that are added to
        its buffer. Should it be replaced while it is copied, it is read again.
        """
        self._check_fitted()
        give_way()
        while (learner := self._learner) is not None:
            rows, found = learner.rows_seen, self._snapshot
            if found is not None and found.learner is learner and found.rows == rows:
                return found
            with one_thread():
                finished = learner.finished()
                if self._learner is learner:
                    self._snapshot = Snapshot(learner, rows, finished, finished.model())
                    return self._snapshot
        assert self._snapshot is not None
        return self._snapshot

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
    def algorithm_(self) -> str:
        """The name of the estimator."""
        return type(self).__name__

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

    @property
    def column_names_(self) -> Sequence[str | int]:
        """The names of the columns; their numbers if they have none."""
        return getattr(self, "feature_names_in_", range(self.n_features_in_))

    components_ = of_model("components", "Orthonormal rows (k, d), ordered by variance.")
    explained_variance_ = of_model(
        "explained_variance", "Variance of all rows along each component, shape (k,)."
    )

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

    n_components_ = of_model("k", "The number k of components.")
    mean_ = of_model("mean", "Mean of the rows seen (d,); zeros where `center` is False.")
    long_rows_ = of_model(
        "long_rows",
        "The share of the variance that the longest 1% of the rows hold; NaN of fewer than 100.",
    )
    components_error_ = of_model(
        "standard_errors.components",
        """Standard errors (k, d) of the entries of `components_`; NaN where they are not known.

        `degrees_of_freedom_` says of which Student's t an interval has its quantile. They are
        right for heavy tails, and for rows that depend on their neighbours.
        """,
    )
    explained_variance_error_ = of_model(
        "standard_errors.variances",
        "Standard errors (k,) of `explained_variance_`; NaN where they are not known.",
    )
    angle_ = of_model(
        "standard_errors.angles",
        """Expected angles (k,), in degrees, from the components of the whole population.

        They are the roots of the sums of the squared errors, at most 90; NaN where they are not
        known. A component above 45 degrees cannot be told from its neighbours.
        """,
    )
    degrees_of_freedom_ = of_model(
        "standard_errors.degrees",
        "Degrees of freedom of Student's t for an interval; NaN where errors are not known.",
    )
    captured_ = of_model(
        "standard_errors.captured",
        "The share of the variance of new rows that the components capture.",
    )

    @property
    def missing_share_(self) -> NDArray[np.float64]:
        """The share of the rows that lack an entry in each column, shape (d,)."""
        model = self.model_
        return np.zeros(model.d) if model.missing is None else model.missing.missing_share

    @property
    def var_(self) -> NDArray[np.floating]:
        """Variances of the columns of all rows, shape (d,); the paper's algorithms have none."""
        return self._of_columns(self.model_.column_variances)

    @property
    def scale_(self) -> NDArray[np.floating]:
        """What the columns are divided by, shape (d,): their standard deviations, or ones."""
        model = self.model_
        return self._of_columns(np.ones(model.d) if model.scale is None else model.scale)

    def _of_columns(self, values: NDArray[np.float64] | None) -> NDArray[np.floating]:
        """Return numbers (d,) of columns in the type of the rows, where variances are known."""
        model = self.model_
        if values is None or model.column_variances is None:
            raise AttributeError(f"{self.algorithm_} does not keep variances of columns")
        return values.astype(model.components.dtype)

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
        model, blocks = self.model_, []
        far = np.zeros(model.d, np.intp)
        for block in self.checked(X):
            blocks.append(model.filling.filled(block))
            far += model.far_fills(block, blocks[-1][0])
        if doubt := far_fills(far, self.column_names_):
            warnings.warn(doubt, OnepassWarning, stacklevel=2)
        stack: Any = sparse.vstack if sparse.issparse(blocks[0][0]) else np.vstack
        rows, deviations = map(stack, zip(*blocks, strict=True))
        return (rows, deviations) if return_std else rows

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
        half of them. A quantile q needs the errors of q / (1 - q) rows: 99 for 0.99, 999 for 0.999.
        ``PCA(robust=True)`` does not measure the first 128 rows.

        Parameters
        ----------
        quantile : float, default=0.99
            The share, above 0 and at most 1.

        Returns
        -------
        float
            Within 3% of the quantile; 0 where the components span all columns. NaN, with a
            warning, where it is not known: then comparisons say nothing about rows.

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
        if reason := model.why_no_threshold(float(quantile)):
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


class FittedModel(Attributes):
    """What a model file holds, with the attributes and methods of an estimator that only read.

    The parameters of the estimator are attributes here, too.
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

    def get_params(self) -> dict[str, Any]:
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
