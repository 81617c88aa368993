"""From a parsed answer to the finished one: claims, check, judge, links, references, Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from rag.answer import tree as t
from rag.answer.check import CHECK_BUDGET, CHECK_FAILED, MIN_SECONDS, NOT_JUDGED, CheckedAnswer, Judge, SupportCheck
from rag.answer.citation_forms import CitationForm
from rag.answer.citations import build_citations, build_marks, build_quotes, build_references
from rag.answer.claims import build_courtesy_test, build_name_test, split_claims
from rag.answer.parse import normalise_text, parse_markdown
from rag.answer.references import cite_by_overlap
from rag.answer.render import JsonNode, json_nodes, render_inline, render_markdown
from rag.answer.restrict_links import RestrictLinks
from rag.answer.streaming_parser import ParsedAnswer, StreamingParser
from rag.ask.remarks import Remarks
from rag.contract import begins_with_decline, is_empty
from rag.ledger import Ledger
from rag.values.answer import CheckedClaim, Citation, Context, Reference, ReferenceMark
from rag.values.chat import Completion
from rag.values.request import ClaimChecked, Listen

S_PER_CHAR = 0.0002
"""Upper limit of the check's time on one processor: measured, .00015 s a character of letters that make no words.

No more than ``CHECK_BUDGET`` characters count: a word piece has one at least.
"""
MIN_MEAN_CHANCE = 0.25
"""Least mean chance of an answer's claims if none has both a citation and support; below it the answer is unfounded.

