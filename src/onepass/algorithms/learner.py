"""The learner of the paper's algorithms: one solver, and the variances along its directions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from onepass import rounding
from onepass.algorithms.centred import Mean, centred
from onepass.algorithms.held_out import HeldOut
from onepass.algorithms.solver import ChunkResult, Solver
from onepass.algorithms.variances import ExactVariances, TrackedVariances
from onepass.gaps.counts import MissingCounts
from onepass.gaps.factor_model import LEAST_REST, FactorModel, squared_residuals
from onepass.learner import Learner
from onepass.model import Model, in_type, signed
from onepass.moments.standard_errors import nothing
from onepass.persistence.fields import Field, Part, Parts, whole
from onepass.precision import TINY, Doubles
from onepass.stream import Stream
from onepass.subspace import orthonormal

# Columns up to which variances come from the second moment as a matrix. It is exact; with k = 8 a
# row takes 11 us instead of 7 at 256 columns; at 512 it would take 18.
EXACT_VARIANCE_COLUMNS = 256
CHUNK_BYTES = 2**23  # of dense rows: they stay in the processor's cache
CHUNK_ROWS = 512  # of dense rows: enough to make what is done once per chunk cheap
# Of the first chunk: enough for an average that others are measured along. The other parts are at
# most so many times what came before; each one costs a truncation of the average, 0.6 ms.
FIRST_PART_ROWS, PART_GROWTH = 128, 3
SPARSE_CHUNK_ROWS = 1024  # of sparse rows: what is done once per chunk, with d columns, costs more


class SolverLearner(Learner):
    """A solver at work on a stream; `rounding` and `seed` lead from an iterate to k directions."""

    # A step costs K d operations even for a sparse row, and the dense way is 70 times as fast at 30
    # columns and 1.4 times at 2,000.
    dense_columns: ClassVar[int] = 2048

    def __init__(
        self, stream: Stream, solver: Solver, rounding: Literal["top", "sample"], seed: int
    ) -> None:
        super().__init__(stream, solver.batch_size)
        self.solver, self.rounding, self.seed = solver, rounding, seed
        self.mean = Mean(stream.d)
        self.held_out = HeldOut()
        self.missing: list[MissingCounts] = []  # one, from the first gap on
        self.variances: Any = (
            ExactVariances(stream.d, stream.center)
            if stream.d <= EXACT_VARIANCE_COLUMNS
            else TrackedVariances(stream.d)
        )

    def fields(self) -> dict[str, Field]:
        parts = ("mean", "held_out", "solver", "variances")
        own: dict[str, Field] = {name: Part() for name in parts}
        own["missing"] = Parts(self._missing_counts, 0, 1)
        return {**super().fields(), **own, "seed": whole(0, 2**31)}

    def take(self, content: dict[str, Any]) -> None:
        super().take(content)
        held = len(self._held()) if self.mean.weight > 0.0 else 0
        if not self.is_exact and self.variances.moment.sums.shape[1] != held:
            raise ValueError("variances are not along the directions that are held")

    def _missing_counts(self) -> MissingCounts:
        """Return counts of gaps, after rows that had none."""
        counts, weight = MissingCounts(self.stream.d, float(self.rows_learned)), self.mean.weight
        if weight > 0.0:
            variances = self.variances.moment.column_sums() / weight if self.is_exact else None
            counts.count_before(self.mean.vector, variances)
        return counts

    def chunk_rows(self) -> int:
        if self.stream.is_sparse:
            return SPARSE_CHUNK_ROWS
        cached = CHUNK_BYTES // (self.stream.d * self.stream.dtype.itemsize)
        return max(1, min(CHUNK_ROWS, cached))

    def learn(self, values: Any, weights: Doubles) -> None:
        for counts in self.missing:
            counts.count(values)
        # What iterates capture is measured row by row. What averages capture is measured a part at
        # a time, along the average before it. Tracked variances are measured along the directions
        # after a part, so that the first one has to be long.
        in_parts = self.solver.average is not None and self.is_exact
        before = self.rows_learned + np.arange(len(weights))
        longest = np.maximum(PART_GROWTH * before, FIRST_PART_ROWS)
        for part in self._parts(longest) if in_parts else [slice(None)]:
            weight = self.mean.weight
            learned = centred(values[part], weights[part], self.mean, self.stream.center)
            self._learn_from(values[part], weights[part], learned, weight)

    def _parts(self, longest: NDArray[np.int64]) -> Iterator[slice]:
        """Yield parts of r rows, in whole batches; `longest` (r,) is the most from each row on."""
        start = 0
        while start < len(longest):
            length = -(-int(longest[start]) // self.batch_size) * self.batch_size
            yield slice(start, start + length)
            start += length

    @property
    def is_exact(self) -> bool:
        """Whether variances come from the second moment as a matrix."""
        return isinstance(self.variances, ExactVariances)

    def learn_with_gaps(self, values: Any, weights: Doubles) -> None:
        """Learn from rows with gaps, a part at a time: at most as many as came before."""
        dense = values.toarray() if self.stream.is_sparse else values
        some = np.flatnonzero(~np.isnan(dense).all(axis=1))
        self.missing = self.missing or [self._missing_counts()]
        self.missing[0].empty += len(weights) - len(some)
        dense, weights, numbers = dense[some], weights[some], self.rows_learned + some
        self.missing[0].count(dense)
        for part in self._parts(np.maximum(numbers, self.solver.rule.k + 1)):
            self._learn_incomplete(dense[part], weights[part], numbers[part])

    def _learn_incomplete(
        self, values: NDArray[np.floating], weights: Doubles, numbers: NDArray[np.int64]
    ) -> None:
        """Learn from dense rows (r, d) with gaps, which have numbers (r,) in the stream.

        The solver completes each row by its iterate, so that the row lies in the iterate's span as
        far as it was missing, and nothing can be measured of it. For the mean, the variances and
        what is captured, random draws take the place of gaps: their second moment is right on
        average. Errors are those of observed entries, as in `Model.reconstruction_error`.
        """
        before, held, k = self.mean.weight, self._held(), self.solver.rule.k
        # Without directions before, rows are measured along those learned, and do not count.
        is_new, gaps = before > 0.0 and len(held) > 0, np.isnan(values)
        if is_new:
            model = self._model_of_gaps()
        else:
            model = FactorModel.of_columns(values, center=self.stream.center)
        by_column = is_new and not self.is_exact
        drawing = self._with_column_noise(model, values) if by_column else model
        drawn = drawing.drawn(values, int(numbers[0]))
        measured = centred(drawn, weights, self.mean, self.stream.center)
        given = measured.copy()
        given[gaps] = np.nan
        self.solver.advance_incomplete(given)
        now = self._held()
        directions = (held if is_new else now).astype(np.float64)
        rotation = np.asarray(now @ held.T if is_new else np.eye(len(now)), np.float64)
        along = measured @ directions.T
        inner = rotation @ (along.T @ along) @ rotation.T
        energy = np.einsum("ij,ij->i", measured, measured, dtype=np.float64)
        captured = (
            np.einsum("ij,ij->i", along[:, :k], along[:, :k]) if k < self.stream.d else energy
        )
        if is_new:
            about = replace(model, mean=np.zeros(self.stream.d))
            about = about.shrunk(self.missing[0].rows_together)
            filled = about.complete(given).rows.astype(np.float64)
            errors = squared_residuals(filled, given, directions[:k]) / weights
            self.held_out.add(captured, energy, before)
            self.errors.add(errors, weights)
        rotation = rotation if is_new else np.zeros((len(now), 0))
        self.variances.add(drawn, weights, ChunkResult(captured, energy, rotation, inner))

    def _learn_from(self, values: Any, weights: Doubles, learned: Any, before: float) -> None:
        """Let the solver advance, and measure what its directions capture.

        `values` (r, d) are the rows as they came, `learned` the same ones weighted and centred, and
        `before` is the weight of the rows before them.
        """
        center, held = self.stream.center, self._held()
        captured, energy, rotation, inner = self.solver.advance(learned)
        now = self._held()
        learned_from = np.maximum(before + np.arange(len(weights)), 1.0)
        if not before > 0.0:  # no directions before: rows are measured along those learned
            rotation, along = np.zeros((len(now), 0)), np.asarray(learned @ now.T, np.float64)
            inner = along.T @ along
        elif self.solver.average is not None:  # it is the average that is read
            rotation = (now @ held.T).astype(np.float64)
            along = np.asarray(learned @ held.T, np.float64)
            inner = rotation @ (along.T @ along) @ rotation.T
            captured = np.einsum("ij,ij->i", along, along) if len(held) else captured
            learned_from = np.full(len(weights), before)
        scored = slice(int(not before > 0.0 and center), None)  # the first row is its own mean
        self.held_out.add(captured[scored], energy[scored], learned_from[scored])
        errors = (energy - captured) / weights
        self.errors.add(errors[scored], weights[scored])
        self.variances.add(values, weights, ChunkResult(captured, energy, rotation, inner))

    def _model_of_gaps(self) -> FactorModel:
        """Return the Gaussian of the rows so far, as the model published from them has it.

        It is that of the second moment. Where this is not kept, for many columns, it has the
        variances found along the solver's directions, and their mean everywhere else.
        """
        d, k, weight = self.stream.d, self.solver.rule.k, self.mean.weight
        if self.is_exact:
            return FactorModel.of(self.variances.moment, self.missing[0], k, None)
        held = self._held().astype(np.float64)
        wide = np.asarray(orthonormal(held[:k]), np.float64)
        along, vectors = np.linalg.eigh(self.variances.compress(wide, held) / weight)
        energy = self.variances.energy / weight
        rest = max((energy - float(along.sum())) / max(d - len(wide), 1), LEAST_REST * energy, TINY)
        roots = np.sqrt(np.maximum(along - rest, 0.0))
        loadings = np.ascontiguousarray((roots[:, None] * (vectors.T @ wide)).T)
        mean = self.mean.vector if self.stream.center else np.zeros(d)
        return FactorModel(mean, loadings, np.full(d, rest))

    def _with_column_noise(self, model: FactorModel, values: NDArray[np.floating]) -> FactorModel:
        """Return a model with the variances that the columns of rows (r, d) have.

        The variance of the model counts as one more row: of wide rows there may be few.
        """
        seen, explained = ~np.isnan(values), np.einsum("ij,ij->i", model.loadings, model.loadings)
        squares = (np.where(seen, values - model.mean, 0.0).astype(np.float64) ** 2).sum(axis=0)
        count = seen.sum(axis=0) + 1
        return model.with_variances((squares + explained + model.noise) / count, count)

    def _held(self) -> NDArray[np.floating]:
        """Return the directions (m, d) that variances are measured along."""
        if self.solver.average is None:
            return self.solver.state.basis
        leading = self.solver.average.factor[: self.solver.rule.k]
        return leading / np.linalg.norm(leading, axis=1)[:, None]

    def model(self) -> Model:
        solver, dtype = self.solver, self.stream.dtype
        k, d = solver.rule.k, self.stream.d
        iterate = solver.iterate() if solver.average is None else solver.average.value()
        if self.rounding == "sample":
            directions = rounding.sample(iterate, k, np.random.default_rng(self.seed))
        else:
            directions = rounding.top(iterate, k)
        wide = orthonormal(directions.astype(np.float64))
        degrees = self.degrees(self.mean.weight)
        second = self.variances.compress(wide, self._held().astype(np.float64))
        values, vectors = np.linalg.eigh(second / degrees)
        explained = values[::-1].clip(min=0.0)
        inside = float(explained.sum())
        total = max(self.variances.energy / degrees, inside)
        mean = self.mean.vector if self.stream.center else np.zeros(d)
        components = signed(vectors.T[::-1] @ wide).astype(dtype)
        seen = inside / total if total > 0.0 else 1.0
        found = Model(
            components=np.ascontiguousarray(components),
            explained_variance=in_type(explained, dtype),
            total_variance=total,
            noise_variance=(total - inside) / (d - k) if k < d else 0.0,
            degrees=degrees,
            mean=mean.astype(dtype),
            column_variances=None,
            scale=None,
            how_sure=replace(
                nothing(components, "the paper's algorithms have none"),
                captured=self.held_out.estimate(self.mean.weight, seen),
                curve=self.held_out.curve(),
            ),
            rows=self.rows_learned,
            center=self.stream.center,
            errors=self.errors,
        )
        if not self.missing:
            return found
        model = self._model_of_gaps() if self.is_exact else found.gap_model()
        return replace(found, missing=self.missing[0].summary(), factors=model)

    def known_variances(self) -> NDArray[np.floating]:
        """Return the variances along all directions of which they are known, largest first."""
        spectrum = self.variances.spectrum(orthonormal(self._held().astype(np.float64)))
        return spectrum / self.degrees(self.mean.weight)

    def include(self, other: Self) -> None:
        if self.missing or other.missing:
            counts, added = (one.missing or [one._missing_counts()] for one in (self, other))
            counts[0].merge(added[0])
            self.missing = counts
        ours, theirs = self._held().astype(np.float64), other._held().astype(np.float64)
        self.solver.merge(other.solver)
        joint = self._held().astype(np.float64)
        means = (self.mean, other.mean)
        self.variances.merge(other.variances, means, (ours, theirs, joint))
        self.mean.merge(other.mean)
        self.held_out.merge(other.held_out)
