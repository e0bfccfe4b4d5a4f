"""The mutants that the fast tests must kill, by hand: one place in the code each.

The tests are files or functions, so that all of them can be run at once without any mutant.
"""

from tests.mutants.mutant import Mutant

REFERENCE = "tests/contracts/test_equals_reference.py"
SPLITS = "tests/contracts/test_splits.py"
MERGING = "tests/contracts/test_merging.py"
HALF_LIFE = "tests/contracts/test_half_life.py"
CHUNKS = f"{REFERENCE}::test_over_many_chunks"
KINDS = f"{REFERENCE}::test_weights_and_every_kind_of_rows"
STAY_SPARSE = f"{REFERENCE}::test_rows_that_stay_sparse"
SAVED = f"{SPLITS}::test_reading_copying_and_saving_between_calls_changes_nothing"
SAME_BITS = f"{SPLITS}::test_any_split_gives_the_same_bits"
SOURCE = "src/onepass"

CHUNKING = [
    Mutant(
        "rows of weight zero are learned from",
        f"{SOURCE}/learner.py",
        "rows[weights > 0.0], weights[weights > 0.0]",
        "rows[weights >= 0.0], weights[weights >= 0.0]",
        "tests/contracts/test_weights.py",
    ),
    Mutant(
        "chunks are not whole batches",
        f"{SOURCE}/learner.py",
        "        return max(1, length // self.batch_size) * self.batch_size",
        "        return length",
        CHUNKS,
    ),
]

ROWS = [
    Mutant(
        "weights may all be zero",
        f"{SOURCE}/estimators/input.py",
        "    if whole and not weights.any():",
        "    if False:",
        "tests/estimators/test_inputs.py",
    ),
    Mutant(
        "no column is too large beside the others",
        f"{SOURCE}/model.py",
        "if share > DOMINANT else None",
        "if share > 1.0 else None",
        "tests/estimators/test_warnings.py",
    ),
    Mutant(
        "indices of sparse rows are not looked at",
        f"{SOURCE}/estimators/input.py",
        "            X.check_format(full_check=True)",
        "            X.check_format(full_check=False)",
        "tests/sources/test_malformed_sparse.py",
    ),
    Mutant(
        "weights count as their squares",
        f"{SOURCE}/rows/centred.py",
        "    root = np.sqrt(weights).astype(rows.dtype)",
        "    root = weights.astype(rows.dtype)",
        KINDS,
    ),
    Mutant(
        "sparse rows are centred by the mean that includes them",
        f"{SOURCE}/rows/centred.py",
        "    inverse = np.divide(1.0, before, out=np.zeros_like(before), where=before > 0.0)",
        "    inverse = 1.0 / after",
        STAY_SPARSE,
    ),
    Mutant(
        "centred sparse rows lose their share of the mean",
        f"{SOURCE}/rows/centred.py",
        "    scale = np.sqrt(weights * before / after)",
        "    scale = np.sqrt(weights)",
        STAY_SPARSE,
    ),
]

MOMENTS = [
    Mutant(
        "the mean of two means does not look at their weights",
        f"{SOURCE}/rows/centred.py",
        "self.vector + other.weight / together * (",
        "self.vector + 0.5 * (",
        MERGING,
    ),
    Mutant(
        "what two means add is left out",
        f"{SOURCE}/rows/centred.py",
        "        return share * (other.vector - self.vector)",
        "        return 0.0 * share * (other.vector - self.vector)",
        MERGING,
    ),
]

