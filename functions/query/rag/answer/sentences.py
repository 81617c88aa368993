"""A run of nodes in its sentences, cut as texts are cut at ingest."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from rag.answer import tree as t
from rag.answer.printers import inline_text
from rag.answer.tree import merge_text

_STOP = re.compile(r"\s*[.!?\u2026\u3002\uff01\uff1f]+(?=\s)")
_STOPPED = re.compile(r"[.!?\u2026\u3002\uff01\uff1f]\s*\Z")


def split_sentences(run: Sequence[t.Inline]) -> Iterator[tuple[t.Inline, ...]]:
    """``run`` in its sentences; what stands in code or in a link is cut nowhere. A citation ends with its sentence."""
    from knowledge.cut import quotable  # late: it brings markdown-it
    from knowledge.cut.boundaries import SourceText

    opaque = "".join(map(_opaque, run))
    starts = {start for start, _ in quotable.sentences(SourceText(opaque), (0, len(opaque)))} | set(_behind_marks(run))
    rest = list(run)
    done = 0
    first = len(opaque) - len(opaque.lstrip())
    for start in sorted(start for start in starts if first < start < len(opaque)):
        head, rest = _split(rest, start - done)
        while rest and isinstance(rest[0], t.Cite):  # what stands behind a sentence is its own
            head.append(rest.pop(0))
        done = start
        if head:
            yield merge_text(head)
    if rest:
        yield merge_text(rest)


def _behind_marks(run: Sequence[t.Inline]) -> Iterator[int]:
    """Yield where sentences begin behind a mark that a full stop follows, or that follows one."""
    at, stopped = 0, False
    for node, following in pairwise(run):
        said = _opaque(node)
        at += len(said)
        stopped = bool(_STOPPED.search(said)) if said.strip() else stopped
        if isinstance(node, t.Cite) and isinstance(following, t.Text):
            words = following.text.lstrip()
            if stop := _STOP.match(following.text):
                yield at + stop.end() + 1
            elif stopped and words and not words[0].islower():
                yield at + len(following.text) - len(words)


def _opaque(node: t.Inline) -> str:
    """What of ``node`` a sentence may end in; of the rest as many letters."""
    match node:
        case t.Text(text):
            return text
        case t.LineBreak():
            return "\n"
        case t.Code(text):
            return "x" * len(text)
        case t.Link():
            return "x" * len(inline_text(node.children))
        case t.Styled() | t.ClaimSpan():
            return "".join(map(_opaque, node.children))
        case _:
            return ""


def _split(run: Sequence[t.Inline], at: int) -> tuple[list[t.Inline], list[t.Inline]]:
    """``run`` up to its ``at``-th character, and the rest."""
    head: list[t.Inline] = []
    rest = list(run)
    while rest:
        node = rest[0]
        length = len(_opaque(node))
        if length <= at and (length or at):
            head.append(rest.pop(0))
            at -= length
            continue
        if at and isinstance(node, t.Text):
            head.append(t.Text(node.text[:at]))
            rest[0] = t.Text(node.text[at:])
        elif at and isinstance(node, t.Styled):
            inner, others = _split(node.children, at)
            head.append(t.Styled(node.style, tuple(inner)))
            rest[0] = t.Styled(node.style, tuple(others))
        elif at:
            head.append(rest.pop(0))
        break
    return head, rest
