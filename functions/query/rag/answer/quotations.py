"""The tree of an answer that quotes: each quotation is read by itself, and cites its own passage."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from rag.answer import tree as t
from rag.answer.citation_forms import CitationForm
from rag.answer.markdown import render_inline
from rag.answer.parse import normalise_text, parse_markdown
from rag.answer.printers import plain_text
from rag.answer.restrict_links import RestrictLinks
from rag.answer.tree import map_runs
from rag.values import answer as values
from rag.values.answer import Context
from rag.values.chat import Completion

_TEMPLATE_LINK = re.compile(r"\]\(\{[%{][^()\n]*[%}]\}\)")
"""A link whose address a site's generator fills in: 18F's handbook has 625 of them. Only its words are quoted."""


@dataclass(frozen=True, slots=True)
class QuotedAnswer:
    """A tree of quotations, each a statement that its passage supports; ``quotes`` are their marked words by chunk."""

    tree: t.Tree
    statements: tuple[values.CheckedClaim, ...]
    quotes: dict[int, str]


def quoted(made: Completion, context: Context, form: CitationForm) -> QuotedAnswer:
    """What ``made`` quotes of ``context``, behind its note."""
    tree: list[t.Block] = [t.Paragraph((t.Text(made.note),))] if made.note else []
    statements: list[values.CheckedClaim] = []
    quotes: dict[int, str] = {}
    chunks = {passage.hit.chunk.number: passage.hit.chunk for passage in context.passages}
    for quote in made.quotes:
        passage = context.passages[quote.passage]
        chunk = passage.hit.chunk.number
        blocks = RestrictLinks(chunks)(parse_markdown(_normalised(quote.text)), cited=(chunk,)).tree
        if not blocks:
            continue
        text = plain_text(blocks)
        cite = form.cite(passage.hit, passage.citation, is_explicit=True, place=len(statements))
        tree += _cited(_stated(blocks, len(statements)), cite)
        said = render_inline((t.Text(" ".join(text.split())),))
        statements.append(
            values.CheckedClaim(
                text=said, citations=(passage.citation,), support="supported", chance=1.0, chunks=(chunk,)
            )
        )
        marked = plain_text(parse_markdown(_normalised(quote.marked))) if quote.marked else text
        quotes.setdefault(chunk, marked)
    return QuotedAnswer(tuple(tree), tuple(statements), quotes)


def _normalised(text: str) -> str:
    return normalise_text(_TEMPLATE_LINK.sub("]()", text))


def _stated(blocks: t.Tree, number: int) -> t.Tree:
    def run(children: tuple[t.Inline, ...]) -> tuple[t.Inline, ...]:
        return (t.ClaimSpan(children, number, "supported"),)

    return tuple(
        replace(block, children=run(())) if isinstance(block, t.CodeBlock) else block for block in map_runs(blocks, run)
    )


def _cited(blocks: t.Tree, cite: t.Cite) -> t.Tree:
    """``blocks`` with ``cite`` behind their last words; below them where those are of a table or code."""
    *others, last = blocks
    match last:
        case t.Paragraph() | t.Heading():
            return (*others, replace(last, children=(*last.children, t.Text(" "), cite)))
        case t.ListBlock() | t.ListItem() | t.BlockQuote():
            return (*others, replace(last, children=_cited(last.children, cite)))  # type: ignore[arg-type]
        case _:
            return (*others, last, t.Paragraph((cite,)))
