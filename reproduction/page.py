"""The page about the figures and claims, as Markdown and as HTML."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reproduction.claims import Table

TEMPLATE = Path(__file__).with_name("page.md")
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
    return environment.from_string(TEMPLATE.read_text("utf-8")).render(
        **document,
        pictures=pictures,
        holds=lambda *names: always(names, "holds"),
        fails=lambda *names: always(names, "fails"),
        nowhere=lambda *names: always(names, "fails", "undecided"),
        numbers=numbers,
        claim_tables=lambda part: claim_tables(document["claims"], part),
    )


def html_page(document: dict[str, Any]) -> str:
    """Return the page as HTML, with pictures in the same folder."""
    from markdown_it import MarkdownIt

    to_html = MarkdownIt("commonmark", {"html": False}).enable("table").render
    return HTML.replace("CONTENT", to_html(page(document, ".")))


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
