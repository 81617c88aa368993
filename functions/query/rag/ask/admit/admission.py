"""Admission: is this a question that the pipeline should see?"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, replace
from html import unescape
from urllib.parse import unquote

from rag.errors import EmptyQuery, QueryTooLong, UnsafeQuery
from rag.values.question import Question

# The seed's patterns. "Does it need JavaScript: yes or no?" and "eval()" in a sentence run nothing.
_SCRIPT = re.compile(r"</?script\b|\bjavascript:\S|\beval\(\s*[^)\s]", re.IGNORECASE)

# White space, and private characters: what is pasted from a word processor has its bullets there. To Python the
# separators U+001C-1F are white space too; they are controls.
_BLANKS = re.compile("(?:[^\\S\x1c-\x1f]|[\ue000-\uf8ff])+")
# Come along with what is pasted and mean nothing: soft hyphens, zero-width blanks, marks around telephone numbers.
_LEFT_OUT = re.compile("[\u00ad\u200b\u202a-\u202c\u2060\ufeff]")


def collapse(text: str) -> str:
    """``text`` on one line, each run of white space one blank, without what came along when it was pasted."""
    return _BLANKS.sub(" ", _LEFT_OUT.sub("", text)).strip(" ")


def is_blank(text: str) -> bool:
    """Whether nothing of ``text`` shows: white space, joiners, direction marks."""
    return all(char.isspace() or unicodedata.category(char) == "Cf" for char in text)


def holds_script(text: str) -> bool:
    """Whether ``text`` holds ``<script``, ``javascript:`` or ``eval(``, as it stands or decoded.

    Decoded means percent-encoding, then character references. This keeps the seed's contract; nothing is executed
    here, and answers are made harmless where they leave.
    """
    return any(_SCRIPT.search(form) for form in (text, unescape(unquote(text))))


def holds_controls(text: str) -> bool:
    """Whether ``text`` holds a control character (Unicode's Cc), such as a bell or a null."""
    return any(unicodedata.category(char) == "Cc" for char in text)


@dataclass(frozen=True, slots=True)
class PlainAdmission:
    """Non-empty text of at most ``max_chars`` characters, or the question's own, white space around it removed."""

    max_chars: int

    def __call__(self, question: Question) -> Question:
        """The admitted question.

        Raises:
            EmptyQuery: nothing in it shows.
            QueryTooLong: more characters than that.
        """
        text = question.text.strip()
        if is_blank(text):
            raise EmptyQuery
        if len(text) > (most := max(self.max_chars, question.max_chars)):
            raise QueryTooLong(most)
        return replace(question, text=text, understood="")


@dataclass(frozen=True, slots=True)
class StrictAdmission(PlainAdmission):
    """On one line, without script patterns and control characters too."""

    def __call__(self, question: Question) -> Question:
        """The admitted question.

        Raises:
            EmptyQuery, QueryTooLong: as ``PlainAdmission``, of what is left.
            UnsafeQuery: a script pattern, or a control character.
        """
        admitted = PlainAdmission(self.max_chars)(replace(question, text=collapse(question.text)))
        if holds_controls(admitted.text):
            raise UnsafeQuery("{noun} holds control characters; plain text of any script is accepted")
        if holds_script(admitted.text):
            raise UnsafeQuery("{noun} holds a script pattern; plain text is accepted")
        return admitted
