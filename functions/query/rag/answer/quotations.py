"""The tree of an answer that quotes: each quotation is parsed by itself and cites its own passage."""

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
from rag.values.answer import CheckedClaim, Context
from rag.values.chat import Completion

_TEMPLATE_LINK = re.compile(r"\]\(\{[%{][^()\n]*[%}]\}\)")
"""A link whose address a site's generator fills in: 18F's handbook has 625 of them. Only its words are quoted."""


@dataclass(frozen=True, slots=True)
class QuotedAnswer:
    """A tree of quotations; each is a supported claim. ``quotes`` are their marked words by chunk."""

    tree: t.Tree
    claims: tuple[CheckedClaim, ...]
    quotes: dict[int, str]


def build_quotations(completion: Completion, context: Context, form: CitationForm) -> QuotedAnswer:
    """Return the tree of the quotes in ``completion``, behind its note."""
    tree: list[t.Block] = [t.Paragraph((t.Text(completion.note),))] if completion.note else []
    claims: list[CheckedClaim] = []
    quotes: dict[int, str] = {}
    chunks = {passage.hit.chunk.number: passage.hit.chunk for passage in context.passages}
    for quote in completion.quotes:
        passage = context.passages[quote.passage]
        chunk = passage.hit.chunk.number
        blocks = RestrictLinks(chunks)(_parse_quote(quote.text), cited=(chunk,)).tree
        if not blocks:
            continue
        text = plain_text(blocks)
        cite = form.cite(passage.hit, passage.citation, is_explicit=True, place=len(claims))
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
        quotes.setdefault(chunk, plain_text(_parse_quote(quote.marked)) if quote.marked else text)
    return QuotedAnswer(tuple(tree), tuple(claims), quotes)


def _parse_quote(text: str) -> t.Tree:
    return parse_markdown(normalise_text(_TEMPLATE_LINK.sub("]()", text)))


def _mark_claim(blocks: t.Tree, number: int) -> t.Tree:
    def mark(run: t.Run) -> t.Run:
        return (t.ClaimSpan(run, number, "supported"),)

    return tuple(
        replace(block, children=mark(())) if isinstance(block, t.CodeBlock) else block
        for block in map_runs(blocks, mark)
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
