"""How profiles cite: the marks that are read, the chunks that a mark may mean, and the marks that a reader sees."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, NamedTuple
from urllib.parse import urldefrag

from knowledge.model.values import Hit
from rag.answer.restrict_links import BARE_ADDRESS
from rag.answer.tree import Cite, ClaimSpan, Inline, Link, Run, Styled, Text, Tree, map_leaves, map_runs, walk_run
from rag.contract import BRACKETS, CLOSE, OPEN, NamedSource, ResolvedMark
from rag.text import sources
from rag.text.stems import content_stems

# gpt-oss adds the lines that it read: "\u30101\u2020L1-L3\u3011".
_LINES = r"(?:\u2020L[\dL-]{1,20})?"


def _bracketed(name: str) -> re.Pattern[str]:
    """Return the pattern of names in brackets, with round brackets behind them, which would make a link of it."""
    one = rf"{name}{_LINES}"
    return re.compile(rf"(?P<mark>{OPEN}\s*{one}(?:\s*[,;]\s*{one})*\s*{CLOSE})(?:\([^()\s]*\))?", re.IGNORECASE)


_PLACES, _PLACE = _bracketed(r"\d{1,3}"), re.compile(r"(?<![\dL-])\d+")
_IDS, _ID = _bracketed(r"id_\d{1,9}"), re.compile(r"id_(\d+)", re.IGNORECASE)
_BETWEEN = re.compile(r"[\s,;]*")
# Not a link or an image, whose address follows, nor a footnote or a check box. The prompt keeps brackets for citations;
# in documentation 1 sentence in 1,000 has another one outside of code (docs_handbook .14 %, docs_fastapi .11 %,
# docs_rust_book .01 %).
_TITLE = re.compile(rf"(?P<mark>{OPEN}(?!\^|[ xX]?\])[^\[\]\u3010\u3011\uff3b\uff3d\n]++{CLOSE})(?!\()")
_SEPARATOR = re.compile(r"\s*[;,]\s*")
_ADDRESS = re.compile(r"https?://(?:[^\s<>()\[\]\"'`]|\([^\s<>()]*\))+", re.IGNORECASE)  # with pairs of brackets
_NAME = r"[^()\[\]\u3010\u3011\n]"
_SOURCE_NAME = rf"(?P<name>{_NAME}{{1,500}}(?:\([^()\n]{{0,200}}\){_NAME}{{0,200}})?)"
_SOURCE = re.compile(
    rf"(?P<mark>[(\[\u3010\uff3b]\s*Source:\s*{_SOURCE_NAME}[)\]\u3011\uff3d])",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class CitationForm(ABC):
    """How a profile cites: in marks of the pattern ``own_mark``, which begin with one of the ``openers``.

    Where its passages are ``numbered``, ``[1]`` and ``[1, 3]`` cite them by their places in the context, from 1 on, and
    a reader sees the profile's own marks instead. Those are read too: models copy them from earlier answers.
    ``min_overlap`` is the least share (0..1) of a sentence's words that a passage must have to be cited in an answer
    without marks; None: it never is.
    """

    own_mark: ClassVar[re.Pattern[str] | None] = None
    openers: ClassVar[str] = BRACKETS
    min_overlap: float | None = field(default=None, kw_only=True)
    numbered: bool = field(default=True, kw_only=True)

    def find_mark(self, text: str, start: int, end: int) -> tuple[int, str] | None:
        """Return where the mark at ``start`` ends, at most ``end``, and its text; None for no mark."""
        for pattern in (_PLACES if self.numbered else None, self.own_mark):
            if pattern and (mark := pattern.match(text, start, end)):
                return mark.end(), mark["mark"]
        return None

    def resolve_mark(self, mark: str, hits: Sequence[Hit]) -> ResolvedMark:
        """Return the sources that ``mark`` names among ``hits``, all that the writer saw."""
        if not self.numbered or not _PLACES.fullmatch(mark):
            return self._resolve_own_mark(mark, hits)
        places = dict.fromkeys(int(place) for place in _PLACE.findall(mark))
        known = [(place, hits[place - 1]) for place in places if 0 < place <= len(hits)]
        named = tuple(self.name_source(hit, self.mark_for(hit, place)) for place, hit in known)
        return ResolvedMark(named, len(places) - len(named), changed=True)

    def _resolve_own_mark(self, mark: str, hits: Sequence[Hit]) -> ResolvedMark:
        """``resolve_mark`` for one of the profile's own marks."""
        return ResolvedMark(())

    @abstractmethod
    def mark_for(self, hit: Hit, place: int) -> str:
        """Return the profile's own mark of ``hit``, at that place of the context, from 1 on."""

    def resolve_link(self, link: Link, hits: Sequence[Hit]) -> NamedSource | None:
        """Return the source that ``link`` cites, in a form whose links cite."""
        return None

    def source_key(self, hit: Hit) -> Hashable:
        """Return the same key for hits that one citation stands for: of one chunk, title or address."""
        return hit.chunk.number

    def name_source(self, hit: Hit, mark: str) -> NamedSource:
        """Return ``hit`` as ``mark``, its own one, names it."""
        return _name_hits((hit,), mark)

    def cite(self, hit: Hit, mark: str, *, is_explicit: bool = False, place: int = -1) -> Cite:
        """Return a citation of ``hit`` alone, by its own ``mark``."""
        named, number = self.name_source(hit, mark), hit.chunk.number
        return Cite(number, (number,), mark, named.title, named.section, is_explicit, place)

    def rewrite_marks(self, tree: Tree, numbers: Mapping[int, int]) -> Tree:
        """Return ``tree`` with the marks that a reader sees; ``numbers`` are the references' numbers by cited chunk.

        Two passages of one title or address have the same mark: side by side it is shown once.
        """
        return map_runs(tree, _drop_repeated_marks) if self.numbered else tree

    def cited_urls(self, hit: Hit) -> tuple[str, ...]:
        """Return the addresses that a citation of ``hit`` names."""
        return sources.source_urls(hit.chunk)


