"""The division of a document's text into the pieces that are embedded, searched and cited.

A piece is a ``##`` section. A section that is too long is cut at its deeper headings, then between blocks, sentences,
lines and words; its pieces overlap. An entry of a reference, below a heading that is only a name in code, is a separate
piece. Only headings without text are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import takewhile
from pathlib import PurePosixPath

from knowledge.cut import anchors as ids
from knowledge.cut.boundaries import SourceText
from knowledge.cut.packing import Packer
from knowledge.read import markdown as md

MAX_CHARS = 1600
OVERLAP_CHARS = 200
_CHAPTER_LEVEL = 2  # headings up to this level, and names, always cut; deeper ones only what is too long
_TEXT = re.compile(r"[^\s*_=-]")  # a ruler alone is no text
_HEADING = re.compile(r"^##[ \t]+(.*?)[ \t#]*$", re.MULTILINE)


def is_markdown(path: str) -> bool:
    """Whether the document at ``path`` (perhaps with a ``#`` part behind it) is read as Markdown."""
    return PurePosixPath(path.partition("#")[0]).suffix.lower() not in {".txt", ".jsonl"}


@dataclass(frozen=True, slots=True)
class TextPiece:
    """A part of a text. ``section`` is its heading path below the title, ``""`` above the first ``##``.

    ``anchor`` is the id of the heading that it is under on the document's page, ``""`` where ``section`` is.
    """

    section: str
    text: str
    anchor: str = ""


@dataclass(slots=True)
class _Section:
    """A heading (level 0: the top) with the blocks up to the next one, and the sections below it.

    ``cuts``: a piece begins with it or with a section below it.
    """

    level: int
    title: str
    start: int
    body: int
    end: int
    anchor: str = ""
    cuts: bool = False
    blocks: list[md.Block] = field(default_factory=list)
    below: list[_Section] = field(default_factory=list)


def split_text(
    text: str,
    *,
    title: str = "",
    max_chars: int = MAX_CHARS,
    overlap: int = OVERLAP_CHARS,
    markdown: bool = True,
    anchors: str = "github",
) -> tuple[TextPiece, ...]:
    """Cut ``text`` into pieces of 1 to ``max_chars`` characters, in the order of the text.

    A piece that continues its section begins with the end of the piece before: at most ``overlap`` characters from the
    beginning of a sentence or word. A piece that continues a table or a fenced block repeats the table's header or the
    fence's opening line instead. ``title`` is the document's: the ``#`` heading with the same words (or the only one)
    is no part of a section's path. With ``markdown=False`` only blank lines, sentences, lines and words are cut points.

    ``anchors`` names the algorithm for the ids of headings (in ``knowledge.cut.anchors``); an id that a heading states
    (``## Fees {#fees}``) has priority, and is no part of a piece's text. ValueError: not 0 <= ``overlap`` <
    ``max_chars``.
    """
    if not 0 <= overlap < max_chars:
        raise ValueError(f"overlap must be from 0 to less than max_chars, not {overlap!r} of {max_chars!r}")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not markdown:
        source = SourceText(text)
        packer = Packer(source, max_chars=max_chars, overlap=overlap)
        return tuple(TextPiece("", part) for part in packer.pack(source.paragraphs()))
    text, blocks, anchor_of = _anchored(text, anchors)
    source = SourceText(text)
    packer = Packer(source, max_chars=max_chars, overlap=overlap, blocks=blocks)
    root = _outline(source, blocks, title, anchor_of)
    if _has_text(source, root):
        return tuple(_pieces(packer, root, (), ""))
    return tuple(TextPiece("", part) for part in packer.pack(source.from_blocks(blocks, 0, len(source.text))))


def _anchored(text: str, algorithm: str) -> tuple[str, tuple[md.Block, ...], dict[int, str]]:
    """Return ``text`` without ids in headings, its blocks, and the anchors of headings by their first line."""
    blocks = md.parse(text)
    lines, explicit = ids.remove_explicit_ids(text.split("\n"), md.headings(blocks))
    if (without_ids := "\n".join(lines)) != text:
        text, blocks = without_ids, md.parse(without_ids)
    headings = list(md.headings(blocks))
    stated = [explicit.get(heading.first, "") for heading in headings]
    made = ids.heading_ids([heading.title for heading in headings], stated, algorithm=algorithm)
    return text, blocks, {heading.first: anchor for heading, anchor in zip(headings, made, strict=True)}


def _outline(source: SourceText, blocks: tuple[md.Block, ...], title: str, anchor_of: Mapping[int, str]) -> _Section:
    """Return the tree of sections; the section of the document's title has no title."""
    headline = _headline(blocks, title)
    root = _Section(0, "", 0, 0, len(source.text))
    open_sections = [root]
    for block in blocks:
        if block.kind != "heading":
            open_sections[-1].blocks.append(block)
            continue
        start = source.offset(block.first)
        open_sections[-1].end = start
        while open_sections[-1].level >= block.level:
            open_sections.pop()
        name = "" if block is headline else block.title
        anchor = "" if block is headline else anchor_of[block.first]
        section = _Section(block.level, name, start, source.offset(block.end), len(source.text), anchor)
        open_sections[-1].below.append(section)
        open_sections.append(section)
        if block.named or block.level <= _CHAPTER_LEVEL:
            for around in open_sections:
                around.cuts = True
    return root


def _headline(blocks: tuple[md.Block, ...], title: str) -> md.Block | None:
    """Return the heading that is the document's title.

    It is the ``#`` heading, or the very first heading of any level, with the title's words; else the first heading, if
    it is the only ``#`` or no title was given.
    """
    headings = list(md.headings(blocks))
    tops = [block for block in headings if block.level == 1]
    wanted = " ".join(title.split()).casefold()
    leads = tops[:1] == headings[:1] and (len(tops) == 1 or not wanted)
    same = (block for block in (*tops, *headings[:1]) if block.title.casefold() == wanted)
    return next(same, headings[0] if headings and leads else None)


def _has_own_text(source: SourceText, section: _Section) -> bool:
    return _TEXT.search(source.text, section.body, section.end) is not None


def _has_text(source: SourceText, section: _Section) -> bool:
    return _has_own_text(source, section) or any(_has_text(source, below) for below in section.below)


def _pieces(packer: Packer, section: _Section, path: tuple[str, ...], carried: str) -> Iterator[TextPiece]:
    """Yield the pieces of ``section`` and those below it; ``carried``: the headings above that had no text."""
    source, max_chars = packer.source, packer.max_chars
    path = (*path, section.title) if section.title else path
    label = " > ".join(path)
    deeper = list(takewhile(lambda part: not part.cuts, section.below))
    apart = section.below[len(deeper) :]
    heading = source.text[section.start : section.body].strip()
    own = _has_own_text(source, section)
    whole = carried + source.text[section.start : _end(deeper[-1] if deeper else section)].strip()
    says = own or any(map(partial(_has_text, source), deeper))
    if says and len(whole) <= max_chars:
        yield TextPiece(label, whole, section.anchor)
        deeper, carried = [], ""
    elif own:
        units = source.trimmed(section.start, section.body, "heading")
        units += source.from_blocks(section.blocks, section.body, section.end)
        yield from (TextPiece(label, text, section.anchor) for text in packer.pack(units, prefix=carried))
        carried = ""
    elif heading:
        carried += heading + "\n\n"
    if len(carried) > max_chars // 4:
        carried = ""  # the path still says it
    for part in filter(partial(_has_text, source), (*deeper, *apart)):
        yield from _pieces(packer, part, path, carried)
        carried = ""


def _end(section: _Section) -> int:
    """Return the end of a section with all sections below it, if none of them begins a piece."""
    return _end(section.below[-1]) if not section.cuts and section.below else section.end


def split_seed(text: str, *, max_chars: int, overlap: int) -> tuple[TextPiece, ...]:
    """Cut ``text`` as Clockify's seed does: at each ``##``, then in runs of ``max_chars`` that overlap.

    Blocks, sentences and words are cut at the end of a run; a ``##`` in code counts as a heading.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    headings = list(_HEADING.finditer(text))
    starts = [0, *(heading.start() for heading in headings), len(text)]
    names = ["", *(heading[1] for heading in headings)]
    pieces: list[TextPiece] = []
    for name, start, end in zip(names, starts, starts[1:], strict=False):
        section = text[start:end].strip()
        last = max(1, len(section) - overlap)
        runs = (section[first : first + max_chars].strip() for first in range(0, last, max_chars - overlap))
        pieces += [TextPiece(name, run) for run in runs if run]
    return tuple(pieces)
