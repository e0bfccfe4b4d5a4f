"""A rule at work on a stream: its state, its steps, and the average of its iterates."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from onepass import _core
from onepass.algorithms.averaging import Average
from onepass.algorithms.centred import MixedRows
from onepass.algorithms.rule import Rule
from onepass.persistence.fields import Array, Field, Number, Part, Size, State, whole
from onepass.precision import Doubles
from onepass.schedules import AdaGradNorm, Schedule
from onepass.subspace import Subspace

SPARSE_ROWS = 256  # that the core takes in one call: few enough for a cheap Gram matrix
DENSE_ROWS = 16  # sparse rows that are made dense at a time where products lose digits
TRUSTED_ROWS = 1024  # after which the core makes the basis orthonormal again


class ChunkResult(NamedTuple):
    """What came of the r rows of a chunk, which turned a basis of m directions into one of m'."""

    captured: Doubles  # (r,), energy of each row in the k leading directions held before it
    energy: Doubles  # (r,), squared norms of the rows
    rotation: Doubles  # (m', m), the new basis in terms of the old one
    inner: Doubles  # (m', m'), second moment of the rows, each along the basis held before it


class Solver(State):
    """The iterate of a rule, the steps that led to it, and the average of the iterates, if any."""

    def __init__(
        self,
        rule: Rule,
        schedule: Schedule,
        dtype: np.dtype,
        batch_size: int = 1,
        average: Average | None = None,
    ) -> None:
        self.rule, self.schedule, self.batch_size = rule, schedule, batch_size
        self.average = average
        # Steps of AdaGrad-norm are this number over the norms seen, which the core adds up.
        self._numerator = (
            schedule.numerator(rule.diameter()) if isinstance(schedule, AdaGradNorm) else 0.0
        )
        self.state = rule.start(dtype)
        self.steps_taken = 0
        self.gradients = 0.0  # root of the sum of the squared norms of all gradients
        self.trusted_rows = 0  # learned from since the basis was made orthonormal

    def fields(self) -> dict[str, Field]:
        rule, d = self.rule, self.rule.d
        rank: int | Size = rule.k if rule.fixed_rank else Size("rank", d)
        dtype = (self.state.basis.dtype.name,)
        above = 1.0 + 1e-6  # of limits, by rounding
        table: dict[str, Field] = {
            "basis": Array((rank, d), dtype, -2.0, 2.0, orthonormal=True),
            "weights": Array((rank,), least=0.0, most=above * rule.largest_weight, descending=True),
            "rest": Number(float, 0.0, above * rule.largest_rest),
            "steps_taken": whole(),
            "gradients": Number(),
            "trusted_rows": whole(),
            "max_rank": Number(int, 1, d),
            "memory": Array((3,), least=0.0),
        }
        return table if self.average is None else table | {"average": Part()}

    def iterate(self) -> Subspace:
        """Return the current iterate M."""
        return self.rule.primal(self.state)

    def advance(self, rows: Any) -> ChunkResult:
        """Learn from rows (r, d) or `MixedRows`, weighted and centred."""
        return _chained(self._parts(rows), self.state.rank)

    def advance_incomplete(self, rows: NDArray[np.floating]) -> ChunkResult:
        """Learn from dense rows (r, d) with gaps (NaN), weighted and centred.

        A row is completed by the iterate before its step. Its energy is that of the whole row.
        """
        return _chained(map(self.advance, self._completed_parts(rows)), self.state.rank)

    def _completed_parts(self, rows: NDArray[np.floating]) -> Iterator[NDArray[np.floating]]:
        """Yield rows without gaps, each part completed by the iterate at that time."""
        with_gaps = np.isnan(rows).any(axis=1)
        if self.batch_size > 1:
            cuts = np.arange(0, len(rows), self.batch_size)
        else:  # before and after every row with gaps
            cuts = np.flatnonzero(with_gaps | np.append(False, with_gaps[:-1]))
        for part in np.split(np.arange(len(rows)), cuts):
            whole = rows[part]
            for t in np.flatnonzero(with_gaps[part]):
                whole[t] = self.rule.completed(self.state, whole[t])
            yield whole

    def _parts(self, rows: Any) -> Iterator[ChunkResult]:
        """Learn from rows, and yield what came of each part of them."""
        advance: Callable[[Any], ChunkResult] = self._advance_rows
        length, taken = max(len(rows), 1), 0
        if self.batch_size > 1:
            advance, length = self._advance_batch, self.batch_size
        elif not isinstance(rows, np.ndarray):
            advance, length = self._advance_sparse, SPARSE_ROWS
        while taken < len(rows):
            done = advance(rows[taken : taken + length])
            if not len(done.energy):
                # A row is nearly in the span of others, or nearly the mean: products lose digits.
                done = self._advance_rows(np.asarray(rows[taken : taken + DENSE_ROWS]))
            taken += len(done.energy)
            yield done

    def _advance_rows(self, rows: NDArray[np.floating]) -> ChunkResult:
        """Learn from dense rows one by one."""
        rule, state, trusted = self.rule.for_core(), self.state, self._is_trusted()
        steps = self._steps(rows)
        done = _core.advance(
            rule,
            state.basis,
            state.weights,
            state.rest,
            rows,
            steps,
            trusted=trusted,
            **self._so_far,
        )
        return self._move_on(done, done.basis, done.sums)

    @property
    def _so_far(self) -> dict[str, Any]:
        """What the core needs to know for its own steps and for averages."""
        sums = self.average is not None
        return {"scale": self._numerator, "seen": self.gradients, "sums": sums}

    def _advance_sparse(self, rows: MixedRows) -> ChunkResult:
        """Learn from the first sparse rows, as many as their Gram matrix determines."""
        state, m = self.state, self.state.rank
        products = rows.gram()
        count = rows.count_accurate(products.diagonal())
        if count < len(rows):  # a slice is a copy
            rows, products = rows[:count], products[:count, :count]
        gram = np.empty((m + count, m + count))  # of which only the lower triangle is read
        gram[:m, :m] = np.eye(m) if self._is_trusted() else state.basis @ state.basis.T
        gram[m:, :m], gram[m:, m:] = rows @ state.basis.T, products
        rule, d, steps = self.rule.for_core(), self.rule.d, self._steps(rows)
        done = _core.advance_gram(
            rule, gram, m, d, state.weights, state.rest, steps, **self._so_far
        )
        combined = partial(MixedRows, rows, dense=state.basis, dtype=state.basis.dtype)
        sums = None if done.sums is None else combined(done.sums)
        return self._move_on(done, np.asarray(combined(done.basis)), sums)

    def _is_trusted(self) -> bool:
        """Return whether the basis is orthonormal but for the rounding of a few rows."""
        return self.trusted_rows < TRUSTED_ROWS

    def _move_on(self, done: Any, basis: NDArray[np.floating], sums: Any) -> ChunkResult:
        """Take over what the core has computed; `sums` are rows for an average."""
        taken = len(done.energy)
        self.state = Subspace(basis, done.weights, done.rest)
        self.rule.remember(done.rule)
        self.steps_taken += taken
        self.gradients = done.seen
        self.trusted_rows = (self.trusted_rows if self._is_trusted() else 0) + taken
        if self.average is not None:
            self.average.add(sums, done.rests, taken)
        return ChunkResult(done.captured, done.energy, done.rotation, done.inner)

    def _advance_batch(self, rows: Any) -> ChunkResult:
        """Take one step with the mean gradient of the rows."""
        state, count = self.state, len(rows)
        batch = np.asarray(rows).astype(np.float64, copy=False)
        basis = state.basis.astype(np.float64, copy=False)
        gram = batch @ batch.T if count < batch.shape[1] else batch.T @ batch
        unit = float(np.abs(gram).max(initial=0.0)) or 1.0
        norm = unit * float(np.linalg.norm(gram / unit)) / count
        if self.average is not None:
            primal = self.rule.primal(state)
            self.average.add(primal.factor(), primal.rest, 1)
        energy = np.einsum("ij,ij->i", batch, batch)
        inside = batch @ basis.T
        leading = np.argsort(-state.weights, kind="stable")[: self.rule.k]
        captured = np.einsum("ij,ij->i", inside[:, leading], inside[:, leading])
        steps, seen = self._schedule(np.array([norm]))
        self.steps_taken += 1
        self.gradients = float(seen[-1])
        moved = self.rule.step(
            Subspace(basis, state.weights, state.rest), batch, float(steps[0]) / count
        )
        rotation = moved.basis @ basis.T
        self.state = Subspace(
            np.ascontiguousarray(moved.basis, state.basis.dtype), moved.weights, moved.rest
        )
        if self.rule.k == self.rule.d:  # all directions capture everything
            captured = energy
        return ChunkResult(captured, energy, rotation, rotation @ (inside.T @ inside) @ rotation.T)

    def _steps(self, rows: Any) -> Doubles | None:
        """Return the step sizes of rows, or None where the core finds them."""
        if self._numerator:
            return None
        if not self.schedule.needs_norms:
            return self._schedule(np.zeros(len(rows)))[0]
        if not isinstance(rows, np.ndarray):
            return self._schedule(rows.gram().diagonal())[0]
        return self._schedule(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))[0]

    def _schedule(self, norms: Doubles) -> tuple[Doubles, Doubles]:
        """Return the next step sizes (s,) from gradient norms (s,), and the norms up to each."""
        number = np.arange(self.steps_taken + 1.0, self.steps_taken + len(norms) + 1.0)
        seen = np.hypot.accumulate(np.concatenate([[self.gradients], norms]))[1:]
        steps = self.schedule.steps(number, seen, self.rule.diameter())
        return np.array(np.broadcast_to(steps, len(norms)), dtype=np.float64), seen

    def merge(self, other: Solver) -> None:
        """Include a solver of other rows: the average of feasible iterates is feasible."""
        together = max(self.steps_taken + other.steps_taken, 1)
        shares = [self.steps_taken / together, other.steps_taken / together]
        self.rule.merge(other.rule)
        self.state = self.rule.merged([self.state, other.state], shares)
        self.trusted_rows = 0
        self.steps_taken += other.steps_taken
        self.gradients = float(np.hypot(self.gradients, other.gradients))
        if self.average is not None and other.average is not None:
            self.average.merge(other.average)

    def copy(self, shared: tuple[str, ...] = ()) -> Self:
        """Return a solver that goes on by itself; no array is changed in place."""
        twin = super().copy(shared)
        twin.rule = copy.copy(self.rule)
        return twin

    @property
    def basis(self) -> NDArray[np.floating]:
        """The directions (m, d) of the state."""
        return self.state.basis

    @property
    def weights(self) -> Doubles:
        """Their weights, shape (m,)."""
        return self.state.weights

    @property
    def rest(self) -> float:
        """The weight of all other directions."""
        return self.state.rest

    @property
    def max_rank(self) -> int:
        """The largest rank of an iterate."""
        return self.rule.max_rank

    @property
    def memory(self) -> Doubles:
        """What the rule remembers, shape (3,)."""
        return np.array(self.rule.memory, np.float64)

    def take(self, content: dict[str, Any]) -> None:
        """Take over checked values, by the names of their fields."""
        self.state = Subspace(*(content.pop(name) for name in ("basis", "weights", "rest")))
        self.rule.max_rank = content.pop("max_rank")
        self.rule.memory = content.pop("memory").tolist()
        super().take(content)


def _chained(parts: Iterable[ChunkResult], rank: int) -> ChunkResult:
    """Return what came of parts that follow each other, from a basis of some rank on."""
    captured, energy = [np.zeros(0)], [np.zeros(0)]
    rotation, inner = np.eye(rank), np.zeros((rank, rank))
    for done in parts:
        captured.append(done.captured)
        energy.append(done.energy)
        rotation, inner = (
            done.rotation @ rotation,
            done.rotation @ inner @ done.rotation.T + done.inner,
        )
    return ChunkResult(np.concatenate(captured), np.concatenate(energy), rotation, inner)
