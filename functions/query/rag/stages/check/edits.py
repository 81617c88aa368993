"""What the citation check changes in an answer: words put behind a statement, marks replaced, statements taken out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from knowledge.search.units import Kind
from rag.stages.check.statements import Part

_NOT_QUOTING = re.compile(r"[^>\s]")


@dataclass(frozen=True, slots=True, order=True)
class Edit:
    """The characters ``start`` to ``end`` of a text become ``new``."""

    start: int
    end: int
    new: str = ""


def apply(text: str, edits: Sequence[Edit]) -> str:
    """``text`` with all ``edits``; of two that overlap the first one counts."""
    done, at = "", 0
    for edit in sorted(edits):
        if edit.start >= at:
            done += text[at : edit.start] + edit.new
            at = edit.end
    return done + text[at:] if edits else text


def behind(text: str, part: Part, words: str) -> Edit:
    """Puts ``words`` behind a statement: into the last cell of a row, below a block of code and as deep as that."""
    if part.kind == Kind.CODE:
        quoted = _NOT_QUOTING.sub(" ", text[text.rfind("\n", 0, part.start) + 1 : part.start])
        return Edit(part.end, part.end, f"\n{quoted.rstrip()}\n{quoted}{words}")
    row = text[: part.end].rstrip()
    if part.kind == Kind.ROW and row.endswith("|"):
        return Edit(len(row) - 1, len(row) - 1, f"{words} ")
    return Edit(part.end, part.end, f" {words}")


def cited_to(text: str, part: Part, mark: str, *, instead: bool) -> list[Edit]:
    """Puts ``mark`` behind a statement, ``instead`` of its own marks; a link stays, being a part of the sentence."""
    own = [one for one in part.marks if part.start <= one.start and one.said is None] if instead else []
    if not own:
        return [behind(text, part, mark)]
    first, *others = own
    blanks = (len(text[: one.start]) - len(text[: one.start].rstrip(" ")) for one in others)
    gone = [Edit(one.start - blank, one.end) for one, blank in zip(others, blanks, strict=True)]
    return [Edit(first.start, first.end, mark), *gone]


def taken_out(text: str, parts: Sequence[Part], gone: Sequence[Part]) -> list[Edit]:
    """Takes ``gone`` of ``parts`` out of the text, and what introduced them where it introduces nothing any more."""
    out = {part.start for part in gone}
    kept = {part.lead for part in parts if part.start not in out}
    leads = {part.lead for part in gone if part.lead[0] < part.lead[1]} - kept
    return [_removal(text, start, end) for start, end in [*leads, *((part.start, part.end) for part in gone)]]


def _removal(text: str, start: int, end: int) -> Edit:
    """With its line where nothing else stands there, else with the blanks before it."""
    first = text.rfind("\n", 0, start) + 1
    last = text.find("\n", end)
    last = len(text) if last < 0 else last + 1
    if not text[first:start].strip(" \t>") and not text[end:last].strip():
        return Edit(first, last)
    return Edit(len(text[:start].rstrip(" ")), end)