SOLVERS = [
    Mutant(
        "steps of later chunks are counted from one too few",
        f"{SOURCE}/algorithms/solver.py",
        "        number = np.arange(self.steps_taken + 1.0, self.steps_taken + len(norms) + 1.0)",
        "        number = np.arange(self.steps_taken + 0.0, self.steps_taken + len(norms))",
        f"{SPLITS}::test_a_schedule_is_asked_for_every_step",
    ),
    Mutant(
        "gradients of earlier chunks are forgotten",
        f"{SOURCE}/algorithms/solver.py",
        "        self.gradients = done.seen",
        "        self.gradients = 0.5 * done.seen",
        f"{REFERENCE}::test_few_dimensions",
    ),
    Mutant(
        "a batch is a sum, not a mean",
        f"{SOURCE}/algorithms/solver.py",
        "batch, float(steps[0]) / count",
        "batch, float(steps[0])",
        f"{REFERENCE}::test_few_dimensions",
    ),
    Mutant(
        "the average counts a batch as its rows",
        f"{SOURCE}/algorithms/solver.py",
        "self.average.add(primal.factor(), primal.rest, 1)",
        "self.average.add(primal.factor(), primal.rest, count)",
        f"{REFERENCE}::test_few_dimensions",
    ),
    Mutant(
        "merged iterates count the same, however many steps led to them",
        f"{SOURCE}/algorithms/solver.py",
        "        shares = [self.steps_taken / together, other.steps_taken / together]",
        "        shares = [0.5, 0.5]",
        MERGING,
    ),
    Mutant(
        "merged steps are those of one part",
        f"{SOURCE}/algorithms/solver.py",
        "        self.steps_taken += other.steps_taken",
        "        self.steps_taken += 0",
        MERGING,
    ),
    Mutant(
        "merged averages forget the number of the other's iterates",
        f"{SOURCE}/algorithms/averaging.py",
        "        self.count, self.rest = self.count + other.count, self.rest + other.rest",
        "        self.count, self.rest = 2 * self.count, self.rest + other.rest",
        MERGING,
    ),
    Mutant(
        "an average forgets the rests of its iterates",
        f"{SOURCE}/algorithms/averaging.py",
        "        self.rest += rests",
        "        self.rest += 0.0 * rests",
        f"{REFERENCE}::test_few_dimensions",
    ),
    Mutant(
        "a batch of the incremental rule has a step",
        f"{SOURCE}/algorithms/incremental.py",
        "super().step(state, rows, 1.0)",
        "super().step(state, rows, size)",
        f"{REFERENCE}::test_few_dimensions",
    ),
    Mutant(
        "the diameter of the exact trace is that of the other",
        f"{SOURCE}/algorithms/msg.py",
        "2 * min(k, d - k) if self.exact_trace else min(2 * k, d)",
        "min(2 * k, d)",
        CHUNKS,
    ),
]

CHOOSING = [
    Mutant(
        "a robust candidate is chosen whatever it gains",
        f"{SOURCE}/pca/evidence.py",
        "            wins = choice.gain > SURE and not is_against\n",
        "            wins = choice.gain > 0.0 and not is_against\n",
        "tests/pca/test_evidence.py",
    ),
    Mutant(
        "long rows cannot object",
        f"{SOURCE}/pca/evidence.py",
        "is_against = choice.tail < -1.0 and choice.energy < 0.0",
        "is_against = False",
        "tests/pca/test_evidence.py",
    ),
    Mutant(
        "a layer has all of a row",
        f"{SOURCE}/pca/bounds.py",
        "weights * (share - inner)",
        "weights * share",
        "tests/pca/test_bounds.py",
    ),
    Mutant(
        "the share of new rows is that of rows seen",
        f"{SOURCE}/evaluation/held_out.py",
        "(h - 1.0) / (h + 1.0)",
        "h / (h + 1.0)",
        "tests/evaluation/test_held_out.py",
    ),
    Mutant(
        "numbers of a file may have any size",
        f"{SOURCE}/persistence/fields.py",
        "        if not self.least <= number <= self.most:\n",
        "        if False:\n",
        "tests/persistence/test_fields.py",
    ),
    Mutant(
        "arrays of a file may hold anything",
        f"{SOURCE}/persistence/fields.py",
        "        if not self._is_within(array):\n",
        "        if False:\n",
        "tests/persistence/test_fields.py",
    ),
]

RESULTS = [
    Mutant(
        "signs are those of the smallest entry",
        f"{SOURCE}/model.py",
        "    largest = np.abs(components).argmax(axis=1)[:, None]",
        "    largest = np.abs(components).argmin(axis=1)[:, None]",
        "tests/contracts/test_components.py::test_signs_are_deterministic",
    ),
    Mutant(
        "steps begin with t = 1/2",
        f"{SOURCE}/schedules.py",
        "return self.scale / np.sqrt(number)",
        "return self.scale / np.sqrt(number - 0.5)",
        "tests/test_schedules.py",
    ),
    Mutant(
        "the top prefers the complement to directions",
        f"{SOURCE}/rounding.py",
        "above = order[M.weights[order] >= M.rest][:k]",
        "above = order[M.weights[order] > 2 * M.rest][:k]",
        "tests/test_rounding.py",
    ),
    Mutant(
        "sampling begins in the first half only",
        f"{SOURCE}/rounding.py",
        "position = rng.uniform()",
        "position = 0.5 * rng.uniform()",
        "tests/test_rounding.py",
    ),
    Mutant(
        "suboptimality leaves out what was gained",
        f"{SOURCE}/metrics.py",
        "exchanged = mu * np.vdot(gained, gained) - moment.captured(gained)",
        "exchanged = mu * np.vdot(gained, gained)",
        "tests/metrics/test_variance.py",
    ),
]

