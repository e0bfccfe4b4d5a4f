"""What happens in a call: one at a time, all or nothing, and reading never waits.

Learning works on a copy, which takes the place of what was learned before in one assignment. So a
call that fails or is interrupted changes nothing, and other threads see either the old model or the
new one. Only rows that have to wait for others are put into the buffer directly.
"""

from __future__ import annotations

import os
import shlex
import threading
import warnings
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from onepass.estimators import saving
from onepass.estimators.containers import Columns, is_table, opened
from onepass.estimators.input import (
    check_block,
    check_converted,
    check_finite,
    check_names,
    check_rows,
    check_weights,
    is_plain,
)
from onepass.estimators.merging import merge
from onepass.estimators.parameters import CHECKS, check_component_count, is_same
from onepass.learner import Learner
from onepass.model import Model
from onepass.persistence import archive
from onepass.progress import Progress
from onepass.rows.stream import Stream
from onepass.sources import Source
from onepass.sources.preparation import Preparation
from onepass.threads import one_thread
from onepass.warning import OnepassWarning

NOTHING = Preparation()
MUCH_MISSING = 0.3  # of the entries, above which completing them makes errors several times larger


@dataclass(frozen=True)
class Published:
    """A model, and what it was read from.

    Attributes
    ----------
    learner : Learner or None
        None for a model without a learner.
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


class Calls(BaseEstimator):
    """An estimator's learner: checked calls, one at a time, and the model that is read from it."""

    _learner: Learner | None = None
    _published: Published | None = None
    _preparation: Preparation = NOTHING  # of rows, in the source that learning began with
    _learned_with: dict[str, Any]  # the parameters when learning began
    _mapped: bool = False  # whether a function was applied to blocks of that source
    _na: tuple[str, ...] = ()  # what stood for missing entries in its files
    _reading: Mapping[str, Any] = MappingProxyType({})  # the other options they were read with
    takes_shares: ClassVar[bool] = False  # of the variance, as `n_components`
    takes_none: ClassVar[bool] = False  # as `n_components`, for all there are
    is_random: ClassVar[bool] = True  # whether a `random_state` makes a difference
    # Of estimators without such a parameter.
    center: bool = True
    verbose: int = 0
    half_life: float | None = None

    @abstractmethod
    def _learner_for(self, stream: Stream) -> Learner:
        """Return the learner for a stream of which nothing has been seen."""

    def _warning_message(self, model: Model) -> str:
        """Return why the components are not what was asked for; an empty string if they are."""
        return ""

    def _doubts(self) -> list[str]:
        """Return what `fit` warns of."""
        model = self._model()
        messages = [self._warning_message(model), self._gap_message(model)]
        return [message for message in messages if message]

    def _gap_message(self, model: Model) -> str:
        """Return why results depend on how gaps were filled; an empty string if they hardly do."""
        if model.gaps is None:
            return ""
        names = self._column_names
        if len(model.gaps.apart):
            one, other = (repr(names[column]) for column in model.gaps.apart)
            return (
                f"columns {other} and {one} were never observed in the same row: how they vary "
                "together is a guess"
            )
        shares = model.gaps.missing_share
        if shares.mean() > MUCH_MISSING:
            worst = int(shares.argmax())
            return (
                f"{shares.mean():.0%} of the entries are missing, most in column "
                f"{names[worst]!r} ({shares[worst]:.0%}): components depend on how they are filled"
            )
        return ""

    def _check_parameters(self) -> None:
        """Refuse parameters that make no sense."""
        check_component_count(self.n_components, shares=self.takes_shares, none=self.takes_none)
        for name, value in self.get_params(deep=False).items():
            if name in CHECKS:
                CHECKS[name](name, value)

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
        with self._learning():
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
        with self._learning():  # two threads must not both find that nothing was learned yet
            if self._learner is None and self._published is not None:
                raise ValueError(saving.NO_LEARNER.format("learn more rows"))
            return self._learn(X, sample_weight, fresh=self._learner is None)

    @contextmanager
    def _learning(self) -> Iterator[None]:
        """Let one call learn at a time; refuse one from inside another one, of the same thread."""
        lock = self.__dict__.get("_lock")
        if lock is None or lock.process != os.getpid():  # a fork may have copied a held lock
            lock = self.__dict__.setdefault("_lock", _Lock())
            if lock.process != os.getpid():
                lock = self.__dict__["_lock"] = _Lock()
        if lock.thread == threading.get_ident():
            raise RuntimeError(
                "fit or partial_fit was called while this estimator reads the X of another call: "
                "use another estimator inside of the iterable"
            )
        with lock.lock:
            lock.thread = threading.get_ident()
            try:
                yield
            finally:
                lock.thread = None

    def _learn(self, X: Any, sample_weight: Any, *, fresh: bool, whole: bool = False) -> Self:
        """Check, then learn; after an error everything is as it was.

        `fresh` forgets what was learned before; `whole` says that no further rows will come.
        """
        if not fresh:
            self._check_unchanged()
            if sample_weight is None and self._is_plain(X):
                self._push(X, None, check_finite(X))
                return self
        twin = object.__new__(type(self))  # everything happens to a copy of the attributes
        twin.__dict__ = dict(self.__dict__)
        if fresh:
            twin._check_parameters()
            twin._learned_with = twin.get_params(deep=False)
            twin._learner = twin._published = None
        X = opened(X)
        if isinstance(X, Source):
            if sample_weight is not None:
                raise ValueError(
                    "sample_weight needs rows, and X is read in blocks: call partial_fit with "
                    "each block and its weights"
                )
            twin._learn_blocks(X, fresh=fresh)
        else:
            ((rows, has_gaps),) = twin._rows_of(X, fresh=fresh)
            weights = check_weights(sample_weight, rows, whole=whole)
            if twin._learner is None:
                twin._learner = twin._start(rows)
            rows = check_converted(rows, twin._learner.stream)
            twin._push(rows, weights, has_gaps)
        if whole:
            for message in twin._doubts():
                warnings.warn(message, OnepassWarning, stacklevel=3)
        self.__dict__ = twin.__dict__
        return self

    def _learn_blocks(self, X: Source, *, fresh: bool) -> None:
        """Learn from blocks, of which a later one may be refused."""
        learner = None if self._learner is None else self._learner.copy()
        with Progress("fit", X.n_rows, visible=self.verbose > 0) as progress:
            for rows, has_gaps in self._rows_of(X, fresh=fresh):
                learner = self._start(rows) if learner is None else learner
                rows = check_converted(rows, learner.stream)
                learner.push(rows, has_gaps=has_gaps)
                progress.advance(rows.shape[0])
                if progress.wants_captured():
                    progress.captured(learner.finished().model().captured.mean)
        self._learner = learner

    def _push(self, rows: Any, weights: Any, has_gaps: bool) -> None:
        """Learn from checked rows (r, d), which may have gaps, and their weights (r,)."""
        learner = self._learner
        assert learner is not None
        if learner.rows_seen and not learner.fits_buffer(rows.shape[0]):
            learner = learner.successor()  # a new one nobody else reads
        learner.push(rows, weights, has_gaps=has_gaps)
        self._learner = learner

    def _start(self, rows: Any) -> Learner:
        """Return the learner for a stream that begins with these rows."""
        stream = Stream(
            rows.shape[1],
            rows.dtype,
            not hasattr(rows, "ndim") or hasattr(rows, "indptr"),
            bool(self.center),
            self.half_life,
        )
        return self._learner_for(stream)

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
        assert self._learner is not None
        stream = self._learner.stream
        return (
            is_plain(X)
            and X.shape[1] == stream.d
            and X.dtype == stream.dtype
            and not stream.is_sparse
            and not hasattr(self, "feature_names_in_")
        )

    def _rows_of(self, X: Any, *, fresh: bool = False) -> Iterator[tuple[Any, bool]]:
        """Yield the checked rows of X, and whether entries of them are missing.

        They come all at once, or block by block of a source.

        Where learning begins, `fresh`, the estimator remembers the columns, else it compares them.
        """
        is_source = isinstance(X, Source)  # a table may have columns of the names of its attributes
        has_preparation = is_source and hasattr(X, "preparation")
        preparation = (X.preparation if has_preparation else None) or NOTHING
        if fresh:
            self._preparation = preparation
            self._mapped = is_source and X.is_mapped
            self._na = tuple(map(str, X.na)) if is_source else ()
            self._reading = dict(X.reading) if is_source else {}
        elif has_preparation and preparation != self._preparation:
            options = ", ".join(
                f"{name}={value!r}" for name, value in self._preparation_options.items()
            )
            raise ValueError(
                f"the model was fitted on rows prepared by {options or 'nothing'}: open X with the "
                "same options of open_source"
            )
        if not is_source:
            yield check_rows(self, X, reset=fresh)
            return
        if fresh:
            self.__dict__.pop("n_features_in_", None)
        check_names(self, X.feature_names, reset=fresh)
        is_empty, before = True, 0
        for end, block in X.blocks():
            is_empty, known = False, getattr(self, "n_features_in_", None)
            with X.naming_places(end, block):
                if isinstance(block, Columns) or is_table(block):
                    rows, has_gaps = check_rows(self, block, reset=known is None)
                else:
                    name = f"The block after {before:,} rows" if before else "The first block"
                    rows, has_gaps = check_block(block, known, name)
                    self.n_features_in_ = rows.shape[1]
            before += rows.shape[0]
            yield rows, has_gaps
        if is_empty:
            raise ValueError("The source has no rows; an iterator can be read only once")

    @property
    def _column_names(self) -> Any:
        """The names of the columns; their numbers where they have none."""
        return getattr(self, "feature_names_in_", range(self.n_features_in_))

    @property
    def _preparation_options(self) -> dict[str, Any]:
        """What the source that learning began with did with each row, by the names of options."""
        found = {name: value for name, value in asdict(self._preparation).items() if value}
        return found | ({"mapped": True} if self._mapped else {})

    # -- reading ---------------------------------------------------------------------------------

    def _read(self) -> Published:
        """Return the model, read from a copy of the learner unless it is up to date.

        There is no lock: the learner is replaced, never changed, but for rows that are added to
        its buffer. Should it be replaced while it is copied, it is read again.
        """
        check_is_fitted(self)
        while True:
            learner, published = self._learner, self._published
            whiten = bool(getattr(self, "whiten", False))
            rows = 0 if learner is None else learner.rows_seen
            if (
                published is not None
                and published.learner is learner
                and (learner is None or published.rows == rows)
            ):
                if published.model.whiten != whiten:
                    published = replace(published, model=replace(published.model, whiten=whiten))
                    self._published = published
                return published
            assert learner is not None
            finished = learner.finished()
            if self._learner is learner:
                break
        with one_thread():
            model = replace(finished.model(), whiten=whiten)
        published = Published(learner, rows, finished, model)
        self._published = published
        return published

    def _end(self) -> None:
        """Learn from the rows that wait, for a stream that has ended.

        Reading would learn from them in a copy. The learner itself changes: no other thread may
        read meanwhile.
        """
        if self._learner is not None:
            self._learner.finish()

    def _check_observed(self, model: Model) -> None:
        """Refuse a model of columns of which nothing, or a single entry, is known."""
        if model.gaps is None:
            return
        if not model.gaps.rows:
            raise ValueError(f"none of {model.rows:,} rows has an entry: all are missing")
        unknown = np.flatnonzero(model.gaps.observed < 2)
        if len(unknown):
            listed = ", ".join(repr(self._column_names[column]) for column in unknown[:3])
            more = f" and {len(unknown) - 3} more" if len(unknown) > 3 else ""
            columns, its = ("column", "its") if len(unknown) == 1 else ("columns", "their")
            given = shlex.quote(",".join(str(self._column_names[column]) for column in unknown[:3]))
            rest = "..." if more else ""
            raise ValueError(
                f"{columns} {listed}{more}: fewer than two of {model.gaps.rows:,.0f} rows have an "
                f"entry, so that nothing is known of {its} variance; leave such columns out, of "
                f"files with exclude=[{listed}{rest and ', '}{rest}] (--exclude {given}{rest})"
            )

    def _model(self) -> Model:
        """Return what is read after fitting."""
        model = self._read().model
        self._check_observed(model)
        return model

    def _finished(self) -> Any:
        """Return the learner with all rows learned from."""
        finished = self._read().finished
        if finished is None:
            raise AttributeError(saving.NO_LEARNER.format("show what only the learner knows"))
        return finished

    def __sklearn_is_fitted__(self) -> bool:
        return self._learner is not None or self._published is not None

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        state.pop("_lock", None)
        if self._learner is not None:
            state.pop("_published", None)
        return state

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
        model = self._model()
        twin = object.__new__(type(self))
        twin.__dict__ = {name: v for name, v in self.__dict__.items() if name != "_lock"}
        twin._set_model(model)
        return twin

    def _set_model(self, model: Model) -> None:
        """Hold a model without a learner."""
        self._learner, self._published = None, Published(None, model.rows, None, model)


class _Lock:
    """A lock that knows its process and the thread that holds it."""

    def __init__(self) -> None:
        self.lock, self.process = threading.Lock(), os.getpid()
        self.thread: int | None = None
