"""Citations by title: which retrieved chunk does each ``[Title > Section]`` in the answer mean?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from rag.stages.cite.dice import dice
from rag.text.labels import ARROW, Label, find_labels, find_outer_labels, safe
from rag.text.words import holds_beginning, holds_words
from rag.values.answer import Chunk, Citation, Hit


@dataclass(frozen=True, slots=True)
class TitleCiter:
    """Three tiers, as in Waypoint's seed: equal titles, one title holds the other, Dice over ``min_dice``.

    Titles are compared case-insensitively. The contained title has at least ``min_contained`` characters and stands in
    the other from the start of a word on: ``[Import permit]`` means "Import permits", ``[Enter]`` does not mean "Data
    Center Access". One that stands there as whole words goes first.
    Within the matched title the chunk of the cited section is preferred. Labels that match nothing are
    left out. Brackets around brackets are one label where that is a title (``[Policy [v2] > Fees]``) or no inner one
    matches.
    """

    min_dice: float
    min_contained: int

    def __call__(self, answer: str, hits: tuple[Hit, ...]) -> tuple[Citation, ...]:
        """The matched citations in the order of the answer, one per matched title, whatever the labels call it."""
        citations: dict[str, Citation] = {}
        for label, hit in sorted(self._matched(answer, hits), key=lambda pair: pair[0].position):
            citations.setdefault(_key(hit.chunk.title), _citation(label, hit))
        return tuple(citations.values())

    def _matched(self, answer: str, hits: tuple[Hit, ...]) -> Iterator[tuple[Label, Hit]]:
        rest, end = [], 0
        tried: dict[str, Hit | None] = {}
        for label in find_outer_labels(answer):
            if label.raw not in tried:
                tried[label.raw] = self._match_outer(label, hits)
            if hit := tried[label.raw]:
                yield label, hit
                rest += [answer[end : label.position], " " * len(label.raw)]
                end = label.position + len(label.raw)
        for label in find_labels("".join((*rest, answer[end:]))):
            hit = self._match(label, hits)
            if hit is not None:
                yield label, hit

    def _match_outer(self, label: Label, hits: tuple[Hit, ...]) -> Hit | None:
        wanted = label.title.casefold()
        if not any(_key(hit.chunk.title) == wanted for hit in hits):
            inner = find_labels(label.raw[1:-1])
            if any(self._match(one, hits) for one in inner):
                return None
        return self._match(label, hits)

    def _match(self, label: Label, hits: tuple[Hit, ...]) -> Hit | None:
        wanted = label.title.casefold()
        tiers: tuple[Callable[[str], bool], ...] = (
            lambda title: title == wanted,
            lambda title: self._contains(title, wanted, holds_words),
            lambda title: self._contains(title, wanted, holds_beginning),
            lambda title: dice(title, wanted) > self.min_dice,
        )
        for matches in tiers:
            same = [hit for hit in hits if matches(_key(hit.chunk.title))]
            if same:
                return _by_section(label.section, same)
        return None

    def _contains(self, title: str, wanted: str, holds: Callable[[str, str], bool]) -> bool:
        shorter, longer = sorted((title, wanted), key=len)
        return len(shorter) >= self.min_contained and holds(longer, shorter)


def source_urls(chunk: Chunk) -> tuple[str, ...]:
    """The chunk's external addresses (http and https only), its own page where it names no source."""
    urls = tuple(dict.fromkeys(url for url in chunk.source_urls if is_http(url)))
    return urls or ((chunk.url,) if is_http(chunk.url) else ())


def is_http(url: str) -> bool:
    """Whether ``url`` is an address that a reader can open; ``N/A`` is not."""
    return url.lower().startswith(("http://", "https://"))


def _citation(label: Label, hit: Hit) -> Citation:
    return Citation(
        raw=label.raw,
        title=label.title,
        section=label.section,
        position=label.position,
        hit=hit,
        source_urls=source_urls(hit.chunk),
    )


def _key(title: str) -> str:
    """Equal for titles that labels cannot tell apart."""
    return safe(title).casefold()


def _by_section(section: str, hits: list[Hit]) -> Hit:
    """The hit of ``section``: the same path, else one that ends or starts alike, else the first hit."""
    wanted = _path(section)
    if not wanted:
        return hits[0]
    exact = (hit for hit in hits if _path(hit.chunk.section) == wanted)
    alike = (hit for hit in hits if _alike(_path(hit.chunk.section), wanted))
    return next(exact, None) or next(alike, None) or hits[0]


def _path(section: str) -> str:
    """The words of ``section``: an arrow, or the look-alike that labels show for it, is only a separator."""
    return " ".join(safe(section).replace(ARROW, " ").split()).casefold()


def _alike(path: str, wanted: str) -> bool:
    return path.startswith(wanted) or path.endswith(wanted) or (path != "" and path in wanted)
