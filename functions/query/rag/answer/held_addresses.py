"""Which addresses passages hold, in text and metadata; and which stand bare in a text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from html import unescape

from knowledge.model.values import Chunk
from rag.answer import tree as t
from rag.text.addresses import address_key

# What renderers of Markdown make a link of without being told to (GitHub's rules), and a little more.
_BEGINS = r"(?:(?:https?|ftp)://|(?<![A-Za-z0-9])(?:www\.|(?:mailto|xmpp):(?=[^\s@]+@))|(?<![\w:/])//(?=[^\s/<]+\.\S))"
_MAIL = r"(?<![\w.+-])[\w.+-]++@[\w-]++(?:\.[\w-]++)+"
BARE = re.compile(rf"{_BEGINS}[^\s<>\[\]`\"|*\\^{{}}]*|{_MAIL}", re.IGNORECASE)
HINT = re.compile(r"//|@|www\.|mailto:|xmpp:", re.IGNORECASE)
"""No text without any of these holds an address: most hold none."""
_TRAILING = ".,;:!?_'~"
_TARGETS = re.compile(
    r"\]\(\s*(?:<([^<>\n]*)>|((?:\\.|[^\s()<>\\]|\((?:\\.|[^\s()\\])*\))+))"
    r"|\]:[ \t]*<?([^\s<>]+)"
    r"|<([a-zA-Z][\w+.-]*:[^\s<>]*|[^\s<>@]+@[^\s<>]+)>"
    r"|\b(?:href|src)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'<>]+))",
    re.IGNORECASE,
)
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")


def held_by(chunks: Iterable[Chunk]) -> frozenset[str]:
    """The keys (``address_key``) of all addresses in the chunks' texts, titles, sections and other metadata."""
    keys: set[str | None] = set()
    for chunk in chunks:
        extra = (value for value in chunk.extra.values() if isinstance(value, str))
        known = (chunk.url, *chunk.source_urls, *extra)
        keys |= {key_of(address) for address in known if not any(map(str.isspace, address))}
        for text in (chunk.text, chunk.title, chunk.section, *known):
            keys |= {key_of(address) for address in _addresses(text)}
    return frozenset(key for key in keys if key)


def key_of(address: str) -> str | None:
    """``address_key`` of an address as a text has it: with references to characters, perhaps one of mail."""
    plain = unescape(address)
    return address_key(f"mailto:{plain}" if "@" in plain and not re.search("[:/]", plain) else plain)


def bare_address(match: re.Match[str]) -> str:
    """What of a match of ``BARE`` is the address: without punctuation and a bracket behind it."""
    address = match[0].rstrip(_TRAILING)
    while address.endswith(")") and address.count(")") > address.count("("):
        address = address[:-1].rstrip(_TRAILING)
    return address


def _addresses(text: str) -> Iterator[str]:
    for match in BARE.finditer(text):
        yield match[0]
        yield bare_address(match)
    for match in _TARGETS.finditer(text):
        yield _ESCAPED.sub(r"\1", next(filter(None, match.groups()), "")).strip().replace(" ", "%20")


def linked(text: str) -> Iterator[t.Text | t.Link]:
    """``text`` with links for its addresses."""
    at = 0
    for match in BARE.finditer(text) if HINT.search(text) else ():
        address = bare_address(match) or match[0]
        if at < match.start():
            yield t.Text(text[at : match.start()])
        yield t.Link(address, (t.Text(address),))
        at = match.start() + len(address)
    if at < len(text):
        yield t.Text(text[at:])
