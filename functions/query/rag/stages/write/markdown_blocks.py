"""Markdown (and the HTML in it) as blocks of plain text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from textwrap import dedent
from typing import Literal

from rag.stages.write.html_elements import BLOCKS, CELLS, HEADINGS, LISTS
from rag.stages.write.inline import flatten, hide

type Kind = Literal["break", "text", "item", "row", "ruler", "code"]

# A line such as ```code``` in running text opens no fence.
_FENCE = re.compile(r"^\s*(?:[-*+]\s+|\d{1,3}[.)]\s+)?(`{3,}(?=[^`]*$)|~{3,})")
_HEADING = re.compile(r"^\s*#{1,6}(\s|$)")
# Two columns without outer pipes have one pipe; so has "a|b" in running text, but without spaces.
_TABLE_ROW = re.compile(r"^\s*\||^[^|]*\|[^|]*\||^.*\s\|(\s|$)")
_TABLE_RULER = re.compile(r"[\s|:-]*-[\s|:-]*")
_RULER = re.compile(r"^\s*([-*_=]\s*){3,}$")
_BULLET = re.compile(r"^\s*(?:[-*+\u2022]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?")
_QUOTE = re.compile(r"^\s*(?:>\s?)+")
# "[1]: https://..." is for the renderer; "[^1]: Text" is a note.
_DEFINITION = re.compile(r"^\s{0,3}\[(?!\^)[^\]]+\]:\s+\S+")
_NOTE = re.compile(r"^\s{0,3}\[\^[^\]\s]+\]:\s+")
_TABLE_PARTS = frozenset({"table", "thead", "tbody", "tfoot", "tr"})
_ENDING_TAGS = BLOCKS | LISTS | CELLS | HEADINGS | _TABLE_PARTS | {"li", "blockquote", "pre", "br", "hr"}
_BLOCK_TAG = re.compile(rf"<(/?)({'|'.join(sorted(_ENDING_TAGS))})\b[^<>]*>", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of a text that no sentence goes beyond.

    ``parts`` holds a paragraph's ("text") or list item's text, a table row's cells (code hidden, see ``inline``), or a
    code block's lines to the letter. A "break" (a heading, a ruler) and the "ruler" below a table's header have none.
    """

    kind: Kind
    parts: tuple[str, ...] = ()


def split_blocks(markdown: str) -> tuple[Block, ...]:
    """The blocks of ``markdown`` in order, without empty ones."""
    return tuple(block for kind, lines in _gathered(markdown) for block in _finished(kind, lines))


def _gathered(markdown: str) -> list[tuple[Kind, list[str]]]:
    """Lines that belong together, their marks (fence, bullet, ``>``) removed."""
    found: list[tuple[Kind, list[str]]] = [("text", [])]
    fence = ""
    quoted = False
    for raw in markdown.splitlines():
        line = _QUOTE.sub("", raw)
        if fence:
            # A quoted fence has its marks in front of every line; elsewhere ">" is code.
            if line.strip().startswith(fence):
                fence = ""
                found.append(("text", []))
            else:
                found[-1][1].append(line if quoted else raw)
            continue
        if (line != raw) and not quoted:
            found.append(("text", []))
        quoted = line != raw
        if mark := _FENCE.match(line):
            fence = mark[1]
            found.append(("code", []))
        elif _HEADING.match(line) or _RULER.match(line):
            found += [("break", []), ("text", [])]
        elif not line.strip() or _DEFINITION.match(line):
            found.append(("text", []))
        elif _TABLE_ROW.match(hide(line)):
            found += [("row", [line]), ("text", [])]
        elif mark := _BULLET.match(line) or _NOTE.match(line):
            found.append(("item", [line[mark.end() :]]))
        else:
            found[-1][1].append(line)
    return found


def _finished(kind: Kind, lines: list[str]) -> Iterator[Block]:
    if kind == "break":
        yield Block("break")
    elif kind == "code":
        code = tuple(line.rstrip() for line in dedent("\n".join(lines)).splitlines() if line.strip())
        if code:
            yield Block("code", code)
    elif kind == "row":
        yield _row(hide(lines[0]).strip().removeprefix("|").removesuffix("|"))
    else:
        yield from _by_tags(kind, hide(" ".join(lines)))


def _row(hidden: str) -> Block:
    if _TABLE_RULER.fullmatch(hidden):
        return Block("ruler")
    return Block("row", tuple(flatten(cell) for cell in hidden.split("|")))


def _by_tags(kind: Kind, hidden: str) -> Iterator[Block]:
    """The blocks that HTML's tags make of a paragraph or item; a table's cells become rows."""
    row: list[str] = []
    heads = in_cell = False
    first, *rest = _BLOCK_TAG.split(hidden)
    for closing, tag, text in [("", "", first), *zip(rest[::3], rest[1::3], rest[2::3], strict=True)]:
        name = tag.lower()
        plain = flatten(text)
        in_cell = not closing if name in CELLS else in_cell and name not in _TABLE_PARTS
        if row and not in_cell and (plain or name in _TABLE_PARTS):
            yield Block("row", tuple(row))
            if heads:
                yield Block("ruler")
            row = []
        if in_cell and name in CELLS:
            heads = name == "th" and (heads or not row)
            row.append(plain)
        elif in_cell:
            row[-1] = f"{row[-1]} {plain}".strip()
        elif plain:
            yield Block("item" if name == "li" and not closing else "text" if name else kind, (plain,))
    if row:
        yield Block("row", tuple(row))
