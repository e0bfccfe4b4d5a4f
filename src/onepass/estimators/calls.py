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
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self
from weakref import WeakKeyDictionary

import numpy as np
from sklearn.utils.validation import check_is_fitted

from onepass.estimators import saving
from onepass.estimators.attributes import Attributes
from onepass.estimators.containers import Columns, opened
from onepass.estimators.doubts import arbitrary_components, doubtful_gaps
from onepass.estimators.input import (
    check_block,
    check_finite,
    check_names,
    check_rows,
    check_weights,
    is_plain,
)
from onepass.estimators.merging import merge
from onepass.estimators.origin import Origin
from onepass.estimators.parameters import (
    check_bool,
    check_component_count,
    check_whole,
    is_same,
)
from onepass.learner import Learner
from onepass.model import Model
from onepass.persistence import archive
from onepass.progress import Progress
from onepass.sources import Position, Source
from onepass.stream import Stream
from onepass.threads import one_thread
from onepass.warning import OnepassWarning

# What a call that learns may change: all at once, and nothing else of an estimator.
LEARNED = ("_learner", "_snapshot", "_params", "_origin", "n_features_in_", "feature_names_in_")


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


class Turn:
    """Lets one call learn at a time."""

    def __init__(self) -> None:
        self.lock, self.is_taken = threading.RLock(), False


_turns: WeakKeyDictionary[Estimator, Turn] = WeakKeyDictionary()


def _forget_turns() -> None:
    """Start with locks that nobody holds: a fork copies those that other threads hold."""
    global _turns
    _turns = WeakKeyDictionary()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_turns)


