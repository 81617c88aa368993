"""References: each mark becomes a citation of one passage; what names nothing that the writer saw goes.

A label may mean several passages, as those of one section do. The one is cited that holds most of the words before it,
weighted by how few of the passages hold them; the check of statements may know better later.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import count

from knowledge.model.values import Hit
from rag.answer import tree as t
from rag.answer.citation_forms import CitationForm
from rag.answer.printers import inline_text
from rag.answer.tree import map_runs, merge_text, trim_run, walk_run
from rag.contract.marks import NamedSource, ResolvedMark
from rag.text.stems import content_stems

MIN_WORDS = 3
"""Fewer could stand in any passage."""
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_BRACKETS = {"(": ")", "[": "]", "\u3010": "\u3011", "\uff3b": "\uff3d"}
JOINT = r"(?i:[ \t,;&/+\u2013\u2014-]|\b(?:also|and|as|both|or|plus|see|well|auch|oder|siehe|sowie|und)\b)"
"""What stands between marks and says nothing. No sentence of MTRAG's rated answers is made of it alone."""
OPENING = r"[(\[\u3010\uff3b]"
_ENDING = r"[.!?\u2026\u3002\uff01\uff1f]"
_JOINTS = re.compile(f"{JOINT}*")
_OPENED, _CLOSED = re.compile(rf"({OPENING}){JOINT}*\Z"), re.compile(rf"{JOINT}*([)\]\u3011\uff3d])")
_BEGUN, _ENDED = re.compile(rf"(?:\A|(?<={_ENDING})){JOINT}*\Z"), re.compile(rf"{JOINT}*(?:({_ENDING}+)|\Z)")
_STOPS = frozenset(".,;:!?)]\u3011\uff3d")


@dataclass(frozen=True, slots=True)
class ReferencedTree:
    """A tree without marks; of the names in them ``valid`` were known, and ``removed`` were not."""

    tree: t.Tree
    valid: int = 0
    removed: int = 0


class References:
    """Resolves the marks of one answer, block after block, against ``hits``, all that its writer saw."""

    def __init__(self, form: CitationForm, hits: Sequence[Hit]) -> None:
        self._form = form
        self._words = Words(hits)
        self._hits = tuple(hits)
        self._meanings: dict[str, ResolvedMark] = {}
        self._place = 0  # of the next citation
        self._said = ""  # the words since the last mark
        self._before: tuple[str, ...] = ()  # those before the last marks that had any

    def __call__(self, tree: t.Tree) -> ReferencedTree:
        """``tree`` with citations in place of its marks."""
        self._valid = self._removed = 0
        made = map_runs(tree, self._run)
        return ReferencedTree(made, self._valid, self._removed)

    def _run(self, run: tuple[t.Inline, ...]) -> tuple[t.Inline, ...]:
        self._said += "\n"
        if not any(isinstance(node, t.Mark | t.Link) for node in walk_run(run)):
            self._said += inline_text(run)
            return run
        found = self._resolved(run)
        return found if found == run else trim_run(found)

    def _resolved(self, run: Sequence[t.Inline]) -> tuple[t.Inline, ...]:
        found: list[t.Inline] = []
        rest = list(merge_text(run))
        while rest:
            node = rest.pop(0)
            if isinstance(node, t.Mark):
                self._mark(node, found, rest)
                continue
            if isinstance(node, t.Link) and (named := self._form.resolve_link(node, self._hits)):
                self._valid += 1
                self._said += inline_text(node.children)
                link = replace(node, children=tuple(one for one in node.children if not isinstance(one, t.Mark)))
                names = node.is_bare or not inline_text(link.children).strip()  # it is the mark itself
                found += [self._cite(named, named.raw)] if names else [link, self._cite(named, "")]
                continue
            self._said += inline_text((node,))
            if not isinstance(node, t.Styled | t.Link):
                found.append(node)
            elif children := self._resolved(node.children):
                found.append(replace(node, children=children))
            else:  # it held nothing but marks that went
                tidied(found, rest)
        return merge_text(found)

    def _mark(self, mark: t.Mark, found: list[t.Inline], rest: list[t.Inline]) -> None:
        """Add what ``mark`` is to ``found``; where it goes, blanks and brackets around it do too."""
        meaning = self._meanings.get(mark.raw) or self._form.resolve_mark(mark.raw, self._hits)
        self._meanings[mark.raw] = meaning
        if not meaning.named and _is_glued(found):  # as in "list[str]": it is no mark
            found.append(t.Text(mark.raw))
            return
        self._valid += len(meaning.named)
        self._removed += meaning.removed
        if meaning.named:
            found += self._cites(meaning, mark.raw)
        else:
            tidied(found, rest)

    def _cites(self, meaning: ResolvedMark, raw: str) -> list[t.Inline]:
        if not meaning.changed:  # what was written stands for all of them
            first, *others = meaning.named
            return [self._cite(first, raw), *(self._cite(one, "") for one in others)]
        return list(merge_text(node for one in meaning.named for node in (t.Text(" "), self._cite(one, one.raw))))[1:]

    def _cite(self, named: NamedSource, raw: str) -> t.Cite:
        hit = named.hits[0] if len(named.hits) == 1 else self._words.nearest(self._sentence(), named.hits)
        self._before = (*self._before[-MIN_WORDS:], self._said) if self._said.strip() else self._before
        self._said = ""
        among = tuple(one.chunk.number for one in named.hits)
        place, self._place = self._place, self._place + 1
        return t.Cite(hit.chunk.number, among, raw, named.title, named.section, place=place)

    def _sentence(self) -> str:
        """The last words before a mark that are enough to tell by."""
        before = (self._said, *reversed(self._before))
        enough = (one for said in before for one in reversed([said, *_SENTENCE.split(said)]))
        return next((one for one in enough if len(content_stems(one)) >= MIN_WORDS), "")


