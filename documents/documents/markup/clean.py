"""Markdown of a documentation site as its reader sees it: the steps, in the order in which generators take them."""

from __future__ import annotations

import re

from documents.converters.output import hidden_caveat
from documents.entries import settled
from documents.markup import extensions, html, includes, jsx, templates
from documents.markup.code import HiddenCode
from documents.markup.containers import unwrap_containers
from documents.markup.context import PageContext
from documents.source_words import NOTION_LINK

_NOTION_ID = re.compile(r"%20[0-9a-f]{32}(?=[./)_])")  # in links between exported pages
_GOOGLE_PICTURE = re.compile(r"!\[([^\]\n]*)\]\[image\d+\]")
_NONCHARACTERS = re.compile("[\ufdd0-\ufdef]")  # the steps use some as marks
_GAP = re.compile(r"\n(?:[ \t]*\n){2,}")
_RULERS = re.compile(r"(?:(?<=\n\n)|\A\n*)(?:-{3,}|\*{3,})[ \t]*(?=\n\n(?:-{3,}|\*{3,})[ \t]*(?:\n|\Z)|\s*\Z)")
"""A ruler above another one or at the end: what it set apart was not found."""
_COMPONENT_KINDS = ("docusaurus", "vitepress", "nuxt")
_VUE_KINDS = ("vitepress", "nuxt")
_VUE_PAGE = re.compile(r"^<script\b", re.MULTILINE)
_VUE_VALUE = re.compile(r"\{\{(?P<value>[^{}\n]*)\}\}")


def as_read(text: str, *, context: PageContext) -> str:
    """Return a page's Markdown (without front matter) as a reader of the rendered page sees it.

    Code stays byte for byte, except where the site's own generator runs in code: includes, shortcodes, and Liquid if
    the site or the page uses Jekyll. Headings keep explicit anchors (``## Title {#anchor}``). A text without such
    markup is returned as it is, except for runs of empty lines. Never raises for any text.
    """
    text = _NONCHARACTERS.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    text = _NOTION_ID.sub("", NOTION_LINK.sub("", text))
    suffix = context.file.suffix.lower()
    text = includes.expand_erb(text, context) if suffix == ".erb" else text
    mdx = suffix == ".mdx"
    has_modules = mdx or context.kind == "docusaurus"
    text = includes.include_files(text, context, components=has_modules)
    text = _expand_templates(jsx.drop_modules(text) if has_modules else text, context, mdx=mdx)
    text = unwrap_containers(extensions.expand_wiki_links(text, context), mdx=mdx)
    text, unseen = extensions.drop_unused_definitions(text)
    text = _GOOGLE_PICTURE.sub(r"\1", text)
    hidden = HiddenCode()
    text = html.drop_comments(hidden.hide(text, mdx=mdx))
    text = jsx.expand_expressions(text, context) if has_modules else text
    text, unseen_html = html.drop_unseen(text)
    text = html.convert_html(text, hidden, components=mdx or context.kind in _COMPONENT_KINDS)
    text = _GAP.sub("\n\n", extensions.decode_entities(extensions.drop_attributes(text)))
    text = _GAP.sub("\n\n", _RULERS.sub("", text))
    context.caveats.extend(hidden_caveat([*unseen, *unseen_html]))
    return settled(extensions.mark_definitions(hidden.restore(text)))


def _expand_templates(text: str, context: PageContext, *, mdx: bool) -> str:
    kind = context.kind
    if kind in ("", "mkdocs") and "{{" in text:
        hidden = HiddenCode()
        text = hidden.restore(templates.expand_macro_calls(hidden.hide(text, mdx=mdx)))
    if kind in ("", "hugo"):
        text = templates.expand_shortcodes(text, context)
    if kind == "jekyll":
        return templates.expand_liquid(text, context)
    hidden = HiddenCode()
    prose = hidden.hide(text, mdx=mdx) if "{%" in text or "{{" in text else ""
    if kind == "" and templates.LIQUID.search(prose):
        return templates.expand_liquid(text, context)
    if (kind in _VUE_KINDS or (kind == "" and _VUE_PAGE.search(prose))) and prose:
        return hidden.restore(_VUE_VALUE.sub(lambda match: context.value(match["value"].strip()), prose))
    if kind in ("", "mkdocs", "sphinx") and prose:  # MkDocs: by plugins; Sphinx: MyST's substitutions
        return hidden.restore(templates.drop_template_tags(prose, context, values=kind != ""))
    return text
