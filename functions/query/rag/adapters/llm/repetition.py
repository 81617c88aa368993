"""A writer that repeats itself: where its text is to be cut, found while it grows."""

from __future__ import annotations

import re

SHORTEST = 6
"""Words of the shortest part that counts as repeated; shorter ones count together until they are that many."""
TIMES = 3
"""Repetitions in a row that are a loop: none of 225 rated answers of models and people, and none of 495 short answers,
holds one. Six words that occur three times anywhere are in 4 of the 225."""

_WORD = re.compile(r"[^\w\s]{0,8}\w{1,40}[^\w\s]{0,8}")
"""A word with the marks around it: lines of code may differ in marks alone."""
_NUMBER = re.compile(r"\d{1,3}[.)]\W*")
"""The number of a list's item, which is no word: an item that comes again has another one."""
_MARKS = 8
"""As many marks before a word belong to it at most; as many spaces are an item's indent."""


class RepetitionWatch:
    """The words of one growing text. Each costs the same, however long the text is."""

    def __init__(self) -> None:
        self._words: list[str] = []
        self._ends: list[int] = []
        self._last: dict[tuple[str, ...], int] = {}
        self._period = self._run = self._read = 0

    def look(self, text: str, *, whole: bool = False) -> int | None:
        """Return where ``text``, all of it so far, is to be cut: before the second of ``TIMES`` repetitions.

        A word at the end of ``text`` may still grow unless it is ``whole``. None where there is no loop.
        """
        for word in _WORD.finditer(text, self._read):
            if word.end() == len(text) and not whole:
                self._read = word.start()
                return None
            self._read = word.end()
            indent = text[max(0, word.start() - _MARKS) : word.start()].rstrip(" ")
            if indent[-1:] in {"", "\n"} and _NUMBER.fullmatch(word[0]):
                continue
            self._ends.append(word.end())
            last_word = self._add(word[0].lower())
            if last_word is not None:
                return self._ends[last_word]
        self._read = max(self._read, len(text) - _MARKS)
        return None

    def _add(self, word: str) -> int | None:
        """Return the place of the last word of the first repetition, once there are enough of them."""
        at = len(self._words)
        self._words.append(word)
        group = tuple(self._words[-SHORTEST:])
        if self._period and self._words[at - self._period] == word:
            self._run += 1
        else:
            before = self._last.get(group)
            self._period, self._run = (0, 0) if before is None else (at - before, SHORTEST)
        self._last[group] = at
        if not self._period or self._run + self._period < TIMES * max(self._period, SHORTEST):
            return None
        first = at - self._run - self._period + 1
        return first - 1 + self._period * -(-SHORTEST // self._period)
