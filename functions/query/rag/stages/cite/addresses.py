"""Where a chunk comes from: its addresses, and what it is called where it has none."""

from __future__ import annotations

import re
from urllib.parse import quote, unquote

from rag.text.labels import safe
from rag.values.answer import Chunk

TRAILING = ".,;:!?*_"
"""Behind an address, these are the sentence's."""
# A pair of brackets stays, as in "people_(beta)".
_PAIR_OR_END = re.compile(r"\([^\s()<>\[\]]*\)|[\s<>()\[\]\"'`]")


def source_urls(chunk: Chunk) -> tuple[str, ...]:
    """The chunk's external addresses (http and https only), its own page where it names no source."""
    urls = tuple(dict.fromkeys(url for url in chunk.source_urls if is_http(url)))
    return urls or ((chunk.url,) if is_http(chunk.url) else ())


def is_http(url: str) -> bool:
    """Whether ``url`` is an address that a reader can open; ``N/A`` is not."""
    return url.lower().startswith(("http://", "https://"))


def source_url(chunk: Chunk) -> str:
    """The chunk's own page, else the first source that it names; ``""`` when it has no address."""
    return chunk.url if is_http(chunk.url) else next(iter(source_urls(chunk)), "")


def source_name(chunk: Chunk) -> str:
    """What stands behind ``Source:``: the chunk's address, else its title on one line, which is no address.

    In an address blanks, line breaks, brackets without a partner and what else would end it stand as escapes.
    """
    url = _PAIR_OR_END.sub(lambda part: part[0] if len(part[0]) > 1 else quote(part[0], safe=""), source_url(chunk))
    return url or title_name(chunk)


def title_name(chunk: Chunk) -> str:
    """The chunk's title as the name of a source: on one line, and never another one's address."""
    return safe(chunk.title).replace("://", ": //")


def same_source(name: str) -> str:
    """Equal for names of one source: case, escapes, angle brackets, a final slash and punctuation do not matter."""
    bare = " ".join(unquote(name).split()).strip("<>").rstrip(TRAILING).rstrip("/")
    return bare.casefold()
