"""Markdown to whole, readable sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rag.stages.write.inline import is_code, reveal, without_holes
from rag.stages.write.markdown_blocks import Block
from rag.stages.write.words import count_words

MIN_WORDS = 2
"""One word is a label or, with what follows it, the beginning of a sentence ("Yes. Permits ...")."""

# Chinese and Japanese, Hindi, Urdu: these end a sentence with white space after them or not; but a Japanese quotation
# that hiragana follows goes on.
_FULL_STOPS = "\u3002\uff01\uff1f\u0964\u06d4"
_ENDS = ".!?\u061f" + _FULL_STOPS
_OPENERS = "\"'\u201c\u2018([\u300c\u300e\uff08"
_CLOSERS = "\"'\u201d\u2019)\\]\u300d\u300f\uff09"
_SIGNS = "$\u20ac\u00a3\u00a5\u00a7@"
# A name that is written so at the beginning of a sentence, too: iPhone, macOS.
_NAME = re.compile(r"[a-z]{1,3}[A-Z]")
# Elsewhere . ! or ? (and a closing quote or bracket) before white space and the start of another sentence.
_END = re.compile(
    rf"(?<=[{_ENDS}])([{_CLOSERS}]*)\s+"
    rf"(?=[\"'\u201c\u2018(\[]?(?:[A-Z0-9{_SIGNS}\u00c0-\u024f\u0370-\U0010ffff]|{_NAME.pattern}))"
    rf"|(?<=[{_FULL_STOPS}])([{_CLOSERS}]*)(?![{_FULL_STOPS}{_CLOSERS}]|(?<=[{_CLOSERS}])[\u3041-\u309f])\s*(?=\S)"
)
_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|no|nos|fig|dr|mr|mrs|ms|st|inc|ltd|pte|co|corp|dept|est|max|min|vol|pp|art|sec)"
    r"|\b[A-Z](?:\.[A-Z])*)\.$",
    re.IGNORECASE,
)
_ABBREVIATION_CHARS = 16


def block_sentences(blocks: Sequence[Block], *, continued: bool = False) -> Iterator[tuple[int, str]]:
    """The whole sentences of ``blocks``, each with its block's number: no headings, tables, code or fragments.

    A list item counts when it is a sentence of its own. A sentence that has a hole (an image or a template's value in
    it is not known) does not. ``continued`` says that the text may begin inside a sentence.
    """
    complete = not continued  # what stands before: else a paragraph with a small letter first goes on with it
    for number, block in enumerate(blocks):
        if block.kind in ("text", "item"):
            for sentence in split_paragraph(block.parts[0], complete=complete and block.kind == "text"):
                yield number, sentence
            complete = _ends(block.parts[0])
        else:
            complete = block.kind == "break"


def split_paragraph(text: str, *, complete: bool) -> Iterator[str]:
    """The whole sentences of one flattened paragraph; ``complete`` says that a small letter may begin the first."""
    for piece in _cut(text):
        sentence = without_holes(piece.strip())
        if _is_whole(sentence, complete=complete):
            yield reveal(sentence)
        complete = False


def _cut(paragraph: str) -> Iterator[str]:
    start = 0
    for match in _END.finditer(paragraph):
        piece = paragraph[start : match.start() + len(match[1] or match[2] or "")]
        last_word = paragraph[max(start, match.start() - _ABBREVIATION_CHARS) : match.start()]
        if not _ABBREVIATION.search(last_word) and not _goes_on(piece, paragraph[match.end() :]):
            yield piece
            start = match.end()
    yield paragraph[start:]


def _goes_on(piece: str, following: str) -> bool:
    """Whether a full stop is none: before a small letter, inside brackets, or behind a single word."""
    small = _is_small(following[0]) and not _NAME.match(following)
    bracketed = piece.count("(") > piece.count(")") and ")" in following
    return small or bracketed or count_words(piece) < MIN_WORDS


def _is_whole(sentence: str, *, complete: bool) -> bool:
    opened = sentence.lstrip(_OPENERS)
    first = opened[:1]
    begins = is_code(first) or first in tuple(_SIGNS) or first.isalnum()
    if begins and _is_small(first):
        begins = complete or _NAME.match(opened) is not None
    return begins and _ends(sentence) and count_words(sentence) >= MIN_WORDS


def _ends(text: str) -> bool:
    return text.rstrip(f" {_CLOSERS}")[-1:] in tuple(_ENDS)


def _is_small(char: str) -> bool:
    """Whether ``char`` is a small letter where another would begin a sentence: some scripts have no other."""
    return char != char.title()
