"""Context by source address: ``Source: url`` above each text, and citations by that address."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import unquote

from rag.ports import TokenCounter
from rag.stages.cite import is_http, source_urls
from rag.text.cutting import cut_to
from rag.text.labels import safe
from rag.text.refusal import has_words
from rag.types import Chunk, Citation, Context, Hit, Passage

SEPARATOR = "\n\n---\n\n"

# "(Source: ...)", a Markdown link with its text, or a bare address; an address may hold pairs of brackets.
_ADDRESS = re.compile(r"https?://(?:[^\s<>()\[\]\"'`]|\([^\s<>()]*\))+", re.IGNORECASE)
_NAME = r"[^()\[\]\u3010\u3011\n]"
_MARK = re.compile(
    rf"[(\[\u3010]\s*Source:\s*(?P<source>{_NAME}{{1,500}}(?:\([^()\n]{{0,200}}\){_NAME}{{0,200}})?)[)\]\u3011]"
    rf"|\[[^\[\]\n]{{0,300}}\]\(<?(?P<link>{_ADDRESS.pattern})>?\)"
    rf"|(?P<bare>{_ADDRESS.pattern})",
    re.IGNORECASE,
)
_TRAILING = ".,;:!?*_"
_SENTENCE = re.compile(r"[^\s.!?][^.!?\n]*(?:[.!?](?=\S)[^.!?\n]*)*[.!?]*")
_WORD = re.compile(r"[^\W_]+(?:[-'\u2019.][^\W_]+)*")
MIN_WORD_CHARS = 3
STEM_CHARS = 6
MIN_SENTENCE_WORDS = 3
"""A sentence of fewer words than this could stand in any document."""


@dataclass(frozen=True, slots=True)
class UrlPacker:
    """``Source: url\\ntext`` per chunk, best first, separated by ``---``, within ``max_tokens`` tokens.

    A document without an address is named by its title. Packing stops before the first chunk that would exceed
    the budget; a first chunk that alone exceeds it is cut to fit.
    """

    max_tokens: int
    tokens: TokenCounter

    def __call__(self, hits: tuple[Hit, ...]) -> Context:
        """The context and the passages that it is made of; ``hits`` is not empty."""
        blocks: list[str] = []
        used: list[Passage] = []
        room = self.max_tokens
        for hit in hits:
            head = f"Source: {source_name(hit.chunk)}\n"
            text = hit.chunk.text
            cost = self.tokens.count(f"{SEPARATOR if blocks else ''}{head}{text}")
            if cost > room:
                if used:
                    break
                text = cut_to(text, room - self.tokens.count(head), self.tokens.count, anywhere=True)
            blocks.append(f"{head}{text}")
            used.append(Passage(hit=hit, citation=f"(Source: {source_name(hit.chunk)})", text=text))
            room -= cost
        return Context(SEPARATOR.join(blocks), tuple(used))


def source_url(chunk: Chunk) -> str:
    """The chunk's own page, else the first source that it names; ``""`` when it has no address."""
    return chunk.url if is_http(chunk.url) else next(iter(source_urls(chunk)), "")


def source_name(chunk: Chunk) -> str:
    """What stands behind ``Source:``: the chunk's address, else its title on one line."""
    return source_url(chunk) or safe(chunk.title)


@dataclass(frozen=True, slots=True)
class UrlCiter:
    """The sources of the context that an answer names or, where it names none, those that it draws on.

    Only sources of ``hits`` count: an address that the model made up is no citation. An answer draws on the passage
    that holds at least ``min_share`` (0..1) of one of its sentences' words, weighted by how few passages hold them.
    """

    min_share: float

    def __call__(self, answer: str, hits: tuple[Hit, ...]) -> tuple[Citation, ...]:
        """One citation per source, in the order of the answer."""
        named = tuple(_named(answer, hits))
        if named or not has_words(answer):  # an address that the model made up has words of sources too
            return named
        return tuple(self._drawn_on(answer, hits))

    def _drawn_on(self, answer: str, hits: tuple[Hit, ...]) -> Iterator[Citation]:
        passages = [_stems(f"{hit.chunk.title} {hit.chunk.section} {hit.chunk.text}") for hit in hits]
        frequency = Counter(stem for stems in passages for stem in stems)
        seen: set[str] = set()
        for match in _SENTENCE.finditer(answer):
            words = _stems(match[0])
            if len(words) < MIN_SENTENCE_WORDS:
                continue
            weights = {word: math.log(1 + len(hits) / (1 + frequency[word])) for word in words}
            total = sum(weights.values())
            shares = [sum(weights[word] for word in words & stems) / total for stems in passages]
            best = max(range(len(hits)), key=lambda i: (shares[i], -i))
            name = source_name(hits[best].chunk)
            if shares[best] >= self.min_share and name not in seen:
                seen.add(name)
                yield _citation(match[0].rstrip(), match.start(), hits[best])


def _named(answer: str, hits: tuple[Hit, ...]) -> Iterator[Citation]:
    known: dict[str, Hit] = {}
    for hit in hits:
        known.setdefault(_key(source_name(hit.chunk)), hit)
    for hit in hits:
        known.setdefault(_key(safe(hit.chunk.title)), hit)
    seen: set[str] = set()
    for raw, name, position in _mentions(answer, known):
        hit = known[_key(name)]
        if (source := source_name(hit.chunk)) not in seen:
            seen.add(source)
            yield _citation(raw, position, hit)


def _mentions(answer: str, known: Mapping[str, Hit]) -> Iterator[tuple[str, str, int]]:
    """What names a known source in ``answer``, the name, and where; one mark may hold several addresses."""
    for match in _MARK.finditer(answer):
        name = match["source"] or match["link"]
        if name and _key(name) in known:
            yield match[0], name, match.start()
            continue
        for address in _ADDRESS.finditer(match[0]):
            raw = address[0].rstrip(_TRAILING)
            if _key(raw) in known:
                yield raw, raw, match.start() + address.start()


def _key(name: str) -> str:
    """Equal for names of one source: case, escapes, angle brackets, a final slash and punctuation do not matter."""
    bare = " ".join(unquote(name).split()).strip("<>").rstrip(_TRAILING).rstrip("/")
    return bare.casefold()


def _citation(raw: str, position: int, hit: Hit) -> Citation:
    url = source_url(hit.chunk)
    return Citation(
        raw=raw,
        title=hit.chunk.title,
        section=hit.chunk.section,
        position=position,
        hit=hit,
        source_urls=(url,) if url else (),
    )


def _stems(text: str) -> set[str]:
    """The words of ``text`` cut to their first letters, so that "exports" meets "exporting"; numbers whole."""
    words = (match[0] for match in _WORD.finditer(text.casefold()))
    return {
        word if any(map(str.isdigit, word)) else word[:STEM_CHARS]
        for word in words
        if len(word) >= MIN_WORD_CHARS or word.isdigit()
    }