def drawn_on(form: CitationForm, hits: Sequence[Hit]) -> Callable[[str], t.Cite | None] | None:
    """Gives the citation of the passage that a statement draws on by its words; None where the form knows none."""
    least = form.min_overlap
    if least is None:
        return None
    words, places = Words(hits), count()

    def drawn(said: str) -> t.Cite | None:
        hit = words.drawn_on(said, least)
        return form.cite(hit, "", place=next(places)) if hit else None

    return drawn


def cites(tree: Sequence[t.Inline]) -> tuple[t.Cite, ...]:
    """The citations in a run of nodes, in their order."""
    return tuple(node for node in walk_run(tree) if isinstance(node, t.Cite))


class Words:
    """What each of ``hits`` holds of a sentence."""

    def __init__(self, hits: Sequence[Hit]) -> None:
        self.hits = tuple(hits)
        self._stems: list[set[str]] = []
        self._frequency: Counter[str] = Counter()

    def nearest(self, said: str, among: Sequence[Hit]) -> Hit:
        """The one of ``among`` with the largest share of the words of ``said``, the best ranked of equals."""
        words = content_stems(said)
        return max(among, key=lambda hit: self._share(words, hit))

    def drawn_on(self, said: str, least: float) -> Hit | None:
        """The hit with the largest share of the words of ``said``, if that is ``least`` (0..1) or more of their weight.

        None also for fewer words than could tell.
        """
        words = content_stems(said)
        if len(words) < MIN_WORDS or not self.hits:
            return None
        hit = max(self.hits, key=lambda one: self._share(words, one))
        return hit if self._share(words, hit) >= least * sum(map(self._weight, words)) else None

    def _share(self, words: set[str], hit: Hit) -> float:
        if not self._stems:
            texts = (f"{one.chunk.title} {one.chunk.section} {one.chunk.text}" for one in self.hits)
            self._stems = [content_stems(text) for text in texts]
            self._frequency = Counter(stem for stems in self._stems for stem in stems)
        held = self._stems[[one.chunk.number for one in self.hits].index(hit.chunk.number)]
        return sum(map(self._weight, words & held))

    def _weight(self, word: str) -> float:
        return math.log(1 + len(self.hits) / (1 + self._frequency[word]))


def _is_glued(found: Sequence[t.Inline]) -> bool:
    last = found[-1] if found else None
    return isinstance(last, t.Text) and (last.text[-1:].isalnum() or last.text.endswith("_"))


def tidied(found: list[t.Inline], rest: list[t.Inline]) -> None:
    """Remove what a removed mark leaves alone.

    That is what joins it to another mark, brackets and sentences that hold nothing else, and blanks before a stop or
    another blank.
    """
    before, behind = _ended(found, -1), _ended(rest, 0)
    if _JOINTS.fullmatch(before) and found and isinstance(found[-1], t.Cite):
        before = ""
    elif _JOINTS.fullmatch(behind) and (not rest or isinstance(rest[0], t.Mark | t.Cite)):
        behind = ""
    before, behind = _without_sentence(*_without_brackets(before, behind), _is_edge(found[-1:]), _is_edge(rest[:1]))
    if behind[:1].isspace() or behind[:1] in _STOPS or not (behind or rest):
        before = before.rstrip(" \t")
    rest[:0] = merge_text((t.Text(before + behind),))


def _is_edge(beside: Sequence[t.Inline]) -> bool:
    """Whether a line ends where ``beside`` stands, the next node, if there is one."""
    return not beside or isinstance(beside[0], t.LineBreak)


def _without_sentence(before: str, behind: str, begins: bool, ends: bool) -> tuple[str, str]:
    """Remove the sentence around a mark that holds nothing else; a line may be known to begin or end beside it."""
    begun, ended = _BEGUN.search(before), _ENDED.match(behind)
    if begun and ended and (begun.start() or begins) and (ended[1] or ends):
        return before[: begun.start()] + " " * bool(begun.start()), behind[ended.end() :]
    return before, behind


def _without_brackets(before: str, behind: str) -> tuple[str, str]:
    """What is left of two texts without brackets that would hold nothing between them."""
    opened, closed = _OPENED.search(before), _CLOSED.match(behind)
    if opened and closed and _BRACKETS[opened[1]] == closed[1]:
        return _without_brackets(before[: opened.start()], behind[closed.end() :])
    return before, behind


def _ended(run: list[t.Inline], place: int) -> str:
    """Takes the text away that stands at ``place`` of ``run``, if one does."""
    node = run[place] if run else None
    if not isinstance(node, t.Text):
        return ""
    run.pop(place)
    return node.text
