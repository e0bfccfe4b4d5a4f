"""The whole reproduction: run, draw, judge the claims, and write the page."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from onepass.model_file import replacing
from onepass.paper import figure1, figure2, figure3, theorem1
from onepass.paper.claims import Part, Table, judge
from onepass.paper.runs import QUICK, Scope, complete, finished
from onepass.report import require

FIGURES: dict[str, list[Any]] = {"1": [figure1], "2": [figure2, theorem1], "3": [figure3]}
HTML = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>The paper, measured again</title>
<style>
  body { font: 16px/1.5 system-ui, sans-serif; color: #1a1a1a; background: #fff;
         max-width: 68rem; margin: 2rem auto; padding: 0 1rem; }
  h1, h2 { line-height: 1.2; } h2 { margin-top: 2.5rem; }
  img { width: 100%; height: auto; }
  table { border-collapse: collapse; width: 100%; margin: 1rem 0; }
  th, td { text-align: left; vertical-align: top; padding: .4rem .8rem .4rem 0;
           border-bottom: 1px solid #ddd; font-variant-numeric: tabular-nums; }
</style>
</head>
<body>
CONTENT</body>
</html>
"""


def run(
    out: str | os.PathLike[str],
    figures: Sequence[str | int] | None = None,
    mnist: str | os.PathLike[str] | None = None,
    quick: bool = False,
    splits: int | None = None,
    jobs: int = 1,
    seed: int = 0,
    so_far: bool = False,
    markdown: str | os.PathLike[str] | None = None,
) -> list[dict[str, Any]]:
    """Reproduce the paper's figures and measure its claims.

    Writes pictures (png and svg), ``claims.json``, and the page as ``index.html`` and as Markdown.
    Finished runs are kept in ``out/runs`` as npz files: after an interruption, the same call
    continues with the others.

    Parameters
    ----------
    out : path
        The folder to write to, which is made if necessary.
    figures : sequence of "1", "2", "3", optional
        All by default. The toy of Section 5.2 and Theorem 1 belong to figure 2.
    mnist : path, optional
        The folder of MNIST's idx files, compressed or not; by default scikit-learn fetches them.
    quick : bool
        Fewer rows, runs and splits.
    splits : int, optional
        Random splits of MNIST for each reading: 10 by default, 2 if quick, 100 in the paper.
    jobs : int
        The number of processes.
    seed : int
        The same seed gives the same numbers.
    so_far : bool
        Run nothing: make the page from the finished runs; it says how many these are.
    markdown : path, optional
        Where to write the page as Markdown; ``out/index.md`` by default.

    Returns
    -------
    list of dict
        The claims as they are in ``claims.json``.
    """
    from markdown_it import MarkdownIt

    wanted = {str(figure) for figure in figures} if figures else set(FIGURES)
    if unknown := wanted - set(FIGURES):
        raise ValueError(f"figures must be among {', '.join(FIGURES)}, not {sorted(unknown)}")
    if splits is not None and splits < 2:
        raise ValueError(f"splits must be at least 2, for a spread, not {splits}")
    require()  # rather than after an hour of work
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    scope = replace(QUICK if quick else Scope(), seed=seed)
    if splits:
        scope = replace(scope, splits=splits)
    if "3" in wanted:  # before the other figures take long
        scope = replace(scope, images=figure3.load_images(mnist)[:: scope.every_image])
    modules = [module for figure in sorted(wanted) for module in FIGURES[figure]]
    planned = [run for module in modules for run in module.make_runs(scope)]
    kept = folder / "runs"
    results = finished(planned, kept) if so_far else complete(planned, kept, jobs)
    parts: list[Part] = [module.report(results, scope, folder) for module in modules]
    options = [f"--figure {figure}" for figure in sorted(wanted)] if figures else []
    options += ["--quick"] * quick + ["--mnist DIR"] * (mnist is not None)
    options += [f"--splits {splits}"] * bool(splits) + [f"--seed {seed}"] * bool(seed)
    claims = [claim for part in parts for claim in judge(part)]
    document = {
        "command": " ".join(["onepass paper", *options]),
        "version": ", ".join(sorted({str(result["version"]) for result in results.values()})),
        "cpu_minutes": sum(float(result["cpu_seconds"]) for result in results.values()) / 60,
        "quick": quick,
        "finished": f"{len(results)} of {len(planned)}" if len(results) < len(planned) else "all",
        "claims": claims,
        "parts": {part.name: {"facts": part.facts, "tables": part.tables} for part in parts},
    }
    page_path = Path(markdown) if markdown else folder / "index.md"
    to_html = MarkdownIt("commonmark", {"html": False}).enable("table").render
    written = {
        folder / "claims.json": json.dumps(document, indent=1),
        folder / "index.html": HTML.replace("CONTENT", to_html(page(document, "."))),
        page_path: page(document, os.path.relpath(folder, page_path.parent)),
    }
    for path, text in written.items():
        with replacing(path) as file:
            file.write(text.encode())
    return claims


def page(document: dict[str, Any], pictures: str) -> str:
    """Return the page as Markdown, with pictures in a folder, from the content of ``claims.json``.

    The text is in ``page.md``. There, `holds` and `fails` say whether claims have that verdict
    under all their readings, or under the reading after an @; `nowhere` says whether they hold
    under no reading, and `numbers` gives what was measured.
    """
    import jinja2

    entries: dict[str, list[dict[str, Any]]] = {}
    for entry in document["claims"]:
        for name in (entry["name"], f"{entry['name']} @ {entry['reading']}"):
            entries.setdefault(name, []).append(entry)

    def always(names: Sequence[str], *verdicts: str) -> bool:
        return all(
            name in entries and all(entry["verdict"] in verdicts for entry in entries[name])
            for name in names
        )

    def numbers(name: str) -> str:
        return ", ".join(each["text"].split(" [")[0] for each in entries[name][0]["measured"])

    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["count"] = lambda number: f"{number:,}"
    environment.filters["cell"] = lambda text: text.replace("|", "\\|")
    return environment.from_string((files("onepass.paper") / "page.md").read_text("utf-8")).render(
        **document,
        pictures=pictures,
        holds=lambda *names: always(names, "holds"),
        fails=lambda *names: always(names, "fails"),
        nowhere=lambda *names: always(names, "fails", "undecided"),
        numbers=numbers,
        claim_tables=lambda part: claim_tables(document["claims"], part),
    )


def claim_tables(claims: Sequence[dict[str, Any]], part: str) -> list[Table]:
    """Return tables with a line per claim and a column per reading."""
    by_name: dict[str, dict[str, dict[str, Any]]] = {}
    for entry in claims:
        if entry["part"] == part:
            by_name.setdefault(entry["name"], {})[entry["reading"]] = entry
    tables: dict[tuple[str, ...], list[list[str]]] = {}
    for found in by_name.values():
        first, cells = next(iter(found.values())), []
        for entry in found.values():
            parts: dict[str, list[str]] = {}
            for each in entry["measured"]:
                number = f"{each['what']}: {each['text']}" if each["what"] else each["text"]
                parts.setdefault(each["verdict"], []).append(number)
            cells.append(". ".join(f"**{word}** {', '.join(n)}" for word, n in parts.items()))
        tables.setdefault(tuple(found), []).append([first["claim"], first["condition"], *cells])
    return [
        {"columns": ["Claim", "Condition", *readings], "lines": lines}
        for readings, lines in tables.items()
    ]
