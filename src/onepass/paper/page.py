"""The page that a reproduction ends with, made from ``claims.json`` and the words alone."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from onepass.model_file import replacing
from onepass.paper.claims import words
from onepass.report.page import Picture, Section, Table, render, render_markdown


def write_page(folder: Path, markdown: Path) -> None:
    """Write ``index.html`` beside ``claims.json``, and the same page as Markdown."""
    document, title = json.loads((folder / "claims.json").read_text()), words()["title"]
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
    found = []
    for group in said["findings"]:
        texts = [f["text"] for f in group["finding"] if established(f["premises"], claims)]
        if texts:
            found.append(Section(group["title"], texts))
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
        found.append(Section(texts["title"], [text], shown, tables))
    return found


def established(premises: Iterable[Sequence[str]], claims: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether claims have the verdicts that a finding rests on.

    A premise is the name of a claim, a verdict, and the readings that it must have it under.
    """
    verdicts = {(entry["name"], entry["reading"]): entry["verdict"] for entry in claims}
    return all(
        verdicts.get((name, reading)) == verdict
        for name, verdict, *readings in premises
        for reading in readings
    )


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
