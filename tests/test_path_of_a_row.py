"""How many functions and classes of ours a chunk of rows passes through: few enough to read.

ARCHITECTURE.md shows them in order: `python -m tests.test_path_of_a_row` prints the lists.
"""

import sys
from pathlib import Path

import numpy as np
import pytest

import onepass

SOURCE = str(Path(onepass.__file__).parent)
ROWS = 512
NOT_COUNTED = {"<genexpr>", "<lambda>", "<listcomp>", "<dictcomp>", "<setcomp>", "<module>"}
# Estimator, columns, and how many functions and classes there may be.
LIMITS = [("CappedMSG", 20, 29, 9), ("CappedMSG", 300, 29, 9), ("PCA", 20, 48, 10)]


def functions_called(estimator, rows):
    """Return the names of our functions that one `partial_fit` calls, in order of the first call.

    Methods are named with their class. Comprehensions and lambdas are part of their function.
    """
    called = {}

    def note(frame, event, _):
        code = frame.f_code
        ours = event == "call" and code.co_filename.startswith(SOURCE)
        if ours and code.co_name not in NOT_COUNTED:
            module = Path(code.co_filename).relative_to(SOURCE).with_suffix("")
            called[f"{module.as_posix()}: {code.co_qualname}"] = None

    sys.setprofile(note)
    try:
        estimator.partial_fit(rows)
    finally:
        sys.setprofile(None)
    return list(called)


def path_of_a_chunk(name, d):
    """Return the functions and classes that 512 rows pass through, which fill one chunk exactly."""
    rows = np.random.default_rng(0).normal(size=(8 * ROWS, d))
    estimator = getattr(onepass, name)(2).partial_fit(rows)
    functions = functions_called(estimator, rows[:ROWS])
    owners = (function.split(": ")[1].split(".") for function in functions)
    return functions, sorted({owner[0] for owner in owners if len(owner) > 1})


@pytest.mark.parametrize(("name", "d", "most_functions", "most_classes"), LIMITS)
def test_a_chunk_passes_through_few_functions(name, d, most_functions, most_classes):
    functions, classes = path_of_a_chunk(name, d)
    assert len(functions) > 5
    assert len(functions) <= most_functions, "\n".join(functions)
    assert len(classes) <= most_classes, classes


if __name__ == "__main__":
    for name, d, *_ in LIMITS:
        functions, classes = path_of_a_chunk(name, d)
        print(f"{name}, {d} columns: {len(functions)} functions, {len(classes)} classes {classes}")
        print("\n".join(f"  {function}" for function in functions))
