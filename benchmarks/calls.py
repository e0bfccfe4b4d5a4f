"""``python -m benchmarks.calls``: how many Python functions of onepass run for a few small tasks.

A count does not depend on the machine. Functions, comprehensions and generators whose code is in
the package count, each time that they are entered; NumPy's and others' do not.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np
import scipy.sparse

import onepass
from onepass import PCA, open_source

PACKAGE = str(Path(onepass.__file__).parent)
WARM = 2  # runs before the one that counts: the first ones import modules and fill caches


def counted(work: Callable[[], Any]) -> Counter[CodeType]:
    """Return how often each function of onepass is entered."""
    found: Counter[CodeType] = Counter()

    def profile(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(PACKAGE):
            found[frame.f_code] += 1

    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(None)
    return found


def waiting() -> Callable[[], Any]:
    """Return the learning of one dense row that waits for a chunk."""
    rng = np.random.default_rng(0)
    model = PCA(5).partial_fit(rng.normal(size=(100, 50)))
    row = rng.normal(size=(1, 50))
    return lambda: model.partial_fit(row)


def filling(make: Callable[[np.random.Generator], Any]) -> Callable[[], Any]:
    """Return the learning of a block that fills a chunk."""
    rng = np.random.default_rng(0)
    model = PCA(5)
    for _ in range(20):
        model.partial_fit(make(rng))
    blocks = [make(rng) for _ in range(8)]

    return lambda: model.partial_fit(blocks.pop())


def dense(rng: np.random.Generator) -> Any:
    """Return 1,000 dense rows."""
    return rng.normal(size=(1000, 50))


def csr(rng: np.random.Generator) -> Any:
    """Return 1,000 sparse rows."""
    return scipy.sparse.random_array((1000, 50), density=0.1, rng=rng, format="csr")


def gapped() -> Callable[[], Any]:
    """Return the learning of 1,000 rows with gaps, and a look at the components."""
    rng = np.random.default_rng(0)

    def block() -> Any:
        return np.where(rng.random((1000, 50)) < 0.1, np.nan, rng.normal(size=(1000, 50)))

    model = PCA(5)
    for _ in range(30):
        model.partial_fit(block())
    blocks = [block() for _ in range(8)]

    def work() -> Any:
        model.partial_fit(blocks.pop())
        return model.components_

    return work


def small_csv(folder: Path) -> Callable[[], Any]:
    """Return the opening and reading of a csv file of 3,000 x 5."""
    path = folder / "a.csv"
    rows = np.random.default_rng(0).normal(size=(3000, 5))
    np.savetxt(path, rows, delimiter=",", header="a,b,c,d,e", comments="")
    return lambda: list(open_source(path))


def main(arguments: list[str] | None = None) -> None:
    """Print a table of counts and targets."""
    parser = argparse.ArgumentParser("python -m benchmarks.calls", description=__doc__)
    parser.add_argument("--most", type=int, default=0, help="functions to list for each task")
    args = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        tasks = [
            ("a dense row that waits", 12, waiting()),
            ("a dense block of 1,000 x 50 that fills a chunk", 80, filling(dense)),
            ("a CSR block of 1,000 x 50 that fills a chunk", 120, filling(csr)),
            ("a block of 1,000 x 50 with gaps, learned and read", 350, gapped()),
            (
                "open_source of a csv file of 3,000 x 5, and reading it",
                600,
                small_csv(Path(folder)),
            ),
        ]
        print(f"{'task':<56} {'target':>7} {'calls':>7}")
        for name, target, work in tasks:
            for _ in range(WARM):
                work()
            # A block may fill a chunk or wait: the largest count is that of one that fills it.
            runs = [counted(work) for _ in range(6)]
            found = runs[0] if "waits" in name else max(runs, key=Counter.total)
            mark = "" if found.total() <= target else "  above the target"
            print(f"{name:<56} {target:>7,} {found.total():>7,}{mark}")
            for code, times in found.most_common(args.most):
                where = Path(code.co_filename).relative_to(PACKAGE)
                print(f"    {times:>7,}  {where}:{code.co_firstlineno} {code.co_qualname}")


if __name__ == "__main__":
    main()