@dataclass(frozen=True)
class IdForm(CitationForm):
    """``[id_3]``, ``[id_3, id_5]``: chunks by their ids."""

    own_mark: ClassVar[re.Pattern[str]] = _IDS

    def _resolve_own_mark(self, mark: str, hits: Sequence[Hit]) -> ResolvedMark:
        known = {hit.chunk.number: hit for hit in hits}
        numbers = [int(number) for number in _ID.findall(mark)]
        cited = [known[number] for number in dict.fromkeys(numbers) if number in known]
        removed = sum(number not in known for number in numbers)
        return ResolvedMark(tuple(self.name_source(hit, self.mark_for(hit, 0)) for hit in cited), removed, removed > 0)

    def mark_for(self, hit: Hit, place: int) -> str:
        return f"[{hit.chunk.id}]"

    def name_source(self, hit: Hit, mark: str) -> NamedSource:
        return NamedSource((hit,), mark, sources.heading(hit.chunk), hit.chunk.section)


@dataclass(frozen=True)
class NumberForm(CitationForm):
    """Passages by their places alone. A reader sees the numbers of the answer's references, from ``[1]`` on."""

    def mark_for(self, hit: Hit, place: int) -> str:
        return f"[{place}]"

    def rewrite_marks(self, tree: Tree, numbers: Mapping[int, int]) -> Tree:
        def renumber(node: Inline) -> Inline:
            return replace(node, raw=f"[{numbers[node.chunk]}]") if isinstance(node, Cite) and node.raw else node

        return map_runs(tree, lambda run: map_leaves(run, renumber))


class _Label(NamedTuple):
    """A title and a section, which may be ``""``."""

    title: str
    section: str


