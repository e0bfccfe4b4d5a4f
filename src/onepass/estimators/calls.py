"""What happens in a call: one at a time, all or nothing, and reading never waits.

Learning works on a copy, which takes the place of what was learned before in one assignment. So a
call that fails or is interrupted changes nothing, and other threads see either the old model or the
new one. Only rows that have to wait for others are put into the buffer directly.
"""

from __future__ import annotations

import os
import threading
import warnings
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Self
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.decomposition import PCA
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted, validate_data

from onepass.estimators import saving
from onepass.estimators.containers import Columns, is_mapped, opened
from onepass.estimators.doubts import arbitrary_components, doubtful_gaps
from onepass.estimators.entries import (
    check_names,
    check_weights,
    checked_blocks,
    converted,
    has_missing,
    is_plain,
)
from onepass.estimators.fitted import NO_LEARNER, Attributes, Origin
from onepass.estimators.merging import merge
from onepass.estimators.parameters import (
    check_bool,
    check_component_count,
    check_whole,
    is_same,
)
from onepass.learner import Learner
from onepass.model import Model
from onepass.persistence import archive
from onepass.progress import Progress, pass_label
from onepass.sources import Position, Source
from onepass.stream import Stream
from onepass.warning import OnepassWarning

# What a call that learns may change: all at once, and nothing else of an estimator.
LEARNED = ("_learner", "_snapshot", "_params", "_origin", "n_features_in_", "feature_names_in_")
# What an estimator has in common with scikit-learn's PCA.
SHARED = ["components_", "explained_variance_", "explained_variance_ratio_", "singular_values_"]
SHARED += ["noise_variance_", "mean_", "n_components_", "n_features_in_"]


class Turn:
    """Lets one call learn at a time."""

    def __init__(self) -> None:
        self.lock, self.is_taken = threading.RLock(), False


_turns: WeakKeyDictionary[Estimator, Turn] = WeakKeyDictionary()
if hasattr(os, "register_at_fork"):  # a fork copies locks that other threads hold
    os.register_at_fork(after_in_child=lambda: _turns.clear())


