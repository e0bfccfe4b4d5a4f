"""A page: a title, sections, pictures and tables, as HTML without scripts or as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

TEMPLATE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{ title }}</title>
<style>
  body { font: 16px/1.5 system-ui, sans-serif; color: #1a1a1a; background: #fff;
         max-width: 68rem; margin: 2rem auto; padding: 0 1rem; }
  h1, h2 { line-height: 1.2; } h2 { margin-top: 2.5rem; }
  figure { margin: 1.5rem 0; } figure img { width: 100%; height: auto; }
  figcaption { color: #444; }
  .wide { overflow-x: auto; }
  table { border-collapse: collapse; width: 100%; }
  th, td { text-align: left; vertical-align: top; padding: .4rem .8rem .4rem 0;
           border-bottom: 1px solid #ddd; font-variant-numeric: tabular-nums; }
  .lead { font-size: 1.1rem; }
</style>
</head>
<body>
<h1>{{ title }}</h1>
<p class="lead">{{ lead }}</p>
{% for section in sections %}
<h2>{{ section.title }}</h2>
{% for paragraph in section.paragraphs %}<p>{{ paragraph }}</p>
{% endfor %}
{% for picture in section.pictures %}<figure>
<img src="{{ picture.source }}" alt="{{ picture.caption }}">
<figcaption>{{ picture.caption }}</figcaption>
</figure>
{% endfor %}
{% for table in section.tables %}<div class="wide"><table>
<thead><tr>{% for name in table.columns %}<th>{{ name }}</th>{% endfor %}</tr></thead>
<tbody>
{% for row in table.rows %}<tr>{% for cell in row %}<td>{{ cell }}</td>{% endfor %}</tr>
{% endfor %}
</tbody></table></div>
{% endfor %}
{% endfor %}
</body>
</html>
"""


@dataclass(frozen=True)
class Picture:
    """A picture; `source` is a path relative to the page, or a ``data:`` address."""

    source: str
    caption: str


@dataclass(frozen=True)
class Table:
    """Rows of cells under the names of the columns."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]


@dataclass(frozen=True)
class Section:
    """A heading with paragraphs, then pictures, then tables."""

    title: str
    paragraphs: Sequence[str] = ()
    pictures: Sequence[Picture] = field(default_factory=tuple)
    tables: Sequence[Table] = field(default_factory=tuple)


def render(title: str, lead: str, sections: Sequence[Section]) -> str:
    """Return a page as HTML; all text is escaped.

    Examples
    --------
    >>> page = render("Rows", "What was seen.", [Section("Numbers", ["1 < 2"])])
    >>> "<p>1 &lt; 2</p>" in page
    True
    """
    try:
        import jinja2
    except ImportError as error:
        raise ImportError("a page needs jinja2: pip install 'onepass[report]'") from error
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    return environment.from_string(TEMPLATE).render(title=title, lead=lead, sections=sections)


def render_markdown(title: str, lead: str, sections: Sequence[Section]) -> str:
    """Return the same page as Markdown.

    Examples
    --------
    >>> print(render_markdown("Rows", "Seen.", [Section("Numbers", tables=[Table(["n"], [[1]])])]))
    # Rows
    <BLANKLINE>
    Seen.
    <BLANKLINE>
    ## Numbers
    <BLANKLINE>
    | n |
    |---|
    | 1 |
    <BLANKLINE>
    """
    parts = [f"# {title}", lead]
    for section in sections:
        parts += [f"## {section.title}", *section.paragraphs]
        for picture in section.pictures:
            parts += [f"![{picture.caption}]({picture.source})", picture.caption]
        for table in section.tables:
            lines = [table.columns, *table.rows]
            cells = ["| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines]
            cells.insert(1, "|" + "---|" * len(table.columns))
            parts.append("\n".join(cells))
    return "\n\n".join(parts) + "\n"


def _cell(value: Any) -> str:
    """Return a cell that does not end early."""
    return str(value).replace("|", "\\|").replace("\n", " ")
