"""Split a run of nodes into sentences, as texts are split at ingest."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from rag.answer import tree as t
from rag.answer.printers import inline_text
from rag.answer.tree import merge_text

_STOP = re.compile(r"\s*[.!?\u2026\u3002\uff01\uff1f]+(?=\s)")
_STOPPED = re.compile(r"[.!?\u2026\u3002\uff01\uff1f]\s*\Z")


def split_sentences(run: Sequence[t.Inline]) -> Iterator[t.Run]:
    """Yield the sentences of ``run``, each with the citations behind it; code and links are not split."""
    from knowledge.cut import quotable  # late: it brings markdown-it
    from knowledge.cut.boundaries import SourceText

    text = "".join(map(_text_to_split, run))
    starts = {start for start, _ in quotable.sentences(SourceText(text), (0, len(text)))} | set(_starts_at_cites(run))
    rest = list(run)
    done = 0
    first = len(text) - len(text.lstrip())
    for start in sorted(start for start in starts if first < start < len(text)):
        head, rest = _split_at(rest, start - done)
        while rest and isinstance(rest[0], t.Cite):
            head.append(rest.pop(0))
        done = start
        if head:
            yield merge_text(head)
    if rest:
        yield merge_text(rest)


def _starts_at_cites(run: Sequence[t.Inline]) -> Iterator[int]:
    """Yield where sentences begin behind a citation that a full stop follows or precedes."""
    at, stopped = 0, False
    for node, following in pairwise(run):
        text = _text_to_split(node)
        at += len(text)
        stopped = bool(_STOPPED.search(text)) if text.strip() else stopped
        if isinstance(node, t.Cite) and isinstance(following, t.Text):
            words = following.text.lstrip()
            if stop := _STOP.match(following.text):
                yield at + stop.end() + 1
            elif stopped and words and not words[0].islower():
                yield at + len(following.text) - len(words)


def _text_to_split(node: t.Inline) -> str:
    """Return the text of ``node``, with a letter for each character in which no sentence may end."""
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
            return "".join(map(_text_to_split, node.children))
        case _:
            return ""


def _split_at(run: Sequence[t.Inline], at: int) -> tuple[list[t.Inline], list[t.Inline]]:
    """Return ``run`` up to its character ``at``, and the rest."""
    head: list[t.Inline] = []
    rest = list(run)
    while rest:
        node = rest[0]
        length = len(_text_to_split(node))
        if length <= at and (length or at):
            head.append(rest.pop(0))
            at -= length
            continue
        if at and isinstance(node, t.Text):
            head.append(t.Text(node.text[:at]))
            rest[0] = t.Text(node.text[at:])
        elif at and isinstance(node, t.Styled):
            inner, others = _split_at(node.children, at)
            head.append(t.Styled(node.style, tuple(inner)))
            rest[0] = t.Styled(node.style, tuple(others))
        elif at:
            head.append(rest.pop(0))
        break
    return head, rest
