"""MyST, Sphinx's Markdown, to Markdown: its own parser makes what docutils makes of reStructuredText, directives too.

No file but those in the given folder is read, and no template is run: of substitutions only plain values are put in.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from docutils import nodes
from docutils.core import publish_doctree

from documents.converters import from_rst, sphinx_markup
from documents.converters.sphinx_folder import Folder
from documents.markup.code import Hidden
from documents.markup.surroundings import Surroundings

# All but "substitution", which runs templates, and those that change what stands there (smartquotes, linkify).
_EXTENSIONS = (
    "amsmath", "attrs_block", "attrs_inline", "colon_fence", "deflist", "dollarmath", "fieldlist", "html_admonition",
    "html_image", "strikethrough", "tasklist",
)  # fmt: skip
_VALUE = re.compile(r"\{\{[ \t]*([\w-]+)[ \t]*\}\}")


def read(text: str, place: Surroundings) -> str:
    """What a reader sees of the MyST ``text``, without front matter, as Markdown with the ids of its sections."""
    with sphinx_markup.understood():
        made = tree(_with_values(text, place), from_rst.settings(place))
    return from_rst.read(made)


def tree(text: str, settings: Mapping[str, Any]) -> nodes.document:
    """What docutils makes of ``text``, read as ``settings`` say."""
    from myst_parser.parsers.docutils_ import Parser

    own = {
        "myst_all_links_external": True,  # docutils takes out the words of a link that leads to no place on the page
        "myst_enable_extensions": _EXTENSIONS,
        "myst_suppress_warnings": ["myst"],
        "raw_enabled": True,  # HTML in Markdown, which becomes Markdown; the directive "raw" shows nothing
    }
    # The line before it: what looks like front matter is none, which could switch on "substitution".
    made = publish_doctree(f"\n{text}", parser=Parser(), settings_overrides={**settings, **own})
    _name_links(made, settings["sphinx_folder"])
    return made


def _with_values(text: str, place: Surroundings) -> str:
    """``text`` with the substitutions that the page's front matter or ``conf.py`` has, if they are plain."""
    myst = place.page.get("myst")
    values = myst.get("substitutions") if isinstance(myst, Mapping) else None
    found = {**place.site, **(values if isinstance(values, Mapping) else {})}

    def value(match: re.Match[str]) -> str:
        said = found.get(match[1])
        return match[0] if isinstance(said, bool) or not isinstance(said, str | int | float) else str(said)

    hidden = Hidden()
    return hidden.back(_VALUE.sub(value, hidden.hide(text)))


def _name_links(made: nodes.document, folder: Folder) -> None:
    """A link without words has the title of what it leads to."""
    for link in made.findall(nodes.reference):
        target = str(link.get("refuri", ""))
        if link.children and link.astext() != target:
            continue
        path, _, label = target.removeprefix("project:").partition("#")
        title = (folder.label(label) if label else "") or (folder.title(path) if path else "")
        if title or not link.children:
            link.children = [nodes.Text(title or label or path)]