With citations 1 of 144 faithful answers of MTRAG is replaced and none of 24 true ones in own words. Of models that
never cite 12 and 1 are, 29 of 36 unfaithful ones, and 19 of 24 answers of a model of 135 million parameters (none of
which is right). Without the mean it would be 32, 19, 31 and 23.
"""

_TEMPLATE_LINK = re.compile(r"\]\(\{[%{][^()\n]*[%}]\}\)")
"""A link whose address a site's generator fills in: 18F's handbook has 625 of them. Only its words are quoted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedAnswer:
    """An answer in all its forms.

    - ``cited``: names in its marks that match a passage; ``removed``: names that match none
    - ``unchecked``: claims that exceed the check's budget; None if the check failed
    - ``is_unfounded``: its claims lack support (``lacks_support``); ``is_quoted``: it consists of quotes
    """

    text: str
    nodes: tuple[JsonNode, ...] = ()
    refused: bool = False
    references: tuple[Reference, ...] = ()
    citations: tuple[Citation, ...] = ()
    marks: tuple[ReferenceMark, ...] = ()
    claims: tuple[CheckedClaim, ...] = ()
    cited: int = 0
    removed: int = 0
    unchecked: int | None = 0
    is_unfounded: bool = False
    is_quoted: bool = False
    notes: tuple[str, ...] = ()

    def claim_events(self) -> Iterator[ClaimChecked]:
        """Yield an event for each claim."""
        numbers = {one.hit.chunk.number: one.n for one in self.references}
        for place, claim in enumerate(self.claims):
            yield ClaimChecked(place, claim, tuple(numbers[chunk] for chunk in claim.chunks if chunk in numbers))


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerFinisher:
    """Finishes the answers of a profile, which cites in ``form`` and declines with ``decline``.

    ``check`` and ``judge`` may fail, which the ledger records. ``remarks`` recognise courtesies.
    """

    form: CitationForm
    decline: str
    check: SupportCheck | None = None
    judge: Judge | None = None
    remarks: Remarks | None = None

    def streaming_parser(self, context: Context, listen: Listen) -> StreamingParser:
        """Return the parser of a model's answer from ``context``, which calls ``listen``."""
        return StreamingParser(self.form, context, decline=self.decline, listen=listen)

    def finish_quotes(self, completion: Completion, context: Context) -> FinishedAnswer:
        """Return the answer of the quotes in ``completion``; each is a supported claim and cites its own passage."""
        tree: list[t.Block] = [t.Paragraph((t.Text(completion.note),))] if completion.note else []
        claims: list[CheckedClaim] = []
        quotes: dict[int, str] = {}
        for quote in completion.quotes:
            passage = context.passages[quote.passage]
            chunk = passage.hit.chunk.number
            parsed = _parse_quote(quote.text)
            blocks = RestrictLinks([passage.hit.chunk])(parsed, cited=(chunk,))
            if not blocks:
                continue
            text = t.plain_text(blocks)
            cite = self.form.cite(passage.hit, passage.citation, is_explicit=True, place=len(claims))
            tree += _append_cite(_mark_claim(blocks, len(claims)), cite)
            claims.append(
                CheckedClaim(
                    text=render_inline((t.Text(" ".join(text.split())),)),
                    citations=(passage.citation,),
                    support="supported",
                    chance=1.0,
                    chunks=(chunk,),
                )
            )
            if chunk not in quotes:
                marked = parsed if quote.marked == quote.text else _parse_quote(quote.marked)
                quotes[chunk] = t.plain_text(marked) if quote.marked else text
        if not tree:
            return self._refuse()
        tree += [t.Paragraph((t.Text(completion.closing),))] if completion.closing else []
        checked = CheckedAnswer(tuple(tree), tuple(claims))
        return replace(self._render(checked, context, cited=len(quotes), quotes=quotes), is_quoted=True)

    def __call__(self, parsed: ParsedAnswer, context: Context, ledger: Ledger) -> FinishedAnswer:
        """Return the answer that a model wrote from ``context``."""
        text = t.plain_text(parsed.tree)
        if is_empty(text):
            return self._refuse(removed=parsed.removed)
        if begins_with_decline(text, self.decline):  # it may cite where it did not find the answer: that is no source
            return replace(self._render(CheckedAnswer(_remove_cites(parsed.tree)), context), refused=True)
        checked = self._judge(self._check(parsed, context, ledger), context, ledger)
        evidence, pruned = context.evidence, checked.removed
        is_foreign = checked.is_foreign or (evidence is not None and evidence.foreign)
        if is_empty(t.plain_text(checked.tree)):
            refusal = self._refuse(removed=parsed.removed + pruned, claims=checked.claims, notes=checked.notes)
            return replace(refusal, is_unfounded=not is_foreign)
        restrict = RestrictLinks(passage.hit.chunk for passage in context.passages)
        tree = restrict(checked.tree)
        notes, links = checked.notes, parsed.links + restrict.removed
        if links:
            notes += (f"removed {links} address{'es' * (links != 1)} that no cited passage holds",)
        return replace(
            self._render(replace(checked, tree=tree, notes=notes), context, cited=parsed.valid - pruned),
            removed=parsed.removed,
            is_unfounded=lacks_support(checked.claims) and not (checked.unchecked or is_foreign),
        )

    def _check(self, parsed: ParsedAnswer, context: Context, ledger: Ledger) -> CheckedAnswer:
        """Split the answer into claims and check them."""
        hits = [passage.hit for passage in context.passages]
        urls = (url for hit in hits for url in self.form.cited_urls(hit))
        tree, claims = split_claims(
            parsed.tree,
            question=context.evidence.asked.text if context.evidence else "",
            cite_by_overlap=cite_by_overlap(self.form, hits),
            is_name=build_name_test((*(passage.citation for passage in context.passages), *urls)),
            is_courtesy=build_courtesy_test(context, self.remarks),
        )
        check = self.check
        if check is None:
            return CheckedAnswer(tree)
        failed = CheckedAnswer(tree, is_checked=False, notes=(CHECK_FAILED,))
        needs_s = S_PER_CHAR * min(CHECK_BUDGET, sum(len(claim.plain) for claim in claims))
        checked = ledger.optional("check", lambda: check(tree, claims, context), failed, needs_s=needs_s)
        if checked.unchecked:
            ledger.skipped.append("check")
        return checked

    def _judge(self, checked: CheckedAnswer, context: Context, ledger: Ledger) -> CheckedAnswer:
        check, judge = self.check, self.judge
        if check is None or judge is None or not (places := judge.select_claims(checked.verdicts)):
            return checked
        judgement = ledger.optional("judge", lambda: judge(places, checked, context, ledger), None, needs_s=MIN_SECONDS)
        if judgement is None:
            return replace(checked, notes=(*checked.notes, NOT_JUDGED))
        return check.apply_judgement(checked, judgement)

    def _render(
        self, checked: CheckedAnswer, context: Context, *, cited: int = 0, quotes: Mapping[int, str] | None = None
    ) -> FinishedAnswer:
        hits = {passage.hit.chunk.number: passage.hit for passage in context.passages}
        quotes = quotes or build_quotes(checked.supports, hits)
        references = build_references(checked.tree, hits, checked.claims, quotes)
        numbers = {one.hit.chunk.number: (one.n, one.hit.chunk.id) for one in references}
        marked = self.form.rewrite_marks(checked.tree, {chunk: n for chunk, (n, _) in numbers.items()})
        rendered = render_markdown(marked)
        citations = build_citations(rendered, references, self.form)
        return FinishedAnswer(
            text=rendered.text,
            nodes=tuple(json_nodes(checked.tree, lambda chunk: numbers[chunk])),
            references=references,
            citations=citations,
            marks=build_marks(rendered, references),
            claims=checked.claims,
            cited=cited or len(citations),
            unchecked=len(checked.unchecked) if checked.is_checked else None,
            notes=checked.notes,
        )

    def _refuse(
        self, *, removed: int = 0, claims: tuple[CheckedClaim, ...] = (), notes: tuple[str, ...] = ()
    ) -> FinishedAnswer:
        """Return the profile's decline, for an answer of which nothing is left."""
        text, nodes = render_plain_answer(self.decline)
        return FinishedAnswer(text=text, nodes=nodes, refused=True, removed=removed, claims=claims, notes=notes)


