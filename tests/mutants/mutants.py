"""The mutants that the fast tests must kill, by hand: one line of code each."""

from tests.mutants.mutant import Mutant

MUTANTS = [
    Mutant(
        "steps begin with t = 0",
        "src/onepass/schedules.py",
        "return self.scale / np.sqrt(number)",
        "return self.scale / np.sqrt(number - 0.5)",
        "tests/test_schedules.py",
    ),
    Mutant(
        "AdaGrad's step without the root of two",
        "src/onepass/schedules.py",
        "return self.scale * diameter / sqrt(2.0)",
        "return self.scale * diameter",
        "tests/test_schedules.py",
    ),
    Mutant(
        "the top takes the lightest directions of a tie with the rest",
        "src/onepass/rounding.py",
        "above = order[M.weights[order] >= M.rest][:k]",
        "above = order[M.weights[order] > 2 * M.rest][:k]",
        "tests/test_rounding.py",
    ),
    Mutant(
        "sampling always begins at the same place",
        "src/onepass/rounding.py",
        "position = rng.uniform()",
        "position = 0.5 * rng.uniform()",
        "tests/test_rounding.py",
    ),
    Mutant(
        "an iterate may have a trace above k",
        "src/onepass/rounding.py",
        "if total > k + _TOLERANCE * k:",
        "if total > k + 1:",
        "tests/test_rounding.py",
    ),
    Mutant(
        "suboptimality leaves out what was gained",
        "src/onepass/metrics/variance.py",
        "exchanged = mu * np.vdot(gained, gained) - moment.captured(gained)",
        "exchanged = mu * np.vdot(gained, gained)",
        "tests/metrics/test_variance.py",
    ),
    Mutant(
        "a position beyond the rows is taken",
        "src/onepass/sources/base.py",
        "row > self.n_rows",
        "row > self.n_rows + 1",
        "tests/sources/test_in_memory.py",
    ),
]
