"""The page that a reproduction ends with, made from ``claims.json`` and the words alone."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from onepass.model_file import replacing
from onepass.paper.claims import words
from onepass.report.page import Picture, Section, Table, render, render_markdown


def write_page(folder: Path, markdown: Path) -> None:
    """Write ``index.html`` beside ``claims.json``, and the same page as Markdown."""
    document, title = json.loads((folder / "claims.json").read_text("utf-8")), words()["title"]
    for path, write in ((folder / "index.html", render), (markdown, render_markdown)):
        pictures = Path(os.path.relpath(folder, path.parent))
        with replacing(path) as file:
            file.write(write(title, lead(document), sections(document, pictures)).encode())


def lead(document: Mapping[str, Any]) -> str:
    """Return the first paragraph."""
    said = words()
    made = said["made"].format(**document)
    return " ".join([*[said["quick"].strip()] * document["quick"], said["lead"], made])


def sections(document: Mapping[str, Any], pictures: Path) -> list[Section]:
    """Return the sections of a page whose pictures are in a folder."""
    said, claims = words(), document["claims"]
    entries = {(entry["name"], entry["reading"]): entry for entry in claims}
    found = []
    for group in said["findings"]:
        texts = [text for finding in group["finding"] if (text := conclude(finding, entries))]
        found += [Section(group["title"], texts)] if texts else []
    found.append(Section("How to read the tables", [said["verdicts"]]))
    for name, part in document["parts"].items():
        texts = said[name]
        shown = [
            Picture((pictures / each["source"]).as_posix(), each["caption"].format(**part["facts"]))
            for each in texts["pictures"]
        ]
        tables = claim_tables([entry for entry in claims if entry["part"] == name])
        tables += [Table(**table) for table in part["tables"]]
        text = texts["text"].format(**part["facts"])
        found.append(Section(texts["title"], text.split("\n\n"), shown, tables))
    return found


def conclude(finding: Mapping[str, Any], entries: Mapping[tuple[str, str], Any]) -> str:
    """Return the text of a finding, or nothing where the run did not establish it.

    A premise is the name of a claim, a verdict, and the readings that it must have it under. The
    braces in the text are filled with the numbers of the claims that are cited.
    """
    for name, verdict, *readings in finding["premises"]:
        if any(entries.get((name, r), {}).get("verdict") != verdict for r in readings):
            return ""
    cited = [entries[name, reading]["measured"] for name, reading in finding.get("cites", [])]
    numbers = [", ".join(each["text"].split(" [")[0] for each in cite) for cite in cited]
    return finding["text"].format(*numbers)


def claim_tables(entries: Iterable[Mapping[str, Any]]) -> list[Table]:
    """Return a row per claim and a column per reading, in a table per set of readings."""
    rows: dict[str, dict[str, Mapping[str, Any]]] = {}
    for entry in entries:
        rows.setdefault(entry["name"], {})[entry["reading"]] = entry
    tables: dict[tuple[str, ...], list[list[str]]] = {}
    for found in rows.values():
        first = next(iter(found.values()))
        cells = [f"{first['claim']} ({first['where']})", first["condition"]]
        tables.setdefault(tuple(found), []).append([*cells, *map(describe, found.values())])
    return [Table(["Claim", "Condition", *readings], lines) for readings, lines in tables.items()]


def describe(entry: Mapping[str, Any]) -> str:
    """Return verdicts and numbers of a claim under a reading."""
    parts: dict[str, list[str]] = {}
    for measured in entry["measured"]:
        number = f"{measured['what']}: {measured['text']}" if measured["what"] else measured["text"]
        parts.setdefault(measured["verdict"], []).append(number)
    return ". ".join(f"{verdict}: {', '.join(numbers)}" for verdict, numbers in parts.items())
