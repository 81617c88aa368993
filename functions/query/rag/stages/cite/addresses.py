"""Where a chunk comes from: its addresses, and what it is called where it has none."""

from __future__ import annotations

from rag.text.labels import safe
from rag.values.answer import Chunk


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
    """What stands behind ``Source:``: the chunk's address, else its title on one line."""
    return source_url(chunk) or safe(chunk.title)
