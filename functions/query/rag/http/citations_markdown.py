"""An answer's citations as a list in Markdown."""

from __future__ import annotations

import re
from unicodedata import category

from rag.text.addresses import is_http, shown
from rag.text.labels import make_label
from rag.values.answer import Citation

# What could be more than text within a line, and an address of a page or of mail, which many renderers link.
_MEANT = re.compile(r"[\\`*_~<\[\]]|&(?=#?\w+;)|:(?=//)|(?<=www)\.|(?<=\S)@(?=\S)", re.IGNORECASE)
_BEGINS = re.compile(r"([#+=>-]|\d+(?=[.)]))")
"""What could make a line more than a paragraph where it begins with it."""
_UNSEEN = frozenset({"Cc", "Cf", "Co", "Cs", "Zl", "Zp"})
_JOINERS = frozenset("\u200c\u200d")
"""Are not seen either, but some scripts are spelt with them."""
_ENDS_EARLY = str.maketrans({"(": "%28", ")": "%29", "[": "%5B", "]": "%5D"})
_REFERENCE = re.compile(r"&(?=#?\w+;)")


def citations_markdown(citations: tuple[Citation, ...]) -> str:
    """A numbered list of the citations: external ones as links, the others marked as internal."""
    lines = []
    for number, citation in enumerate(citations, start=1):
        label = make_label(citation.hit.chunk.title, citation.section or citation.hit.chunk.section)
        name = escaped(cleaned(label[1:-1]))
        address = next(iter(citation.source_urls), "")
        if is_http(address):
            lines.append(f"{number}. [{name}]({target(address)})")
        else:
            lines.append(f"{number}. {name} *(Internal Document)*")
    return "\n".join(lines)


def cleaned(text: str) -> str:
    """``text`` on one line, without characters that nobody sees: controls, marks of direction, other formats."""
    seen = (" " if char.isspace() else char for char in text if char.isspace() or _is_seen(char))
    return " ".join("".join(seen).split())


def escaped(text: str) -> str:
    """Markdown that shows ``text``, one line, and nothing else."""
    whole = _MEANT.sub(r"\\\g<0>", text)
    begins = _BEGINS.match(whole)
    if begins is None:
        return whole
    place = begins.end() if begins[0].isdecimal() else 0
    return f"{whole[:place]}\\{whole[place:]}"


def target(address: str) -> str:
    """An address as the target of a link."""
    return _REFERENCE.sub("&amp;", shown(address).translate(_ENDS_EARLY))


def _is_seen(char: str) -> bool:
    return char in _JOINERS or category(char) not in _UNSEEN