FILES = [
    Mutant(
        "a position beyond the rows is taken",
        f"{SOURCE}/sources/base.py",
        "row > self.n_rows",
        "row > self.n_rows + 1",
        "tests/sources/test_memory.py",
    ),
    Mutant(
        "a run goes on one block too late",
        f"{SOURCE}/cli/fit.py",
        'Position(*progress["position"])',
        'Position(progress["position"][0], progress["position"][1] + 1)',
        "tests/cli/test_checkpoint.py",
    ),
]

FIELDS = "tests/persistence/test_fields.py"
CHECKPOINT = "tests/cli/test_checkpoint.py"

HOUSE = [
    Mutant(
        "copies share what is changed in place",
        f"{SOURCE}/persistence/fields.py",
        "isinstance(field, Array) and field.in_place",
        "isinstance(field, Array) and False",
        FIELDS,
    ),
    Mutant(
        "squares fade no more than sums",
        f"{SOURCE}/persistence/fields.py",
        "value * factor**field.fades",
        "value * factor",
        FIELDS,
    ),
    Mutant(
        "all columns of a table fade alike",
        f"{SOURCE}/persistence/fields.py",
        "value * factor ** np.asarray(field.fades, dtype=np.float64)",
        "value * factor",
        FIELDS,
    ),
    Mutant(
        "a file may hold more than its fields",
        f"{SOURCE}/persistence/fields.py",
        "        if unknown:",
        "        if False:",
        FIELDS,
    ),
    Mutant(
        "lengths of one name may differ",
        f"{SOURCE}/persistence/fields.py",
        "wanted = sizes.setdefault(wanted.name, length)",
        "wanted = length",
        FIELDS,
    ),
    Mutant(
        "a model file holds the rows that wait",
        f"{SOURCE}/estimators/saving.py",
        "estimator._learner.copy() if waiting else estimator._finished()",
        "estimator._learner.copy()",
        "tests/persistence/test_no_rows.py",
    ),
    Mutant(
        "a checkpoint holds no rows that wait",
        f"{SOURCE}/estimators/checkpoint.py",
        "header, arrays = pack(model, waiting=True)",
        "header, arrays = pack(model)",
        f"{CHECKPOINT}::test_the_printed_command_goes_on",
    ),
    Mutant(
        "a checkpoint of another run is taken",
        f"{SOURCE}/estimators/checkpoint.py",
        "        if found:",
        "        if False:",
        f"{CHECKPOINT}::test_a_checkpoint_of_another_run_is_refused",
    ),
    Mutant(
        "all branches of a checkpoint are the first one",
        f"{SOURCE}/estimators/checkpoint.py",
        'start = f"{OF_PARTS}{name}-"',
        'start = f"{OF_PARTS}0-"',
        "tests/distributed/test_checkpoint.py::test_resuming_ends_with_the_same_bits",
    ),
    Mutant(
        "the outermost layer of a bound is left out",
        f"{SOURCE}/pca/bounds.py",
        "for layer in self.moments[1 : index + 1]:",
        "for layer in self.moments[1:index]:",
        "tests/pca/test_bounds.py",
    ),
    Mutant(
        "a robust candidate answers for a stream that drifts",
        f"{SOURCE}/pca/evidence.py",
        "(drifts_count and drift > 1.0)",
        "(drifts_count and drift > 1e9)",
        "tests/pca/test_evidence.py",
    ),
    Mutant(
        "early rows count in the gain",
        f"{SOURCE}/pca/evidence.py",
        "latest, drift = self.segments.latest(rows, LATEST).sum(axis=0), self.drift(rows)",
        "latest, drift = self.segments.table.sum(axis=0), self.drift(rows)",
        "tests/pca/test_evidence.py",
    ),
    Mutant(
        "float32 rows are squared whatever their size",
        f"{SOURCE}/rows/rows.py",
        "return largest == 0.0 or LEAST_SINGLE < largest < MOST_SINGLE",
        "return True",
        "tests/contracts/test_scales.py::test_float32_rows_whose_squares_overflow",
    ),
    Mutant(
        "small variances are summed in single precision",
        f"{SOURCE}/pca/learner.py",
        " < SINGLE_RANGE",
        " < 0.0",
        "tests/estimators/test_numbers.py",
    ),
    Mutant(
        "completed rows have no conditional covariance",
        f"{SOURCE}/rows/completion.py",
        "self._add_covariances(self.chunk.given[counted], share[counted], matrix)",
        "pass",
        "tests/rows/test_completed_rows.py",
    ),
    Mutant(
        "directions found from few rows are believed",
        f"{SOURCE}/model.py",
        "return self.gap_model().shrunk(rows, self.scale)",
        "return self.gap_model()",
        "tests/estimators/test_gaps.py",
    ),
    Mutant(
        "gaps of sparse rows are filled in another order",
        f"{SOURCE}/rows/completion.py",
        "= filled[np.isnan(given)]  # columns ascend in both",
        "= filled[np.isnan(given)][::-1]",
        "tests/estimators/test_sparse_gaps.py",
    ),
    Mutant(
        "errors of rows with gaps count filled entries",
        f"{SOURCE}/rows/completion.py",
        "    rest[np.isnan(given)] = 0.0",
        "    pass",
        "tests/estimators/test_gaps.py",
    ),
    Mutant(
        "all columns are as noisy where algorithms of many columns draw rows",
        f"{SOURCE}/algorithms/learner.py",
        "by_column = is_new and not isinstance(self.variances, ExactVariances)",
        "by_column = False",
        "tests/estimators/test_gaps.py",
    ),
    Mutant(
        "the first rows are measured along directions from them",
        f"{SOURCE}/evaluation/row_errors.py",
        "roots = np.sqrt(weights[seen])",
        "roots, seen = np.sqrt(weights[~seen]), ~seen",
        "tests/evaluation/test_row_sample.py",
    ),
    Mutant(
        "rows with gaps come after all others",
        f"{SOURCE}/pca/learner.py",
        "self.evidence, self.held_out, self.errors = Evidence(), HeldOut(), ErrorHistogram()",
        "others = Evidence(), HeldOut(), ErrorHistogram()",
        "tests/estimators/test_gaps.py -k drift",
    ),
    Mutant(
        "a tile is added by each of the threads",
        f"{SOURCE}/_core/dense_rows.hpp",
        "if (tile_number % share.step == share.first) {",
        "if (share.first >= 0) {",
        "tests/core/test_outer.py",
    ),
    Mutant(
        "what is captured is about zero",
        f"{SOURCE}/_core/dense_rows.hpp",
        "const double part = along[j] - offset[(p + j) * p + point];",
        "const double part = along[j];",
        "tests/core/test_measure.py",
    ),
    Mutant(
        "few rows know every quantile",
        f"{SOURCE}/evaluation/row_errors.py",
        "share * (total + unit)",
        "share * total",
        "tests/evaluation/test_error_histogram.py",
    ),
]

