"""A completion that quotes, polished and cited by its structure: what a quote holds cites nothing.

The engine that quotes says where its quotes stand and which passage each is of, so nothing has to be read out of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from rag.stages.cite.marks import Cited, Mark
from rag.values.answer import Citation, Completion, Context, Hit, Polished, Quote


def polish_completion(
    polish: Callable[[str, Context], Polished], made: Completion, context: Context
) -> tuple[Completion, tuple[str, ...]]:
    """``made`` with its text polished, each quote by itself, and what was changed, in words."""
    if not made.quotes:
        polished = polish(made.text, context)
        return replace(made, text=polished.text), polished.trail
    text, end = "", 0
    quotes: list[Quote] = []
    trail: dict[str, None] = {}
    for quote in made.quotes:
        polished = polish(made.text[quote.start : quote.end], context)
        text += made.text[end : quote.start]
        start, end = len(text), quote.cited
        text += polished.text
        stop = len(text)
        text += made.text[quote.end : quote.cited]
        quotes.append(replace(quote, start=start, end=stop, cited=len(text)))
        trail |= dict.fromkeys(polished.trail)
    return replace(made, text=text + made.text[end:], quotes=tuple(quotes)), tuple(trail)


def cite_completion(cite: Callable[[str, tuple[Hit, ...]], Cited], made: Completion, context: Context) -> Cited:
    """What ``made`` cites: of quotes the marks behind them, each of its own passage alone; one citation a source."""
    if not made.quotes:
        # What the model did not see it cannot have drawn on.
        return cite(made.text, tuple(passage.hit for passage in context.used))
    sources: dict[tuple[object, ...], Citation] = {}
    marks: list[Mark] = []
    valid = 0
    for quote in made.quotes:
        cited = cite(made.text[quote.end : quote.cited], (context.used[quote.passage].hit,))
        valid += cited.valid
        marks += [replace(mark, start=quote.end + mark.start, end=quote.end + mark.end) for mark in cited.marks]
        for citation in cited.citations:
            source = (citation.chunk_id, citation.title.casefold(), citation.source_urls)
            first = sources.setdefault(source, replace(citation, position=quote.end + citation.position))
            if citation.hit not in first.hits:
                sources[source] = replace(first, also=(*first.also, citation.hit))
    return Cited(made.text, tuple(sources.values()), valid, marks=tuple(marks))
