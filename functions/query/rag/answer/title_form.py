"""Citations by title: which packed chunks does ``[Title > Section]`` in an answer mean?"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass

from knowledge.model.values import Hit
from rag.answer.forms import CitationForm
from rag.answer.held_addresses import BARE
from rag.contract.marks import CLOSE, OPEN, MarkMeaning, NamedSource
from rag.text.labels import ARROW, make_label, safe
from rag.text.stems import content_stems

# Not a link or an image, whose address follows, nor a footnote or a check box. The prompt keeps brackets for citations;
# in documentation 1 sentence in 1,000 has another one outside of code (docs_handbook .14 %, docs_fastapi .11 %,
# docs_rust_book .01 %).
_MARK = re.compile(rf"{OPEN}(?!\^|[ xX]?\])[^\[\]\u3010\u3011\uff3b\uff3d\n]++{CLOSE}(?!\()")
_SEPARATOR = re.compile(r"\s*[;,]\s*")


@dataclass(frozen=True, slots=True)
class _Label:
    """One reference; ``section`` may be ``""``."""

    title: str
    section: str


@dataclass(frozen=True)
class TitleForm(CitationForm):
    """Three tiers, as in Waypoint's seed: equal titles, one title holds the other, Dice over ``min_dice``.

    Titles are compared case-insensitively. The contained title has at least ``min_contained`` characters, a word that
    is not only grammar, and stands in the other from the start of a word on: ``[Import permit]`` means "Import
    permits", ``[Enter]`` does not mean "Data Center Access", and ``[and]`` means nothing. Within the matched title the
    chunks of the cited section are meant. A section that no chunk has is left out. A bracket may hold several labels.
    """

    min_dice: float
    min_contained: int

    def _found(self, text: str, start: int, end: int) -> tuple[int, str] | None:
        """Ticks that pair with others outside of the brackets make code of them."""
        mark = _MARK.match(text, start, end)
        return (mark.end(), mark[0]) if mark and mark[0].count("`") % 2 == 0 else None

    def _meaning(self, mark: str, hits: Sequence[Hit]) -> MarkMeaning:
        labels = list(self._labels(mark, hits))
        places = [self._match(label, hits) for label in labels]
        named = tuple(
            NamedSource(_all_of(place, hits), make_label(_shown(label, place), place[1]), label.title, place[1])
            for label, place in zip(labels, places, strict=True)
            if place
        )
        as_is = all(
            place and place[1] == label.section and _shown(label, place) == label.title
            for label, place in zip(labels, places, strict=True)
        )
        return MarkMeaning(named, len(labels) - len(named), not as_is)

    def source(self, hit: Hit) -> Hashable:
        """The title."""
        return _key(hit.chunk.title)

    def mark(self, hit: Hit, place: int) -> str:
        return make_label(hit.chunk.title, hit.chunk.section)

    def named(self, hit: Hit, mark: str) -> NamedSource:
        return NamedSource((hit,), mark, _label(mark[1:-1]).title, hit.chunk.section)

    def _labels(self, mark: str, hits: Sequence[Hit]) -> Iterator[_Label]:
        """The labels in a bracket: one, unless it is a list in which a title of ``hits`` stands."""
        whole = _label(mark[1:-1])
        titles = {_key(hit.chunk.title) for hit in hits}
        parts = [_label(part) for part in _SEPARATOR.split(mark[1:-1])]
        known = whole.title.casefold() in titles and (place := self._match(whole, hits)) and place[1] == whole.section
        if not known and any(part.title.casefold() in titles for part in parts):
            yield from parts
        else:
            yield whole

    def _match(self, label: _Label, hits: Sequence[Hit]) -> tuple[Hit, str] | None:
        """The hit that ``label`` means, and its section where it has that."""
        wanted = label.title.casefold()
        tiers: tuple[Callable[[str], bool], ...] = (
            lambda title: title == wanted,
            lambda title: self._contains(title, wanted),
            lambda title: dice(title, wanted) > self.min_dice,
        )
        for matches in tiers:
            same = [hit for hit in hits if matches(_key(hit.chunk.title))]
            if same:
                return _by_section(label.section, same)
        return None

    def _contains(self, title: str, wanted: str) -> bool:
        shorter, longer = sorted((title, wanted), key=len)
        if len(shorter) < self.min_contained or not content_stems(shorter):
            return False
        # Not from within a word on, where a script has spaces between them; a number counts as a whole.
        return re.search(rf"(?<![a-z0-9]){re.escape(shorter)}(?!\d)", longer) is not None


def _label(inside: str) -> _Label:
    title, _, section = (part.strip() for part in inside.partition(">"))
    return _Label(title, section)


def _key(title: str) -> str:
    """Equal for titles that labels cannot tell apart."""
    return safe(title).casefold()


def _shown(label: _Label, place: tuple[Hit, str]) -> str:
    """What a label says of a title; an address in it is the document's own, or is not shown."""
    return place[0].chunk.title if BARE.search(label.title) else label.title


def _by_section(section: str, hits: list[Hit]) -> tuple[Hit, str]:
    """The hit of ``section``: the same path, else one that holds it; else the first hit, and no section."""
    wanted = _path(section)
    if wanted:
        same = (hit for hit in hits if _path(hit.chunk.section) == wanted)
        alike = (hit for hit in hits if wanted in _path(hit.chunk.section))
        if hit := next(same, None) or next(alike, None):
            return hit, section
    return hits[0], ""


def _all_of(place: tuple[Hit, str], hits: Sequence[Hit]) -> tuple[Hit, ...]:
    """The hits of the same title, and of the same section where one was matched: a label means all of them."""
    hit, section = place
    same = [other for other in hits if _key(other.chunk.title) == _key(hit.chunk.title)]
    return tuple(other for other in same if not section or other.chunk.section == hit.chunk.section)


def _path(section: str) -> str:
    """The words of ``section``: an arrow, or the look-alike that labels show for it, is only a separator."""
    return " ".join(safe(section).replace(ARROW, " ").split()).casefold()


def dice(a: str, b: str) -> float:
    """Similarity of ``a`` and ``b``, 0..1, case-insensitive: 2 |A n B| / (|A| + |B|) over bigram multisets.

    Equal strings give 1, an empty string gives 0 (Dice, 1945; the matching rule of Waypoint's seed).
    """
    a, b = a.casefold().strip(), b.casefold().strip()
    if not a or not b:
        return 0.0
    if a == b:
        return 1.0
    left, right = _bigrams(a), _bigrams(b)
    total = left.total() + right.total()
    return 2 * (left & right).total() / total if total else 0.0


def _bigrams(text: str) -> Counter[str]:
    return Counter(text[i : i + 2] for i in range(len(text) - 1))
