"""``python -m benchmarks.floor``: how long, and how exact, against targets."""

from __future__ import annotations

import sys

from threadpoolctl import threadpool_limits

from benchmarks import floor
from benchmarks.floor import fits, sparse_rows, stochastic, wide
from benchmarks.floor.target import Effort
from benchmarks.results import Results, chosen, parser

TARGETS = [*fits.TARGETS, *sparse_rows.TARGETS, *stochastic.TARGETS, *wide.TARGETS]


def main(arguments: list[str] | None = None) -> None:
    """Measure the rows one by one; those whose files are missing are left out with a note."""
    args = parser("floor", floor.__doc__).parse_args(arguments)
    targets = chosen(TARGETS, args)
    results = Results("floor", args)
    effort = Effort(args.quick, results.seed, args.data)
    with threadpool_limits(limits=1):
        for target in targets:
            try:
                results.add(target.row(effort))
            except FileNotFoundError as error:
                print(f"note: {error}", file=sys.stderr)


if __name__ == "__main__":
    main()
