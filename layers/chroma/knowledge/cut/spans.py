"""Stretches of a text that a reader takes as one: sentences, runs of lines, the words between HTML tags."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from knowledge.cut.boundaries import Source

type Span = tuple[int, int]
"""First character and the one after the last."""

NOWHERE: Span = (0, 0)
MAX_CHARS = 600
"""What is longer is cut between lines: nobody reads a longer quotation."""
SHORT_BYTES = 30
"""A shorter sentence goes with the one before: "Defaults to `30`.", "Type: String", "For example:".

On ten real and sample sites such are 5 % of the sentences that have another before them in their paragraph.
Bytes: where a character says more, as in Chinese, it has more of them.
"""

_WORD = re.compile(r"[^\W_]")
_MARKS = re.compile(r"(?:[\s>]*\[!\w+\](?=\s))?[\s>]*")  # of a quotation; [!NOTE] says what kind of note it is
_WHOLE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)|\[[^\[\]]*\](?=[\[(])|\([^()]*\)", re.DOTALL)
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_UNREAD = re.compile(r"<(script|style)\b.*?(?:</\1\s*>|\Z)", re.DOTALL | re.IGNORECASE)
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>|<[?!][^<>]*>")
_TEMPLATE = re.compile(r"\{%.*?%\}|\{\{.*?\}\}|\{[:#.][^{}]*\}", re.DOTALL)  # and attributes: {: .wide}
# A line that opens or closes a container: ":::note", "/// tip", "!!! note". On docs_fastapi and docs_nuxt_content one
# unit in ten began with such.
_CONTAINER = re.compile(r"^[ \t>]*(?::{2,}|/{3,}|!{3})[ \t]*[\w-]*[ \t]*(?:\{[^{}\n]*\})?[ \t]*$", re.MULTILINE)
_IMAGE = re.compile(r"!\[(?:\\.|[^\[\]\\])*\](?:\([^()]*\)|\[[^\[\]]*\])?")
_LINK = re.compile(r"\[\s*\](?:\([^()]*\)|\[[^\[\]]*\])?")


def holds_words(text: str, span: Span) -> bool:
    """Whether a letter or digit is in it."""
    return _WORD.search(text, *span) is not None


def trim(text: str, start: int, end: int, *, quoted: bool = False) -> Span:
    """The span without the white space around it, ``quoted``: nor the marks of a quotation before it."""
    while end > start and text[end - 1].isspace():
        end -= 1
    if quoted:
        match = _MARKS.match(text, start, end)
        start = match.end() if match else start
    while start < end and text[start].isspace():
        start += 1
    return start, end


def sentences(source: Source, span: Span, *, quoted: bool = False) -> list[Span]:
    """The sentences in ``span``; code, links and brackets are never cut, a very long sentence is, between lines."""
    text = source.text
    cuts = list(source.sentence_starts(*span))
    if cuts:
        whole = [match.span() for match in _WHOLE.finditer(text, *span)]
        cuts = [cut for cut in cuts if not any(a < cut < b for a, b in whole)]
    found: list[Span] = []
    for a, b in pairwise((span[0], *cuts, span[1])):
        start, end = trim(text, a, b, quoted=quoted)
        if start == end:
            continue
        if found and (is_short(text[start:end]) or not holds_words(text, (start, end))):
            found[-1] = (found[-1][0], end)
        else:
            found.append((start, end))
    return [part for sentence in found for part in lines(text, sentence, quoted=quoted)]


def lines(text: str, span: Span, *, quoted: bool = False) -> Iterator[Span]:
    """``span`` itself, or as few runs of its lines of at most ``MAX_CHARS`` as it takes; a longer line stays whole."""
    start, end = span
    while end - start > MAX_CHARS:
        cut = text.rfind("\n", start, start + MAX_CHARS + 1)
        if cut < 0:
            cut = text.find("\n", start + MAX_CHARS, end)
        if cut < 0:
            break
        head = trim(text, start, cut, quoted=quoted)
        if head[0] < head[1]:
            yield head
        start = cut + 1
    start, end = trim(text, start, end, quoted=quoted)
    if start < end:
        yield start, end


def read_of_paragraph(text: str, span: Span) -> Iterable[Span]:
    """What a reader sees of a paragraph: all but the lines around it that name its container."""
    if not is_read(text[span[0] : span[1]]):
        return ()
    return _read(text, span, (_CONTAINER,)) if _CONTAINER.search(text, *span) else (span,)


def read_of_html(text: str, span: Span) -> Iterator[Span]:
    """What a reader sees of a block of HTML: runs of lines that hold more than tags."""
    return _read(text, span, (_COMMENT, _UNREAD, _TAG))


def is_read(paragraph: str) -> bool:
    """False where nothing is in it but images, tags of HTML or of a template, comments, and links around them."""
    if "`" not in paragraph and any(sign in paragraph for sign in ("<", "![", "{")):
        for hidden in (_COMMENT, _IMAGE, _LINK, _TAG, _TEMPLATE):
            paragraph = hidden.sub(" ", paragraph)
    return _WORD.search(paragraph) is not None


def _read(text: str, span: Span, hidden: Iterable[re.Pattern[str]]) -> Iterator[Span]:
    """Runs of lines that hold words outside what is ``hidden``."""
    seen = text[span[0] : span[1]]
    for pattern in hidden:
        seen = pattern.sub(lambda match: "".join("\n" if char == "\n" else " " for char in match[0]), seen)
    offset, run = span[0], span[0]
    bounds: list[Span] = []
    for line in seen.split("\n"):
        if _WORD.search(line) is None:
            bounds.append((run, offset))
            run = min(offset + len(line) + 1, span[1])
        offset += len(line) + 1
    bounds.append((run, span[1]))
    for start, end in bounds:
        part = trim(text, start, end)
        if part[0] < part[1]:
            yield part


def runs(text: str, starts: Sequence[int], end: int) -> Iterator[Span]:
    """The lines that begin at ``starts`` in runs of at most ``MAX_CHARS``, cut at an empty line if one is late enough.

    A longer line is a run of its own.
    """
    first = gap = starts[0]
    for start, following in pairwise((*starts, end)):
        if following - first > MAX_CHARS and start > first:
            cut = gap if gap - first > MAX_CHARS // 2 else start
            yield trim(text, first, cut)
            first = cut
        if not text[start:following].strip():
            gap = following
    yield trim(text, first, end)


def is_short(sentence: str) -> bool:
    """Whether it says too little to stand alone; see ``SHORT_BYTES``."""
    return len(sentence) < SHORT_BYTES and len(sentence.encode(errors="replace")) < SHORT_BYTES