def lacks_support(claims: Sequence[CheckedClaim]) -> bool:
    """Return whether there are ``claims``, none has support and a citation, and their mean chance is too low."""
    if not claims or any(one.chunks and one.support != "unsupported" for one in claims):
        return False
    return fmean(one.chance * (one.support != "unsupported") for one in claims) < MIN_MEAN_CHANCE


def render_model_text(parsed: ParsedAnswer) -> str:
    """Return a model's text as Markdown without citations."""
    return render_markdown(_remove_cites(parsed.tree)).text


def render_plain_answer(text: str, items: Sequence[str] = ()) -> tuple[str, tuple[JsonNode, ...]]:
    """Return the service's own ``text``, with a list of ``items`` behind it, as Markdown and as nodes."""
    listed = tuple(t.ListItem((t.Paragraph((t.Text(" ".join(item.split())),)),), gap=False) for item in items)
    paragraph = t.Paragraph((t.Text(text),))
    tree: t.Tree = (paragraph, t.ListBlock(listed)) if listed else (paragraph,)
    return render_markdown(tree).text, tuple(json_nodes(tree, lambda chunk: (chunk, "")))


def removed_note(removed: int) -> tuple[str, ...]:
    """Return the line of the trail on ``removed`` citations, if there are any."""
    return (f"removed {removed} citation{'s' * (removed != 1)} of what was not in the context",) if removed else ()


def _remove_cites(tree: t.Tree) -> t.Tree:
    return t.map_runs(tree, lambda run: t.trim_run([node for node in run if not isinstance(node, t.Cite)]))


def _parse_quote(text: str) -> t.Tree:
    return parse_markdown(normalise_text(_TEMPLATE_LINK.sub("]()", text)))


def _mark_claim(blocks: t.Tree, number: int) -> t.Tree:
    def mark(run: t.Run) -> t.Run:
        return (t.ClaimSpan(run, number, "supported"),)

    return tuple(
        replace(block, children=mark(())) if isinstance(block, t.CodeBlock) else block
        for block in t.map_runs(blocks, mark)
    )


def _append_cite(blocks: t.Tree, cite: t.Cite) -> t.Tree:
    """Return ``blocks`` with ``cite`` behind their last words, or below them if they end with a table or code."""
    *others, last = blocks
    match last:
        case t.Paragraph() | t.Heading():
            return (*others, replace(last, children=(*last.children, t.Text(" "), cite)))
        case t.ListBlock() | t.ListItem() | t.BlockQuote():
            return (*others, replace(last, children=_append_cite(last.children, cite)))  # type: ignore[arg-type]
        case _:
            return (*others, last, t.Paragraph((cite,)))
