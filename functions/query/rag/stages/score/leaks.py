"""What a completion repeats of its instructions: eight words on end, however they are set apart."""

from __future__ import annotations

import re
from dataclasses import dataclass
from unicodedata import normalize

from rag.values.chat import OnText

WORDS = 8
"""As long is what counts as repeated.

None of 6,280 texts of public documentation and passages (2.7 million words) holds eight words of one of the three
system prompts, and none of 19,775 reference answers and 11,465 questions does.
"""
_PLACEHOLDER = re.compile(r"\{\w+\}")
_WORD = re.compile(r"[^\W_]+")
_TAG = re.compile(r"<[^<>]*>")
TAIL = 1000
"""So much of a stream, its last characters, is looked at: eight words, whatever is put between their letters."""


@dataclass(frozen=True, slots=True)
class Leaks:
    """Whether texts repeat ``WORDS`` words on end of ``instructions``, a prompt's template.

    What stands between the letters does not count: blanks, punctuation, emphasis, tags, invisible characters. What the
    template asks for word for word, the first sentence of ``decline``, is no leak.
    """

    runs: tuple[str, ...] = ()

    @classmethod
    def of(cls, instructions: str, decline: str = "") -> Leaks:
        """Of each part of the template between its placeholders."""
        asked_for = _letters(decline.partition(". ")[0])
        parts = (_WORD.findall(normalize("NFKC", part).casefold()) for part in _PLACEHOLDER.split(instructions))
        runs = ("".join(words[at : at + WORDS]) for words in parts for at in range(len(words) - WORDS + 1))
        return cls(tuple(dict.fromkeys(run for run in runs if run not in asked_for)))

    def __call__(self, *texts: str) -> bool:
        """Whether one of ``texts`` does."""
        return any(run in letters for letters in map(_letters, texts) for run in self.runs)

    def withheld(self, on_text: OnText) -> OnText:
        """``on_text`` up to where what was written repeats the instructions, and nothing from there on.

        What was let through holds less than ``WORDS`` words on end of them.
        """
        if not self.runs:
            return on_text
        before, repeats = "", False

        def hold(text: str) -> None:
            nonlocal before, repeats
            before = (before + text)[-TAIL:]
            repeats = repeats or self(before)
            on_text("" if repeats else text)

        return hold


def _letters(text: str) -> str:
    """The letters and digits of ``text``, without case; those outside of tags, too, where there are any."""
    plain = normalize("NFKC", text).casefold()
    read = (plain, _TAG.sub("", plain)) if "<" in plain else (plain,)
    return "\0".join("".join(filter(str.isalnum, one)) for one in read)