@dataclass(frozen=True)
class TitleForm(CitationForm):
    """``[Title > Section]``: chunks by title, in three tiers as in Waypoint's seed.

    The tiers are equal titles, one title that contains the other, and Dice over ``min_dice``. Titles are compared
    case-insensitively. The contained title has at least ``min_contained`` characters and a word that is not only
    grammar, and begins with a word of the other: ``[Import permit]`` means "Import permits", ``[Enter]`` does not mean
    "Data Center Access", and ``[and]`` means nothing. Within the matched title the chunks of the cited section are
    meant. A section that no chunk has is left out. A bracket may hold several labels.
    """

    own_mark: ClassVar[re.Pattern[str]] = _TITLE
    min_dice: float
    min_contained: int

    def find_mark(self, text: str, start: int, end: int) -> tuple[int, str] | None:
        mark = super().find_mark(text, start, end)
        # A backtick that pairs with one outside of the brackets makes code of them.
        return mark if mark and mark[1].count("`") % 2 == 0 else None

    def _resolve_own_mark(self, mark: str, hits: Sequence[Hit]) -> ResolvedMark:
        labels = self._labels(mark, hits)
        named: list[NamedSource] = []
        is_changed = False
        for label in labels:
            matched = self._match(label, hits)
            if matched is None:
                is_changed = True
                continue
            hit, section = matched
            # An address in a title is the document's own, or it is not shown.
            title = hit.chunk.title if BARE_ADDRESS.search(label.title) else label.title
            same_title = [one for one in hits if self.source_key(one) == self.source_key(hit)]
            meant = tuple(one for one in same_title if not section or one.chunk.section == hit.chunk.section)
            named.append(NamedSource(meant, sources.make_label(title, section), label.title, section))
            is_changed |= (title, section) != label
        return ResolvedMark(tuple(named), len(labels) - len(named), is_changed)

    def source_key(self, hit: Hit) -> Hashable:
        return _title_key(hit)

    def mark_for(self, hit: Hit, place: int) -> str:
        return sources.make_label(hit.chunk.title, hit.chunk.section)

    def name_source(self, hit: Hit, mark: str) -> NamedSource:
        return NamedSource((hit,), mark, _split_label(mark[1:-1]).title, hit.chunk.section)

    def _labels(self, mark: str, hits: Sequence[Hit]) -> list[_Label]:
        """Return the labels in a bracket: one, unless it is a list that has a title of ``hits``."""
        whole = _split_label(mark[1:-1])
        titles = set(map(_title_key, hits))
        parts = [_split_label(part) for part in _SEPARATOR.split(mark[1:-1])]
        matched = self._match(whole, hits) if whole.title.casefold() in titles else None
        is_known = matched is not None and matched[1] == whole.section
        return parts if not is_known and any(part.title.casefold() in titles for part in parts) else [whole]

    def _match(self, label: _Label, hits: Sequence[Hit]) -> tuple[Hit, str] | None:
        """Return the hit of ``label``, and the label's section, ``""`` if no hit has it."""
        wanted = label.title.casefold()
        tiers: tuple[Callable[[str], bool], ...] = (
            lambda title: title == wanted,
            lambda title: self._contains(title, wanted),
            lambda title: dice(title, wanted) > self.min_dice,
        )
        for matches in tiers:
            same = [hit for hit in hits if matches(_title_key(hit))]
            if same:
                return _find_section(label.section, same)
        return None

    def _contains(self, title: str, wanted: str) -> bool:
        shorter, longer = sorted((title, wanted), key=len)
        if len(shorter) < self.min_contained or not content_stems(shorter):
            return False
        # From the start of a word on, where a script has spaces between words; a number counts as a whole.
        return re.search(rf"(?<![a-z0-9]){re.escape(shorter)}(?!\d)", longer) is not None


@dataclass(frozen=True)
class SourceForm(CitationForm):
    """``(Source: address)``: sources by their address, their page's, or the title where they have none.

    A link to a source cites it, and so does its bare address.
    """

    own_mark: ClassVar[re.Pattern[str]] = _SOURCE
    openers: ClassVar[str] = f"({BRACKETS}"
    min_overlap: float | None

    def _resolve_own_mark(self, mark: str, hits: Sequence[Hit]) -> ResolvedMark:
        """Resolve a mark with one name, or with several addresses."""
        source = _SOURCE.match(mark)
        if source and (named := _find_source(source["name"], mark, hits)):
            return ResolvedMark((named,))
        names = [match[0].rstrip(sources.TRAILING) for match in _ADDRESS.finditer(mark)]
        found = tuple(filter(None, (_find_source(name, f"(Source: {name})", hits) for name in names)))
        return ResolvedMark(found, not found, changed=True)

    def resolve_link(self, link: Link, hits: Sequence[Hit]) -> NamedSource | None:
        is_page = not link.image and link.href.lower().startswith("http")
        return _find_source(link.href, link.href, hits) if is_page else None

    def source_key(self, hit: Hit) -> Hashable:
        return sources.source_name(hit.chunk)

    def mark_for(self, hit: Hit, place: int) -> str:
        return f"(Source: {sources.source_name(hit.chunk)})"

    def cited_urls(self, hit: Hit) -> tuple[str, ...]:
        return (url,) if (url := sources.source_url(hit.chunk)) else ()


