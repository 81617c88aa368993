"""Resolve marks to citations of one passage each, and remove unknown names.

A label may mean several passages, such as those of one section. The citation goes to the passage with the largest
overlap with the words before it, weighted by the rarity of the words; the check of claims may choose another one later.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count

from knowledge.model.values import Hit
from rag.answer import tree as t
from rag.answer.citation_forms import CitationForm
from rag.contract import NamedSource, ResolvedMark
from rag.text.stems import content_stems

MIN_WORDS = 3
"""Fewer words may stand in any passage."""
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_BRACKETS = {"(": ")", "[": "]", "\u3010": "\u3011", "\uff3b": "\uff3d"}
JOINT = r"(?i:[ \t,;&/+\u2013\u2014-]|\b(?:also|and|as|both|or|plus|see|well|auch|oder|siehe|sowie|und)\b)"
"""Words between marks that mean nothing by themselves. No sentence of MTRAG's rated answers consists of them alone."""
OPENING = r"[(\[\u3010\uff3b]"
_ENDING = r"[.!?\u2026\u3002\uff01\uff1f]"
_JOINTS = re.compile(f"{JOINT}*")
_OPENED, _CLOSED = re.compile(rf"({OPENING}){JOINT}*\Z"), re.compile(rf"{JOINT}*([)\]\u3011\uff3d])")
_BEGUN, _ENDED = re.compile(rf"(?:\A|(?<={_ENDING})){JOINT}*\Z"), re.compile(rf"{JOINT}*(?:({_ENDING}+)|\Z)")
_STOPS = frozenset(".,;:!?)]\u3011\uff3d")


class ReferenceResolver:
    """Resolves the marks of one answer, block after block, against ``hits``, all that its writer saw.

    ``valid`` counts the names in its marks that matched, ``removed`` the others.
    """

    def __init__(self, form: CitationForm, hits: Sequence[Hit]) -> None:
        self.valid = self.removed = 0
        self._form = form
        self._overlap = WordOverlap(hits)
        self._hits = tuple(hits)
        self._meanings: dict[str, ResolvedMark] = {}
        self._place = 0  # of the next citation
        self._text = ""  # since the last mark
        self._earlier: tuple[str, ...] = ()  # the texts before the last marks

    def __call__(self, tree: t.Tree) -> t.Tree:
        """Return ``tree`` with citations in place of its marks."""
        return t.map_runs(tree, self._resolve_run)

    def _resolve_run(self, run: tuple[t.Inline, ...]) -> tuple[t.Inline, ...]:
        self._text += "\n"
        resolved = self._resolve(run)
        return run if resolved == run else t.trim_run(resolved)

    def _resolve(self, run: Sequence[t.Inline]) -> tuple[t.Inline, ...]:
        done: list[t.Inline] = []
        rest = list(t.merge_text(run))
        while rest:
            node = rest.pop(0)
            if isinstance(node, t.Mark):
                self._resolve_mark(node, done, rest)
                continue
            if isinstance(node, t.Link) and (source := self._form.resolve_link(node, self._hits)):
                self.valid += 1
                self._text += t.inline_text(node.children)
                link = replace(node, children=tuple(one for one in node.children if not isinstance(one, t.Mark)))
                is_mark = node.is_bare or not t.inline_text(link.children).strip()
                done += [self._cite(source, source.raw)] if is_mark else [link, self._cite(source, "")]
                continue
            self._text += t.inline_text((node,))
            if not isinstance(node, t.Styled | t.Link):
                done.append(node)
            elif children := self._resolve(node.children):
                done.append(replace(node, children=children))
            else:  # all its children were removed marks
                tidy_removal(done, rest)
        return t.merge_text(done)

    def _resolve_mark(self, mark: t.Mark, done: list[t.Inline], rest: list[t.Inline]) -> None:
        """Add the citations of ``mark`` to ``done``, or tidy up around it if it has none."""
        meaning = self._meanings.get(mark.raw) or self._form.resolve_mark(mark.raw, self._hits)
        self._meanings[mark.raw] = meaning
        before = done[-1] if done else None
        is_glued = isinstance(before, t.Text) and (before.text[-1:].isalnum() or before.text.endswith("_"))
        if not meaning.named and is_glued:  # as in "list[str]": it is no mark
            done.append(t.Text(mark.raw))
            return
        self.valid += len(meaning.named)
        self.removed += meaning.removed
        if not meaning.named:
            tidy_removal(done, rest)
        elif meaning.changed:
            spaced = (node for one in meaning.named for node in (t.Text(" "), self._cite(one, one.raw)))
            done += t.merge_text(spaced)[1:]
        else:  # the mark itself stands for all its citations
            first, *others = meaning.named
            done += [self._cite(first, mark.raw), *(self._cite(one, "") for one in others)]

    def _cite(self, source: NamedSource, raw: str) -> t.Cite:
        hits = source.hits
        hit = hits[0] if len(hits) == 1 else self._overlap.best_of(hits, content_stems(self._last_sentence()))
        self._earlier = (*self._earlier[-MIN_WORDS:], self._text) if self._text.strip() else self._earlier
        self._text = ""
        place, self._place = self._place, self._place + 1
        candidates = tuple(one.chunk.number for one in hits)
        return t.Cite(hit.chunk.number, candidates, raw, source.title, source.section, place=place)

    def _last_sentence(self) -> str:
        """Return the shortest text before a mark that has enough words to compare."""
        texts = (self._text, *reversed(self._earlier))
        parts = (part for text in texts for part in reversed([text, *_SENTENCE.split(text)]))
        return next((part for part in parts if len(content_stems(part)) >= MIN_WORDS), "")


