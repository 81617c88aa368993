"""Citations by title: which retrieved chunk does each ``[Title > Section]`` in the answer mean?"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

from rag.stages.cite.addresses import source_urls
from rag.stages.cite.marks import CLOSE, OPEN, Cited, Left, Mark, grouped, mask_code, rewrite_marks
from rag.text.labels import ARROW, make_label, safe
from rag.text.stems import content_stems
from rag.values.answer import Citation, Hit

# Not a link or an image, whose address follows, nor a footnote or a check box. The prompt keeps brackets for citations;
# in documentation 1 sentence in 1,000 has another one outside of code (docs_handbook .14 %, docs_fastapi .11 %,
# docs_rust_book .01 %).
_BRACKET = rf"(?<!\\){OPEN}(?!\^|[ xX]?\])[^\[\]\u3010\u3011\uff3b\uff3d\n\0]++{CLOSE}(?!\()"
_MARK = re.compile(_BRACKET)
_GROUP = grouped(_BRACKET)
_SEPARATOR = re.compile(r"\s*[;,]\s*")


@dataclass(frozen=True, slots=True)
class _Label:
    """One reference; ``section`` may be ``""``."""

    title: str
    section: str


type _Matcher = Callable[[_Label], tuple[Hit, str] | None]


@dataclass(frozen=True, slots=True)
class TitleCiter:
    """Three tiers, as in Waypoint's seed: equal titles, one title holds the other, Dice over ``min_dice``.

    Titles are compared case-insensitively. The contained title has at least ``min_contained`` characters, a word that
    is not only grammar, and stands in the other from the start of a word on: ``[Import permit]`` means "Import
    permits", ``[Enter]`` does not mean "Data Center Access", and ``[and]`` means nothing. Within the matched title the
    chunk of the cited section is preferred. A section that no chunk has is left out. A bracket may hold several labels.
    """

    min_dice: float
    min_contained: int

    def __call__(self, answer: str, hits: tuple[Hit, ...]) -> Cited:
        """The text without labels of what was not found, and one citation per matched title in the answer's order.

        A bracket that is glued to a word, as in ``list[str]``, stays where it matches nothing: it is no citation.
        """
        match = cache(lambda label: self._match(label, hits))  # what is said again is matched once
        text, removed = rewrite_marks(answer, _GROUP, lambda group: _left(group, hits, match))
        citations: dict[str, Citation] = {}
        marks: list[Mark] = []
        valid = 0
        for mark in _MARK.finditer(mask_code(text)):
            meant: list[Hit] = []
            for label in _labels(mark[0], hits, match):
                if place := match(label):
                    citations.setdefault(_key(place[0].chunk.title), _citation(mark, label, place))
                    meant += _all_of(place, hits)
                    valid += 1
            marks += [Mark(*mark.span(), tuple(meant))] if meant else []
        return Cited(text, tuple(citations.values()), valid, removed, tuple(marks))

    def _match(self, label: _Label, hits: tuple[Hit, ...]) -> tuple[Hit, str] | None:
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


def _left(group: re.Match[str], hits: tuple[Hit, ...], match: _Matcher) -> Left | None:
    labels = [label for mark in _MARK.findall(group[0]) for label in _labels(mark, hits, match)]
    found = [(label, match(label)) for label in labels]
    kept = [(label, place[1]) for label, place in found if place]
    if all(place and place[1] == label.section for label, place in found) or (not kept and _is_glued(group)):
        return None
    return Left(" ".join(make_label(label.title, section) for label, section in kept), len(found) - len(kept))


def _labels(mark: str, hits: tuple[Hit, ...], match: _Matcher) -> Iterator[_Label]:
    """The labels in a bracket: one, unless it is a list in which a title of ``hits`` stands."""
    whole = _label(mark[1:-1])
    titles = {_key(hit.chunk.title) for hit in hits}
    parts = [_label(part) for part in _SEPARATOR.split(mark[1:-1])]
    known = whole.title.casefold() in titles and (place := match(whole)) and place[1] == whole.section
    if not known and any(part.title.casefold() in titles for part in parts):
        yield from parts
    else:
        yield whole


def _is_glued(mark: re.Match[str]) -> bool:
    before = mark.string[mark.start() - 1 : mark.start()] if mark.start() else ""
    return before.isalnum() or before == "_"


def _label(inside: str) -> _Label:
    title, _, section = (part.strip() for part in inside.partition(">"))
    return _Label(title, section)


def _citation(mark: re.Match[str], label: _Label, place: tuple[Hit, str]) -> Citation:
    hit, section = place
    return Citation(
        raw=mark[0],
        title=label.title,
        section=section,
        position=mark.start(),
        hit=hit,
        source_urls=source_urls(hit.chunk),
    )


def _key(title: str) -> str:
    """Equal for titles that labels cannot tell apart."""
    return safe(title).casefold()


def _by_section(section: str, hits: list[Hit]) -> tuple[Hit, str]:
    """The hit of ``section``: the same path, else one that holds it; else the first hit, and no section."""
    wanted = _path(section)
    if wanted:
        same = (hit for hit in hits if _path(hit.chunk.section) == wanted)
        alike = (hit for hit in hits if wanted in _path(hit.chunk.section))
        if hit := next(same, None) or next(alike, None):
            return hit, section
    return hits[0], ""


def _all_of(place: tuple[Hit, str], hits: tuple[Hit, ...]) -> list[Hit]:
    """The hits of the same title, and of the same section where one was matched: a label means all of them."""
    hit, section = place
    same = [other for other in hits if _key(other.chunk.title) == _key(hit.chunk.title)]
    return [other for other in same if not section or other.chunk.section == hit.chunk.section]


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
