"""The part that asks in a long pasted message: a mail and then a question, or a program's template around one."""

from __future__ import annotations

import re
from itertools import pairwise

LONGEST_QUESTION, TYPICAL_QUESTION = 400, 120
"""Characters. Of 13,138 questions (SQuAD, ClapNQ, COVID FAQ, MTRAG, CLINC and the samples) the longest has 317, and
99 % have at most 123.

The samples' 161 questions behind a mail of 671 characters: the right document is first for 130 where they stand in a
paragraph of their own, for 118 where all is one line, for 46 where all is searched for, and for 130 without the mail.
"""
_MARKS = ("?", "\uff1f", "\u061f")
"""The question mark, with those of Chinese and Arabic."""
_BEHIND = "\"'\u201d\u2019)*_"
"""What may stand behind it."""
_PARAGRAPHS = re.compile(r"\n\s*\n")


def asking_part(message: str) -> str:
    """Return what asks in a ``message`` of more than ``LONGEST_QUESTION`` characters; a shorter one as it is.

    It is the last paragraph that asks, or of a long one the sentences up to its last question mark. Without a question
    mark it is the last paragraph; a single paragraph without one is returned as it is.
    """
    if len(message) <= LONGEST_QUESTION:
        return message
    paragraphs = [_sentences(" ".join(one.split())) for one in _PARAGRAPHS.split(message.strip())]
    asking = [one for one in paragraphs if any(map(_asks, one))]
    if not asking and len(paragraphs) == 1:
        return message
    sentences = (asking or paragraphs)[-1]
    part = " ".join(sentences)
    if len(part) > LONGEST_QUESTION:
        part = _last_of(sentences)
    return part if len(part) <= LONGEST_QUESTION and any(map(str.isalnum, part)) else message


def _last_of(sentences: list[str]) -> str:
    """Return the last of ``sentences`` up to the last one that asks, about as long as a question."""
    while any(map(_asks, sentences)) and not _asks(sentences[-1]):
        del sentences[-1]
    chosen = ""
    for sentence in reversed(sentences):
        if chosen and len(chosen) + len(sentence) >= TYPICAL_QUESTION:
            break
        chosen = f"{sentence} {chosen}".rstrip()
    return chosen


def _asks(sentence: str) -> bool:
    return sentence.rstrip(_BEHIND).endswith(_MARKS)


def _sentences(text: str) -> list[str]:
    from knowledge.cut.boundaries import Source  # late: it brings markdown-it

    starts = (0, *Source(text).sentence_starts(0, len(text)), len(text))
    return [text[start:end].strip() for start, end in pairwise(starts)]
