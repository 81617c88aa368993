"""The citation check: every statement of an answer against the passages that it cites, then against the others.

``knowledge.search.support`` tells how likely it is that passages bear a statement out. A statement that its own ones do
not support, but another one of the context does, is cited to that one. One that nothing supports is marked, taken out
or kept, as UNSUPPORTED says. What an engine quotes word for word needs no look: it is supported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Literal

from knowledge.search.support import PARTIAL, SUPPORTED
from rag.ports import Index
from rag.stages.check.edits import Edit, apply, behind, cited_to, taken_out
from rag.stages.check.statements import Part, cut
from rag.stages.cite.marks import Cited
from rag.values.answer import Borne, Citation, Claim, Completion, Context, Hit, Passage, Statement, Support

Unsupported = Literal["mark", "remove", "keep"]
"""What becomes of a statement that nothing supports."""

NOT_FOUND = "*(not found in the sources)*"
"""Stands behind a statement that nothing supports."""
NOT_CITED = "*(no source cited)*"
"""Stands behind one that cites nothing, and that nothing supports but in part."""

DOUBT: Mapping[Support, float] = {"supported": 0.0, "partial": 0.25, "unsupported": 1.0}
"""What a statement counts as not borne out; little in part, where most true paraphrases are."""
UNCITED = 0.5
"""What one counts that cited nothing, where a passage supports it."""

S_PER_CHAR = 0.0002
"""The check takes no longer on one processor: measured, .00015 s a character of letters that make no words."""

NOT_CHECKED = "the statements were not checked: the index has no token vectors"


@dataclass(frozen=True, slots=True)
class Checked:
    """What was ``cited``, after the check, and its ``statements``, those that were taken out too.

    ``doubt`` is the mean of ``DOUBT`` over the statements. One that the writer cited nothing for counts
    ``UNCITED`` where a passage supports it, else as unsupported. None says that nobody could look. ``notes`` say, in
    words, what was changed.
    """

    cited: Cited
    statements: tuple[Statement, ...] = ()
    doubt: float | None = 0.0
    notes: tuple[str, ...] = ()


def time_needed(made: Completion) -> float:
    """Seconds that the check of ``made`` may take."""
    return 0.0 if made.quotes else S_PER_CHAR * len(made.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class SupportCheck:
    """``cite`` reads the citations of a changed text; ``unsupported`` says what becomes of what nothing supports."""

    index: Index
    cite: Callable[[str, tuple[Hit, ...]], Cited]
    unsupported: Unsupported = "mark"

    def __call__(self, made: Completion, cited: Cited, context: Context) -> Checked:
        """What ``made`` says and cites (``cited``) of ``context``, checked.

        Raises:
            IndexUnavailable: there is no usable index.
            SearchFailed: it has no such chunk any more.
        """
        if made.quotes:
            return _quoted(made, cited)
        asked = context.evidence.asked.text if context.evidence else ""
        parts = cut(cited.text, cited.marks, question=asked)
        if not parts:
            return Checked(cited)
        passages = {passage.hit.chunk.number: passage for passage in context.used}
        claims = [Claim(part.claim, tuple(hit.chunk.number for hit in _meant(part))) for part in parts]
        with self.index.lease() as index:
            if not index.late:
                return Checked(cited, notes=(NOT_CHECKED,))
            borne = index.support(claims, list(passages))
        among = list(passages.values())
        verdicts = [_verdict(part, one, among, cited.text) for part, one in zip(parts, borne, strict=True)]
        text = apply(cited.text, self._edits(cited.text, parts, verdicts))
        if text != cited.text:
            again = self.cite(text, tuple(passage.hit for passage in context.used))
            cited = replace(again, valid=cited.valid, removed=cited.removed)
        citations = tuple(replace(one, support=_support_of(one, verdicts)) for one in cited.citations)
        return Checked(
            replace(cited, citations=citations),
            tuple(verdict.statement for verdict in verdicts),
            fmean(verdict.doubt for verdict in verdicts),
            tuple(self._notes(verdicts)),
        )

    def _edits(self, text: str, parts: Sequence[Part], verdicts: Sequence[_Verdict]) -> list[Edit]:
        edits: list[Edit] = []
        gone: list[Part] = []
        for part, verdict in zip(parts, verdicts, strict=True):
            if verdict.found:
                edits += cited_to(text, part, verdict.found.citation, instead=verdict.wrong)
            elif verdict.statement.support == "unsupported":
                gone.append(part)
            elif not verdict.hits and self.unsupported == "mark":
                edits.append(behind(text, part, NOT_CITED))
        if self.unsupported == "remove":
            return [*edits, *taken_out(text, parts, gone)]
        return [*edits, *(behind(text, part, NOT_FOUND) for part in gone if self.unsupported == "mark")]

    def _notes(self, verdicts: Sequence[_Verdict]) -> Iterator[str]:
        """What the trail says."""
        for number, verdict in enumerate(verdicts, start=1):
            if verdict.found:
                before = "it cited nothing" if verdict.doubt else "what it cited does not support it"
                yield f"statement {number} is now cited to {verdict.found.citation}: {before}"
            elif verdict.statement.support == "unsupported" and self.unsupported == "remove":
                yield f"statement {number} was removed: no source supports it"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Verdict:
    """A ``statement`` with the ``hits`` that it now cites, and what it counts in ``Checked.doubt``.

    ``found`` is the passage that supports it in place of (``wrong``) or beside those that it cited. ``before`` are the
    hits that it cited then.
    """

    statement: Statement
    hits: tuple[Hit, ...]
    doubt: float
    found: Passage | None = None
    wrong: bool = False
    before: tuple[Hit, ...] = ()


def _meant(part: Part) -> tuple[Hit, ...]:
    return tuple({hit.chunk.number: hit for mark in part.marks or part.shared for hit in mark.hits}.values())


def _verdict(part: Part, borne: Borne, among: Sequence[Passage], text: str) -> _Verdict:
    hits = _meant(part)
    cited = {hit.chunk.number for hit in hits}
    each = borne.each or (0.0,) * len(among)  # not looked at: its own support it
    alone = (chance for one, chance in zip(among, each, strict=True) if one.hit.chunk.number in cited)
    own = max(borne.own or 0.0, *alone, 0.0)
    marks = tuple(text[mark.start : mark.end] for mark in part.marks or part.shared)
    best = max(range(len(among)), key=lambda place: each[place])
    if own < SUPPORTED <= each[best]:
        found = among[best]
        wrong = own < PARTIAL
        kept, cites = ((), ()) if wrong else (marks, hits)
        statement = _statement(part, (*kept, found.citation), "supported", each[best])
        doubt = DOUBT["supported"] if hits else UNCITED
        now = (*cites, found.hit)
        return _Verdict(statement=statement, hits=now, doubt=doubt, found=found, wrong=wrong, before=hits)
    chance = own if hits else each[best]
    support: Support = "supported" if chance >= SUPPORTED else "partial" if chance >= PARTIAL else "unsupported"
    doubt = DOUBT[support if hits else "unsupported"]
    return _Verdict(statement=_statement(part, marks, support, chance), hits=hits, doubt=doubt)


def _statement(part: Part, citations: tuple[str, ...], support: Support, chance: float) -> Statement:
    return Statement(text=part.text, citations=citations, support=support, chance=round(chance, 3))


def _support_of(citation: Citation, verdicts: Sequence[_Verdict]) -> Support | None:
    """What the statements that cite it say of a citation: partial where they differ, None where there is none.

    A link that stays behind a statement which is now cited to another passage is unsupported.
    """

    def cites(hit: Hit) -> bool:
        if citation.chunk_id:
            return hit.chunk.number == citation.hit.chunk.number
        return hit.chunk.doc_id == citation.hit.chunk.doc_id

    supports = {verdict.statement.support for verdict in verdicts if any(map(cites, verdict.hits))}
    if not supports and any(cites(hit) for verdict in verdicts if verdict.wrong for hit in verdict.before):
        return "unsupported"
    return supports.pop() if len(supports) == 1 else "partial" if supports else None


def _quoted(made: Completion, cited: Cited) -> Checked:
    statements = tuple(
        Statement(
            text=made.text[quote.start : quote.end],
            citations=(made.text[quote.end : quote.cited].strip(),),
            support="supported",
            chance=1.0,
        )
        for quote in made.quotes
    )
    citations = tuple(replace(citation, support="supported") for citation in cited.citations)
    return Checked(replace(cited, citations=citations), statements)
