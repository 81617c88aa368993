"""A statement's run with another citation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from rag.answer import tree as t
from rag.answer.references import cites, tidied
from rag.answer.tree import merge_text


def cited_to(run: tuple[t.Inline, ...], cite: t.Cite | None, *, instead: bool) -> tuple[t.Inline, ...]:
    """Puts ``cite`` behind a statement, ``instead`` of its own citations."""
    if not instead or not cites(run):
        return run if cite is None else (*run, *([t.Text(" ")] if run else []), cite)
    found: list[t.Inline] = []
    rest = list(_without_cites(run))
    while rest:
        node = rest.pop(0)
        if not isinstance(node, t.Cite):
            found.append(node)
        elif cite is not None:
            found.append(cite)
            cite = None
        else:
            tidied(found, rest)
    return merge_text(found)


def _without_cites(run: tuple[t.Inline, ...]) -> Iterator[t.Inline]:
    for node in run:
        if isinstance(node, t.Styled | t.Link):
            yield replace(node, children=tuple(child for child in node.children if not isinstance(child, t.Cite)))
            yield from cites((node,))
        else:
            yield node
