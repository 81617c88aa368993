"""What of a Markdown text can be quoted: its sentences and lists, else rows, items, code and parts of paragraphs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise, zip_longest

from rag.stages.pack.tokens import ELLIPSIS as CUT
from rag.stages.write.inline import reveal, without_holes
from rag.stages.write.markdown_blocks import Block, Kind, split_blocks
from rag.stages.write.sentences import block_sentences, split_paragraph
from rag.stages.write.words import count_words

MIN_WORDS = 2
ELLIPSIS = "\u2026"
_CLAUSE = re.compile(r".+?(?:[,;:.!?\u2013\u2014)]\s+|[\u3001\u3002\uff0c\uff1b\uff1a\uff01\uff1f]|$)")
_LINE = re.compile(r".+?(?:\n|$)")
_WORD = re.compile(r"\S+\s*")
_NO_WORD = re.compile(r"\W+")
_ITEM_END = " ;,"


def split_excerpts(markdown: str, *, max_chars: int) -> tuple[str, ...]:
    """Excerpts of ``markdown`` in order, each at most ``max_chars`` (20 or more) characters and readable by itself.

    A table's row comes with the words of its header, short list items with their neighbours, a list and a code block
    with the line that introduces them. What is too long is cut between clauses, or lines of code, else between words,
    and an ellipsis says so.
    """
    found: list[str] = []
    introduction = ""
    for kind, run, following in _runs(split_blocks(markdown)):
        if kind == "code":
            code = "\n".join(line for block in run for line in block.parts)
            front = f"{introduction}\n" if introduction else ""
            found += (front + part for part in _cut(code, _LINE, max_chars - len(front)))
        elif kind == "item":
            found += _listed(introduction, _items(run), max_chars)
        elif kind == "row":
            found += [part for row in filter(_says_something, _rows(run)) for part in _cut(row, _CLAUSE, max_chars)]
        introduction = ""
        if kind == "text":
            texts = [text for block in run if (text := _said(block.parts[0]))]
            last = texts[-1] if texts else ""
            # "The fees are:" says nothing where the fees do not follow.
            if len(last) <= max_chars // 2 and (following in ("item", "code") or last.endswith(":")):
                introduction = last
                texts = texts[:-1]
            found += _listed("", texts, max_chars)
    return tuple(found)


def block_lists(blocks: Sequence[Block], *, max_chars: int) -> Iterator[tuple[int, str]]:
    """The lists of ``blocks`` whose items are no sentences, each with the number of its first block.

    A list comes with the line that introduces it ("You need: a permit; an invoice"), and in several pieces if it is
    longer than ``max_chars``. Items that are sentences stand for themselves.
    """
    number = 0
    introduction = ""
    for kind, run, _ in _runs(blocks):
        if kind == "item":
            items = _items([block for block in run if not any(split_paragraph(block.parts[0], complete=False))])
            yield from ((number, part) for part in _listed(introduction, items, max_chars))
        last = _said(run[-1].parts[0]) if kind == "text" else ""
        introduction = last if len(last) <= max_chars // 2 else ""
        number += len(run)


def _items(run: Sequence[Block]) -> list[str]:
    return [item for block in run if (item := _said(block.parts[0]).rstrip(_ITEM_END))]


def _runs(blocks: Sequence[Block]) -> Iterator[tuple[Kind, tuple[Block, ...], Kind]]:
    """Neighbours of one kind (a table's ruler is of its rows'), and the kind of what follows them."""

    def kind_of(block: Block) -> Kind:
        return "row" if block.kind == "ruler" else block.kind

    runs = [(kind, tuple(run)) for kind, run in groupby(blocks, kind_of)]
    for (kind, run), (following, _) in pairwise([*runs, ("break", ())]):
        yield kind, run, following


def _said(flattened: str) -> str:
    return reveal(without_holes(flattened))


def _rows(run: Sequence[Block]) -> Iterator[str]:
    header: tuple[str, ...] = ()
    for block, following in zip_longest(run, run[1:]):
        if following and following.kind == "ruler":
            header = tuple(map(_said, block.parts))
        elif block.kind == "row" and (_said(block.parts[0]) or not block.parts[0]):  # what the row is about is known
            cells = zip_longest(header, map(_said, block.parts), fillvalue="")
            yield "; ".join(f"{name}: {cell}" if name else cell for name, cell in cells if cell)


def _listed(introduction: str, texts: Sequence[str], max_chars: int) -> list[str]:
    front = f"{introduction} " if introduction else ""
    room = max_chars - len(front)
    groups = (text for text in _grouped(texts, room // 2) if introduction or _says_something(text))
    return [front + part for text in groups for part in _cut(text, _CLAUSE, room)]


def _grouped(texts: Sequence[str], room: int) -> list[str]:
    """Short items or lines together: alone, few of them mean anything."""
    found: list[str] = []
    for text in texts:
        if found and len(found[-1]) + len(text) + 2 <= room:
            found[-1] += f"{'' if found[-1].endswith(('.', ':')) else ';'} {text}"
        else:
            found.append(text)
    return found


def _cut(text: str, part: re.Pattern[str], room: int) -> list[str]:
    """``text`` if it fits into ``room`` characters, else as few groups of its parts as do, with ellipses."""
    if len(text) <= room:
        return [text]
    edge = "\n" if part is _LINE else " "
    filled = [""]
    for piece in _pieces(text, part, room - 2 * len(ELLIPSIS + edge)):
        if len(filled[-1]) + len(piece) > room - 2 * len(ELLIPSIS + edge):
            filled.append("")
        filled[-1] += piece
    first, *between, last = (group.strip("\n" if part is _LINE else None) for group in filled)
    middle = (f"{ELLIPSIS}{edge}{group}{edge}{ELLIPSIS}" for group in between)
    return [f"{first}{edge}{ELLIPSIS}", *middle, f"{ELLIPSIS}{edge}{last}"]


def _pieces(text: str, part: re.Pattern[str], room: int) -> Iterator[str]:
    """The parts of ``text``; of one that is too long its words, of such a word as many characters as fit."""
    for whole in part.findall(text):
        for word in [whole] if len(whole) <= room else _WORD.findall(whole):
            yield from (word[start : start + room] for start in range(0, len(word), room))


def _says_something(text: str) -> bool:
    return count_words(_NO_WORD.sub(" ", text)) >= MIN_WORDS


_QUESTION_MARKS = ("?", "\u061f", "\uff1f")


def split_statements(markdown: str, *, max_chars: int, continued: bool = False) -> tuple[str, ...]:
    """The whole sentences of ``markdown`` but for questions, and its lists of fragments, in order.

    A list is in pieces of at most ``max_chars`` characters. Nothing where there is no sentence: lists alone are left
    to ``excerpts``, with all else that can be quoted then. ``continued`` says that the text may begin inside a
    sentence.
    """
    blocks = split_blocks(markdown.removesuffix(f" {CUT}"))
    sentences = [
        (number, sentence)
        for number, sentence in block_sentences(blocks, continued=continued)
        if not sentence.rstrip("\"')\u201d\u2019").endswith(_QUESTION_MARKS)
    ]
    if not sentences:
        return ()
    lists = list(block_lists(blocks, max_chars=max_chars))
    # What introduces a list is said with it.
    said = [(number, text) for number, text in sentences if not any(other.startswith(text) for _, other in lists)]
    return tuple(text for _, text in sorted([*said, *lists], key=lambda found: found[0]))
