"""The learner behind `PCA`, `IncrementalPCA` and `ERM`: second moments of chunks of rows.

A chunk is evaluated with the directions that were found before it, and then it is learned from.
`reading` turns what was learned into a `Model`.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from onepass.gaps.completion import CompletedChunk, Completion, Filled
from onepass.gaps.counts import rows_with_gaps
from onepass.gaps.factor_model import FactorModel
from onepass.learner import Learner
from onepass.model import Model
from onepass.moments.chunk import Chunk, Scale, chunk_about
from onepass.moments.exact import SecondMoment
from onepass.moments.krylov import SMALL
from onepass.moments.moment import Moment, deviations, sums_about_mean
from onepass.moments.row_errors import LongRows, crossed_errors
from onepass.moments.segments import MOST_COMPONENTS, WHOLE_COLUMNS, Segments
from onepass.moments.sketch import Sketch
from onepass.pca.bounded import Bounded
from onepass.pca.kept import SINGLE_RANGE, KeptRows, origin_for
from onepass.pca.passes import FurtherPass, next_pass, pairs_for, second_of_rows
from onepass.pca.reading import count_of, model_of
from onepass.persistence.fields import Field, Number, Part, Parts, Size, directions, weight, whole
from onepass.precision import TINY, Doubles, Rows
from onepass.stream import Stream
from onepass.threads import one_thread

# Columns up to which the second moment of dense and of sparse rows is a matrix, of 128 and 512 MiB:
# it is exact, and about as fast as a sketch.
EXACT_COLUMNS, SPARSE_EXACT_COLUMNS = 4096, 8192
FIRST_ROWS = 128  # of the first chunk: enough for a centre, a typical length and first directions
MOST_CHUNK_ROWS = 8192  # of a chunk: sums of so many products keep seven digits in float32
MOST_CHUNK_ENTRIES = 2**22  # of sparse rows: with its copies and products a chunk takes 300 MB
MOST_CHUNK_BYTES = 3 * 2**23  # of dense rows; from 32 MB on, glibc asks for new memory each time
# Before a matrix, the first chunk of sparse rows has a tenth as many rows as columns, and at most
# so many: finding directions takes as long as learning from them.
MOST_FIRST_ROWS = 512
# Rows of the first and of the longest chunk before a sketch. Longer chunks need fewer truncations.
# The first one of sparse rows is short, so that the second one can be evaluated, and the others are
# at least so long.
SKETCH_ROWS, SPARSE_SKETCH_ROWS = (256, 512), (1024, 8192)
LEAST_SPARSE_ROWS = 4096
MOST_FOUND = 64  # components of a sketch, where their number is to be found
DENSE_RANK = 176  # directions that a sketch of dense rows holds at least: they average its noise


class PCALearner(Learner):
    """Second moments of the rows of a stream, and the directions that rows are evaluated with.

    Parameters
    ----------
    stream : Stream
    n_components, robust, scale
        As in `PCA`.
    keep_all : bool
        Whether components along which rows do not vary are kept, too.
    always_exact : bool
        Whether the second moment is a matrix at any number of columns.

    Attributes
    ----------
    kept, settled : list of KeptRows, list of SecondMoment or Sketch
        Exactly one of the two has an element: `kept` while rows are few, `settled` afterwards.
    segments : Segments
        Sums over parts of the stream, of all rows as they came.
    bounded : list of Bounded
        One if the learner is robust.
    directions : ndarray of shape (m, d)
        The leading ones when the stream had doubled, of which `evaluated` measure errors of rows.
    rows, rows_found, rows_since : float
        All that were learned from, those before the directions and those since, in units of rows
        that count fully.
    counted : int
        The number of components that further passes were made for; 0 if there were none, or if
        rows came since.
    is_double : bool
        Whether float32 rows are multiplied in double precision, until single is known to do.
    lengths : LongRows
        Squared distances of rows from the mean.
    completions : list of Completion
        One, from the first gap on.
    """

    dense_columns: ClassVar[int] = WHOLE_COLUMNS
    most_entries: ClassVar[float] = MOST_CHUNK_ENTRIES

    def __init__(
        self,
        stream: Stream,
        n_components: int | float | None,
        *,
        robust: bool = False,
        scale: bool = False,
        keep_all: bool = False,
        always_exact: bool = False,
    ) -> None:
        super().__init__(stream)
        self.n_components, self.scale = n_components, scale
        self.keep_all = keep_all or n_components is None
        stream = self.stream
        exact = SPARSE_EXACT_COLUMNS if stream.is_sparse else EXACT_COLUMNS
        self.is_exact = always_exact or stream.d <= exact
        # The Gram matrix of few rows is read faster than the second moment, unless LAPACK finds the
        # eigenvectors of that one in no time, too.
        keeps = stream.d > SMALL and stream.half_life is None and not robust
        self.kept = [KeptRows(stream)] if keeps else []
        self.settled = [] if keeps else [self.empty_moment()]
        self.segments = self._segments()
        self.bounded = [self._bounded() for _ in range(robust)]
        self.directions: Doubles = np.zeros((0, stream.d))
        self.evaluated = self.counted = 0
        self.rows = self.rows_found = self.rows_since = 0.0
        self.is_double = True
        self.lengths = LongRows()
        self.completions: list[Completion] = []

    def empty_moment(self) -> Moment:
        """Return an empty second moment for any number of rows.

        A sketch of dense rows holds much of their noise, to average it. Sparse rows have little,
        and their sketch is costlier than they are.
        """
        d, center, k = self.stream.d, self.stream.center, self.n_components
        if self.is_exact:
            return SecondMoment(d, center)
        k = k if isinstance(k, int) else MOST_FOUND
        rank = 2 * k + 24 if self.stream.is_sparse else max(pairs_for(k), DENSE_RANK)
        return Sketch(d, min(d, rank), center)

    def _segments(self) -> Segments:
        """Return segments of no rows."""
        d = self.stream.d
        return Segments(d, self.stream.dtype, whole=self.is_exact and d <= WHOLE_COLUMNS)

    def _bounded(self) -> Bounded:
        """Return bounded sums of no rows."""
        return Bounded(self.empty_moment(), self._segments())

    def fields(self) -> dict[str, Field]:
        d, robust = self.stream.d, len(self.bounded)
        return {
            **super().fields(),
            "kept": Parts(lambda: KeptRows(self.stream), 0, 1),
            "settled": Parts(self.empty_moment, 0, 1),
            "segments": Part(),
            "bounded": Parts(self._bounded, robust, robust),
            "directions": directions(Size("directions found", d), d),
            "evaluated": whole(0, d),
            "counted": whole(0, d),
            "rows": weight(),
            "rows_found": weight(),
            "rows_since": weight(0),
            "is_double": Number(bool, 0, 1),
            "lengths": Part(),
            "completions": Parts(self._completion, 0, 1),
        }

    def take(self, content: dict[str, Any]) -> None:
        if len(content["directions"]) and not content["rows_found"] > 0.0:
            raise ValueError("directions are there, and were found from no rows")
        if content["evaluated"] > len(content["directions"]):
            raise ValueError("rows are evaluated with directions that are not there")
        if len(content["kept"]) == len(content["settled"]):
            raise ValueError("rows are either kept or in a second moment")
        super().take(content)

    @property
    def moment(self) -> Moment:
        """The second moment of all rows as they came."""
        return self.kept[0] if self.kept else self.settled[0]

    @property
    def sums(self) -> list[tuple[Moment, Segments]]:
        """All second moments and their segments: of rows as they came, and of bounded ones."""
        sums = [(self.moment, self.segments)]
        for bounded in self.bounded:
            sums.append((bounded.moment, bounded.segments))
        return sums

    @property
    def leading_moment(self) -> Moment:
        """The second moment that components are directions of."""
        return self.sums[-1][0]

    def scale_of(self, moment: Moment) -> Scale:
        """Return what columns are divided by for a second moment, (d,), or None."""
        return moment.deviations() if self.scale else None

    def chunk_rows(self, before: float | None = None) -> int:
        """Return the length of a chunk after so many rows, by default all: at most as many."""
        stream = self.stream
        before = self.rows_learned if before is None else before
        if self.is_exact:
            tenth = min(stream.d // 10, MOST_FIRST_ROWS) if stream.is_sparse else 0
            least, most = max(FIRST_ROWS, tenth), MOST_CHUNK_ROWS
        else:
            least, most = SPARSE_SKETCH_ROWS if stream.is_sparse else SKETCH_ROWS
            if stream.is_sparse and before >= least:
                least = LEAST_SPARSE_ROWS
        if not stream.is_sparse:
            most = min(most, max(FIRST_ROWS, MOST_CHUNK_BYTES // (8 * stream.d)))
        power_of_two = 1 << (max(int(before), 1).bit_length() - 1)
        return max(min(power_of_two, most), min(least, most))

    # -- rows ------------------------------------------------------------------------------------

    def learn(self, values: Rows, weights: Doubles) -> None:
        for gaps in self.completions:
            if gaps.late.any():  # sums have to learn of these columns first
                self.learn_with_gaps(values, weights)
                return
            gaps.counts.count(values)
        self._learn_rows(values, None, weights)

    def _learn_rows(self, values: Rows, filled: Filled | None, weights: Doubles) -> None:
        """Evaluate rows with the directions found before, and learn from them.

        Rows (r, d) have no gaps; `filled` says what was filled into them.
        """
        self.counted = 0
        if self.kept and not self.kept[0].fits(values):
            self._settle()
        moment = self.moment
        is_first = not moment.weight > 0.0
        # With whole second moments only row errors use directions, so they are found just before a
        # chunk is evaluated: after the last chunk nothing would use them.
        finds_before = self.segments.is_whole
        if finds_before and not is_first and self.rows_since >= self.rows_found:
            self._find_directions()
        rows = scaled = self._about(values, filled, weights)
        if self.scale:
            scaled = rows.scaled(_deviations_of(rows) if is_first else moment.deviations())
        if not is_first:
            self._evaluate(scaled)
        is_framed = len(self.segments.frame) > 0
        counted = [weights]
        for bounded in self.bounded:
            counted.append(bounded.weigh(scaled))
        for (moment, segments), counts in zip(self.sums, counted, strict=True):
            if is_framed and moment.is_additive:
                segments.add(rows, counts, moment.add_parts)
                continue
            if is_framed:
                segments.add(rows, counts)
            moment.add(rows if moment.is_additive else scaled, counts)
        if is_first:
            self._evaluate(scaled)
        self.rows += len(weights)
        self.rows_since += len(weights)
        if not finds_before and self.rows_since >= self.rows_found:
            self._find_directions()
        if not is_framed:
            for (_, segments), counts in zip(self.sums, counted, strict=True):
                segments.add(rows, counts)
        if is_first and not self.bounded and 0 < count_of(self) < self.stream.d:
            errors = crossed_errors(scaled, count_of(self), self.stream.center)
            if errors is not None:
                self.errors.add(errors, weights)

    def _settle(self) -> None:
        """Learn from the rows that were kept so far, and keep no more."""
        for kept in self.kept:
            self.kept, self.settled = [], [self.empty_moment()]
            for values, weights in kept.blocks():
                rows = self._about(values, None, weights)
                if self.scale and not self.moment.is_additive:
                    rows = rows.scaled(kept.deviations())
                self.moment.add(rows, weights)

    # -- rows with gaps --------------------------------------------------------------------------

    def learn_with_gaps(self, values: Rows, weights: Doubles) -> None:
        self._settle()
        self.completions = self.completions or [self._completion()]
        gaps = self.completions[0]
        if isinstance(values, np.ndarray) and (empty := np.isnan(values).all(axis=1)).any():
            gaps.counts.empty += int(empty.sum())
            values, weights = values[~empty], weights[~empty]
        if not gaps.keeps(values):
            self._forget(weights)
            gaps.counts.count(values)
            self._learn_completed(values, weights, self.rows_learned)
            gaps.model = gaps.model_of(self.moment, self.scale_of(self.moment))
            return
        gaps.counts.count(values)
        holes = rows_with_gaps(values) | bool(gaps.late.any())
        if not holes.all():
            self._learn_rows(values[~holes], None, weights[~holes])
        kept = values[holes]
        kept = kept if isinstance(kept, np.ndarray) else kept.toarray()
        if gaps.keep(kept, weights[holes]):
            self._learn_kept()

    def _completion(self) -> Completion:
        """Return a model of gaps, after rows that had none."""
        k = self.n_components if isinstance(self.n_components, int) else MOST_FOUND
        found = Completion(self.stream.d, k, self.stream.dtype, float(self.rows_learned))
        if (weight := self.moment.weight) > 0.0:
            found.counts.count_before(self.moment.mean, self.moment.column_sums() / weight)
        return found

    def _forget(self, weights: Doubles) -> None:
        """Fade the sums before rows with weights (r,): poorer models filled earlier gaps.

        The share of the new rows in all sums becomes r / (q (n + r)), the step of online EM.
        """
        counts, rows = self.completions[0].counts, len(weights)
        others = max(counts.share * (counts.rows + rows) - rows, 0.0) / rows  # times the new ones
        factor = min(others * float(weights.sum()) / max(self.moment.weight, TINY), 1.0)
        for moment, segments in self.sums:
            moment.fade(factor)
            segments.fade(factor)

    def _learn_kept(self) -> None:
        """Find the model of gaps from the rows kept, and learn from them."""
        for gaps in self.completions:
            values, weights = gaps.kept, gaps.kept_weights
            if not len(weights):
                return
            gaps.start(self.moment, self.scale_of)
            self._fill_late(gaps, gaps.model)
            gaps.kept, gaps.kept_weights = values[:0], weights[:0]
            gaps.late = (gaps.counts.observed == 0) & self.adds_covariances
            start = 0
            while start < len(values):  # in chunks, as if they had come one by one
                stop = start + self.chunk_rows(self.rows)
                part = slice(start, stop)
                self._learn_completed(values[part], weights[part], self.rows_learned + start)
                start = stop
            gaps.model = gaps.model_of(self.moment, self.scale_of(self.moment))

    def _fill_late(self, gaps: Completion, model: FactorModel) -> None:
        """Write what a model expects of late columns into all sums, and into the centre."""
        variances = np.einsum("ij,ij->i", model.loadings, model.loadings) + model.noise
        for moment, segments in self.sums:
            gaps.fill_late(moment, model)
            segments.fill(gaps.late, model.mean, variances)
        for bounded in self.bounded:
            bounded.centre = np.where(gaps.late, model.mean, bounded.centre)

    @property
    def adds_covariances(self) -> bool:
        """Whether the covariances of what is filled in are added to the second moment.

        Elsewhere, in sketches and sparse rows, random draws take the place of gaps.
        """
        return self.is_exact and not self.stream.is_sparse

    def _learn_completed(self, values: Rows, weights: Doubles, seed: int) -> None:
        """Complete rows (r, d) by the model of gaps, and learn from them."""
        model = self.completions[0].model
        if self.adds_covariances:
            self._learn_rows(*Filled.by(model, values), weights)
        else:
            self._learn_rows(self.stream.convert(model.drawn(values, seed)), None, weights)

    # -- evaluation ------------------------------------------------------------------------------

    def _about(self, values: Rows, filled: Filled | None, weights: Doubles) -> Chunk:
        """Return rows (r, d) about a point near them; `filled` says what was filled into them."""
        origin = origin_for(self.moment, values, weights)
        if self.is_double or filled is not None:
            values = values.astype(np.float64, copy=False)
        rows = chunk_about(values, weights, origin)
        if filled is not None:
            rows = CompletedChunk(values, weights, origin, filled=filled)
        rows.sums_single = not self.is_double
        return rows

    def _evaluate(self, rows: Chunk) -> None:
        """Measure how far rows are from the mean and the directions that were found before."""
        mean, directions = self.moment.mean, self.directions[: self.evaluated]
        distances, errors = rows.measure(rows.at(mean), directions)
        self.lengths.add(distances, rows.weights)
        if len(directions):
            self.errors.add(errors, rows.weights)

    def _find_directions(self) -> None:
        """Find the directions that further rows are evaluated with, from previous ones if any."""
        k, d, moment = count_of(self), self.stream.d, self.leading_moment
        evaluated = k if k < min(self.rows, d) else 0  # all directions capture the same
        count, scale = min(max(evaluated, self._framed(k)), d), self.scale_of(self.moment)
        if not count:
            return
        if len(self.directions) == count:
            found, sums = moment.improved(self.directions, scale)
        else:
            found, sums = moment.leading(count, scale)
        if len(found) >= max(evaluated, 1):
            self.take_directions(found, sums)

    def _framed(self, k: int) -> int:
        """Return how many directions the frame of the segments has for k components."""
        return 0 if self.segments.is_whole else 2 * min(max(k, 1), MOST_COMPONENTS) + 2

    def take_directions(self, found: Doubles, sums: Doubles) -> None:
        """Take leading directions (m, d) and the sums (m,) along them."""
        k = count_of(self)
        framed = self._framed(k)
        self.evaluated = k if k < min(self.rows, self.stream.d) else 0  # all capture the same
        last = float(sums[min(max(k, 1), len(found)) - 1])
        self.is_double = last <= SINGLE_RANGE * float(sums[0])
        self.directions = found[: max(self.evaluated, framed)]
        self.rows_found, self.rows_since = self.rows, 0.0
        if framed:
            scale = self.scale_of(self.moment)
            frame = found[:framed]
            if scale is not None:
                frame = np.linalg.qr((frame / scale).T)[0].T
            self._take_frame(frame)

    def _take_frame(self, frame: Doubles) -> None:
        """Let all segments have an orthonormal frame (K, d)."""
        has_gaps = bool(self.completions) and self.adds_covariances
        for moment, segments in self.sums:
            units: Any = 1.0  # of a second moment that is not one of rows as they came
            if self.scale and not moment.is_additive:
                units = self.moment.deviations()[:, None]

            def times(columns: Doubles, moment: Any = moment, units: Any = units) -> Doubles:
                return np.asarray(units * moment.times(units * columns))

            segments.turn(frame, times, center=self.stream.center, has_gaps=has_gaps)

    # -- further passes --------------------------------------------------------------------------

    def learn_whole(
        self,
        values: Rows,
        weights: Doubles | None = None,
        *,
        has_gaps: bool = False,
        passes: int | None = 1,
    ) -> None:
        weights = np.ones(values.shape[0]) if weights is None else weights
        if not weights.all():
            values, weights = values[weights > 0.0], weights[weights > 0.0]
        with one_thread():
            may_iterate = passes is None and not has_gaps
            further = second_of_rows(self, values, weights) if may_iterate else None
            if further is None:
                self.push(values, weights, has_gaps=has_gaps)
                further = self.next_pass(None, passes)
            while further is not None:
                further.push(values, weights)
                further = self.next_pass(further, passes)

    def next_pass(self, done: FurtherPass | None, passes: int | None) -> FurtherPass | None:
        return next_pass(self, done, passes)

    # -- models ----------------------------------------------------------------------------------

    def is_finished(self, *, hold_rows: bool = True) -> bool:
        waits = any(len(gaps.kept) for gaps in self.completions)
        return super().is_finished() and not waits and (hold_rows or not self.kept)

    def finish(self, *, hold_rows: bool = True) -> None:
        super().finish()
        with one_thread():
            self._learn_kept()
            if not hold_rows:
                self._settle()

    def model(self) -> Model:
        return model_of(self)

    def known_variances(self) -> NDArray[np.floating]:
        """Return the variances along all directions that the second moment of all rows holds."""
        spectrum = self.moment.spectrum(self.scale_of(self.moment))
        return spectrum.clip(min=0.0) / self.degrees(self.moment.weight)

    def filling(self, gaps: Completion) -> FactorModel:
        """Return the model that fills gaps: that of the complete rows, if no others had entries."""
        if gaps.has_started or not self.moment.weight > 0.0:
            return gaps.model
        return gaps.model_of(self.moment, self.scale_of(self.moment))

    def include(self, other: Self) -> None:
        """Include another stream: all sums add up, and directions are found again from them."""
        theirs = [values for kept in other.kept for values, _ in kept.blocks()]
        if not (self.kept and other.kept and self.kept[0].fits(*theirs)):
            self._settle()
            other = other.finished(hold_rows=False)
        self.counted = 0
        if self.completions or other.completions:
            other = other.copy()
            (ours,), (gaps,) = (one.completions or [one._completion()] for one in (self, other))
            models = self.filling(ours), other.filling(gaps)
            self._fill_late(ours, models[1])
            other._fill_late(gaps, models[0])
            ours.merge(gaps)
            self.completions = [ours]
        scale = self.scale_of(self.moment) if self.moment.weight > 0.0 else None
        if not self.segments.is_whole:
            frame = self.segments.joint_frame(other.segments)
            other = other.copy()
            self._take_frame(frame)
            other._take_frame(frame)
        self.moment.merge(other.moment, scale)
        self.segments.merge(other.segments)
        for bounded, its in zip(self.bounded, other.bounded, strict=True):
            bounded.merge(its, scale)
        self.lengths.merge(other.lengths)
        self.rows += other.rows
        self.directions, self.evaluated = self.directions[:0], 0  # theirs count as much
        self._find_directions()
        for gaps in self.completions:
            if gaps.has_started:
                gaps.model = gaps.model_of(self.moment, self.scale_of(self.moment))


def _deviations_of(rows: Chunk) -> Doubles:
    """Return the deviations (d,) of the first rows; one where a column is constant."""
    shares = rows.weights / rows.weights.sum()
    total = rows.combine(shares[None])[0]
    return deviations(sums_about_mean(rows.column_squares(shares), total, 1.0), 1.0)
