"""Citation marks in a text: where they stand, outside of code, and what is left when one is taken out."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rag.values.answer import Citation, Hit, Placed

OPEN, CLOSE = r"[\[\u3010\uff3b]", r"[\]\u3011\uff3d]"
"""Square brackets and both kinds of full-width ones, which some models write."""

# A fence to its end, or the text's; or a span between runs of as many back-ticks. Possessive: no text takes long.
CODE = re.compile(
    r"^[ \t>]*+(?P<fence>```++|~~~++)[^\n]*+(?:\n(?![ \t>]*+(?P=fence))[^\n]*+)*+(?:\n[ \t>]*+(?P=fence)[`~]*+)?"
    r"|(?<!`)(?P<ticks>`++)(?!`)(?:[^`\n]|(?!(?P=ticks)(?!`))`++)*+(?P=ticks)(?!`)",
    re.MULTILINE,
)
_BRACKETS = {"(": ")", "[": "]", "\u3010": "\u3011", "\uff3b": "\uff3d"}
_STOPS = frozenset(".,;:!?)]\u3011\uff3d")


@dataclass(frozen=True, slots=True)
class Mark:
    """A citation mark: the characters ``start`` to ``end`` of an answer, and all chunks that it may mean.

    ``said`` is None where it stands beside its sentence, else what it says as a part of it: the text of a link.
    """

    start: int
    end: int
    hits: tuple[Hit, ...]
    said: str | None = None


@dataclass(frozen=True, slots=True)
class Cited:
    """An answer's ``text`` without marks of what was not found, and its ``citations``, one for each source.

    ``valid`` counts the names that stand in its marks, repeated ones too, ``removed`` those that were taken out.
    ``marks`` are all that are left, in the order of the text.
    """

    text: str
    citations: tuple[Citation, ...]
    valid: int
    removed: int = 0
    marks: tuple[Mark, ...] = ()


@dataclass(frozen=True, slots=True)
class Left:
    """What is left of a mark: its new ``text``, ``""`` for none, and how many unknown names were ``removed``."""

    text: str
    removed: int


def mask_code(text: str) -> str:
    """``text`` with code spans and fenced blocks blanked, every other character in its place."""
    return CODE.sub(lambda match: re.sub(r"[^\n]", "\0", match[0]), text)


def grouped(mark: str) -> re.Pattern[str]:
    """A pattern of one or more of ``mark`` with blanks and commas between: where one goes, no comma is left behind."""
    return re.compile(rf"{mark}(?:[ \t]*+[,;]?[ \t]*{mark})*", re.IGNORECASE)


def rewrite_marks(text: str, pattern: re.Pattern[str], left: Callable[[re.Match[str]], Left | None]) -> tuple[str, int]:
    """``text`` with each mark outside of code as ``left`` says, None for "as it is"; and how many names went.

    Around a mark that is gone, brackets that hold nothing and blanks before punctuation or another blank go too.
    Nothing else changes.
    """
    done, end, removed = "", 0, 0
    for match in pattern.finditer(mask_code(text)):
        new = left(match)
        if new is None:
            continue
        done += text[end : match.start()] + new.text
        end = match.end()
        removed += new.removed
        if not new.text:
            done, end = _tidied(done, text, end)
    return done + text[end:], removed


def _tidied(done: str, text: str, end: int) -> tuple[str, int]:
    """What stands before, and where to go on after, a mark that is gone."""
    while (opened := done.rstrip(" \t"))[-1:] in _BRACKETS:
        rest = text[end:].lstrip(" \t")
        if rest[:1] != _BRACKETS[opened[-1]]:
            break
        done, end = opened[:-1], len(text) - len(rest) + 1
    follows = text[end : end + 1]
    if not follows or follows.isspace() or follows in _STOPS:
        done = done.rstrip(" \t")
    return done, end


def placed(marks: Sequence[Mark], citations: Sequence[Citation]) -> tuple[Placed, ...]:
    """Where ``citations`` stand in the answer: each of ``marks`` with those that it means, and those without a mark."""
    found = []
    for mark in marks:
        numbers = {hit.chunk.number for hit in mark.hits}
        meant = (place for place, one in enumerate(citations) if any(hit.chunk.number in numbers for hit in one.hits))
        found.append(Placed(mark.end if mark.said else mark.start, mark.end, tuple(meant)))
    known = {place for mark in found for place in mark.citations}
    ends = [(one.position + len(one.raw), place) for place, one in enumerate(citations) if place not in known]
    found += [Placed(end, end, (place,)) for end, place in ends]
    return tuple(sorted((mark for mark in found if mark.citations), key=lambda mark: mark.start))


def removed_note(removed: int) -> tuple[str, ...]:
    """The line of the trail on ``removed`` citations, if there are any."""
    return (f"removed {removed} citation{'s' * (removed != 1)} of what was not in the context",) if removed else ()
