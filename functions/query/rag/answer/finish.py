"""From the words of a completion to an answer: read, referenced, checked, restricted, printed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from rag.answer import tree as t
from rag.answer.check import CheckedAnswer, SupportCheck
from rag.answer.check_limit import ROOM
from rag.answer.citation_forms import CitationForm
from rag.answer.citations import citations_of, marks_of, quotes_of, references_of
from rag.answer.courtesies import courtesies
from rag.answer.judge import NEEDS_S, NOT_JUDGED, Judge
from rag.answer.markdown import render_markdown
from rag.answer.names import names_only
from rag.answer.printers import JsonNode, json_nodes, plain_text
from rag.answer.quotations import quoted
from rag.answer.references import drawn_on
from rag.answer.restrict_links import RestrictLinks
from rag.answer.statements import Unit, cut
from rag.answer.streaming_parser import ParsedAnswer, StreamingParser
from rag.answer.tree import map_runs, trim_run
from rag.ask.remarks import Remarks
from rag.contract.decline import begins_with_decline, is_empty
from rag.ledger import Ledger
from rag.values.answer import CheckedClaim, Citation, Context, Reference, ReferenceMark
from rag.values.chat import Completion
from rag.values.request import ClaimChecked, Listen

S_PER_CHAR = 0.0002
"""The check takes no longer on one processor: measured, .00015 s a character of letters that make no words.

No more than ``ROOM`` characters count: a word piece is one at least.
"""
UNCHECKED = "the statements were not checked"
LEAST_MEAN = 0.25
"""Least mean chance of statements of which none has a citation and support, so that they are the answer.

With citations 1 of 144 faithful answers of MTRAG is replaced and none of 24 true ones in own words. Of models that
never cite 12 and 1 are, 29 of 36 unfaithful ones, and 19 of 24 answers of a model of 135 million parameters (none of
which is right). Without the mean it would be 32, 19, 31 and 23.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedAnswer:
    """An answer in all its forms. ``cited`` counts the names in its marks that were known, ``removed`` the others.

    ``unused`` of the removed were known and supported nothing. ``unchecked`` counts the statements that there was no
    room for, None where the check failed. ``is_unfounded`` says that its statements lack support (``lacks_support``).
    """

    text: str
    nodes: tuple[JsonNode, ...]
    refused: bool
    references: tuple[Reference, ...] = ()
    citations: tuple[Citation, ...] = ()
    marks: tuple[ReferenceMark, ...] = ()
    statements: tuple[CheckedClaim, ...] = ()
    cited: int = 0
    removed: int = 0
    unused: int = 0
    unchecked: int | None = 0
    is_unfounded: bool = False
    notes: tuple[str, ...] = ()

    def verdicts(self) -> Iterator[ClaimChecked]:
        """What the check said of each statement, as a listener is told."""
        numbers = {one.hit.chunk.number: one.n for one in self.references}
        for place, statement in enumerate(self.statements):
            cited = tuple(numbers[chunk] for chunk in statement.chunks if chunk in numbers)
            yield ClaimChecked(place, statement, cited)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerFinisher:
    """Finishes the answers of a profile, which cites in ``form`` and declines with ``decline``.

    ``check`` and ``judge`` of statements may fail: the ledger says so. ``remarks`` tell courtesies.
    """

    form: CitationForm
    decline: str
    check: SupportCheck | None = None
    judge: Judge | None = None
    remarks: Remarks | None = None

    def growing(self, context: Context, listen: Listen) -> StreamingParser:
        """What reads an answer of ``context`` while a model writes it, and tells ``listen``."""
        return StreamingParser(self.form, context, decline=self.decline, listen=listen)

    def quotes(self, made: Completion, context: Context) -> FinishedAnswer:
        """What ``made`` quotes of ``context``."""
        found = quoted(made, context, self.form)
        if not found.tree:
            return self._refusal()
        checked = CheckedAnswer(found.tree, found.statements)
        return self._printed(checked, context, found.quotes, cited=len(found.quotes))

    def __call__(self, read: ParsedAnswer, context: Context, ledger: Ledger) -> FinishedAnswer:
        """What a model wrote, ``read``, of ``context``."""
        words = plain_text(read.tree)
        if is_empty(words):
            return self._refusal(removed=read.removed)
        hits = tuple(passage.hit for passage in context.passages)
        if begins_with_decline(words, self.decline):
            return replace(self._printed(CheckedAnswer(map_runs(read.tree, _without_cites)), context, {}), refused=True)
        asked = context.evidence.asked.text if context.evidence else ""
        made = cut(
            read.tree,
            question=asked,
            draw=drawn_on(self.form, hits),
            is_name=self._names(context),
            is_courtesy=courtesies(context, self.remarks),
        )
        checked = self._checked(made.tree, made.units, context, ledger)
        is_foreign = checked.is_foreign or (context.evidence is not None and context.evidence.foreign)
        is_unfounded = lacks_support(checked.statements) and not (checked.left or is_foreign)
        cited, removed = read.valid - checked.pruned.removed, read.removed + checked.pruned.removed
        if is_empty(plain_text(checked.tree)):
            refusal = self._refusal(removed=removed, statements=checked.statements, notes=checked.notes)
            return replace(refusal, is_unfounded=not is_foreign)
        restricted = RestrictLinks({hit.chunk.number: hit.chunk for hit in hits})(checked.tree)
        notes = (*checked.notes, *_links_note(read.links + restricted.removed))
        checked = replace(checked, tree=restricted.tree, notes=notes)
        quotes = quotes_of(checked.supports, {hit.chunk.number: hit for hit in hits})
        return replace(self._printed(checked, context, quotes, cited=cited, removed=removed), is_unfounded=is_unfounded)

    def _names(self, context: Context) -> Callable[[str], bool]:
        urls = (url for passage in context.passages for url in self.form.cited_urls(passage.hit))
        return names_only((*(passage.citation for passage in context.passages), *urls))

    def _checked(self, tree: t.Tree, units: tuple[Unit, ...], context: Context, ledger: Ledger) -> CheckedAnswer:
        check = self.check
        if check is None:
            return CheckedAnswer(tree)
        unchecked = CheckedAnswer(tree, is_checked=False, notes=(UNCHECKED,))
        needs_s = S_PER_CHAR * min(ROOM, sum(len(unit.claim) for unit in units))
        checked = ledger.optional("check", lambda: check(tree, units, context), unchecked, needs_s=needs_s)
        if checked.left:
            ledger.skipped.append("check")
        judge, stated = self.judge, checked.statements
        if judge is None or not (places := judge.picks(checked.verdicts)):
            return checked
        said = ledger.optional(
            "judge", lambda: judge(places, checked.units, stated, context, ledger), None, needs_s=NEEDS_S
        )
        if said is None:
            return replace(checked, notes=(*checked.notes, NOT_JUDGED))
        return check.judged(checked, said)

    def _printed(
        self, checked: CheckedAnswer, context: Context, quotes: dict[int, str], *, cited: int = 0, removed: int = 0
    ) -> FinishedAnswer:
        hits = {passage.hit.chunk.number: passage.hit for passage in context.passages}
        references = references_of(checked.tree, hits, checked.statements, quotes)
        known = {one.hit.chunk.number: (one.n, one.hit.chunk.id) for one in references}
        written = render_markdown(self.form.rewrite_marks(checked.tree, {chunk: n for chunk, (n, _) in known.items()}))
        citations = citations_of(written, references, self.form)
        return FinishedAnswer(
            text=written.text,
            nodes=tuple(json_nodes(checked.tree, lambda chunk: known[chunk])),
            refused=False,
            references=references,
            citations=citations,
            marks=marks_of(written, references),
            statements=checked.statements,
            cited=cited or len(citations),
            removed=removed,
            unused=checked.pruned.removed,
            unchecked=len(checked.left) if checked.is_checked else None,
            notes=checked.notes,
        )

    def _refusal(
        self, *, removed: int = 0, statements: tuple[CheckedClaim, ...] = (), notes: tuple[str, ...] = ()
    ) -> FinishedAnswer:
        """The profile's own words, where nothing is left of the answer's."""
        text, nodes = plain_answer(self.decline)
        return FinishedAnswer(text=text, nodes=nodes, refused=True, removed=removed, statements=statements, notes=notes)


