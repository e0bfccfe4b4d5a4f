"""``python -m benchmarks.accuracy``: the accuracy of `PCA` against what is promised."""

from __future__ import annotations

import sys
import time

from threadpoolctl import threadpool_limits

from benchmarks import accuracy
from benchmarks.accuracy import generated, real
from benchmarks.results import Results, chosen, parser

STUDIES = [*generated.STUDIES, *real.STUDIES]


def main(arguments: list[str] | None = None) -> None:
    """Measure the studies one by one; those whose files are missing are left out with a note."""
    args = parser("accuracy", accuracy.__doc__).parse_args(arguments)
    studies = chosen(STUDIES, args)
    results = Results("accuracy", args)
    with threadpool_limits(limits=1):
        for study in studies:
            start = time.perf_counter()
            try:
                row = study.measure(results.seed, args.data, quick=args.quick)
            except FileNotFoundError as error:
                print(f"note: {error}", file=sys.stderr)
                continue
            results.add(row)
            print(f"  {time.perf_counter() - start:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