def _name_hits(hits: tuple[Hit, ...], raw: str) -> NamedSource:
    return NamedSource(hits, raw, hits[0].chunk.title, hits[0].chunk.section)


def _drop_repeated_marks(run: Run) -> Run:
    """Return ``run`` without the mark of a citation that stands right behind the same mark."""
    flat = [node for node in walk_run(run) if not isinstance(node, Styled | Link | ClaimSpan)]
    shown = list(flat)
    between: list[int] = []
    last = ""
    for place, node in enumerate(flat):
        if isinstance(node, Cite):
            if node.raw and node.raw == last:
                shown[place] = replace(node, raw="")
                for blank in between:
                    shown[blank] = Text("")
            last, between = node.raw or last, [] if node.raw else between
        elif isinstance(node, Text) and _BETWEEN.fullmatch(node.text):
            between.append(place)
        else:
            last = ""
    leaves = iter(shown)
    return run if shown == flat else map_leaves(run, lambda _: next(leaves))


def _split_label(inside: str) -> _Label:
    title, _, section = (part.strip() for part in inside.partition(">"))
    return _Label(title, section)


def _title_key(hit: Hit) -> str:
    """Return the same key for titles that labels cannot tell apart."""
    return sources.safe(hit.chunk.title).casefold()


def _find_section(section: str, hits: list[Hit]) -> tuple[Hit, str]:
    """Return the hit whose section is ``section``, else one that contains it; else the first hit and no section."""
    wanted = _section_words(section)
    if wanted:
        same = (hit for hit in hits if _section_words(hit.chunk.section) == wanted)
        containing = (hit for hit in hits if wanted in _section_words(hit.chunk.section))
        if hit := next(same, None) or next(containing, None):
            return hit, section
    return hits[0], ""


def _section_words(section: str) -> str:
    """Return the words of ``section``; an arrow, or the sign that labels show for it, only separates them."""
    return " ".join(sources.safe(section).replace(sources.ARROW, " ").split()).casefold()


def dice(a: str, b: str) -> float:
    """Return the similarity of ``a`` and ``b``, 0..1, case-insensitive: 2 |A n B| / (|A| + |B|) of bigram multisets.

    Equal strings give 1, an empty string gives 0 (Dice, 1945; the matching rule of Waypoint's seed).
    """
    a, b = a.casefold().strip(), b.casefold().strip()
    if a == b:
        return 1.0 if a else 0.0
    left, right = (Counter(text[i : i + 2] for i in range(len(text) - 1)) for text in (a, b))
    total = left.total() + right.total()
    return 2 * (left & right).total() / total if total else 0.0


def _find_source(name: str, raw: str, hits: Sequence[Hit]) -> NamedSource | None:
    """Return the source among ``hits`` that ``name`` names in the mark ``raw``; addresses are compared strictly."""
    named = _hits_by_name(hits).get(sources.same_source(name))
    if named is None:
        return None
    url = sources.source_url(named[0].chunk)
    is_same = "://" not in name or sources.address_key(name.strip("<> ")) == sources.address_key(url)
    return _name_hits(named, raw) if is_same else None


def _hits_by_name(hits: Sequence[Hit]) -> Mapping[str, tuple[Hit, ...]]:
    """Return each source's hits by its name, its page's address, and its title where neither is that."""
    names, pages, titles = (defaultdict[str, tuple[Hit, ...]](tuple) for _ in range(3))
    for hit in hits:
        name = sources.source_name(hit.chunk)
        names[sources.same_source(name)] += (hit,)
        pages[sources.same_source(urldefrag(name).url)] += (hit,)
        titles[sources.same_source(sources.title_name(hit.chunk))] += (hit,)
    return {**titles, **pages, **names}