CORE = [
    Mutant(
        "the iterate keeps a direction too many",
        f"{SOURCE}/_core/rules.hpp",
        "const Index size = sigma.size = min(sigma.size, rule.max_rank);",
        "const Index size = sigma.size = min(sigma.size, rule.max_rank + 1);",
        CHUNKS,
    ),
    Mutant(
        "the exact trace is one too large",
        f"{SOURCE}/_core/rules.hpp",
        "            project(spectrum, double(rule.k), true);",
        "            project(spectrum, double(rule.k) + 1.0, true);",
        f"{REFERENCE}::test_few_dimensions",
    ),
    Mutant(
        "eigenvalues are clipped at two",
        f"{SOURCE}/_core/projection.hpp",
        "inline double clip(double value) { return min(1.0, max(0.0, value)); }",
        "inline double clip(double value) { return min(2.0, max(0.0, value)); }",
        f"{REFERENCE}::test_few_dimensions",
    ),
    Mutant(
        "the incremental algorithm keeps a direction too many",
        f"{SOURCE}/_core/rules.hpp",
        "        sigma.size = min(sigma.size, rule.max_rank);\n        sigma.rest",
        "        sigma.size = min(sigma.size, rule.max_rank + 1);\n        sigma.rest",
        CHUNKS,
    ),
    Mutant(
        "the trace of MEG is one too small",
        f"{SOURCE}/_core/rules.hpp",
        "        cap(spectrum, double(d - rule.k));",
        "        cap(spectrum, double(d - rule.k + 1));",
        CHUNKS,
    ),
    Mutant(
        "Oja's angle forgets that the inside grows as well",
        f"{SOURCE}/_core/rules.hpp",
        "atan2(length * row.residual, 1.0 / row.step + row.inside)",
        "atan2(length * row.residual, 1.0 / row.step)",
        CHUNKS,
    ),
    Mutant(
        "the angle of GROUSE forgets the inside",
        f"{SOURCE}/_core/rules.hpp",
        "length, row.step * row.residual * length)",
        "length, row.step * row.residual)",
        CHUNKS,
    ),
    Mutant(
        "the average counts the iterate after each row",
        f"{SOURCE}/_core/rules.hpp",
        "        sum.add<Rule>(M, w.scratch);\n",
        "        if (t > 0) sum.add<Rule>(M, w.scratch);\n",
        CHUNKS,
    ),
    Mutant(
        "one more direction captures",
        f"{SOURCE}/_core/rules.hpp",
        "            if (i < given.k) captured = inside;",
        "            if (i <= given.k) captured = inside;",
        "tests/contracts/test_components.py",
    ),
    Mutant(
        "rows are not shortened by what they move the mean",
        f"{SOURCE}/_core/kernels.cpp",
        "        const double scale = sqrt(weight) * sqrt(task.weight / together);",
        "        const double scale = task.weight > 0.0 ? sqrt(weight) : 0.0;",
        CHUNKS,
    ),
    Mutant(
        "rows are centred by the mean that includes them",
        f"{SOURCE}/_core/kernels.cpp",
        "            centred[c] = T(scale * deviation);",
        "            centred[c] = T(scale * (deviation - share * deviation));",
        CHUNKS,
    ),
    Mutant(
        "AdaGrad's step does not know its own gradient",
        f"{SOURCE}/_core/advance.hpp",
        "            task.seen = hypot(task.seen, energy[t]);\n"
        "            eta[t] = step_size(task.taken + t);\n",
        "            eta[t] = step_size(task.taken + t);\n"
        "            task.seen = hypot(task.seen, energy[t]);\n",
        f"{REFERENCE}::test_few_dimensions",
    ),
    Mutant(
        "a row is split once, however little is left of it",
        f"{SOURCE}/_core/split.hpp",
        "        if (residual > LITTLE * before) break;",
        "        break;",
        CHUNKS,
    ),
    Mutant(
        "equal eigenvalues are rotated the wrong way",
        f"{SOURCE}/_core/rank_one.hpp",
        "a = cosine[p] * old - sine[p] * b, b = sine[p] * old + cosine[p] * b;",
        "a = cosine[p] * old + sine[p] * b, b = cosine[p] * b - sine[p] * old;",
        CHUNKS,
    ),
    Mutant(
        "a deficient iterate asks for a larger rank",
        f"{SOURCE}/_core/rules.hpp",
        "            if (!rule.deficient && rule.max_rank < d) rule.max_rank++;",
        "            if (rule.max_rank < d) rule.max_rank++;",
        "tests/core/test_advance.py",
    ),
    Mutant(
        "a row that is too large is taken",
        f"{SOURCE}/_core/advance.hpp",
        "            if (!(task.energy[t] <= MAX_ENERGY)) throw onepass::RowError{t};",
        "            if (false) throw onepass::RowError{t};",
        "tests/core/test_advance.py",
    ),
    Mutant(
        "the basis is not looked at where rounding may have added up",
        f"{SOURCE}/_core/advance.hpp",
        "        const double* L = trusted_blocks ? nullptr : factor_of_basis();",
        "        const double* L = nullptr;",
        "tests/core/test_advance.py",
    ),
    Mutant(
        "a block goes on after a row that is nearly in the span",
        f"{SOURCE}/_core/cholesky.hpp",
        "                if (!(share >= limits.usable && ",
        "                if (!(share >= 0.0 && ",
        "tests/core/test_frame.py tests/core/test_advance.py",
    ),
    Mutant(
        "rows whose squares underflow count as zero",
        f"{SOURCE}/_core/advance.hpp",
        "                if (row(start + t)[i] != T(0)) energy = NAN;  // underflow",
        "                if (false) energy = NAN;",
        "tests/core/test_advance.py",
    ),
    Mutant(
        "the second moment along the basis forgets the rows of the block",
        f"{SOURCE}/_core/advance.hpp",
        "        multiply<double>(products.transpose(), products, whole, 1.0);",
        "        multiply<double>(products.transpose(), products, whole, 0.0);",
        "tests/core/test_advance.py",
    ),
    Mutant(
        "weights are not made consistent with the roots",
        f"{SOURCE}/_core/rank_one.hpp",
        "        make_weights_consistent(m);",
        "",
        "tests/core/test_rank_one.py",
    ),
    Mutant(
        "a step of the secular equation leaves out the curvature",
        f"{SOURCE}/_core/secular.hpp",
        "    const vec square = other - beta * (value + both - other);",
        "    const vec square = other;",
        "tests/core/test_rank_one.py",
    ),
    Mutant(
        "MEG caps at the second largest",
        f"{SOURCE}/_core/projection.hpp",
        "        if (p == 0 || target - capped > sum * exp(current - log_value(p - 1))) break;",
        "        if (p <= 1 || target - capped > sum * exp(current - log_value(p - 1))) break;",
        "tests/core/test_cap.py",
    ),
    Mutant(
        "the window of the projection may end too low",
        f"{SOURCE}/_core/projection.hpp",
        " &&\n               left >= count * (1.0 - above) - slack;",
        ";",
        "tests/core/test_project.py",
    ),
    Mutant(
        "the last columns of a product are left out",
        f"{SOURCE}/_core/tiles.hpp",
        "        for (Index c = whole; c < count; c++)",
        "        for (Index c = count; c < count; c++)",
        "tests/core/test_tiles.py",
    ),
    Mutant(
        "a call may have fewer steps than rows",
        f"{SOURCE}/_core/bindings.cpp",
        'check_numbers(steps, task.r, 0.0, "steps");',
        'check_numbers(steps, length(steps), 0.0, "steps");',
        "tests/core/test_arguments.py",
    ),
    Mutant(
        "MEG moves where all directions are wanted",
        f"{SOURCE}/_core/rules.hpp",
        "        if (rule.k == M.d) return;  // W = 0 and M = I, whatever the rows are",
        "",
        "tests/core/test_advance.py",
    ),
    Mutant(
        "the rank test of a merged iterate counts as a step",
        f"{SOURCE}/algorithms/msg.py",
        "        return self.mapped(super().merged(states, shares))[1]",
        "        rule, M = self.mapped(super().merged(states, shares))\n"
        "        self.remember(rule)\n        return M",
        "tests/algorithms/test_rules.py",
    ),
    Mutant(
        "sparse rows have no squares on the diagonal",
        f"{SOURCE}/_core/sparse_outer.hpp",
        "for (Index p = entry->place; p < stop; p++)",
        "for (Index p = entry->place + 1; p < stop; p++)",
        "tests/core/test_sparse_outer.py",
    ),
    Mutant(
        "sums over missing entries are subtracted however large they are",
        f"{SOURCE}/_core/completion.hpp",
        "subtractable = trace <= SUBTRACTABLE_TRACE;",
        "subtractable = true;",
        "tests/core/test_complete.py",
    ),
    Mutant(
        "rows with the same gaps count once",
        f"{SOURCE}/_core/completion.hpp",
        "        weight += task.weights ? task.weights[t] : 1.0;",
        "        weight = task.weights ? task.weights[t] : 1.0;",
        "tests/core/test_complete.py",
    ),
    Mutant(
        "what 64-bit integers would overwrite is not looked at",
        f"{SOURCE}/_core/bindings.cpp",
        "    if (found != wanted) {",
        "    if (found == nullptr) {",
        "tests/core/test_blas.py",
    ),
]

MUTANTS = [*CHUNKING, *HOUSE, *ROWS, *MOMENTS, *SOLVERS, *CHOOSING, *RESULTS, *FILES, *CORE]
