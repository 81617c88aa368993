"""What a document's front matter says in words, on top of its text: embedded, found and quoted with it."""

from __future__ import annotations

import re

from knowledge.model.values import KEYWORDS
from knowledge.read import markdown as md
from knowledge.read.fields import Fields

_WORD = re.compile(r"\w+")
_BLANK = re.compile(r"[ \t]*\n")
_MAX_HEADING_CHARS = 2000  # in which a heading at the beginning ends


def with_preamble(fields: Fields, body: str) -> str:
    """``body`` (Markdown) with what ``fields`` say of it: description, keywords and other names, a paragraph each.

    They stand below the title that the body begins with, if it does, so that a chunk has them under its title. A
    paragraph of the description that the body has too is left out, and so is a name that is the title.
    """
    words = _words(body)
    said = [text for text in fields.description.split("\n\n") if text and _words(text) not in words]
    names = [name for name in fields.aliases if _words(name) != _words(fields.title)]
    if fields.keywords:
        said.append(f"{KEYWORDS}{', '.join(fields.keywords)}")
    if names:
        said.append(f"Also called: {', '.join(names)}")
    if not said:
        return body
    end = _end_of_heading(body, fields.title)
    return "\n\n".join(filter(None, (body[:end].strip("\n"), *said, body[end:].lstrip("\n"))))


def _words(text: str) -> str:
    return f" {' '.join(_WORD.findall(text.casefold()))} "


def _end_of_heading(body: str, title: str) -> int:
    """Where the heading ends that ``body`` begins with and that is its title, 0 without one."""
    blank = 0
    while match := _BLANK.match(body, blank):
        blank = match.end()
    blocks = md.parse(body[blank : blank + _MAX_HEADING_CHARS])
    if not blocks or blocks[0].kind != "heading" or blocks[0].first:
        return 0
    if blocks[0].level > 1 and _words(blocks[0].title) != _words(title):
        return 0  # a section's
    end = blank
    for _ in range(blocks[0].end):
        end = body.find("\n", end) + 1 or len(body)
    return end
