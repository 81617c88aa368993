"""Admit a question: check its length and its characters, and find the part of a long message that asks."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, replace
from html import unescape
from itertools import pairwise
from urllib.parse import unquote

from rag.errors import EmptyQuery, QueryTooLong, UnsafeQuery
from rag.values.question import Question

# The seed's patterns. "Does it need JavaScript: yes or no?" and "eval()" in a sentence run nothing.
_SCRIPT = re.compile(r"</?script\b|\bjavascript:\S|\beval\(\s*[^)\s]", re.IGNORECASE)

# White space, and private characters: what is pasted from a word processor has its bullets there. To Python the
# separators U+001C-1F are white space too; they are controls.
_BLANKS = re.compile("(?:[^\\S\x1c-\x1f]|[\ue000-\uf8ff])+")
# Pasted along without a meaning: soft hyphens, zero-width blanks, marks around telephone numbers.
_LEFT_OUT = re.compile("[\u00ad\u200b\u202a-\u202c\u2060\ufeff]")


def collapse(text: str) -> str:
    """Return ``text`` on one line, each run of white space as one blank, without invisible pasted characters."""
    return _BLANKS.sub(" ", _LEFT_OUT.sub("", text)).strip(" ")


def is_blank(text: str) -> bool:
    """Return whether ``text`` has no visible character: only white space, joiners, direction marks."""
    return all(char.isspace() or unicodedata.category(char) == "Cf" for char in text)


def has_script(text: str) -> bool:
    """Return whether ``text`` has ``<script``, ``javascript:`` or ``eval(``, as written or decoded.

    Percent-encoding is decoded first, then character references. This keeps the seed's contract: a question is never
    executed, and answers are sanitised when they are sent.
    """
    return any(_SCRIPT.search(form) for form in (text, unescape(unquote(text))))


def has_controls(text: str) -> bool:
    """Return whether ``text`` has a control character (Unicode's Cc), such as a bell or a null."""
    return any(unicodedata.category(char) == "Cc" for char in text)


@dataclass(frozen=True, slots=True)
class PlainAdmission:
    """Admits text of at most ``max_chars`` characters, or of the question's ``max_chars`` if that is more."""

    max_chars: int

    def __call__(self, question: Question) -> Question:
        """Return the question without white space around it.

        Raises:
            EmptyQuery: no visible character.
            QueryTooLong: too many characters.
        """
        text = question.text.strip()
        if is_blank(text):
            raise EmptyQuery
        if len(text) > (most := max(self.max_chars, question.max_chars)):
            raise QueryTooLong(most)
        return replace(question, text=text, understood="")


@dataclass(frozen=True, slots=True)
class StrictAdmission(PlainAdmission):
    """Admits one line without script patterns and control characters."""

    def __call__(self, question: Question) -> Question:
        """Return the question on one line.

        Raises:
            EmptyQuery, QueryTooLong: as ``PlainAdmission``, for the collapsed text.
            UnsafeQuery: a script pattern, or a control character.
        """
        admitted = PlainAdmission(self.max_chars)(replace(question, text=collapse(question.text)))
        if has_controls(admitted.text):
            raise UnsafeQuery("{noun} holds control characters; plain text of any script is accepted")
        if has_script(admitted.text):
            raise UnsafeQuery("{noun} holds a script pattern; plain text is accepted")
        return admitted


LONGEST_QUESTION, TYPICAL_QUESTION = 400, 120
"""Characters. Of 13,138 questions (SQuAD, ClapNQ, COVID FAQ, MTRAG, CLINC and the samples) the longest has 317, and
99 % have at most 123.

The samples' 161 questions behind a mail of 671 characters: the right document is first for 130 where they stand in a
paragraph of their own, for 118 where all is one line, for 46 where all is searched for, and for 130 without the mail.
"""
_MARKS = ("?", "\uff1f", "\u061f")
"""The question mark, with those of Chinese and Arabic."""
_BEHIND = "\"'\u201d\u2019)*_"
"""Signs that may follow it."""
_PARAGRAPHS = re.compile(r"\n\s*\n")


def asking_part(message: str) -> str:
    """Return the asking part of a ``message`` with more than ``LONGEST_QUESTION`` characters, a shorter one as it is.

    The asking part is the last paragraph with a question, or in a long paragraph the sentences up to the last question
    mark. Without a question mark it is the last paragraph; a single paragraph without one is returned as it is.
    """
    if len(message) <= LONGEST_QUESTION:
        return message
    paragraphs = [_sentences(" ".join(one.split())) for one in _PARAGRAPHS.split(message.strip())]
    asking = [one for one in paragraphs if any(map(_is_asking, one))]
    if not asking and len(paragraphs) == 1:
        return message
    sentences = (asking or paragraphs)[-1]
    part = " ".join(sentences)
    if len(part) > LONGEST_QUESTION:
        part = _last_sentences(sentences)
    return part if len(part) <= LONGEST_QUESTION and any(map(str.isalnum, part)) else message


def _last_sentences(sentences: list[str]) -> str:
    """Return the last sentences up to the last question, about as long as a question."""
    while any(map(_is_asking, sentences)) and not _is_asking(sentences[-1]):
        del sentences[-1]
    chosen = ""
    for sentence in reversed(sentences):
        if chosen and len(chosen) + len(sentence) >= TYPICAL_QUESTION:
            break
        chosen = f"{sentence} {chosen}".rstrip()
    return chosen


def _is_asking(sentence: str) -> bool:
    return sentence.rstrip(_BEHIND).endswith(_MARKS)


def _sentences(text: str) -> list[str]:
    from knowledge.cut.boundaries import SourceText  # late: it brings markdown-it

    starts = (0, *SourceText(text).sentence_starts(0, len(text)), len(text))
    return [text[start:end].strip() for start, end in pairwise(starts)]
