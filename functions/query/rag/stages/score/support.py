"""How well what was found bears an answer out: read off how the question's words meet the tokens of the evidence."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

import numpy as np

from rag.text.stems import content_stems, stems
from rag.values.answer import Asked, Hit

UNMET, HEAVY = 0.5, 0.2
"""A word of the question is missed where no token is nearer than that, and it has as much of the question's weight.

That is so of 1.7 % (ClapNQ), 1.4 % (SQuAD) and 5.8 % (COVID FAQ) of answerable questions, of none of 73 that a reader
of six documentation sites asked and had answered, and of 12 of the 17 near misses there that passed the gate. With
lower bars words such as "next" and "option" are named."""
MISSPELT = 0.8
"""Two words are one from this ratio on (difflib's: .8 is a letter or two): "demurage" is mentioned as "demurrage". Of
seven words that people misspelt or shortened on those sites, and were told about, five are no longer named."""
MOST_NAMED = 2
"""So many of the words that are not mentioned are named."""
MOST_LETTERS = 2
"""By so many, at most, a misspelt word is longer or shorter."""

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Word:
    """A word of the question: its characters ``start`` to ``end``, and its pieces ``first`` to ``stop``."""

    start: int
    end: int
    first: int
    stop: int


def words_of(asked: Asked) -> tuple[Word, ...]:
    """The question's own words in their order: pieces that touch each other are one."""
    words: list[Word] = []
    for piece, (start, end) in enumerate(asked.spans.tolist()):
        if start == end:
            break
        if words and words[-1].end == start:
            words[-1] = Word(words[-1].start, end, words[-1].first, piece + 1)
        else:
            words.append(Word(start, end, piece, piece + 1))
    return tuple(words)


def not_mentioned(asked: Asked, hits: Sequence[Hit]) -> tuple[str, ...]:
    """The words of the question that weigh something and are nowhere in ``hits``, as it has them; the heaviest ones.

    Neither the word itself is there, nor one of its stem or nearly its spelling, nor a token that is near it.
    Neighbours are one phrase.
    """
    matches = [hit.match for hit in hits if hit.match is not None]
    words = words_of(asked)
    if not matches or not words:
        return ()
    best = np.max([match.similarities.max(axis=1, initial=0) for match in matches], axis=0)
    starts = [word.first for word in words]
    weights = np.add.reduceat(asked.weights, starts)
    covered = np.add.reduceat(asked.weights * best, starts) / np.maximum(weights, np.finfo(np.float32).tiny)
    unmet = (covered < UNMET) & (weights >= HEAVY * weights.sum())
    named = [i for i in np.flatnonzero(unmet).tolist() if content_stems(asked.text[words[i].start : words[i].end])]
    if not named:
        return ()
    said = "\n".join(f"{hit.chunk.title}\n{hit.chunk.section}\n{hit.chunk.text}" for hit in hits).casefold()
    absent = [i for i in named if not _is_in(said, asked.text[words[i].start : words[i].end].casefold())]
    heaviest = sorted(sorted(absent, key=lambda i: -weights[i])[:MOST_NAMED])
    return tuple(_phrases(asked, [words[i] for i in heaviest]))


def _is_in(said: str, word: str) -> bool:
    if _root(word) in said:
        return True
    begun = {found for found in _WORD.findall(said) if found[0] == word[0]}
    alike = (found for found in begun if abs(len(found) - len(word)) <= MOST_LETTERS)
    return any(SequenceMatcher(None, word, found).ratio() >= MISSPELT for found in alike)


def _root(word: str) -> str:
    """What ``word`` has in common with its stem: "polic" of "policies"."""
    stem = "".join(stems(word))
    return word[: next((i for i, pair in enumerate(zip(word, stem, strict=False)) if len(set(pair)) > 1), len(stem))]


def _phrases(asked: Asked, words: Sequence[Word]) -> list[str]:
    phrases: list[str] = []
    before: Word | None = None
    for word in words:
        text = asked.text[word.start : word.end]
        if before and word.first == before.stop and asked.text[before.end : word.start].isspace():
            phrases[-1] += f" {text}"
        else:
            phrases.append(text)
        before = word
    return phrases