class Estimator(Attributes, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A transformer that learns from rows as they come.

    Subclasses say with `_learner_for` how they learn.
    """

    _params: dict[str, Any]  # when learning began
    n_components: Any
    is_random: ClassVar[bool] = True  # whether a `random_state` makes a difference
    # Values for estimators without such a parameter.
    center: bool = True
    verbose: int = 0
    half_life: float | None = None
    passes: int | None = 1

    @abstractmethod
    def _learner_for(self, stream: Stream) -> Learner:
        """Return the learner for a stream of which nothing has been seen."""

    def _check_parameters(self) -> None:
        """Refuse parameters that make no sense."""
        check_component_count(self.n_components, shares=False, none=False)
        check_bool("center", self.center)
        check_whole("verbose", self.verbose, least=0)

    def _warning_message(self, model: Model) -> str:
        """Return why the components are not what was asked for; an empty string if they are."""
        return arbitrary_components(model, self.n_components, center=bool(self.center))

    # -- learning --------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from X alone, forgetting what was learned before.

        Parameters
        ----------
        X : array, sparse matrix, table or source of n rows and d columns
            Or an iterable of blocks of rows. Dask's arrays and dataframes are read chunk by chunk;
            `onepass.distributed.fit` learns from the chunks where they are. NaN is a missing entry.
        y : None
            Ignored.
        sample_weight : array of shape (n,), optional
            A row of weight w counts as w rows in means and directions, and one of weight 0 is left
            out. Variances divide by the sum of the weights less their mean, so that weights that
            are all the same change nothing: rows of weight 2 give the variances of the rows
            themselves, while rows that are passed twice give slightly smaller ones.

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from onepass import PCA
        >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [3.0, 2.0]])
        >>> weighted = PCA(1).fit(X, sample_weight=[2, 2, 2])
        >>> bool(np.isclose(weighted.explained_variance_[0], PCA(1).fit(X).explained_variance_[0]))
        True
        """
        return self._learn(X, sample_weight, whole=True)

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
        return self._learn(X, sample_weight, whole=False)

    def _learn(self, X: Any, sample_weight: Any, *, whole: bool) -> Self:
        """Check, then learn, from a `whole` stream or from more rows.

        After an error everything is as it was.
        """
        turn = _turns.get(self) or _turns.setdefault(self, Turn())
        with turn.lock:
            if turn.is_taken:  # the lock is reentrant
                raise RuntimeError(
                    "fit or partial_fit was called while this estimator reads the X of another "
                    "call: use another estimator inside of the iterable"
                )
            turn.is_taken = True
            try:
                learner = self._learner
                if not whole and learner is not None:
                    self._check_unchanged()
                    if (
                        sample_weight is None
                        and "feature_names_in_" not in self.__dict__
                        and is_plain(X)
                        and X.shape[1] == learner.stream.d
                        and X.dtype == learner.stream.dtype
                        and not learner.stream.is_sparse
                    ):
                        self._learner = learner.push(X, has_gaps=has_missing(X), copies=True)
                        return self
                self._learn_or_undo(X, sample_weight, whole=whole)
                return self
            finally:
                turn.is_taken = False

    def _learn_or_undo(self, X: Any, sample_weight: Any, *, whole: bool) -> None:
        """Learn from rows of any kind; a `whole` stream replaces what was learned before."""
        twin = object.__new__(type(self))  # everything happens to a copy of the attributes
        twin.__dict__ = dict(self.__dict__)
        if whole or self._learner is None:
            if not whole and self._snapshot is not None:
                raise ValueError(NO_LEARNER.format("learn more rows"))
            twin._begin()
        X = opened(X, getattr(twin, "feature_names_in_", None))
        try:
            if not isinstance(X, Source):
                twin._learn_rows(X, sample_weight, whole=whole)
            elif sample_weight is None:
                twin._learn_source(X, whole=whole)
            else:
                raise ValueError(
                    "sample_weight needs rows, and X is read in blocks: call partial_fit with "
                    "each block and its weights"
                )
        except KeyboardInterrupt as interrupt:
            if whole:
                rows = twin._learner.rows_seen if twin._learner is not None else 0
                interrupt.add_note(
                    f"fit was interrupted after {rows:,} rows, and the estimator is as it was. A "
                    "loop keeps them: for block in source: model.partial_fit(block)"
                )
            raise
        if whole:
            for message in twin.doubts():
                warnings.warn(message, OnepassWarning, stacklevel=4)
        if "feature_names_in_" not in twin.__dict__:
            self.__dict__.pop("feature_names_in_", None)
        self.__dict__.update({k: v for k, v in twin.__dict__.items() if k in LEARNED})

    def _begin(self) -> None:
        """Forget what was learned, and remember the parameters."""
        self._check_parameters()
        self._params = self.get_params(deep=False)
        self._learner, self._snapshot, self._origin = None, None, Origin()
        self.__dict__.pop("feature_names_in_", None)

    def _learn_rows(self, X: Any, sample_weight: Any, *, whole: bool) -> None:
        """Learn from rows in memory."""
        rows, has_gaps = self._rows_in_memory(X)
        weights = check_weights(sample_weight, rows, whole=whole)
        is_first = self._learner is None
        learner = self._start(rows) if self._learner is None else self._learner
        rows = learner.stream.convert(rows)
        if whole:
            passes = 1 if self.passes is None and is_mapped(X) else self.passes
            learner.learn_whole(rows, weights, has_gaps=has_gaps, passes=passes)
        else:
            learner = learner.push(rows, weights, has_gaps=has_gaps, copies=not is_first)
        self._learner = learner

    def _learn_source(self, X: Source, *, whole: bool) -> None:
        """Learn from blocks, of which a later one may be refused."""
        self._learner = None if self._learner is None else self._learner.copy()
        if whole and X.once and (self.passes or 1) > 1:
            raise ValueError(f"passes={self.passes}, but X can be read only once")
        further: Any = None
        while True:
            label = pass_label("fit", 1 if further is None else further.number, self.passes)
            with Progress(label, X.n_rows, visible=self.verbose > 0) as progress:
                for _, rows in self._learn_each_block(X, further=further):
                    progress.advance(rows)
                    if progress.wants_captured():
                        progress.captured(self.captured_.mean)
            further = self.next_pass(further) if whole else None
            if further is None:
                return

    def next_pass(self, previous: Any = None) -> Any:
        """Return the next pass for `learn_blocks`, or None if no more is needed.

        `previous` is the pass just completed, None after the first. The learner itself changes: no
        other thread may read meanwhile.
        """
        assert self._learner is not None
        self._snapshot = None
        return self._learner.next_pass(previous, self.passes or 1)

    def learn_blocks(
        self, source: Source, start: Position | None = None, further: Any = None
    ) -> Iterator[tuple[Position, int]]:
        """Learn from the blocks of a source, and yield how far it is read and how many rows came.

        Between two blocks, what was learned so far can be read and saved. If a block is refused,
        the blocks before it have been learned from. The learner itself changes, which saves the
        memory of a copy: no other thread may read meanwhile.

        Parameters
        ----------
        source : Source
        start : Position, optional
            Where to begin, instead of the first row.
        further : object, optional
            What `next_pass` returned, for another pass over the same rows.
        """
        if self._learner is None:
            self._begin()
        yield from self._learn_each_block(source, start, further)

    def _learn_each_block(
        self, source: Source, start: Position | None = None, further: Any = None
    ) -> Iterator[tuple[Position, int]]:
        """Learn from blocks, and yield position and number of rows after each."""
        learner, d, dtype = self._learner, None, None
        if learner is not None:
            self._origin.check_prepared(source)
            d, dtype = self.n_features_in_, learner.stream.dtype
        names = getattr(self, "feature_names_in_", None)
        for end, rows, has_gaps in checked_blocks(source, names, d, dtype, start):
            if learner is None:
                self._learner = learner = self._start(rows)
                self._origin, self.n_features_in_ = Origin.of(source), rows.shape[1]
                if source.feature_names is not None:
                    self.feature_names_in_ = np.asarray(source.feature_names, dtype=object)
            (further or learner).push(learner.stream.convert(rows), has_gaps=has_gaps)
            yield end, rows.shape[0]

    def _start(self, rows: Any) -> Learner:
        """Return the learner for a stream that begins with these rows."""
        is_sparse = not isinstance(rows, np.ndarray)
        stream = Stream(rows.shape[1], rows.dtype, is_sparse, bool(self.center), self.half_life)
        return self._learner_for(stream)

    def _check_unchanged(self) -> None:
        """Refuse to go on with parameters other than those that learning began with."""
        for name, value in self._params.items():
            now = getattr(self, name)
            if now is not value and name != "verbose" and not is_same(now, value):
                raise ValueError(
                    f"{name} was {value!r} when learning began and is {now!r} now; partial_fit "
                    "cannot go on with it, fit starts again"
                )

    def _rows_in_memory(self, X: Any) -> tuple[Any, bool]:
        """Return rows in memory as a float array or CSR, and whether entries are missing.

        If learning begins, the estimator remembers the columns, else it compares them.
        """
        begins = self._learner is None and self._snapshot is None
        names = getattr(self, "feature_names_in_", None)
        if isinstance(X, Columns):
            X = X.ordered(names)
            rows = converted(X.rows, "X")
            if X.table is not None:
                validate_data(self, X.table, reset=begins, skip_check_array=True)
            elif begins:
                self.feature_names_in_ = np.asarray(X.names, dtype=object)
            check_names(names, X.names)
            names = X.names
        else:
            check = partial(validate_data, self, reset=begins)
            # Arrays need not have names that were made for the numbers of lists.
            rows = converted(X, "X", None if self._origin.names_are_made else check)
        if begins:
            self.n_features_in_ = rows.shape[1]
        elif rows.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {rows.shape[1]} features, expected n_features={self.n_features_in_}"
            )
        dtype = None if self._learner is None else self._learner.stream.dtype
        return rows, has_missing(rows, names, dtype=dtype)

    # -- reading ---------------------------------------------------------------------------------

    def _check_fitted(self) -> None:
        check_is_fitted(self)

    def checked(self, X: Any) -> Iterator[Any]:
        """Yield the rows of X block by block, as float arrays (b, d) or CSR."""
        self._check_fitted()
        X = opened(X, getattr(self, "feature_names_in_", None))
        if isinstance(X, Source):
            yield from super().checked(X)
        else:
            yield self._rows_in_memory(X)[0]

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
        return np.vstack(
            [model.transform(rows, whiten=bool(self.whiten)) for rows in self.checked(X)]
        )

    def inverse_transform(self, X: Any) -> NDArray[np.floating]:
        """Return rows (n, d) in the original columns from coordinates X of shape (n, k)."""
        model = self.model_
        X = X if is_plain(X) else converted(X, "X")
        if has_missing(X):
            raise ValueError("X has NaN among its coordinates: impute fills the gaps of rows")
        if X.shape[1] != model.k:
            raise ValueError(
                f"X has shape {X.shape}, and there are {model.k} components: pass coordinates of "
                f"shape (n, {model.k}), as transform returns them"
            )
        return model.inverse_transform(X, whiten=bool(self.whiten))

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

    def stopped_before(self, rows: int | None) -> None:
        """Remember that reading stopped, and about how many rows there were, if that is known."""
        self._origin = replace(self._origin, rows_there=rows or 0)

    def doubts(self) -> list[str]:
        """Return what `fit` warns of, after `partial_fit` too: one sentence for each doubt."""
        model = self.model_
        messages = [self._warning_message(model), doubtful_gaps(model, self.column_names_)]
        return [message for message in messages if message]

    def finish(self) -> None:
        """Learn from the rows that wait, for a stream that has ended.

        Reading would learn from them in a copy, and more rows may follow. Here the learner itself
        changes, which saves the memory of the copy: no other thread may read meanwhile.
        """
        if self._learner is not None:
            self._learner.finish(hold_rows=False)

    def __sklearn_is_fitted__(self) -> bool:
        return self._learner is not None or self._snapshot is not None

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        if self._learner is not None:
            state.pop("_snapshot", None)
        return state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    # -- files and other models ------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file, which `onepass.load` reads and which can learn on.

        The file holds no row of the data: rows that wait for others are learned from first, as if
        the stream ended here.

        Parameters
        ----------
        path : str or path
            Usually ending in ``.onepass``. What was there before is replaced in one move, or
            left untouched if anything goes wrong.
        """
        archive.write(path, *saving.pack(self))

    def to_bytes(self) -> bytes:
        """Return the file that `save` would write, for `onepass.from_bytes`.

        Examples
        --------
        >>> import numpy as np, onepass
        >>> X = np.random.default_rng(0).normal(size=(500, 5))
        >>> data = onepass.PCA(2).fit(X[:300]).to_bytes()
        >>> onepass.from_bytes(data).partial_fit(X[300:]).n_samples_seen_
        500
        """
        return archive.to_bytes(*saving.pack(self))

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

    def for_transform(self) -> Self:
        """Return a small estimator with the same model, which cannot learn any more.

        It transforms, scores, fills gaps, reports and is saved as this one, without the sums that
        learning needs.

        Examples
        --------
        >>> import numpy as np
        >>> from onepass import PCA
        >>> X = np.random.default_rng(0).normal(size=(500, 400))
        >>> model = PCA(2).fit(X)
        >>> small = model.for_transform()
        >>> bool((small.transform(X) == model.transform(X)).all())
        True
        >>> len(small.to_bytes()) < len(model.to_bytes()) / 10
        True
        """
        model = self.model_
        model = replace(model, how_sure=model.standard_errors)
        twin = object.__new__(type(self))
        twin.__dict__ = dict(self.__dict__)
        twin._set_model(model)
        return twin

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
        found = PCA(model.k, whiten=bool(self.whiten))
        for name in SHARED:
            setattr(found, name, getattr(self, name))
        found.n_samples_ = model.rows
        first: Any = found
        if model.scale is not None:
            first = StandardScaler(with_mean=model.center)
            first.n_features_in_, first.n_samples_seen_ = model.d, model.rows
            first.mean_, first.var_, first.scale_ = self.mean_, model.column_variances, self.scale_
            found.mean_ = np.zeros_like(self.mean_)
        if hasattr(self, "feature_names_in_"):
            first.feature_names_in_ = self.feature_names_in_
        return found if first is found else Pipeline([("scale", first), ("pca", found)])
