"""The learner behind `PCA`, `IncrementalPCA` and `ERM`: second moments, and the choice of a bound.

A chunk is evaluated with the directions that were found before it, and then it is learned from.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from onepass.evaluation.held_out import Captured, HeldOut
from onepass.evaluation.row_errors import ErrorHistogram, crossed_errors
from onepass.learner import Learner
from onepass.model import Model, in_type, signed
from onepass.moments.eigen import STEPS
from onepass.moments.exact import deviations
from onepass.moments.sketch import GRAM_ROWS, leading_of
from onepass.pca.bounds import BOUNDED, LADDER_COLUMNS, MILD, PLAIN, Bounds, exact_columns
from onepass.pca.evidence import Choice, Evidence
from onepass.persistence.fields import Array, Field, Part, Parts, Size, String, weight
from onepass.precision import LARGEST_RATIO, TINY, ZERO_VARIANCE, Doubles
from onepass.rows.completion import FactorModel, GapModel, rows_with_gaps
from onepass.rows.rows import Rows, Scale
from onepass.rows.stream import Stream
from onepass.subspace import orthonormal

FIRST_ROWS = 128  # of the first chunk: enough for a centre, a typical length and first directions
MOST_CHUNK_ROWS = 8192  # of a chunk: sums of so many products keep seven digits in float32
MOST_CHUNK_BYTES = 3 * 2**23  # of dense rows; from 32 MB on, glibc asks for new memory each time
# Of a sketch: the length of a chunk of dense and of sparse rows. The longer, the fewer truncations.
SKETCH_ROWS, SPARSE_SKETCH_ROWS = 512, 8192
# The first chunk of sparse rows is short, so that the second one can be evaluated; the others are
# at least so long, because truncations are what takes the time.
FIRST_SPARSE_ROWS, LEAST_SPARSE_ROWS = 1024, 4096
# Growth of the stream after which directions for evaluation are found again, while candidates are
# compared, and where only `captured_` needs them. A chunk is at most this part of the rows before.
# With 3 instead of 1 a fit of 100 columns takes 15% less time, and intervals of `captured_` for
# weak signals in 600 rows hold in none of 300 runs instead of 99%.
COMPARED_GROWTH, GROWTH = 0.25, 1.0
# The same for more than `LADDER_COLUMNS` while there are fewer rows than the next constant says:
# finding directions takes longer than learning then, and one step of the iteration is enough. What
# it leaves over, up to 6e-4, is little beside what so few rows turn directions by.
EARLY_GROWTH, EARLY_STEPS = 3.0, 1
# Columns for which finding directions costs as much as learning from one row each.
COSTLY_ROWS = 2.0
# Of the first eigenvalue: where the last one that is wanted is below this part, products of float32
# rows are summed in double precision. Their error, 4e-8 of the first, turns its direction then.
SINGLE_RANGE = 1e-5
# Components of a sketch, where their number is to be found.
MOST_FOUND = 64
DENSE_RANK = 176  # directions that a sketch of dense rows holds at least: they average its noise


def sketch_rank(stream: Stream, n_components: int | float | None) -> int:
    """Return the rank of the sketches of a stream of many columns.

    Dense rows have noise everywhere, of which the sketch has to hold much to average it. Sparse
    rows have little, and their sketch is costlier than they are.
    """
    d, k = stream.d, n_components if isinstance(n_components, int) else MOST_FOUND
    if stream.is_sparse:
        return min(d, 2 * k + 24)
    return min(d, max(3 * k + 24, DENSE_RANK))


class Measured(NamedTuple):
    """Rows and what was measured of them before they were learned from.

    Attributes
    ----------
    rows, scaled : Rows
        About a point, as they are and in units of the deviations.
    from_mean : ndarray of shape (r,)
        Energies about the mean.
    captured : ndarray of shape (r,)
        Energies about the mean along the directions of the candidate chosen by now.
    from_centre : ndarray of shape (r,), or None
        Energies about the robust centre, where there may be several candidates.
    compared : ndarray of shape (m, r)
        Energies about this centre along the directions of each of m candidates.
    """

    rows: Rows
    scaled: Rows
    from_mean: Doubles
    captured: Doubles
    from_centre: Doubles | None
    compared: Doubles


class PCALearner(Learner):
    """Bounds on the energy of a row, what held-out rows say about them, and the choice.

    Parameters
    ----------
    stream : Stream
        What all rows have in common.
    n_components : int, float or None
        Their number, the share of the variance to capture, or None for all there are.
    robust : "auto", True or False
        Whether a robust candidate may be chosen, must, or must not.
    scale : bool
        Whether columns are divided by their deviations.
    keep_all : bool
        Whether components along which rows do not vary are kept, too.
    always_exact : bool
        Whether the second moment is a matrix at any number of columns.

    Attributes
    ----------
    bounds : Bounds
    evidence : Evidence
    directions : ndarray of shape (m, k, d)
        That rows are evaluated with, of each candidate by now; m = 0 where there are none yet.
    rows : float
        That were learned from, with a half-life in units of rows that count fully.
    rows_found, rows_since : float
        Of these, when the directions were found, and since then.
    chosen : str
        The candidate whose directions captured then.
    """

    def __init__(
        self,
        stream: Stream,
        n_components: int | float | None,
        robust: Any = False,
        scale: bool = False,
        *,
        keep_all: bool = False,
        always_exact: bool = False,
    ) -> None:
        super().__init__(stream)
        self.n_components, self.robust = n_components, robust
        self.keep_all = keep_all or n_components is None
        is_exact = always_exact or stream.d <= exact_columns(stream.is_sparse)
        names: tuple[str, ...] = (PLAIN,)
        if robust is True or (robust == "auto" and n_components is not None):
            has_mild = robust == "auto" and is_exact and stream.d <= LADDER_COLUMNS
            names = (BOUNDED, MILD, PLAIN) if has_mild else (BOUNDED, PLAIN)
        rank = None if is_exact else sketch_rank(stream, n_components)
        self.bounds = Bounds(stream, names, rank=rank, scale=scale, at_once=robust is True)
        self.evidence = Evidence()
        self.directions: Doubles = np.zeros((0, 0, stream.d))
        self.rows = self.rows_found = self.rows_since = 0.0
        self.chosen = PLAIN
        self.gap_models: list[GapModel] = []  # one, from the first gap on

    def fields(self) -> dict[str, Field]:
        d, candidates = self.stream.d, len(self.bounds.names)
        shape = (Size("evaluated candidates", candidates), Size("evaluated components", d), d)
        return {
            **super().fields(),
            "bounds": Part(),
            "evidence": Part(),
            "directions": Array(shape, least=-2.0, most=2.0),
            "rows": weight(),
            "rows_found": weight(),
            "rows_since": weight(0),
            "chosen": String((PLAIN, MILD, BOUNDED)),
            "gap_models": Parts(self._gap_model, 0, 1),
        }

    def take(self, content: dict[str, Any]) -> None:
        """Take over directions: of one candidate, or of all, one of which has captured."""
        found, names = len(content["directions"]), self.bounds.names
        if found > 1 and (found != len(names) or not self.bounds.compares):
            raise ValueError(f"directions are of {found} candidates, for {len(names)} bounds")
        if found and not content["rows_found"] > 0.0:
            raise ValueError("directions are there, and were found from no rows")
        if content["chosen"] not in names:
            raise ValueError(f"chosen is {content['chosen']!r}, not one of {names}")
        super().take(content)

    def chunk_rows(self) -> int:
        return self._chunk_rows(self.rows_learned)

    def _chunk_rows(self, before: float) -> int:
        """Return the length of a chunk after so many rows."""
        d = self.stream.d
        share = COMPARED_GROWTH if self.bounds.compares else GROWTH
        least, most = FIRST_ROWS, MOST_CHUNK_ROWS
        if not self.bounds.is_exact:
            least = 2 * FIRST_ROWS
            if self.stream.is_sparse:
                least = LEAST_SPARSE_ROWS if before >= FIRST_SPARSE_ROWS else FIRST_SPARSE_ROWS
            most = SPARSE_SKETCH_ROWS if self.stream.is_sparse else SKETCH_ROWS
        if not self.stream.is_sparse:
            most = min(most, max(FIRST_ROWS, MOST_CHUNK_BYTES // (8 * d)))
        power_of_two = 2 ** (max(int(share * before), 1).bit_length() - 1)
        return max(min(power_of_two, most), min(least, most))

    def learn(self, values: Any, weights: Doubles) -> None:
        for gaps in self.gap_models:
            if gaps.late.any():  # sums have to learn of these columns first
                self.learn_with_gaps(values, weights)
                return
            gaps.count(values)
        self._learn_rows(values, weights)

    def learn_with_gaps(self, values: Any, weights: Doubles) -> None:
        values, weights = self._without_empty(values, weights)
        gaps = self.gap_models[0]
        if not gaps.keeps(values):
            self._forget(weights)
            gaps.count(values)
            exact = self.bounds.is_exact
            completed = gaps.completed(values, is_exact=exact, seed=self.rows_learned)
            self._learn_rows(completed, weights)
            gaps.find(self.bounds.plain(), self.bounds.scale_now())
            return
        gaps.count(values)
        holes = rows_with_gaps(values) | bool(gaps.late.any())
        if not holes.all():
            self._learn_rows(values[~holes], weights[~holes])
        kept = values[holes]
        kept = kept.toarray() if self.stream.is_sparse else kept
        if gaps.keep(kept, weights[holes]):
            self.learn_kept()

    def _without_empty(self, values: Any, weights: Doubles) -> tuple[Any, Doubles]:
        """Return rows that have an entry, and their weights; count the others."""
        if not self.gap_models:
            self.gap_models = [self._gap_model()]
        if self.stream.is_sparse:
            return values, weights
        empty = np.isnan(values).all(axis=1)
        if not empty.any():
            return values, weights
        self.gap_models[0].empty += int(empty.sum())
        return values[~empty], weights[~empty]

    def _gap_model(self) -> GapModel:
        """Return a model of gaps, after rows that had none."""
        k = self.n_components if isinstance(self.n_components, int) else MOST_FOUND
        return GapModel(self.stream.d, k, self.stream.dtype, float(self.rows_learned))

    def _forget(self, weights: Doubles) -> None:
        """Let sums count less before rows of weights (r,): poorer models have completed theirs.

        The share of the new rows in all sums becomes r / (q (n + r)), the step of online EM.
        """
        gaps, rows = self.gap_models[0], len(weights)
        others = max(gaps.share * (gaps.rows + rows) - rows, 0.0) / rows  # times the new ones
        factor = min(others * float(weights.sum()) / max(self.bounds.weight, TINY), 1.0)
        for moment in self.bounds.moments:
            moment.fade(factor)

    def keeps_rows(self) -> bool:
        return any(len(gaps.kept) for gaps in self.gap_models)

    def learn_kept(self) -> None:
        """Find the model of gaps from the rows kept, and learn from them."""
        if not self.keeps_rows():
            return
        gaps, bounds = self.gap_models[0], self.bounds

        def scale_of(moment: Any) -> Scale:
            return deviations(moment.column_sums(), moment.weight) if bounds.scale else None

        gaps.start(bounds.plain(), scale_of)
        self._fill_late(gaps, gaps.model)
        values, weights = gaps.kept, gaps.kept_weights
        gaps.kept, gaps.kept_weights = values[:0], weights[:0]
        is_exact = bounds.is_exact and not self.stream.is_sparse  # sparse rows get draws
        gaps.late = (gaps.observed == 0) & is_exact
        others = self.evidence, self.held_out, self.errors
        self.evidence, self.held_out, self.errors = Evidence(), HeldOut(), ErrorHistogram()
        start = 0
        while start < len(values):  # in chunks, as if they had come one by one
            stop = start + self._chunk_rows(self.rows)
            completed = gaps.completed(
                values[start:stop], is_exact=is_exact, seed=self.rows_learned + start
            )
            if self.stream.is_sparse:
                completed = self.stream.convert(completed)
            self._learn_rows(completed, weights[start:stop])
            start = stop
        # They came among the others: what completed rows differ in from these is no drift.
        others[0].merge(self.evidence, 0.0)
        others[1].merge(self.held_out)
        others[2].merge(self.errors)
        self.evidence, self.held_out, self.errors = others
        gaps.find(bounds.plain(), bounds.scale_now())

    def _fill_late(self, gaps: GapModel, model: FactorModel) -> None:
        """Write what a model expects of late columns into all sums, and into the centre."""
        for moment in self.bounds.moments:
            gaps.fill_late(moment, model)
        typical = self.bounds.typical
        typical.centre = np.where(gaps.late, model.mean, typical.centre)

    def _learn_rows(self, values: Any, weights: Doubles) -> None:
        """Learn from rows (r, d) without gaps, or completed."""
        measured = self._measure(values, weights)
        stops = self._stops(measured)
        if len(stops) == 1:
            self._learn_measured(measured)
            return
        for start, stop in pairwise([0, *stops]):
            measured = self._measure(values[start:stop], weights[start:stop])
            self._learn_measured(measured)

    def _stops(self, measured: Measured) -> list[int]:
        """Return where a chunk is cut, so that the rest of it is evidence, too: its end, or more.

        Where rows turn out to be uneven, candidates are compared from then on. Where a few rows add
        so much energy that directions have to be found again, the rows after them tell whether
        these are better.
        """
        bounds, energies, weights = self.bounds, measured.from_centre, measured.rows.weights
        count = len(weights)
        begins = not bounds.compares
        if energies is None or self.robust != "auto":
            return [count]
        if begins and not bounds.typical.is_uneven(energies, weights):
            return [count]
        grown = bounds.typical.total + np.cumsum(weights * energies)
        length = max(FIRST_ROWS, int(COMPARED_GROWTH * self.rows)) if begins else count
        stops, energy = [0], bounds.typical.total
        while stops[-1] < count:
            heavy = 1 + int(np.searchsorted(grown, (1.0 + COMPARED_GROWTH) * energy))
            stop = min(max(heavy, stops[-1] + 1), stops[-1] + length, count)
            stops, energy = [*stops, stop], float(grown[stop - 1])
        return stops[1:]

    def _measure(self, values: Any, weights: Doubles) -> Measured:
        """Measure rows (r, d) along the directions found before, about the mean and the centre."""
        bounds, found = self.bounds, len(self.directions)
        compared = len(bounds.names) > 1
        rows, scaled = bounds.about(values, weights, measured=compared)
        points = [scaled.at(bounds.mean), scaled.at(bounds.typical.centre)][: 1 + compared]
        pairs = [(0, self._names(found).index(self.chosen))] if found else []
        pairs += [(1, candidate) for candidate in range(found) if found > 1]
        energies, captured = scaled.measure(np.stack(points), self.directions, pairs)
        of_chosen = captured[0] if found else np.zeros(len(rows))
        centred = energies[1] if compared else None
        return Measured(rows, scaled, energies[0], of_chosen, centred, captured[1:])

    def _learn_measured(self, measured: Measured) -> None:
        """Evaluate rows with the directions found before, and learn from them."""
        bounds, rows = self.bounds, measured.rows
        errors = self._evaluate(measured)
        began, energy = bounds.compares, bounds.typical.total
        bounds.add(rows, measured.scaled, measured.from_centre)
        self.rows += len(rows)
        self.rows_since += len(rows)
        if self._is_early():  # more than so many rows explain
            energy *= self.rows / max(self.rows - len(rows), 1.0)
        grown = bounds.compares and bounds.typical.total > (1.0 + COMPARED_GROWTH) * energy
        if grown or bounds.compares > began or self.rows_since >= self._patience():
            self._find_directions(measured.scaled)
        if errors is None and len(rows) == self.rows and self.chosen == PLAIN:
            k = self._count(PLAIN)  # the first rows of all, before which there are no directions
            if 0 < k < self.stream.d:
                errors = crossed_errors(measured.scaled, k, self.stream.center)
            if errors is not None:
                self.errors.add(errors, rows.weights)

    def _evaluate(self, measured: Measured) -> Doubles | None:
        """Include rows in the evidence; return their errors (r,), or None without directions.

        Errors are squared distances from the subspace.
        """
        bounds, weights, found = self.bounds, measured.rows.weights, len(self.directions)
        if not found:
            return None
        captured, number = measured.captured, self._names(found).index(self.chosen)
        # About a mean of n rows, energies are larger by a factor of 1 + 1 / n on average.
        share = weights * bounds.weight / (bounds.weight + 1.0)
        self.held_out.add(share * captured, share * measured.from_mean, self.rows_found)
        errors = measured.scaled.observed_errors(
            measured.from_mean - captured, bounds.mean, self.directions[number]
        )
        self.errors.add(errors, weights)
        if found > 1:
            assert measured.from_centre is not None
            energies = np.maximum(measured.from_centre, TINY)
            shares = np.clip(measured.compared / energies, 0.0, 1.0)
            ratios = np.minimum(energies / max(bounds.typical.energy, TINY), LARGEST_RATIO)
            named = dict(zip(self._names(found), shares, strict=True))
            self.evidence.add(named, ratios, weights, self.rows_found)
        return errors

    def _names(self, found: int) -> tuple[str, ...]:
        """Return the candidates whose directions are kept: one before there are others."""
        return self.bounds.names if found > 1 else (self.chosen,)

    def _is_early(self) -> bool:
        """Return whether rows are wide, and fewer than finding directions costs."""
        d = self.stream.d
        return self.bounds.is_exact and d > LADDER_COLUMNS and self.rows < COSTLY_ROWS * d

    def _patience(self) -> float:
        """Return after how many rows directions for evaluation are found again."""
        costly = COSTLY_ROWS * self.stream.d if self.bounds.is_exact else 0.0
        compares = self.bounds.compares and isinstance(self.n_components, int)
        growth = COMPARED_GROWTH if compares and self.robust == "auto" else GROWTH
        early = EARLY_GROWTH if self._is_early() else 1.0
        return max(growth * self.rows_found, min(costly, early * self.rows_found))

    def _find_directions(self, rows: Rows | None = None) -> None:
        """Find the directions that further rows are evaluated with.

        Previous ones are improved if rows are given, the latest. Where these are all there are, and
        few, directions come from them alone.
        """
        bounds, k, d = self.bounds, self._count(PLAIN), self.stream.d
        if not 0 < k < min(self.rows, d):  # all directions capture the same
            return
        previous, found = self.directions if rows is not None else self.directions[:0], []
        if rows is not None and len(rows) == self.rows <= min(GRAM_ROWS, d):
            found = [leading_of(rows, k, self.stream.center)]
            previous = found[0][0][None]
        if not found or bounds.compares:
            found = bounds.directions(k, previous, EARLY_STEPS if self._is_early() else STEPS)
        if min(len(directions) for directions, _ in found) < k:
            return
        bounds.is_double = min(sums[-1] / max(sums[0], TINY) for _, sums in found) < SINGLE_RANGE
        self.directions = np.stack([directions for directions, _ in found])
        self.chosen = self._choose().name
        self.rows_found, self.rows_since = self.rows, 0.0

    def _choose(self) -> Choice:
        """Return which candidate is chosen."""
        if not self.bounds.compares:
            return Choice(PLAIN)
        if self.robust is True:
            return Choice(BOUNDED)
        return self.evidence.choose(self.rows, drifts_count=self.stream.half_life is None)

    def _count(self, name: str) -> int:
        """Return how many components a candidate has; a share is one of all rows."""
        if isinstance(self.n_components, int):
            return self.n_components
        moment, scale = self.bounds.of(name), self.bounds.scale_now()
        sums = moment.spectrum(scale)
        sums = sums[sums > ZERO_VARIANCE * sums.max(initial=0.0)]
        if self.n_components is None:
            return len(sums)
        plain = self.bounds.plain()
        if name != PLAIN:
            sums = plain.compress(moment.leading(len(sums), scale)[0], scale).diagonal()
        enough = np.cumsum(sums) >= self.n_components * plain.energy(scale) * (1.0 - ZERO_VARIANCE)
        return int(np.argmax(enough)) + 1 if enough.any() else len(sums)

    def model(self) -> Model:
        chosen, bounds, dtype = self._choose(), self.bounds, self.stream.dtype
        scale, d = bounds.scale_now(), self.stream.d
        plain = bounds.plain()
        robust = plain if chosen.name == PLAIN else bounds.of(chosen.name)
        k = max(self._count(chosen.name), 1)
        if self.n_components is None and bounds.is_exact:
            k = max(min(self.rows_learned, d), 1)  # those without variance as well
        found = robust.leading(k, scale)[0]
        found = np.asarray(orthonormal(found) if len(found) else np.eye(1, d), np.float64)
        directions, sums = _rotated(found, robust.compress(found, scale), self.keep_all)
        if robust is not plain:
            sums = plain.compress(directions, scale).diagonal().clip(min=0.0)
        degrees = self.degrees(bounds.weight)
        explained = sums / degrees
        inside, k = float(explained.sum()), len(directions)
        total = max(plain.energy(scale) / degrees, inside)
        return Model(
            components=np.ascontiguousarray(signed(directions).astype(dtype)),
            explained_variance=in_type(explained, dtype),
            total_variance=total,
            noise_variance=(total - inside) / (d - k) if k < d else 0.0,
            degrees=degrees,
            mean=bounds.mean.astype(dtype) if self.stream.center else np.zeros(d, dtype),
            column_variances=bounds.column_sums() / (bounds.weight or 1.0),
            scale=scale,
            captured=self._captured(k, inside / total if total > 0.0 else 1.0),
            rows=self.rows_learned,
            center=self.stream.center,
            errors=self.errors,
            curve=self.held_out.curve(),
            chosen=chosen,
            gaps=next((known.gaps(self._filling(known)) for known in self.gap_models), None),
        )

    def known_variances(self) -> NDArray[np.floating]:
        """Return the variances along all directions that the second moment of all rows holds."""
        spectrum = self.bounds.plain().spectrum(self.bounds.scale_now())
        return spectrum.clip(min=0.0) / self.degrees(self.bounds.weight)

    def _filling(self, gaps: GapModel) -> FactorModel:
        """Return the model that fills gaps: that of the complete rows, if no others had entries."""
        if gaps.has_started or not self.bounds.weight > 0.0:
            return gaps.model
        return gaps.model_of(self.bounds.plain(), self.bounds.scale_now())

    def _captured(self, k: int, seen: float) -> Captured:
        """Return what k components will capture of new rows."""
        if k == self.stream.d:
            return Captured(1.0, 0.0)
        return self.held_out.estimate(self.rows, seen)

    def include(self, other: Self) -> None:
        """Include another stream: all sums add up, and directions are found again from them."""
        if self.gap_models or other.gap_models:
            other = other.copy()
            ours, theirs = (one.gap_models or [one._gap_model()] for one in (self, other))
            models = self._filling(ours[0]), other._filling(theirs[0])
            self._fill_late(ours[0], models[1])
            other._fill_late(theirs[0], models[0])
            ours[0].merge(theirs[0])
            self.gap_models = ours
        typical = self.bounds.typical
        centres = typical.copy()
        self.bounds.merge(other.bounds)
        rows = (self.rows, other.rows)
        energy = centres.energy_between(other.bounds.typical, rows, self.bounds.scale_now())
        self.evidence.merge(other.evidence, energy / max(typical.energy, TINY))
        self.rows += other.rows
        self._find_directions()
        for gaps in self.gap_models:
            if gaps.has_started:
                gaps.find(self.bounds.plain(), self.bounds.scale_now())


def _rotated(directions: Doubles, second: Doubles, keep_all: bool) -> tuple[Doubles, Doubles]:
    """Return directions (k, d) along the eigenvectors of a second moment (k, k) along them.

    The eigenvalues (k,) are returned as well, largest first. Directions along which rows do not
    vary are left out, unless all are to be kept. Where rows do not vary at all, there is one.
    """
    values, vectors = np.linalg.eigh(second)
    values, vectors = values[::-1], vectors[:, ::-1]
    d = directions.shape[1]
    varies = values > ZERO_VARIANCE * np.sqrt(d) * max(values.max(initial=0.0), 0.0)
    values = np.where(varies, values, 0.0)
    kept = varies | keep_all
    if not kept.any():
        return np.eye(1, d), np.zeros(1)
    return vectors[:, kept].T @ directions, values[kept]
