"""reStructuredText and MyST, Sphinx's Markdown, to Markdown: docutils makes HTML, and that becomes Markdown.

Only files in the given folder are read, no raw HTML of a reStructuredText page is taken over, and no template is run:
of MyST's substitutions only plain values are put in.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping
from typing import Any

from bs4 import BeautifulSoup
from docutils import nodes
from docutils.core import publish_doctree, publish_from_doctree

from documents.converters import sphinx_entries, sphinx_markup
from documents.converters.from_html import markdown, parse
from documents.converters.output import compose
from documents.converters.sphinx_folder import Folder
from documents.errors import Unconvertible
from documents.markup.code import HiddenCode
from documents.markup.context import PageContext
from documents.markup.tags import REMOVED, tidy
from documents.values import Converted, Decode

MAX_BYTES = 5 * 1024 * 1024
"""docutils reads some 50 KB in a second."""

_SETTINGS = {
    "doctitle_xform": False,  # all titles stay headings
    "auto_id_prefix": "id",  # as Sphinx
    "docinfo_xform": False,
    "embed_stylesheet": False,
    "file_insertion_enabled": False,
    "halt_level": 5,
    "id_prefix": "",
    "initial_header_level": 1,
    "line_length_limit": MAX_BYTES,
    "math_output": "LaTeX",
    "raw_enabled": False,
    "report_level": 3,
    "smart_quotes": False,
    "stylesheet_path": "",
    "syntax_highlight": "none",
    "toc_backlinks": False,
    "warning_stream": False,
    "_disable_config": True,
}
_OPTION = re.compile(r"\s*(?::[\w-]+:|\.\.\s)")
_NOT_READ = "a.footnote-reference, a.citation-reference, span.backrefs, nav.contents, .fn-bracket, .system-message"


def convert(data: bytes, decode: Decode, context: PageContext | None = None) -> Converted:
    """Return the text as Markdown with its sections' ids. Without ``context`` no other file is read.

    Raises:
        Unconvertible: the file is too large.
        NoText: it holds no text.
        ValueError: it is not text.
    """
    if len(data) > MAX_BYTES:
        raise Unconvertible(f"has {len(data) >> 20} MiB; at most {MAX_BYTES >> 20} are read: split it")
    text, caveat = decode(data)
    with sphinx_markup.accept_unknown_names():
        tree = publish_doctree(text, settings_overrides=settings(context))
    return Converted(compose(write_markdown(tree)), (caveat,) if caveat else ())


def settings(context: PageContext | None) -> dict[str, Any]:
    """Return docutils' settings for one page, which may name the files in its ``context``."""
    own = {"sphinx_names": sphinx_entries.EntryNames(), "sphinx_folder": Folder(context), "sphinx_within": []}
    return _SETTINGS | own | {"warning_stream": io.StringIO()}


def write_markdown(tree: nodes.document) -> str:
    """Return ``tree`` as Markdown with the ids of its sections. ``tree`` is changed."""
    _tidy(tree)
    html = publish_from_doctree(tree, writer="html5", settings_overrides=_SETTINGS).decode()
    page = BeautifulSoup(html, "html.parser")
    body = page.main or page.body or parse("")
    for mark in body.select(_NOT_READ):
        mark.extract()
    for literal in body.select("span.literal, tt.literal"):
        literal.name = "code"
    return markdown(body, anchors=True)


def _tidy(tree: nodes.document) -> None:
    """Remove docutils' messages and parts that only serve Sphinx, but keep source that could not be read."""
    for message in list(tree.findall(nodes.system_message)):
        lines = (line for block in message.findall(nodes.literal_block) for line in _source_lines(block))
        message.parent.replace(message, [nodes.paragraph("", line) for line in lines])
    for image in tree.findall(nodes.image):
        image["alt"] = image.get("alt", "")  # else it is the address
    # Sphinx shows no fields at the very beginning: ":orphan:", ":tocdepth: 2".
    leading = [node for node in tree.children[:1] if isinstance(node, nodes.field_list)]
    for node in [*tree.findall(nodes.comment), *tree.findall(nodes.substitution_definition), *leading]:
        node.parent.remove(node)
    sphinx_entries.place_entries(tree)
    for admonition in list(tree.findall(nodes.Element)):
        # nodes.admonition itself has a title
        if isinstance(admonition, nodes.Admonition) and not isinstance(admonition, nodes.admonition):
            label = nodes.paragraph("", f"{admonition.tagname.capitalize()}:")
            admonition.parent.replace(admonition, nodes.container("", label, *admonition.children))
    for section in tree.findall(nodes.section):
        heading = section.next_node(nodes.title)
        title = nodes.make_id(heading.astext()) if heading else ""
        section["ids"].sort(key=lambda found, title=title: found != title)  # Sphinx has the title's first


def _source_lines(block: nodes.literal_block) -> Iterator[str]:
    return (line.strip() for line in block.astext().splitlines() if line.strip() and not _OPTION.match(line))


MAX_SUBSTITUTION_DEPTH = 3
_SUBSTITUTION = re.compile(r"\{\{[ \t]*([\w-]+)[ \t]*\}\}")
_EXPRESSION = re.compile(r"(?<!\$)\{\{[^{}\n]*\}\}")
_ALERT = re.compile(r"^([ \t>]*>[ \t]*)\[!(\w+)\][ \t]*$", re.MULTILINE)


def read_myst(text: str, context: PageContext) -> str:
    """Return a MyST page (without front matter) as Markdown with the ids of its sections."""
    with sphinx_markup.accept_unknown_names():
        made = sphinx_markup.parse_myst(_fill_substitutions(text, context), settings(context))
    return write_markdown(made)


def _fill_substitutions(text: str, context: PageContext) -> str:
    """Return ``text`` with the plain substitutions of the page's front matter or ``conf.py``.

    On a page that uses one of them an expression, whose value only the site's build knows, leaves a gap.
    """
    myst = context.page.get("myst")
    values = myst.get("substitutions") if isinstance(myst, Mapping) else None
    found = {**context.site, **(values if isinstance(values, Mapping) else {})}

    def value(match: re.Match[str]) -> str:
        plain = found.get(match[1])
        return match[0] if isinstance(plain, bool) or not isinstance(plain, str | int | float) else str(plain)

    hidden = HiddenCode()
    shown = prose = _ALERT.sub(lambda match: f"{match[1]}**{match[2].capitalize()}**\n{match[1]}", hidden.hide(text))
    for _ in range(MAX_SUBSTITUTION_DEPTH):
        shown = _SUBSTITUTION.sub(value, shown)
    return hidden.restore(shown if shown == prose else tidy(_EXPRESSION.sub(REMOVED, shown)))
