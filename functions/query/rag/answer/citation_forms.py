"""How profiles cite: what a mark looks like, which chunks it may mean, what one citation stands for."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import ClassVar
from urllib.parse import urldefrag

from knowledge.model.values import Hit
from rag.answer.restrict_links import BARE_ADDRESS
from rag.answer.tree import Cite, ClaimSpan, Inline, Link, Run, Styled, Text, Tree, map_leaves, map_runs, walk_run
from rag.contract.marks import BRACKETS, CLOSE, OPEN, NamedSource, ResolvedMark
from rag.text.addresses import TRAILING, address_key, same_source, source_name, source_url, source_urls, title_name
from rag.text.labels import ARROW, heading, make_label, safe
from rag.text.stems import content_stems

# gpt-oss adds the lines that it read: "\u30101\u2020L1-L3\u3011".
_LINES = r"(?:\u2020L[\dL-]{1,20})?"


def _marks(name: str) -> re.Pattern[str]:
    """What stands in round brackets right behind would make a link of it."""
    one = rf"{name}{_LINES}"
    return re.compile(rf"({OPEN}\s*{one}(?:\s*[,;]\s*{one})*\s*{CLOSE})(?:\([^()\s]*\))?", re.IGNORECASE)


_PLACES, _PLACE = _marks(r"\d{1,3}"), re.compile(r"(?<![\dL-])\d+")
_IDS, _ID = _marks(r"id_\d{1,9}"), re.compile(r"id_(\d+)", re.IGNORECASE)
_BETWEEN = re.compile(r"[\s,;]*")


@dataclass(frozen=True)
class CitationForm(ABC):
    """How a profile cites. ``openers`` are the characters that a mark may begin with.

    Where its passages are ``numbered``, ``[1]`` and ``[1, 3]`` mean them by their places in the context, from 1 on, and
    a reader is shown the profile's own marks instead. Those are read too: models copy them from earlier answers.
    ``min_overlap`` is the least share (0..1) of a sentence's words that a passage must have to be cited in an answer
    without marks; None: it never is.
    """

    openers: ClassVar[str] = BRACKETS
    min_overlap: float | None = field(default=None, kw_only=True)
    numbered: bool = field(default=True, kw_only=True)

    def find_mark(self, text: str, start: int, end: int) -> tuple[int, str] | None:
        """Where the mark that begins at ``start`` ends, at most ``end``, and what it says; None for no mark."""
        mark = _PLACES.match(text, start, end) if self.numbered else None
        return (mark.end(), mark[1]) if mark else self._find_own_mark(text, start, end)

    def resolve_mark(self, mark: str, hits: Sequence[Hit]) -> ResolvedMark:
        """What ``mark`` means of ``hits``, all that the writer saw."""
        if not self.numbered or not _PLACES.fullmatch(mark):
            return self._resolve_own_mark(mark, hits)
        places = dict.fromkeys(int(place) for place in _PLACE.findall(mark))
        known = [(place, hits[place - 1]) for place in places if 0 < place <= len(hits)]
        named = tuple(self.name_source(hit, self.mark_for(hit, place)) for place, hit in known)
        return ResolvedMark(named, len(places) - len(named), changed=True)

    @abstractmethod
    def _find_own_mark(self, text: str, start: int, end: int) -> tuple[int, str] | None:
        """``find_mark`` for the profile's own marks."""

    @abstractmethod
    def _resolve_own_mark(self, mark: str, hits: Sequence[Hit]) -> ResolvedMark:
        """``resolve_mark`` for one of the profile's own marks."""

    @abstractmethod
    def mark_for(self, hit: Hit, place: int) -> str:
        """The profile's own mark of ``hit``, at that place of the context, from 1 on."""

    def resolve_link(self, link: Link, hits: Sequence[Hit]) -> NamedSource | None:
        """The source that a link leads to, where links cite."""
        return None

    @abstractmethod
    def source_key(self, hit: Hit) -> Hashable:
        """What one citation stands for: equal for hits of one title, address or id."""

    @abstractmethod
    def name_source(self, hit: Hit, mark: str) -> NamedSource:
        """``hit`` as ``mark``, its own one, names it."""

    def cite(self, hit: Hit, mark: str, *, is_explicit: bool = False, place: int = -1) -> Cite:
        """Return a citation of ``hit`` alone, by its own ``mark``."""
        named, number = self.name_source(hit, mark), hit.chunk.number
        return Cite(number, (number,), mark, named.title, named.section, is_explicit, place)

    def rewrite_marks(self, tree: Tree, numbers: Mapping[int, int]) -> Tree:
        """``tree`` as a reader sees its marks; ``numbers`` gives the reference's number of each chunk that it cites.

        Two passages of one title or address have the same mark: side by side it is shown once.
        """
        del numbers
        return map_runs(tree, _shown_once) if self.numbered else tree

    def cited_urls(self, hit: Hit) -> tuple[str, ...]:
        """The addresses that a citation of ``hit`` names."""
        return source_urls(hit.chunk)

    def chunk_id(self, hit: Hit) -> str | None:
        """The id of the chunk, where chunks are what is cited."""
        return None


