"""A rule on its way through a stream: its state, its steps, and the average of its iterates."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onepass import _core
from onepass.learning.averaging import Average
from onepass.learning.result import orthonormal
from onepass.learning.rules import Rule
from onepass.learning.weighted_rows import SparseRows
from onepass.schedules import AdaGradNorm, Schedule
from onepass.subspace import Subspace

SPARSE_ROWS = 256  # that the core takes in one call: as many as have a cheap Gram matrix
DENSE_ROWS = 16  # sparse rows that are taken as dense ones where their products do not do
TRUSTED_ROWS = 1024  # after which the basis is made orthonormal again


class Progress(NamedTuple):
    """What a chunk did.

    Attributes
    ----------
    captured : ndarray of shape (r,)
        The energy of each row in the k leading directions, before it was learned from.
    energy : ndarray of shape (r,)
        The squared norm of each row.
    turn : ndarray of shape (m', m)
        The new basis in terms of the old one.
    inner : ndarray of shape (m', m')
        The second moment of the rows, each measured along the basis held before it.
    """

    captured: NDArray[np.float64]
    energy: NDArray[np.float64]
    turn: NDArray[np.float64]
    inner: NDArray[np.float64]


class Solver:
    """The iterate of a rule, the steps that led to it, and the average of the iterates.

    Parameters
    ----------
    rule : Rule
        The algorithm.
    schedule : Schedule
        Its step sizes.
    dtype : dtype
        Of the rows.
    batch_size : int
        Rows of one gradient step.
    average : Average or None
        Empty, where the iterates are to be averaged.
    """

    def __init__(
        self,
        rule: Rule,
        schedule: Schedule,
        dtype: np.dtype,
        batch_size: int = 1,
        average: Average | None = None,
    ) -> None:
        self.rule, self.schedule, self.batch_size, self.average = (
            rule, schedule, batch_size, average,
        )  # fmt: skip
        # Steps of AdaGrad-norm are this number over the norms seen, which the core adds up.
        self._numerator = (
            schedule.numerator(rule.diameter()) if isinstance(schedule, AdaGradNorm) else 0.0
        )
        self.state = rule.start(dtype)
        self.steps_taken = 0
        self.gradients = 0.0  # root of the sum of the squared norms of all gradients
        self.trusted_rows = 0  # learned from since the basis was made orthonormal

    def iterate(self) -> Subspace:
        """Return the current iterate M."""
        return self.rule.primal(self.state)

    def advance(self, rows: Any) -> Progress:
        """Learn from rows (r, d) or SparseRows, weighted and centred."""
        m = len(self.state.weights)
        captured, energy = [np.zeros(0)], [np.zeros(0)]
        turn, inner = np.eye(m), np.zeros((m, m))
        for piece in self._pieces(rows):
            for part in self._advance_piece(piece):
                captured.append(part.captured)
                energy.append(part.energy)
                turn, inner = part.turn @ turn, part.turn @ inner @ part.turn.T + part.inner
        return Progress(np.concatenate(captured), np.concatenate(energy), turn, inner)

    def _pieces(self, rows: Any) -> Iterator[Any]:
        """Yield the rows in parts that are taken together."""
        length = len(rows)
        if self.batch_size > 1:
            length = self.batch_size
        elif isinstance(rows, SparseRows):
            length = SPARSE_ROWS
        for start in range(0, len(rows), max(length, 1)):
            yield rows[start : start + length]

    def _advance_piece(self, rows: Any) -> list[Progress]:
        """Learn from rows that are taken together."""
        if self.trusted_rows >= TRUSTED_ROWS:
            basis = orthonormal(self.state.basis)
            self.state = Subspace(basis, self.state.weights, self.state.rest)
            self.trusted_rows = 0
        self.trusted_rows += len(rows)
        if self.batch_size > 1:
            return [self._advance_batch(rows)]
        if not isinstance(rows, SparseRows):
            return [self._advance_rows(rows)]
        parts = []
        while len(rows):
            parts.append(self._advance_sparse(rows))
            rows = rows[len(parts[-1].energy) :]
            if len(rows):
                # A row is nearly in the span of others, or nearly the mean: products lose digits.
                parts.append(self._advance_rows(rows[:DENSE_ROWS].toarray()))
                rows = rows[DENSE_ROWS:]
        return parts

    def _advance_rows(self, rows: NDArray[np.floating]) -> Progress:
        """Learn from dense rows one by one."""
        state = self.state
        steps, scale = self._steps(rows)
        done = _core.advance(
            self.rule.native,
            state.basis,
            state.weights,
            state.rest,
            rows,
            steps,
            scale=scale,
            seen=self.gradients,
            trusted=True,
            sums=self.average is not None,
        )
        self._move_on(done, done.basis, len(rows))
        if self.average is not None and done.sums is not None:
            self.average.add(done.sums, done.rests, len(rows))
        return Progress(done.captured, done.energy, done.turn, done.inner)

    def _advance_sparse(self, rows: SparseRows) -> Progress:
        """Learn from the first sparse rows, as many as their Gram matrix determines."""
        state, m = self.state, self.state.rank
        products = rows.gram()
        count = rows.count_accurate(products.diagonal())
        rows, products = rows[:count], products[:count, :count]
        inside = rows.inner(state.basis)
        gram = np.block([[np.eye(m), inside.T], [inside, products]])
        steps, scale = self._steps(rows)
        done = _core.advance_gram(
            self.rule.native,
            gram,
            m,
            self.rule.d,
            state.weights,
            state.rest,
            steps,
            scale=scale,
            seen=self.gradients,
            sums=self.average is not None,
        )
        taken = done.taken
        self._move_on(done, np.asarray(_Combined(done.basis, state.basis, rows)), taken)
        if self.average is not None and done.sums is not None:
            self.average.add(_Combined(done.sums, state.basis, rows), done.rests, taken)
        return Progress(done.captured, done.energy, done.turn, done.inner)

    def _advance_batch(self, rows: Any) -> Progress:
        """Take one step with the mean gradient of the rows."""
        state, count = self.state, len(rows)
        dense = rows.toarray() if isinstance(rows, SparseRows) else rows
        batch = dense.astype(np.float64, copy=False)
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
        size = float(self._next_steps(np.array([norm]))[0]) / count
        moved = self.rule.step(Subspace(basis, state.weights, state.rest), batch, size)
        turn = moved.basis @ basis.T
        self.state = Subspace(
            np.ascontiguousarray(moved.basis, state.basis.dtype), moved.weights, moved.rest
        )
        if self.rule.k == self.rule.d:  # all directions capture everything
            captured = energy
        return Progress(captured, energy, turn, turn @ (inside.T @ inside) @ turn.T)

    def _steps(self, rows: Any) -> tuple[NDArray[np.float64] | None, float]:
        """Return the step sizes of rows, or None and the numerator of AdaGrad-norm steps."""
        if isinstance(self.schedule, AdaGradNorm):
            return None, self._numerator
        if not self.schedule.needs_norms:
            return self._schedule(np.zeros(len(rows)))[0], 0.0
        squares = rows.gram().diagonal() if isinstance(rows, SparseRows) else (
            np.einsum("ij,ij->i", rows, rows, dtype=np.float64)
        )  # fmt: skip
        return self._schedule(squares)[0], 0.0

    def _schedule(
        self, norms: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the next step sizes (s,) from gradient norms (s,), and the norms up to each."""
        number = np.arange(self.steps_taken + 1.0, self.steps_taken + len(norms) + 1.0)
        seen = np.hypot.accumulate(np.concatenate([[self.gradients], norms]))[1:]
        steps = self.schedule.steps(number, seen, self.rule.diameter())
        return np.array(np.broadcast_to(steps, len(norms)), dtype=np.float64), seen

    def _next_steps(self, norms: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the next step sizes and count these gradients."""
        steps, seen = self._schedule(norms)
        self.steps_taken += len(norms)
        self.gradients = float(seen[-1])
        return steps

    def _move_on(self, done: Any, basis: NDArray[np.floating], rows: int) -> None:
        """Take over what the core has computed."""
        self.state = Subspace(basis, done.weights, done.rest)
        self.rule.native = done.rule
        self.steps_taken += rows
        self.gradients = done.seen

    def fade(self, factor: float) -> None:
        """Let everything so far count less."""
        self.gradients *= float(np.sqrt(factor))
        if self.average is not None:
            self.average.fade(factor)

    def merge(self, other: Solver) -> None:
        """Include a solver of other rows: the average of feasible iterates is feasible."""
        together = max(self.steps_taken + other.steps_taken, 1)
        shares = [self.steps_taken / together, other.steps_taken / together]
        self.rule.adopt(other.rule)
        self.state = self.rule.merged([self.state, other.state], shares)
        self.trusted_rows = 0
        self.steps_taken += other.steps_taken
        self.gradients = float(np.hypot(self.gradients, other.gradients))
        if self.average is not None and other.average is not None:
            self.average.merge(other.average)

    def continue_from(self, other: Solver) -> None:
        """Take over iterate and steps of another solver, but not its average."""
        self.rule.native = other.rule.native
        self.state, self.trusted_rows = other.state, other.trusted_rows
        self.steps_taken, self.gradients = other.steps_taken, other.gradients

    def leave_out(self, given: Solver) -> None:
        """Take back the steps of the solver that this one continued from."""
        self.steps_taken -= given.steps_taken
        share = min(given.gradients / self.gradients, 1.0) if self.gradients else 0.0
        self.gradients *= float(np.sqrt((1.0 - share) * (1.0 + share)))

    def copy(self) -> Solver:
        """Return a solver that goes on by itself; no array is changed in place."""
        twin = object.__new__(Solver)
        twin.__dict__.update(self.__dict__)
        twin.rule = copy.copy(self.rule)
        twin.average = None if self.average is None else self.average.copy()
        return twin

    def saved(self) -> dict[str, Any]:
        """Return what a model file keeps."""
        state = {
            "basis": self.state.basis,
            "weights": self.state.weights,
            "rest": self.state.rest,
            "steps_taken": self.steps_taken,
            "gradients": self.gradients,
            "trusted_rows": self.trusted_rows,
            "memory": self.rule.memory(),
        }
        return state if self.average is None else {**state, "average": self.average.state()}

    def restore(self, state: dict[str, Any]) -> None:
        """Take over a checked state."""
        self.state = Subspace(state["basis"], state["weights"], state["rest"])
        self.steps_taken, self.gradients = state["steps_taken"], state["gradients"]
        self.trusted_rows = state["trusted_rows"]
        self.rule.recall(state["memory"])
        if self.average is not None:
            self.average.set_state(state["average"])


class _Combined:
    """The rows ``coefficients @ [basis; rows]``, shape (s, d), to multiply with arrays."""

    __array_ufunc__ = None  # so that products with arrays come here

    def __init__(
        self, coefficients: NDArray[np.float64], basis: NDArray[np.floating], rows: SparseRows
    ) -> None:
        self._coefficients, self._basis, self._rows = coefficients, basis, rows

    def __len__(self) -> int:
        return len(self._coefficients)

    def __matmul__(self, columns: NDArray[np.floating]) -> NDArray[np.floating]:
        """Return the products (s, m) with columns (d, m)."""
        inner = np.vstack([self._basis @ columns, self._rows.inner(columns.T)])
        return (self._coefficients @ inner).astype(self._basis.dtype)

    def __rmatmul__(self, left: NDArray[np.floating]) -> NDArray[np.floating]:
        """Return combinations (m, d) of the rows, left (m, s)."""
        m, coefficients = len(self._basis), left @ self._coefficients
        combined = self._rows.combine(coefficients[:, m:]) + coefficients[:, :m] @ self._basis
        return np.ascontiguousarray(combined, self._basis.dtype)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[np.floating]:
        return np.eye(len(self)) @ self
