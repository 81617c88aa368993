"""The tree of an answer that quotes: each quotation is read by itself, and cites its own passage."""

from __future__ import annotations

from dataclasses import dataclass, replace

from rag.answer.forms import CitationForm
from rag.answer.markdown import inline_markdown
from rag.answer.read import Reader, normalised
from rag.answer.restrict_links import RestrictLinks
from rag.answer.tree import (
    Block,
    Cite,
    CodeBlock,
    Heading,
    Inline,
    Item,
    Listing,
    Paragraph,
    Quotation,
    Statement,
    Text,
    Tree,
    mapped,
)
from rag.answer.write import plain_text
from rag.values import answer as values
from rag.values.answer import Completion, Context


@dataclass(frozen=True, slots=True)
class Quoted:
    """A tree of quotations, each a statement that its passage supports; ``quotes`` are their words by chunk."""

    tree: Tree
    statements: tuple[values.Statement, ...]
    quotes: dict[int, str]


def quoted(made: Completion, context: Context, form: CitationForm) -> Quoted:
    """What ``made`` quotes of ``context``, behind its note."""
    tree: list[Block] = [Paragraph((Text(made.note),))] if made.note else []
    statements: list[values.Statement] = []
    quotes: dict[int, str] = {}
    read = Reader()
    chunks = {passage.hit.chunk.number: passage.hit.chunk for passage in context.used}
    for quote in made.quotes:
        passage = context.used[quote.passage]
        chunk, named = passage.hit.chunk.number, form.named(passage.hit, passage.citation)
        blocks = RestrictLinks(chunks)(read(normalised(quote.text)), cited=(chunk,)).tree
        if not blocks:
            continue
        text = plain_text(blocks)
        cite = Cite(chunk, (chunk,), named.raw, named.title, named.section)
        tree += _cited(_stated(blocks, len(statements)), cite)
        said = inline_markdown((Text(" ".join(text.split())),))
        statements.append(
            values.Statement(text=said, citations=(passage.citation,), support="supported", chance=1.0, chunks=(chunk,))
        )
        quotes.setdefault(chunk, text)
    return Quoted(tuple(tree), tuple(statements), quotes)


def _stated(blocks: Tree, number: int) -> Tree:
    def run(children: tuple[Inline, ...]) -> tuple[Inline, ...]:
        return (Statement(children, number, "supported"),)

    return tuple(
        replace(block, below=run(())) if isinstance(block, CodeBlock) else block for block in mapped(blocks, run)
    )


def _cited(blocks: Tree, cite: Cite) -> Tree:
    """``blocks`` with ``cite`` behind their last words; below them where those are of a table or code."""
    *others, last = blocks
    match last:
        case Paragraph() | Heading():
            return (*others, replace(last, children=(*last.children, Text(" "), cite)))
        case Listing():
            *items, item = last.items
            children = _cited(item.children, cite)
            gaps = (*item.gaps, *(True for _ in children[len(item.children) :]))
            return (*others, replace(last, items=(*items, Item(children, gaps))))
        case Quotation():
            return (*others, Quotation(_cited(last.children, cite)))
        case _:
            return (*others, last, Paragraph((cite,)))
