"""What a completion repeats of its instructions, however the words are set apart, spelt or filled up."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count

from rag.contract.letters import letters
from rag.contract.marks import Marks

WORDS = 8
"""As many words on end count as repeated."""
SPREAD, LONG = 7, 4
"""So many words of as many letters or more count in their order, whatever stands between them."""
SKIPPED, APART = 1, 60
"""Of these so many may be left out on end; so many letters may stand between one and the next.

Of 38,000 pieces of public documentation, passages, answers and questions, and of the samples (28 million characters),
none repeats one of the three system prompts in either way; one has six of the long words.
"""
_PLACEHOLDER = re.compile(r"\{\w+\}")
_WORD = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class Leaks:
    """Whether texts repeat ``instructions``, a prompt's template: ``WORDS`` on end, or ``SPREAD`` long ones in order.

    Nothing counts but letters: no blanks, punctuation, accents, look-alikes, invisible characters. What the template
    asks for word for word, the first sentence of ``decline``, is no leak. ``places`` tells of each long word the places
    that it has among all; ``form`` is what marks look like, which do not count where they stand in code either.
    """

    runs: tuple[str, ...] = ()
    places: tuple[tuple[str, tuple[int, ...]], ...] = ()
    form: Marks | None = None

    @classmethod
    def of(cls, instructions: str, decline: str = "", form: Marks | None = None) -> Leaks:
        """Of each part of the template between its placeholders."""
        sentence = decline.partition(". ")[0]
        asked_for = letters(sentence)
        parts = (_WORD.findall(part) for part in _PLACEHOLDER.split(instructions))
        runs = (letters("".join(words[at : at + WORDS])) for words in parts for at in range(len(words) - WORDS + 1))
        kept = instructions.replace(sentence, "{decline}") if sentence else instructions
        places: dict[str, tuple[int, ...]] = {}
        number = count()
        for part in _PLACEHOLDER.split(kept):
            for word in filter(lambda word: len(word) >= LONG, map(letters, _WORD.findall(part))):
                places[word] = (*places.get(word, ()), next(number))
            number = count(next(number) + SKIPPED + 1)  # no two parts are one text
        return cls(tuple(dict.fromkeys(run for run in runs if run not in asked_for)), tuple(places.items()), form)

    def __call__(self, text: str) -> bool:
        """Whether ``text``, an answer's words without its marks, does."""
        return any(map(self._repeats, {text, self.form.unmarked(text) if self.form else text}))

    def _repeats(self, text: str) -> bool:
        said = letters(text)
        return any(run in said for run in self.runs) or self._longest(letters(text, figures=True)) >= SPREAD

    def _longest(self, said: str) -> int:
        """How many long words stand in their order in ``said``, of those that are near each other."""
        longest = 0
        ends: dict[int, tuple[int, int]] = {}  # of each place: where its word ended, as which of how many
        for start, end, places in sorted(self._found(said)):
            before = [_before(ends, place, start) for place in places]
            for place, words in zip(places, before, strict=True):
                longest = max(longest, words + 1)
                ends[place] = (end, words + 1)
        return longest

    def _found(self, said: str) -> Iterator[tuple[int, int, Sequence[int]]]:
        """Each long word in ``said``: where it starts and ends, and its places."""
        for word, places in self.places:
            at = said.find(word)
            while at >= 0:
                yield at, at + len(word), places
                at = said.find(word, at + 1)


def _before(ends: dict[int, tuple[int, int]], place: int, start: int) -> int:
    """How many words in order end before ``start`` with one that is followed by that of ``place``."""
    steps = ((step, ends.get(place - step)) for step in range(1, SKIPPED + 2))
    return max((last[1] for step, last in steps if last and 0 <= start - last[0] <= step * APART), default=0)
