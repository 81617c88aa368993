"""What is certain of a block that is still being written: the part that nothing which comes can change.

That is whole words up to the first sign that may pair with a later one, all lines of code but one that may end it, all
rows but the last.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from rag.answer import tree as t
from rag.answer.references import JOINT, OPENING
from rag.answer.walk import all_nodes, nodes, trimmed

_MARKERS = r"(?:[ \t>]|[-*+](?=\s)|\d{1,9}[.)](?=\s))*"
_UNSURE_LINE = re.compile(rf"{_MARKERS}(?:(?:```|~~~).*|[-*+#=_>`~\d.) \t]*|\|.*)")
"""A line, as far as it is there, of which it cannot be told what block it begins or ends."""
_MAY_PAIR = re.compile(r"`|[*_~]{1,3}(?!\s)|\[(?![^\[\]]*\][^(\[:])|<(?=[A-Za-z/!?]|\Z)|&#?\w*\Z|!\Z|\\\Z")
_BINDS = re.compile(r"[`<\[]")
"""What binds more tightly than emphasis."""
_TAG = re.compile(r"<[A-Za-z/!?]")
_MAY_CITE = re.compile(
    r"[(\u3010\uff3b]\s*(?:s(?:o(?:u(?:r(?:c(?:e(?:\s*:.*)?)?)?)?)?)?)?\Z", re.IGNORECASE | re.DOTALL
)
"""The beginning of a mark in round brackets."""
_MAY_GO = re.compile(rf"(?:{JOINT}|{OPENING})++")
"""What goes with a mark that is removed."""
_DASHES = re.compile(r"[ \t>]*[|:-][ \t|:-]*")
_BETWEEN_WORDS = re.compile(r"\s|(?<=[\u2e80-\uffef])")


def sure_lines(text: str) -> str:
    """``text`` without its last line as long as that may begin anything, and without one that may head a table."""
    lines = text.split("\n")
    if _UNSURE_LINE.fullmatch(lines[-1]):
        lines.pop()
        if lines and "|" in lines[-1] and not _is_row(lines):
            lines.pop()
    return "\n".join(lines)


def _is_row(lines: Sequence[str]) -> bool:
    """Whether the last one belongs to a table: a line with bars has a line of dashes below it, with as many of them."""
    pairs = pairwise(lines[-200:])
    return any("|" in head and _DASHES.fullmatch(line) and _bars(head) == _bars(line) for head, line in pairs)


def _bars(line: str) -> int:
    return line.strip(" \t>|").count("|")


def safe_part(block: t.Block, source: str, held: Callable[[t.Link], bool]) -> t.Block | None:
    """The part of ``block`` that is certain; ``source`` is what it was read from, ``held`` says which links stay.

    Nothing is, of what holds a tag outside of code: that may make several blocks of one.
    """
    if not isinstance(block, t.CodeBlock) and _tags(source) > sum(map(_tags, _codes(block))):
        return None
    match block:
        case t.Paragraph() | t.Heading():
            words = _safe_run(block.children, held, ended=source[-1:].isspace())
            return replace(block, children=words) if words else None
        case t.Listing() | t.Item() | t.Quotation():
            *blocks, last = block.children
            blocks += [part] if (part := safe_part(last, source, held)) else []
            return replace(block, children=tuple(blocks)) if blocks else None  # type: ignore[arg-type]
        case t.Table() if not source.endswith("\n"):
            head, *rows = block.children
            return replace(block, children=(head, *rows[:-1]))
        case t.CodeBlock():
            return _safe_code(block, source)
        case _:
            return block


def _codes(block: t.Block) -> Iterator[str]:
    return (node.text for node in all_nodes((block,)) if isinstance(node, t.Code))


def _tags(text: str) -> int:
    return sum(1 for _ in _TAG.finditer(text))


def _safe_code(block: t.CodeBlock, source: str) -> t.CodeBlock | None:
    fenced = any(line.lstrip(" \t>-*+0123456789.)").startswith(block.fence) for line in source.split("\n"))
    # By its indentation: how many ticks will be around it is not known.
    return replace(block, closed=block.ended) if fenced else None


def _safe_run(run: Sequence[t.Inline], held: Callable[[t.Link], bool], *, ended: bool) -> tuple[t.Inline, ...]:
    found: list[t.Inline] = []
    for node in run:
        if isinstance(node, t.Text) and (unsure := _MAY_PAIR.search(node.text)):
            return _whole_words([*found, t.Text(node.text[: unsure.start()])])
        if _is_unsure(node, held) or (isinstance(node, t.Cite) and node is run[-1] and not ended):
            return _whole_words(found)
        found.append(node)
    return _without_half_a_mark(trimmed(found)) if ended else _whole_words(found)


def _is_unsure(node: t.Inline, held: Callable[[t.Link], bool]) -> bool:
    match node:
        case t.Styled():
            return any(_BINDS.search(one.text) is not None for one in nodes((node,)) if isinstance(one, t.Text))
        case t.Link():
            return not held(node)
        case _:
            return isinstance(node, t.Mark)


def _whole_words(run: list[t.Inline]) -> tuple[t.Inline, ...]:
    """``run`` up to its last blank."""
    while run:
        node = run.pop()
        if isinstance(node, t.Break):
            return _without_half_a_mark(trimmed(run))
        if isinstance(node, t.Text):
            ends = [match.start() for match in _BETWEEN_WORDS.finditer(node.text)]
            if ends:
                return _without_half_a_mark(trimmed([*run, t.Text(node.text[: ends[-1]])]))
    return ()


def _without_half_a_mark(run: tuple[t.Inline, ...]) -> tuple[t.Inline, ...]:
    """``run`` without the beginning of a mark at its end, and without what goes where that is removed."""
    last = run[-1] if run else None
    if not isinstance(last, t.Text):
        return run
    begun = _MAY_CITE.search(last.text)
    text = last.text[: begun.start()] if begun else last.text
    ends = next((found.start() for found in _MAY_GO.finditer(text) if found.end() == len(text)), len(text))
    return trimmed([*run[:-1], t.Text(text[:ends])])
