"""Citations by source address, as ``(Source: url)``, a link or a bare address."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from urllib.parse import urldefrag

from rag.stages.cite.addresses import TRAILING, same_source, source_name, source_url, title_name
from rag.stages.cite.marks import Cited, Left, Mark, rewrite_marks
from rag.values.answer import Citation, Hit

# "(Source: ...)", a Markdown link with its text, or a bare address; an address may hold pairs of brackets.
_ADDRESS = re.compile(r"https?://(?:[^\s<>()\[\]\"'`]|\([^\s<>()]*\))+", re.IGNORECASE)
_NAME = r"[^()\[\]\u3010\u3011\n]"
_SOURCE = (
    rf"[(\[\u3010\uff3b]\s*Source:\s*(?P<source>{_NAME}{{1,500}}(?:\([^()\n]{{0,200}}\){_NAME}{{0,200}})?)"
    r"[)\]\u3011\uff3d]"
)
_SOURCE_MARK = re.compile(_SOURCE, re.IGNORECASE)
_MARK = re.compile(
    rf"{_SOURCE}"
    rf"|\[[^\[\]\n]{{0,300}}\]\(<?(?P<link>{_ADDRESS.pattern})>?\)"
    rf"|(?P<bare>{_ADDRESS.pattern})",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[^\s.!?][^.!?\n]*(?:[.!?](?=\S)[^.!?\n]*)*[.!?]*")
_WORD = re.compile(r"[^\W_]+(?:[-'\u2019.][^\W_]+)*")
MIN_WORD_CHARS = 3
STEM_CHARS = 6
MIN_SENTENCE_WORDS = 3
"""A sentence of fewer words than this could stand in any document."""


@dataclass(frozen=True, slots=True)
class UrlCiter:
    """The sources of the context that an answer names or, where it names none, those that it draws on.

    Only sources of ``hits`` count. A ``(Source: ...)`` that the model made up is taken out. A sentence draws on the
    passage that holds the most of its words, weighted by how few passages hold them, and at least ``min_share``
    (0..1). Of a source with several passages those are cited that the sentences before its mark draw on, the nearest
    first; where nothing is said there those after it, else anywhere.
    """

    min_share: float

    def __call__(self, answer: str, hits: tuple[Hit, ...]) -> Cited:
        """One citation per source, in the order of the answer, each with all that the answer draws on of it."""
        passages = _Passages(hits)
        known = _by_name(hits)

        def left(mark: re.Match[str]) -> Left | None:
            names = (mark["source"], *(address[0] for address in _ADDRESS.finditer(mark[0])))
            return None if any(same_source(name) in known for name in names) else Left("", 1)

        text, removed = rewrite_marks(answer, _SOURCE_MARK, left)
        citations = tuple(self._named(text, passages)) or tuple(self._drawn_on(text, passages))
        valid = max(len(citations), sum(1 for _ in _mentions(text, known)))
        return Cited(text, citations, valid, removed, tuple(_marks(text, hits, known)))

    def _drawn_on(self, answer: str, passages: _Passages) -> Iterable[Citation]:
        found: dict[str, Citation] = {}
        for match in _SENTENCE.finditer(_MARK.sub(_blank, answer)):
            place = passages.best(_stems(match[0]), passages.all, self.min_share)
            if place is not None:
                sentence = answer[match.start() : match.end()].rstrip()
                _add(found, _citation(sentence, match.start(), passages.hits[place]))
        return found.values()

    def _named(self, answer: str, passages: _Passages) -> Iterable[Citation]:
        known = _by_name(passages.hits)
        mentions = list(_mentions(answer, known))
        bare = _MARK.sub(_blank, answer)
        starts = [0, *(position for _, _, position in mentions), len(answer)]

        @cache  # marks beside which nothing is said are all about the whole answer
        def drawn_on(about: str, group: tuple[int, ...]) -> tuple[int, ...]:
            sentences = [_stems(match[0]) for match in _SENTENCE.finditer(about)]
            drawn = [passages.best(words, group, self.min_share) for words in reversed(sentences)]
            nearest = passages.best(_stems(about), group, 0.0)
            places = [place for place in (*drawn, nearest, group[0]) if place is not None]
            return tuple(dict.fromkeys(places[: max(1, len(places) - 2)]))

        found: dict[str, Citation] = {}
        for number, (raw, name, position) in enumerate(mentions, start=1):
            group = known[same_source(name)]
            said = [bare[starts[number - 1] : position], bare[position : starts[number + 1]]]
            about = next((text for text in said if len(_stems(text)) >= MIN_SENTENCE_WORDS), bare)
            for place in drawn_on(about, group):
                _add(found, _citation(raw, position, passages.hits[place]))
        return found.values()


class _Passages:
    """What each of ``hits`` holds of a sentence; ``all`` are their places."""

    def __init__(self, hits: tuple[Hit, ...]) -> None:
        self.hits = hits
        self.all = tuple(range(len(hits)))
        self._stems = [_stems(f"{hit.chunk.title} {hit.chunk.section} {hit.chunk.text}") for hit in hits]
        self._frequency = Counter(stem for stems in self._stems for stem in stems)

    def best(self, words: set[str], group: tuple[int, ...], least: float) -> int | None:
        """The place in ``group`` with the largest share of ``words``, the best ranked of equals; None below ``least``.

        None also when there are too few words to tell by.
        """
        if len(words) < MIN_SENTENCE_WORDS or not group:
            return None
        weights = {word: math.log(1 + len(self.hits) / (1 + self._frequency[word])) for word in words}
        shares = {i: sum(weights[word] for word in words & self._stems[i]) for i in group}
        best = max(group, key=lambda i: (shares[i], -i))
        return best if shares[best] >= least * sum(weights.values()) else None


def _add(found: dict[str, Citation], citation: Citation) -> None:
    """The first citation of a source stands; what others are about goes with it."""
    name = source_name(citation.hit.chunk)
    first = found.setdefault(name, citation)
    if citation.hit not in first.hits:
        found[name] = replace(first, also=(*first.also, citation.hit))


def _by_name(hits: tuple[Hit, ...]) -> dict[str, tuple[int, ...]]:
    """The places of each source's hits by its name, by its page's address, and by a title that is neither."""
    sources: dict[str, tuple[int, ...]] = {}
    pages: dict[str, tuple[int, ...]] = {}
    titles: dict[str, tuple[int, ...]] = {}
    for place, hit in enumerate(hits):
        source = source_name(hit.chunk)
        for places, name in ((sources, source), (pages, urldefrag(source).url), (titles, title_name(hit.chunk))):
            places[same_source(name)] = (*places.get(same_source(name), ()), place)
    return {**titles, **pages, **sources}


def _blank(mark: re.Match[str]) -> str:
    """White space for what names a source; the text of a link is part of its sentence."""
    text = mark[0].partition("](")[0] if mark["link"] else ""
    return text.ljust(len(mark[0]))


def _mentions(answer: str, known: Container[str]) -> Iterator[tuple[str, str, int]]:
    """What names a known source in ``answer``, the name, and where; one mark may hold several addresses."""
    for match in _MARK.finditer(answer):
        name = match["source"] or match["link"]
        if name and same_source(name) in known:
            yield match[0], name, match.start()
            continue
        for address in _ADDRESS.finditer(match[0]):
            raw = address[0].rstrip(TRAILING)
            if same_source(raw) in known:
                yield raw, raw, match.start() + address.start()


def _marks(answer: str, hits: tuple[Hit, ...], known: Mapping[str, tuple[int, ...]]) -> Iterator[Mark]:
    """The marks of known sources; one that names several of them means the chunks of all."""
    for match in _MARK.finditer(answer):
        places = [place for _, name, _ in _mentions(match[0], known) for place in known[same_source(name)]]
        if places:
            said = None if match["source"] else match[0][1:].partition("](")[0] if match["link"] else ""
            end = match.start() + len(match[0].rstrip(TRAILING) if match["bare"] else match[0])
            yield Mark(match.start(), end, tuple(hits[place] for place in dict.fromkeys(places)), said)


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
