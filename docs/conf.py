"""Settings of the site; `make docs` builds it."""

from __future__ import annotations

import os
import re
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
warnings.filterwarnings("error", module="onepass")

HERE = Path(__file__).parent

project = "onepass"
author = "The onepass developers"
copyright = author
release = version = import_module("onepass").__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_click",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
templates_path = ["_templates"]
exclude_patterns = ["README.md", "**sg_execution_times.rst"]
# The gallery's order is a function; generated tables have small headings or none.
suppress_warnings = ["config.cache", "myst.header", "toc.no_title"]
nitpicky = False

# -- Markdown -------------------------------------------------------------------------------------

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

# -- API reference --------------------------------------------------------------------------------

autosummary_generate = True
autodoc_typehints = "none"
toc_object_entries_show_parents = "hide"  # names with their class are wider than the sidebar
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

# -- gallery --------------------------------------------------------------------------------------

ORDER = ["digits", "patches", "hyperspectral", "traffic", "topics", "cells", "embeddings"]
ORDER += ["how_sure", "how_sure_series", "drop_outs", "empty_cells"]
ORDER += ["heavy_tails", "drift", "endless", "large_file", "merging", "algorithms"]


def _place(name: str) -> int:
    """Return the place of an example in the gallery, pictures first."""
    return ORDER.index(Path(name).stem.removeprefix("plot_"))


sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "within_subsection_order": _place,
    "download_all_examples": False,
    "remove_config_comments": True,
    "min_reported_time": 10,
    "show_memory": False,
    "show_signature": False,
    "abort_on_example_error": True,
    "backreferences_dir": "api/used_in",
    "doc_module": ("onepass",),
    "matplotlib_animations": False,
}

# -- look -----------------------------------------------------------------------------------------

smartquotes_action = "qe"  # two hyphens begin an option
html_theme = "pydata_sphinx_theme"
html_title = "onepass"
html_static_path = ["_static"]
html_css_files = ["onepass.css"]
html_copy_source = False
html_show_sourcelink = False
html_math_renderer = "mathml"
html_context = {"default_mode": "auto"}  # light or dark, as the reader's system
html_theme_options = {
    "logo": {"text": "onepass"},
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 6,
    "navbar_persistent": ["search-button"],
    "navbar_align": "left",
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_prev_next": True,
}
# Pages without pages below them.
_alone = ("index", "get-started", "coming-from-scikit-learn", "how-it-works", "contributing")
_alone += ("bounded-rows", "limits", "benchmarks", "command-line")
html_sidebars: dict[str, list[str]] = {page: [] for page in _alone}


def _math(translator: Any, node: Any, display: str) -> None:
    """Write a formula as MathML, which browsers show without a script or a network."""
    from docutils.nodes import SkipNode

    formula = convert(node.astext(), display=display)
    translator.body.append(f'<div class="math">{formula}</div>' if display == "block" else formula)
    raise SkipNode


def _gallery(app: Any, page: str, source: list[str]) -> None:
    """Let links to the scripts of the gallery, which a clone has, lead to its pages."""
    link = re.compile(r"\]\((?:\.\./)+examples/gallery/(\w+)\.\w+\)")
    up = "../" * page.count("/")
    source[0] = link.sub(
        lambda found: f"]({up}gallery/{found[1].replace('README', 'index')}.rst)", source[0]
    )


def _epilog(app: Any, ctx: Any, lines: list[str]) -> None:
    """Show the examples below a command as they are printed, and other paragraphs as text."""
    del lines[:]
    for paragraph in (ctx.command.epilog or "").split("\n\n"):
        title, *examples = paragraph.removeprefix("\b\n").split("\n")
        if paragraph.startswith("\b"):
            lines += [f"{title.removesuffix(':')}::", "", *(f"   {line}" for line in examples), ""]
        else:
            text = paragraph.replace("\n", " ").replace("*", r"\*").replace("`", "``")
            lines += [text, ""]


def setup(app: Any) -> None:
    """Register the writer of formulas, links to the gallery, and the examples of commands."""
    app.connect("source-read", _gallery)
    app.connect("sphinx-click-process-epilog", _epilog)
    app.add_html_math_renderer(
        "mathml",
        (lambda translator, node: _math(translator, node, "inline"), None),
        (lambda translator, node: _math(translator, node, "block"), None),
    )