def lacks_support(statements: Sequence[CheckedClaim]) -> bool:
    """Return whether there are ``statements``, none has support and a citation, and their mean chance is too low."""
    if not statements or any(one.chunks and one.support != "unsupported" for one in statements):
        return False
    return fmean(one.chance * (one.support != "unsupported") for one in statements) < LEAST_MEAN


def model_text(read: ParsedAnswer) -> str:
    """Return what a model wrote as Markdown, without citations."""
    return render_markdown(map_runs(read.tree, _without_cites)).text


def plain_answer(text: str, items: Sequence[str] = ()) -> tuple[str, tuple[JsonNode, ...]]:
    """Words of ours, with a list of ``items`` behind them, as Markdown and as nodes."""
    said = t.Paragraph((t.Text(text),))
    listed = tuple(t.ListItem((t.Paragraph((t.Text(" ".join(item.split())),)),), gap=False) for item in items)
    tree: t.Tree = (said, t.ListBlock(listed)) if listed else (said,)
    return render_markdown(tree).text, tuple(json_nodes(tree, lambda chunk: (chunk, "")))


def removed_note(removed: int) -> tuple[str, ...]:
    """The line of the trail on ``removed`` citations, if there are any."""
    return (f"removed {removed} citation{'s' * (removed != 1)} of what was not in the context",) if removed else ()


def _links_note(removed: int) -> tuple[str, ...]:
    return (f"removed {removed} address{'es' * (removed != 1)} that no cited passage holds",) if removed else ()


def _without_cites(run: tuple[t.Inline, ...]) -> tuple[t.Inline, ...]:
    """A refusal may cite where it did not find the answer: that is no source."""
    return trim_run([node for node in run if not isinstance(node, t.Cite)])