def cite_by_overlap(form: CitationForm, hits: Sequence[Hit]) -> Callable[[str], t.Cite | None] | None:
    """Return a function from a claim's text to the citation of the passage with its words; None if ``form`` has none.

    The citation is None for a claim of fewer than ``MIN_WORDS`` words, or if no passage has the share of the words'
    weight that ``form`` demands.
    """
    min_overlap = form.min_overlap
    if min_overlap is None or not hits:
        return None
    overlap, places = WordOverlap(hits), count()

    def cite(text: str) -> t.Cite | None:
        words = content_stems(text)
        if len(words) < MIN_WORDS:
            return None
        hit = overlap.best_of(hits, words)
        is_cited = overlap.weigh(words, hit) >= min_overlap * sum(map(overlap.weight, words))
        return form.cite(hit, "", place=next(places)) if is_cited else None

    return cite


def find_cites(run: Sequence[t.Inline]) -> tuple[t.Cite, ...]:
    """Return the citations in a run of nodes, in their order."""
    return tuple(node for node in t.walk_run(run) if isinstance(node, t.Cite))


class WordOverlap:
    """Overlap of words with each of ``hits``: the sum of the weights of the words in common.

    A word's weight is log(1 + hits / (1 + hits with the word)).
    """

    def __init__(self, hits: Sequence[Hit]) -> None:
        self.hits = tuple(hits)
        self._stems: dict[int, set[str]] = {}
        self._frequency: Counter[str] = Counter()

    def best_of(self, hits: Sequence[Hit], words: set[str]) -> Hit:
        """Return the one of ``hits`` with the largest overlap, the best ranked of equals."""
        return max(hits, key=lambda hit: self.weigh(words, hit))

    def weigh(self, words: set[str], hit: Hit) -> float:
        """Return the overlap of ``words`` with ``hit``."""
        if not self._stems:
            for one in self.hits:
                stems = content_stems(f"{one.chunk.title} {one.chunk.section} {one.chunk.text}")
                self._stems.setdefault(one.chunk.number, stems)
                self._frequency.update(stems)
        return sum(map(self.weight, words & self._stems[hit.chunk.number]))

    def weight(self, word: str) -> float:
        """Return the weight of ``word``."""
        return math.log(1 + len(self.hits) / (1 + self._frequency[word]))


def tidy_removal(done: list[t.Inline], rest: list[t.Inline]) -> None:
    """Tidy up between ``done`` and ``rest`` after the removal of a mark.

    Removed are words that joined it to another mark, empty brackets and sentences, and superfluous spaces.
    """
    before, behind = _pop_text(done, -1), _pop_text(rest, 0)
    if _JOINTS.fullmatch(before) and done and isinstance(done[-1], t.Cite):
        before = ""
    elif _JOINTS.fullmatch(behind) and (not rest or isinstance(rest[0], t.Mark | t.Cite)):
        behind = ""
    begins, ends = (not beside or isinstance(beside[0], t.LineBreak) for beside in (done[-1:], rest[:1]))
    before, behind = _strip_sentence(*_strip_brackets(before, behind), begins=begins, ends=ends)
    if behind[:1].isspace() or behind[:1] in _STOPS or not (behind or rest):
        before = before.rstrip(" \t")
    rest[:0] = t.merge_text((t.Text(before + behind),))


def _strip_brackets(before: str, behind: str) -> tuple[str, str]:
    """Return two texts without brackets that would enclose nothing between them."""
    opened, closed = _OPENED.search(before), _CLOSED.match(behind)
    if opened and closed and _BRACKETS[opened[1]] == closed[1]:
        return _strip_brackets(before[: opened.start()], behind[closed.end() :])
    return before, behind


def _strip_sentence(before: str, behind: str, *, begins: bool, ends: bool) -> tuple[str, str]:
    """Return two texts without a sentence of nothing between them; a line may begin or end beside them."""
    begun, ended = _BEGUN.search(before), _ENDED.match(behind)
    if begun and ended and (begun.start() or begins) and (ended[1] or ends):
        return before[: begun.start()] + " " * bool(begun.start()), behind[ended.end() :]
    return before, behind


def _pop_text(run: list[t.Inline], place: int) -> str:
    """Remove the text node at ``place`` of ``run`` and return its text; ``""`` if there is another node."""
    node = run[place] if run else None
    if not isinstance(node, t.Text):
        return ""
    run.pop(place)
    return node.text
