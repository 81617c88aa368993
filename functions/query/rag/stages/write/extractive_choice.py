"""Which sentences the extractive engine quotes: the best ones, of two versions of one statement the better ranked.

Every sentence gets

    cos(question, sentence) + .4 x idf share of the question's words in it + .5 x cos(question, its chunk)
    + .1 / (1 + rank of its passage) + .3 / (1 + sentences before it) under a heading with all words of the question

so that what recency, feedback or a re-ranking did to the order decides between sentences that are alike, and that what
opens a section is taken to be about its heading, whose words it need not repeat ("Press Start"). The weights were
chosen on the sample questions, SQuAD and ClapNQ; what is quoted is flat around them.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rag.text.stems import content_stems

if TYPE_CHECKING:
    from numpy.typing import NDArray

MIN_SENTENCES = 2
MAX_SENTENCES = 5
MAX_CHARS = 900
KEEP_SHARE = 0.72
"""A further sentence must be nearly as good as the best one: padding would bury the answer."""
_WORDS_WEIGHT = 0.4
_CHUNK_WEIGHT = 0.5
_RANK_WEIGHT = 0.1
_HEADING_WEIGHT = 0.3
_NEAR_COSINE = 0.95
"""Above it two sentences are one statement, or two versions of it: a deadline and the deadline of the year before."""

_TOKEN = re.compile(r"\d+(?:[.,:]\d+)*|[^\W\d_]+(?:['’][^\W\d_]+)?")
_COUNTED = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen twenty"
)
_ORDINALS = {"first": "1st", "second": "2nd", "third": "3rd", "fourth": "4th", "fifth": "5th"}
_NUMBERS = {name: str(value) for value, name in enumerate(_COUNTED.split())} | _ORDINALS
_NEGATIONS = frozenset(("cannot", "neither", "never", "no", "none", "nor", "not", "without"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """A sentence that may be quoted.

    ``title`` and ``section`` (a heading path) stand above it, ``date`` is its document's as yyyymmdd (None: unknown),
    ``rank`` its passage's in the context, from 0, ``chunk_cosine`` (-1..1) its chunk's with the question. ``place``
    sorts sentences for reading: its section's rank, its chunk in the document, its number there.
    """

    text: str
    citation: str
    document: str
    title: str
    section: str
    date: int | None
    rank: int
    chunk_cosine: float
    place: tuple[int, int, int]

    @property
    def chars(self) -> int:
        """Characters that it takes in an answer, with its citation and the spaces."""
        return len(self.text) + len(self.citation) + 2


def shortlist(question: str, sentences: Sequence[Sentence], size: int) -> list[Sentence]:
    """At most ``size`` of ``sentences`` in their order, by their words and their chunk: what is worth embedding."""
    if len(sentences) <= size:
        return list(sentences)
    shares = _word_shares(question, sentences)
    worth = [_WORDS_WEIGHT * share + sentence.chunk_cosine for share, sentence in zip(shares, sentences, strict=True)]
    ranked = sorted(range(len(sentences)), key=lambda i: -worth[i])
    return [sentences[i] for i in sorted(ranked[:size])]


def choose(
    question: str, sentences: Sequence[Sentence], vectors: NDArray[np.float32], asked: NDArray[np.float32]
) -> list[Sentence]:
    """Two to five of ``sentences`` (better ranked ones first) that fit into ``MAX_CHARS``.

    First those of the section that the best one stands in, then the others; within a section as the document has them.
    ``vectors``, one a row, and ``asked``, the question's, have unit length.
    """
    words = _word_shares(question, sentences)
    wanted = content_stems(question)
    scores = [
        float(cosine)
        + _WORDS_WEIGHT * share
        + _CHUNK_WEIGHT * sentence.chunk_cosine
        + _RANK_WEIGHT / (1 + sentence.rank)
        + _HEADING_WEIGHT * _is_headed(sentence, wanted) / (1 + sentence.place[2])
        for cosine, share, sentence in zip(vectors @ asked, words, sentences, strict=True)
    ]
    left = _settled(question, sentences, scores, vectors @ vectors.T > _NEAR_COSINE)
    chosen: list[int] = []
    room = MAX_CHARS
    for i in sorted(left, key=lambda i: (_alone(sentences, i, left), -scores[i], sentences[i].place)):
        if len(chosen) == MAX_SENTENCES:
            break
        if len(chosen) >= MIN_SENTENCES and scores[i] < KEEP_SHARE * scores[chosen[0]]:
            break
        if sentences[i].chars <= room:
            chosen.append(i)
            room -= sentences[i].chars
    quotes = sorted((sentences[i] for i in chosen), key=lambda sentence: sentence.place)
    return sorted(quotes, key=lambda sentence: sentence.place[0] != sentences[chosen[0]].place[0])


def _alone(sentences: Sequence[Sentence], i: int, left: Sequence[int]) -> bool:
    """Whether no second sentence fits beside this one: it would be the whole answer."""
    return not any(sentences[i].chars + sentences[j].chars <= MAX_CHARS for j in left if j != i)


def _settled(question: str, sentences: Sequence[Sentence], scores: list[float], near: NDArray[np.bool_]) -> list[int]:
    """The sentences, by number, without those that a better ranked one speaks for; raises ``scores`` of the latter.

    Of two that are near each other the better ranked one gets the better score of both, and so comes first. The other
    one is left out when it says the same, or contradicts a newer document. Both stand for themselves when one document
    says both, or when the question names what only the worse ranked one holds ("... in 2023").
    """
    left = list(range(len(sentences)))
    wanted = content_stems(question)
    for i, j in np.argwhere(np.triu(near, 1)).tolist():
        better, worse = sentences[i], sentences[j]
        same = _facts(better.text) == _facts(worse.text)
        if i not in left or j not in left:
            continue
        if not same and (better.document == worse.document or wanted & _stems(worse) - _stems(better)):
            continue
        scores[i] = max(scores[i], scores[j])
        if same or (better.date and worse.date and better.date > worse.date):
            left.remove(j)
    return left


def _is_headed(sentence: Sentence, wanted: set[str]) -> bool:
    """Whether the sentence's own heading holds all of the stems ``wanted``, and they are any."""
    return bool(wanted) and wanted <= content_stems(sentence.section.rsplit(" > ", 1)[-1])


def _stems(sentence: Sentence) -> set[str]:
    return content_stems(f"{sentence.title} {sentence.section} {sentence.citation} {sentence.text}")


def _facts(text: str) -> Counter[str]:
    """What makes a statement another one although it sounds alike: its numbers, names and negations."""
    return Counter(_telling(_TOKEN.findall(text)))


def _telling(words: Sequence[str]) -> Iterator[str]:
    for i, word in enumerate(words):
        lower = word.lower()
        if lower in _NEGATIONS or lower.endswith(("n't", "n’t")):
            yield "not"
        elif word[0].isdigit() or lower in _NUMBERS:
            yield _NUMBERS.get(lower, word)
        elif word[0].isupper() and i > 0:
            yield lower


def _word_shares(question: str, sentences: Sequence[Sentence]) -> list[float]:
    """For each sentence the idf-weighted share (0..1) of the question's words that it holds, by their stems."""
    stems = [content_stems(sentence.text) for sentence in sentences]
    frequency = Counter(stem for words in stems for stem in words)
    idf = {stem: math.log(1 + len(sentences) / (1 + frequency[stem])) for stem in content_stems(question)}
    total = sum(idf.values()) or 1.0
    return [sum(weight for stem, weight in idf.items() if stem in words) / total for words in stems]
