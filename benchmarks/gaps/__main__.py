"""``python -m benchmarks.gaps``: rows with missing values."""

from __future__ import annotations

import warnings

from threadpoolctl import threadpool_limits

from benchmarks import gaps
from benchmarks.gaps.studies import STUDIES
from benchmarks.results import Results, chosen, parser


def main(arguments: list[str] | None = None) -> None:
    """Run the studies one by one."""
    args = parser("gaps", gaps.__doc__).parse_args(arguments)
    studies = chosen(STUDIES, args)
    results = Results("gaps", args)
    warnings.simplefilter("ignore")  # of what is missing, and of imputers that did not settle
    with threadpool_limits(limits=1):
        for study in studies:
            for row in study.rows(results.seed, args.data, args.quick):
                results.add(row)


if __name__ == "__main__":
    main()