class Estimator(Attributes):
    """A transformer that learns from rows as they come.

    Subclasses say with `_learner_for` how they learn.
    """

    _learner: Learner | None = None
    _snapshot: Snapshot | None = None
    _origin: Origin = Origin()
    _params: dict[str, Any]  # when learning began
    n_components: Any
    is_random: ClassVar[bool] = True  # whether a `random_state` makes a difference
    # Values for estimators without such a parameter.
    center: bool = True
    verbose: int = 0
    half_life: float | None = None

    @abstractmethod
    def _learner_for(self, stream: Stream) -> Learner:
        """Return the learner for a stream of which nothing has been seen."""

    def _component_count(self, stream: Stream) -> int:
        """Return the number k of components, which cannot be more than the columns."""
        k = self.n_components
        if k > stream.d:
            raise ValueError(f"n_components={k} is more than the n_features={stream.d} of X")
        return int(k)

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
                if whole or learner is None:
                    if not whole and self._snapshot is not None:
                        raise ValueError(saving.NO_LEARNER.format("learn more rows"))
                    self._learn_checked(X, sample_weight, fresh=True, whole=whole)
                    return self
                self._check_unchanged()
                has_names = "feature_names_in_" in self.__dict__
                if sample_weight is None and not has_names and is_plain(X, learner.stream):
                    self._learner = learner.pushed(X, has_gaps=check_finite(X))
                else:
                    self._learn_checked(X, sample_weight, fresh=False, whole=whole)
                return self
            finally:
                turn.is_taken = False

    def _learn_checked(self, X: Any, sample_weight: Any, *, fresh: bool, whole: bool) -> None:
        """Learn from rows of any kind, forgetting what was learned before if `fresh`."""
        twin = object.__new__(type(self))  # everything happens to a copy of the attributes
        twin.__dict__ = dict(self.__dict__)
        if fresh:
            twin._check_parameters()
            twin._params = twin.get_params(deep=False)
            twin._learner = twin._snapshot = None
        X = opened(X)
        if isinstance(X, Source):
            if sample_weight is not None:
                raise ValueError(
                    "sample_weight needs rows, and X is read in blocks: call partial_fit with "
                    "each block and its weights"
                )
            twin._learn_blocks(X)
        else:
            ((rows, has_gaps),) = twin._rows_of(X, fresh=fresh)
            weights = check_weights(sample_weight, rows, whole=whole)
            learner = twin._learner or twin._start(rows)
            rows = learner.stream.convert(rows)
            twin._learner = learner.pushed(rows, weights, has_gaps=has_gaps)
        if whole:
            for message in twin.doubts():
                warnings.warn(message, OnepassWarning, stacklevel=4)
        learned = {name: twin.__dict__[name] for name in LEARNED if name in twin.__dict__}
        if "feature_names_in_" not in learned:
            self.__dict__.pop("feature_names_in_", None)
        self.__dict__.update(learned)

    def _learn_blocks(self, X: Source) -> None:
        """Learn from blocks, of which a later one may be refused."""
        self._learner = None if self._learner is None else self._learner.copy()
        with Progress("fit", X.n_rows, visible=self.verbose > 0) as progress:
            for _, rows in self._blocks_learned(X):
                progress.advance(rows)
                if progress.wants_captured():
                    progress.captured(self.captured_.mean)

    def learn_blocks(
        self, source: Source, start: Position | None = None
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
        """
        if self._learner is None:
            self._check_parameters()
            self._params = self.get_params(deep=False)
        yield from self._blocks_learned(source, start)

    def _blocks_learned(
        self, source: Source, start: Position | None = None
    ) -> Iterator[tuple[Position, int]]:
        """Learn from blocks, and yield position and number of rows after each."""
        for end, rows, has_gaps in self._blocks_of(source, self._learner is None, start):
            self._learner = self._learner or self._start(rows)
            self._learner.push(self._learner.stream.convert(rows), has_gaps=has_gaps)
            yield end, rows.shape[0]

    def _start(self, rows: Any) -> Learner:
        """Return the learner for a stream that begins with these rows."""
        is_sparse = not hasattr(rows, "ndim") or hasattr(rows, "indptr")
        stream = Stream(rows.shape[1], rows.dtype, is_sparse, bool(self.center), self.half_life)
        return self._learner_for(stream)

    def _check_unchanged(self) -> None:
        """Refuse to go on with parameters other than those that learning began with."""
        for name, value in self._params.items():
            now = getattr(self, name)
            if now is not value and name != "verbose" and not is_same(now, value):
                self._check_parameters()
                raise ValueError(
                    f"{name} was {value!r} when learning began and is {now!r} now; partial_fit "
                    "cannot go on with it, fit starts again"
                )

    def _rows_of(self, X: Any, *, fresh: bool | None = None) -> Iterator[tuple[Any, bool]]:
        """Yield the checked rows of X, and whether entries of them are missing.

        They come all at once, or block by block of a source. If learning begins, `fresh`, the
        estimator remembers the columns, else it compares them. `fresh` is None for rows that are
        not learned from.
        """
        if not isinstance(X, Source):
            dtype = (
                None if fresh is not False or self._learner is None else self._learner.stream.dtype
            )
            if fresh:
                self._origin = Origin()
            yield check_rows(self, X, reset=bool(fresh), dtype=dtype)
            return
        for _, rows, has_gaps in self._blocks_of(X, fresh):
            yield rows, has_gaps

    def _blocks_of(
        self, X: Source, fresh: bool | None, start: Position | None = None
    ) -> Iterator[tuple[Position, Any, bool]]:
        """Yield position, checked rows, and whether entries are missing, block by block."""
        dtype = None if fresh is not False or self._learner is None else self._learner.stream.dtype
        if fresh:
            self._origin = Origin.of(X)
            self.__dict__.pop("n_features_in_", None)
        else:
            self._origin.check_prepared(X)
        check_names(self, X.feature_names, reset=bool(fresh))
        before = 0
        for end, block in X.blocks(start):
            known = getattr(self, "n_features_in_", None)
            with X.naming_places(end, block):
                if isinstance(block, Columns):
                    rows, has_gaps = check_rows(self, block, reset=known is None, dtype=dtype)
                else:
                    name = f"The block after {before:,} rows" if before else "The first block"
                    rows, has_gaps = check_block(block, known, name, dtype)
                    dtype = dtype or (rows.dtype if fresh else None)
                    self.n_features_in_ = rows.shape[1]
            before += rows.shape[0]
            yield end, rows, has_gaps
        if not before and start is None:
            raise ValueError("The source has no rows; an iterator can be read only once")

    # -- reading ---------------------------------------------------------------------------------

    def _read(self) -> Snapshot:
        """Return the model, read from a copy of the learner unless it is up to date.

        There is no lock: the learner is replaced, never changed, but for rows that are added to
        its buffer. Should it be replaced while it is copied, it is read again.
        """
        check_is_fitted(self)
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
        whiten = bool(getattr(self, "whiten", False))
        if found.model.whiten != whiten:
            found = replace(found, model=replace(found.model, whiten=whiten))
        self._snapshot = found
        return found

    @property
    def model_(self) -> Model:
        """What is read after fitting: it never changes."""
        model = self._read().model
        if model.missing is not None:
            self._check_observed(model)
        return model

    @property
    def learner_(self) -> Any:
        """The learner with all rows learned from; None if the model cannot learn any more."""
        return self._read().finished

    @property
    def origin_(self) -> Origin:
        """How the rows were read that learning began with."""
        check_is_fitted(self)
        return self._origin

    @property
    def n_samples_seen_(self) -> int:
        """How many rows have been seen, those of weight 0 left out."""
        check_is_fitted(self)
        return self.model_.rows if self._learner is None else self._learner.rows_seen

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
            self._learner.finish()
            self._learner.settle()

    def _check_observed(self, model: Model) -> None:
        """Refuse a model of columns of which nothing, or a single entry, is known."""
        assert model.missing is not None
        if not model.missing.rows:
            raise ValueError(f"none of {model.rows:,} rows has an entry: all are missing")
        unknown = np.flatnonzero(model.missing.observed < 2)
        if len(unknown):
            names = self.column_names_
            listed = ", ".join(repr(names[column]) for column in unknown[:3])
            more = f" and {len(unknown) - 3} more" if len(unknown) > 3 else ""
            columns, its = ("column", "its") if len(unknown) == 1 else ("columns", "their")
            given = shlex.quote(",".join(str(names[column]) for column in unknown[:3]))
            rest = "..." if more else ""
            raise ValueError(
                f"{columns} {listed}{more}: fewer than two of {model.missing.rows:,.0f} rows have "
                f"an entry, so that nothing is known of {its} variance; leave such columns out, of "
                f"files with exclude=[{listed}{rest and ', '}{rest}] (--exclude {given}{rest})"
            )

    def _finished(self) -> Any:
        """Return the learner with all rows learned from."""
        finished = self._read().finished
        if finished is None:
            raise AttributeError(saving.NO_LEARNER.format("show what only the learner knows"))
        return finished

    def __sklearn_is_fitted__(self) -> bool:
        return self._learner is not None or self._snapshot is not None

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        if self._learner is not None:
            state.pop("_snapshot", None)
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
        model = self.model_
        model = replace(model, how_sure=model.standard_errors)
        twin = object.__new__(type(self))
        twin.__dict__ = dict(self.__dict__)
        twin._set_model(model)
        return twin

    def _set_model(self, model: Model) -> None:
        """Hold a model without a learner."""
        self._learner, self._snapshot = None, Snapshot(None, model.rows, None, model)
