"""Markdown of a documentation site as its reader sees it: the steps, in the order in which generators take them."""

from __future__ import annotations

import re

from documents.entries import settled
from documents.markup import html, jsx, liquid
from documents.markup.attributes import without_attributes
from documents.markup.code import Hidden
from documents.markup.containers import without_containers
from documents.markup.definitions import marked
from documents.markup.entities import without_entities
from documents.markup.erb import is_erb, without_erb
from documents.markup.includes import taken_in
from documents.markup.macros import without_calls
from documents.markup.shortcodes import without_shortcodes
from documents.markup.surroundings import Surroundings
from documents.markup.wiki import without_wiki

_NONCHARACTERS = re.compile("[\ufdd0-\ufdef]")  # the steps use some as marks
_GAP = re.compile(r"\n(?:[ \t]*\n){2,}")
_COMPONENT_KINDS = ("docusaurus", "vitepress", "nuxt")
_VUE_KINDS = ("vitepress", "nuxt")
_VUE_PAGE = re.compile(r"^<script\b", re.MULTILINE)
_VUE_VALUE = re.compile(r"\{\{(?P<value>[^{}\n]*)\}\}")


def as_read(text: str, *, surroundings: Surroundings) -> str:
    """The Markdown ``text`` (without front matter) as a reader of the rendered page sees it, as Markdown.

    Code stays byte for byte, but for what the site's own generator runs in code: includes, shortcodes, and Liquid where
    the site or the page is Jekyll's. Headings keep explicit anchors (``## Title {#anchor}``). A text without any such
    markup comes back as it is, but for runs of empty lines. Never raises for what a text says.
    """
    text = _NONCHARACTERS.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    text = without_erb(text, surroundings) if is_erb(surroundings) else text
    mdx = surroundings.file.suffix.lower() == ".mdx"
    has_modules = mdx or surroundings.kind == "docusaurus"
    text = taken_in(text, surroundings)
    text = _run(jsx.without_modules(text) if has_modules else text, surroundings, mdx=mdx)
    text = without_containers(without_wiki(text, surroundings), mdx=mdx)
    hidden = Hidden()
    text = html.without_comments(hidden.hide(text, mdx=mdx))
    text = jsx.without_expressions(text, surroundings) if has_modules else text
    text = html.without_html(text, hidden, components=mdx or surroundings.kind in _COMPONENT_KINDS)
    text = _GAP.sub("\n\n", without_entities(without_attributes(text)))
    return settled(marked(hidden.back(text)))


def _run(text: str, surroundings: Surroundings, *, mdx: bool) -> str:
    """``text`` as the templates in it leave it."""
    kind = surroundings.kind
    if kind in ("", "mkdocs") and "{{" in text:
        hidden = Hidden()
        text = hidden.back(without_calls(hidden.hide(text, mdx=mdx)))
    if kind in ("", "hugo"):
        text = without_shortcodes(text, surroundings)
    if kind == "jekyll":
        return liquid.without_liquid(text, surroundings)
    hidden = Hidden()
    prose = hidden.hide(text, mdx=mdx) if "{%" in text or "{{" in text else ""
    if kind == "" and liquid.is_liquid(prose):
        return liquid.without_liquid(text, surroundings)
    if (kind in _VUE_KINDS or (kind == "" and _VUE_PAGE.search(prose))) and prose:
        return hidden.back(_VUE_VALUE.sub(lambda match: surroundings.value(match["value"].strip()), prose))
    if kind in ("", "mkdocs", "sphinx") and prose:  # MkDocs: by plugins; Sphinx: MyST's substitutions
        return hidden.back(liquid.without_tags(prose, values=kind != ""))
    return text
