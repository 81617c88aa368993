"""What a completion repeats of its instructions: eight words on end, however they are set apart."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import unescape
from unicodedata import normalize

from rag.values.chat import OnText

WORDS = 8
"""As long is what counts as repeated.

None of 84,375 texts of public documentation, passages, answers and questions (24 million characters) holds eight words
of one of the three system prompts.
"""
_PLACEHOLDER = re.compile(r"\{\w+\}")
_WORD = re.compile(r"[^\W\d_]+")
_MAY_HIDE = re.compile(r"<[^<>]*>|\]\(|&")
_ASCII_OTHERS = re.compile(r"[^a-z]+")
_UNSEEN = re.compile(r"<[^<>]*>|\]\([^()\n]*\)")
"""A tag, and where a link leads: what nobody reads."""
TAIL = 400
"""So many characters of a stream are looked at again for what nobody reads between the letters."""


@dataclass(frozen=True, slots=True)
class Leaks:
    """Whether texts repeat ``WORDS`` words on end of ``instructions``, a prompt's template.

    What stands between the letters does not count: blanks, punctuation, digits, accents, emphasis, tags, addresses of
    links, invisible characters. What the template asks for word for word, the first sentence of ``decline``, is no
    leak.
    """

    runs: tuple[str, ...] = ()

    @classmethod
    def of(cls, instructions: str, decline: str = "") -> Leaks:
        """Of each part of the template between its placeholders."""
        asked_for = _letters(decline.partition(". ")[0])
        parts = (_WORD.findall(part) for part in _PLACEHOLDER.split(instructions))
        runs = (_letters("".join(words[at : at + WORDS])) for words in parts for at in range(len(words) - WORDS + 1))
        return cls(tuple(dict.fromkeys(run for run in runs if run not in asked_for)))

    def __call__(self, *texts: str) -> bool:
        """Whether one of ``texts`` does."""
        return any(self._in(_letters(text)) or self._in(_letters(_UNSEEN.sub("", text))) for text in texts)

    def _in(self, letters: str) -> bool:
        return any(run in letters for run in self.runs)

    def withheld(self, on_text: OnText) -> OnText:
        """``on_text`` up to where what was written repeats the instructions, and nothing from there on.

        What was let through holds less than ``WORDS`` words on end of them.
        """
        if not self.runs:
            return on_text
        longest = max(map(len, self.runs))
        letters, tail, repeats = "", "", False

        def hold(text: str) -> None:
            nonlocal letters, tail, repeats
            tail = (tail + text)[-TAIL:]
            letters += _letters(text)
            repeats = repeats or self._in(letters)
            if not repeats and _MAY_HIDE.search(tail):
                repeats = self._in(_letters(_UNSEEN.sub("", tail)))
            letters = letters[-longest:]
            on_text("" if repeats else text)

        return hold


def _letters(text: str) -> str:
    """The letters of ``text``, without case and accents, references to characters read."""
    text = unescape(text)
    if text.isascii():  # a stream is looked at with each of its pieces
        return _ASCII_OTHERS.sub("", text.lower())
    return "".join(filter(str.isalpha, normalize("NFKD", text).casefold()))  # what is combined is no letter
