"""Citations by source address: ``(Source: address)``, a link, a bare address; else by the words of a sentence."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar
from urllib.parse import urldefrag

from knowledge.model.values import Hit
from rag.answer.forms import CitationForm
from rag.answer.tree import Link
from rag.contract.marks import BRACKETS, MarkMeaning, NamedSource
from rag.text.addresses import TRAILING, address_key, same_source, source_name, source_url, title_name

# An address may hold pairs of brackets.
_ADDRESS = re.compile(r"https?://(?:[^\s<>()\[\]\"'`]|\([^\s<>()]*\))+", re.IGNORECASE)
_NAME = r"[^()\[\]\u3010\u3011\n]"
_SOURCE = re.compile(
    rf"[(\[\u3010\uff3b]\s*Source:\s*({_NAME}{{1,500}}(?:\([^()\n]{{0,200}}\){_NAME}{{0,200}})?)[)\]\u3011\uff3d]",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class SourceForm(CitationForm):
    """A source is named by its address, by its page's, or by its title where it has none.

    A link to a source cites it, and so does its bare address. An answer that names none cites those passages that hold
    at least the share ``draws_on`` (0..1) of the words of a sentence.
    """

    draws_on: float | None
    opens: ClassVar[str] = f"({BRACKETS}"

    def _found(self, text: str, start: int, end: int) -> tuple[int, str] | None:
        mark = _SOURCE.match(text, start, end)
        return (mark.end(), mark[0]) if mark else None

    def _meaning(self, mark: str, hits: Sequence[Hit]) -> MarkMeaning:
        """One mark may hold several addresses: it means the passages of all."""
        known = _by_name(hits)
        source = _SOURCE.match(mark)
        if source and (hits_of := known.get(same_source(source[1]))) and _is_spelt(source[1], hits_of[0]):
            return MarkMeaning((_named(hits_of, mark),))
        names = [address[0].rstrip(TRAILING) for address in _ADDRESS.finditer(mark)]
        found = [name for name in names if same_source(name) in known and _is_spelt(name, known[same_source(name)][0])]
        return MarkMeaning(
            tuple(_named(known[same_source(name)], f"(Source: {name})") for name in found), not found, changed=True
        )

    def linked(self, link: Link, hits: Sequence[Hit]) -> NamedSource | None:
        found = _by_name(hits).get(same_source(link.href)) if link.href.lower().startswith("http") else None
        cites = found is not None and not link.image and _is_spelt(link.href, found[0])
        return _named(found, link.href) if found and cites else None

    def source(self, hit: Hit) -> Hashable:
        """The address, else the title."""
        return source_name(hit.chunk)

    def mark(self, hit: Hit, place: int) -> str:
        return f"(Source: {source_name(hit.chunk)})"

    def named(self, hit: Hit, mark: str) -> NamedSource:
        return _named((hit,), mark)

    def urls(self, hit: Hit) -> tuple[str, ...]:
        return (url,) if (url := source_url(hit.chunk)) else ()


def _named(hits: tuple[Hit, ...], raw: str) -> NamedSource:
    return NamedSource(hits, raw, hits[0].chunk.title, hits[0].chunk.section)


def _is_spelt(name: str, hit: Hit) -> bool:
    """Whether ``name`` leads where the source does, if it leads anywhere: names are compared less strictly."""
    return "://" not in name or address_key(name.strip("<> ")) == address_key(source_url(hit.chunk))


def _by_name(hits: Sequence[Hit]) -> Mapping[str, tuple[Hit, ...]]:
    """Each source's hits by its name, by its page's address, and by a title that is neither."""
    sources: dict[str, tuple[Hit, ...]] = {}
    pages: dict[str, tuple[Hit, ...]] = {}
    titles: dict[str, tuple[Hit, ...]] = {}
    for hit in hits:
        source = source_name(hit.chunk)
        for found, name in ((sources, source), (pages, urldefrag(source).url), (titles, title_name(hit.chunk))):
            found[same_source(name)] = (*found.get(same_source(name), ()), hit)
    return {**titles, **pages, **sources}
