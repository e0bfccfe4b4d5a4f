"""How a `PCALearner` learns from rows that can be read several times."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onepass.moments.krylov import Krylov, with_random
from onepass.moments.moment import deviations
from onepass.moments.sketch import Sketch
from onepass.pca.few import KEPT_BYTES, FewRows
from onepass.pca.passes import BESIDE, MOST_PASSES, FurtherPass, Sums, first_pass, pairs_for
from onepass.pca.reading import count_of
from onepass.precision import TINY, Doubles, Rows
from onepass.threads import one_thread

if TYPE_CHECKING:
    from onepass.pca.learner import PCALearner


def learn_whole(
    learner: PCALearner, values: Rows, weights: Doubles, has_gaps: bool, passes: int | None
) -> None:
    """Learn from all rows (n, d) in memory and their weights (n,), as often as it takes."""
    if not weights.all():
        values, weights = values[weights > 0.0], weights[weights > 0.0]
    further = None
    with one_thread():
        if passes is None and not has_gaps and _needs_no_sketch(learner, values):
            further = _second_of_rows(learner, values, weights)
        if further is None:
            learner.push(values, weights, has_gaps=has_gaps)
            further = learner.next_pass(None, passes)
        while further is not None:
            further.push(values, weights)
            further = learner.next_pass(further, passes)


def next_pass(
    learner: PCALearner, done: FurtherPass | None, passes: int | None
) -> FurtherPass | None:
    """Take over what a pass has found, None for the first one; return the next, if there is one."""
    most = MOST_PASSES if passes is None else passes
    if done is None:
        return _second_of_sketch(learner) if most > 1 else None
    done.finish()
    if done.rows_learned != learner.rows_learned:
        raise ValueError(
            f"pass {done.number} over X has {done.rows_learned:,} rows, and the first one had "
            f"{learner.rows_learned:,}: it has to give the same rows each time"
        )
    if done.measures:
        learner.segments, learner.errors = done.segments, done.errors
        learner.lengths = done.lengths
        return None
    k = count_of(learner)
    directions, values = done.iterated(k)
    if done.number >= most:
        _take_pairs(learner, directions, values)
        return None
    is_enough = done.is_exhausted or (passes is None and done.has_converged(k))
    if is_enough or done.number + 1 == most:
        return _last(learner, done, directions, values)
    _take_pairs(learner, directions, values)
    return done.multiplying(done.krylov)


def _needs_no_sketch(learner: PCALearner, values: Rows) -> bool:
    """Return whether rows (n, d) in memory are iterated on from the first pass on."""
    if learner.is_exact or not learner.kept or not isinstance(learner.n_components, int):
        return False
    return not learner.kept[0].fits(values)


def _second_of_rows(learner: PCALearner, values: Rows, weights: Doubles) -> FurtherPass | None:
    """Find the mean of rows in memory, and what to start from; return the second pass.

    Where there are fewer rows than columns, their leading directions are found at once, to
    rounding, if that takes little memory or time. Nothing is done where rows do not vary.
    """
    k, (n, d) = count_of(learner), values.shape
    sums, start = first_pass(values, weights, learner.stream.center, k + BESIDE)
    scale = deviations(sums.columns, sums.weight) if learner.scale else None
    if not TINY < sums.energy(scale) < np.inf:
        return None
    sketch = learner.empty_moment()
    sketch.take({"weight": sums.weight, "centre": sums.mean, "columns": sums.columns})
    learner.kept, learner.settled = [], [sketch]
    learner.rows_learned, learner.rows = n, float(n)
    first = FurtherPass.after_first(learner.stream, sums, scale, False)
    if n < d:
        few = FewRows([(values, weights)], sums, scale)
        more = pairs_for(k) - k
        has_room = 8 * n**2 <= KEPT_BYTES
        found = few.leading(k, more=more) if has_room else few.iterated(k, None, more)
        if found is not None:
            return _last(learner, first, *found)
    start = start if scale is None else start / scale
    return first.multiplying(Krylov(with_random(start, min(len(start), d), d)))


def _second_of_sketch(learner: PCALearner) -> FurtherPass | None:
    """Return the second pass, which starts from the sketch of the first; None if there is none."""
    if learner.is_exact or learner.bounded or learner.completions or learner.stream.half_life:
        return None
    learner.finish()
    if learner.kept or learner.completions or not TINY < learner.moment.energy() < np.inf:
        return None
    learner.counted = k = count_of(learner)
    moment, width = learner.moment, min(pairs_for(k), learner.stream.d)
    scale = learner.scale_of(moment)
    sums = Sums(moment.weight, moment.mean, moment.column_sums())
    first = FurtherPass.after_first(learner.stream, sums, scale, learner.is_double)
    return first.multiplying(Krylov(with_random(moment.leading(width)[0], width, moment.d)))


def _last(
    learner: PCALearner, done: FurtherPass, directions: Doubles, values: Doubles
) -> FurtherPass:
    """Take over what passes have found, and return the last one, which measures rows along it."""
    _take_pairs(learner, directions, values)
    k = learner.evaluated
    return done.measuring(directions[:k], values[:k], learner.segments.frame)


def _take_pairs(learner: PCALearner, directions: Doubles, values: Doubles) -> None:
    """Let the sketch have directions (m, d) and the sums of squares along them (m,)."""
    k, d, sketch = count_of(learner), learner.stream.d, learner.moment
    assert isinstance(sketch, Sketch)
    scale = learner.scale_of(sketch)
    columns = sketch.columns if scale is None else sketch.columns / scale**2
    sketch.become(directions, values, float(columns.sum()), least=k)
    learner.take_directions(directions, values, k if k < min(learner.rows, d) else 0)
