"""An answer's citations as a list in Markdown."""

from __future__ import annotations

import re
from unicodedata import category

from rag.text.sources import escape_url, is_http, make_label
from rag.values.answer import Citation

# Markup within a line, and addresses of pages and of mail, which many renderers turn into links.
_MARKUP = re.compile(r"[\\`*_~<\[\]]|&(?=#?\w+;)|:(?=//)|(?<=www)\.|(?<=\S)@(?=\S)", re.IGNORECASE)
_BLOCK_MARKER = re.compile(r"([#+=>-]|\d+(?=[.)]))")
"""At a line's beginning these start a heading, list or quotation."""
_INVISIBLE = frozenset({"Cc", "Cf", "Co", "Cs", "Zl", "Zp"})
_JOINERS = frozenset("\u200c\u200d")
"""Invisible too, but some scripts are spelt with them."""
_CLOSING = str.maketrans({"(": "%28", ")": "%29", "[": "%5B", "]": "%5D"})
"""Characters that would end a link's target early."""
_ENTITY = re.compile(r"&(?=#?\w+;)")


def citations_markdown(citations: tuple[Citation, ...]) -> str:
    """Return a numbered list of the citations: external ones as links, the others marked as internal."""
    lines = []
    for number, citation in enumerate(citations, start=1):
        label = make_label(citation.hit.chunk.title, citation.section or citation.hit.chunk.section)
        name = escape_markdown(strip_invisible(label[1:-1]))
        address = next(iter(citation.source_urls), "")
        if is_http(address):
            target = _ENTITY.sub("&amp;", escape_url(address).translate(_CLOSING))
            lines.append(f"{number}. [{name}]({target})")
        else:
            lines.append(f"{number}. {name} *(Internal Document)*")
    return "\n".join(lines)


def strip_invisible(text: str) -> str:
    """Return ``text`` on one line without invisible characters: controls, marks of direction, other formats."""
    visible = (
        " " if char.isspace() else char
        for char in text
        if char.isspace() or char in _JOINERS or category(char) not in _INVISIBLE
    )
    return " ".join("".join(visible).split())


def escape_markdown(text: str) -> str:
    """Return Markdown that shows ``text``, one line, and nothing else."""
    escaped = _MARKUP.sub(r"\\\g<0>", text)
    marker = _BLOCK_MARKER.match(escaped)
    if marker is None:
        return escaped
    place = marker.end() if marker[0].isdecimal() else 0
    return f"{escaped[:place]}\\{escaped[place:]}"