@dataclass(frozen=True)
class IdForm(CitationForm):
    """``[id_3]``, ``[id_3, id_5]``: chunks by their ids."""

    def _find_own_mark(self, text: str, start: int, end: int) -> tuple[int, str] | None:
        mark = _IDS.match(text, start, end)
        return (mark.end(), mark[1]) if mark else None

    def _resolve_own_mark(self, mark: str, hits: Sequence[Hit]) -> ResolvedMark:
        known = {hit.chunk.number: hit for hit in hits}
        numbers = [int(number) for number in _ID.findall(mark)]
        found = [known[number] for number in dict.fromkeys(numbers) if number in known]
        removed = sum(number not in known for number in numbers)
        return ResolvedMark(tuple(self.name_source(hit, self.mark_for(hit, 0)) for hit in found), removed, removed > 0)

    def mark_for(self, hit: Hit, place: int) -> str:
        return f"[{hit.chunk.id}]"

    def name_source(self, hit: Hit, mark: str) -> NamedSource:
        return NamedSource((hit,), mark, heading(hit.chunk), hit.chunk.section)

    def source_key(self, hit: Hit) -> Hashable:
        """The chunk itself."""
        return hit.chunk.number

    def chunk_id(self, hit: Hit) -> str | None:
        return hit.chunk.id


@dataclass(frozen=True)
class NumberForm(CitationForm):
    """Passages by their places alone. A reader sees the numbers of the answer's references, from ``[1]`` on."""

    def _find_own_mark(self, text: str, start: int, end: int) -> tuple[int, str] | None:
        return None

    def _resolve_own_mark(self, mark: str, hits: Sequence[Hit]) -> ResolvedMark:
        return ResolvedMark(())

    def mark_for(self, hit: Hit, place: int) -> str:
        return f"[{place}]"

    def name_source(self, hit: Hit, mark: str) -> NamedSource:
        return NamedSource((hit,), mark, hit.chunk.title, hit.chunk.section)

    def source_key(self, hit: Hit) -> Hashable:
        """The chunk itself."""
        return hit.chunk.number

    def chunk_id(self, hit: Hit) -> str | None:
        return hit.chunk.id

    def rewrite_marks(self, tree: Tree, numbers: Mapping[int, int]) -> Tree:
        def renumbered(node: Inline) -> Inline:
            return replace(node, raw=f"[{numbers[node.chunk]}]") if isinstance(node, Cite) and node.raw else node

        return map_runs(tree, lambda run: map_leaves(run, renumbered))


def _shown_once(run: Run) -> Run:
    """Return ``run`` without the mark of a citation that stands right behind the same mark."""
    flat = [node for node in walk_run(run) if not isinstance(node, Styled | Link | ClaimSpan)]
    left_out: set[int] = set()
    between: list[int] = []
    last = ""
    for place, node in enumerate(flat):
        if isinstance(node, Cite):
            left_out |= {*between, place} if node.raw and node.raw == last else set()
            last, between = node.raw or last, [] if node.raw else between
        elif isinstance(node, Text) and _BETWEEN.fullmatch(node.text):
            between.append(place)
        else:
            last = ""
    if not left_out:
        return run
    places = count()

    def once(node: Inline) -> Inline:
        if next(places) not in left_out:
            return node
        return replace(node, raw="") if isinstance(node, Cite) else Text("")

    return map_leaves(run, once)


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

    def _find_own_mark(self, text: str, start: int, end: int) -> tuple[int, str] | None:
        """Ticks that pair with others outside of the brackets make code of them."""
        mark = _MARK.match(text, start, end)
        return (mark.end(), mark[0]) if mark and mark[0].count("`") % 2 == 0 else None

    def _resolve_own_mark(self, mark: str, hits: Sequence[Hit]) -> ResolvedMark:
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
        return ResolvedMark(named, len(labels) - len(named), not as_is)

    def source_key(self, hit: Hit) -> Hashable:
        """The title."""
        return _key(hit.chunk.title)

    def mark_for(self, hit: Hit, place: int) -> str:
        return make_label(hit.chunk.title, hit.chunk.section)

    def name_source(self, hit: Hit, mark: str) -> NamedSource:
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
    return place[0].chunk.title if BARE_ADDRESS.search(label.title) else label.title


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
    at least the share ``min_overlap`` (0..1) of the words of a sentence.
    """

    min_overlap: float | None
    openers: ClassVar[str] = f"({BRACKETS}"

    def _find_own_mark(self, text: str, start: int, end: int) -> tuple[int, str] | None:
        mark = _SOURCE.match(text, start, end)
        return (mark.end(), mark[0]) if mark else None

    def _resolve_own_mark(self, mark: str, hits: Sequence[Hit]) -> ResolvedMark:
        """One mark may hold several addresses: it means the passages of all."""
        known = _by_name(hits)
        source = _SOURCE.match(mark)
        if source and (hits_of := known.get(same_source(source[1]))) and _is_spelt(source[1], hits_of[0]):
            return ResolvedMark((_named(hits_of, mark),))
        names = [address[0].rstrip(TRAILING) for address in _ADDRESS.finditer(mark)]
        found = [name for name in names if same_source(name) in known and _is_spelt(name, known[same_source(name)][0])]
        return ResolvedMark(
            tuple(_named(known[same_source(name)], f"(Source: {name})") for name in found), not found, changed=True
        )

    def resolve_link(self, link: Link, hits: Sequence[Hit]) -> NamedSource | None:
        found = _by_name(hits).get(same_source(link.href)) if link.href.lower().startswith("http") else None
        cites = found is not None and not link.image and _is_spelt(link.href, found[0])
        return _named(found, link.href) if found and cites else None

    def source_key(self, hit: Hit) -> Hashable:
        """The address, else the title."""
        return source_name(hit.chunk)

    def mark_for(self, hit: Hit, place: int) -> str:
        return f"(Source: {source_name(hit.chunk)})"

    def name_source(self, hit: Hit, mark: str) -> NamedSource:
        return _named((hit,), mark)

    def cited_urls(self, hit: Hit) -> tuple[str, ...]:
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
