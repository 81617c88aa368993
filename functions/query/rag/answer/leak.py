"""What a completion repeats of its instructions: eight words on end, however they are set apart."""

from __future__ import annotations

import re
from dataclasses import dataclass
from unicodedata import normalize

WORDS = 8
"""As long is what counts as repeated.

None of 84,375 texts of public documentation, passages, answers and questions (24 million characters) holds eight words
of one of the three system prompts.
"""
_PLACEHOLDER = re.compile(r"\{\w+\}")
_WORD = re.compile(r"[^\W\d_]+")
_ASCII_OTHERS = re.compile(r"[^a-z]+")


@dataclass(frozen=True, slots=True)
class Leaks:
    """Whether texts repeat ``WORDS`` words on end of ``instructions``, a prompt's template.

    What stands between the letters does not count: blanks, punctuation, digits, accents, invisible characters. What
    the template asks for word for word, the first sentence of ``decline``, is no leak.
    """

    runs: tuple[str, ...] = ()

    @classmethod
    def of(cls, instructions: str, decline: str = "") -> Leaks:
        """Of each part of the template between its placeholders."""
        asked_for = _letters(decline.partition(". ")[0])
        parts = (_WORD.findall(part) for part in _PLACEHOLDER.split(instructions))
        runs = (_letters("".join(words[at : at + WORDS])) for words in parts for at in range(len(words) - WORDS + 1))
        return cls(tuple(dict.fromkeys(run for run in runs if run not in asked_for)))

    def __call__(self, text: str) -> bool:
        """Whether ``text``, an answer's words without its marks, does."""
        letters = _letters(text)
        return any(run in letters for run in self.runs)


def _letters(text: str) -> str:
    """The letters of ``text``, without case and accents."""
    if text.isascii():  # a stream is looked at with each of its pieces
        return _ASCII_OTHERS.sub("", text.lower())
    return "".join(filter(str.isalpha, normalize("NFKD", text).casefold()))  # what is combined is no letter
