"""Documents that nobody wrote, and an embedder without a model: the server is measured, not the model."""

from __future__ import annotations

import random
import zlib
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate, product

import numpy as np
from bench.filtered import WordBank

from knowledge.model.values import Document, Reading

CHUNKS_A_DOCUMENT = 5
WORDS_A_CHUNK = 110
"""With heading and title about 120 word pieces, as real documentation has."""
WORDS = 50_000
PARTS = 1000
"""Each document is in one of so many parts: a filter on some of them admits their share."""
PART = "part"
QUESTION_WORDS = 6
_CONSONANTS, _VOWELS = "bdfgklmnprstvz", "aeiou"


def part_of(number: int, count: int) -> int:
    """The part of document ``number`` of ``count``: all parts are equally large, as far as there are documents."""
    return number * PARTS // count if count < PARTS else number % PARTS


class RandomReader(WordBank):
    """Tokens as a ``WordBank`` has them; a text's vector is a random unit vector, always the same one."""

    model = "random-reader"

    def read(self, text: str) -> Reading:
        """See ``TokenEmbedder``."""
        vector = np.random.default_rng(zlib.crc32(text.encode())).normal(size=self.dimensions).astype(np.float32)
        return replace(super().read(text), vector=vector / np.linalg.norm(vector))


class Corpus:
    """The same words and documents each time; a word's share is one over its rank, as in a natural language."""

    def __init__(self) -> None:
        syllables = [f"{consonant}{vowel}" for consonant, vowel in product(_CONSONANTS, _VOWELS)]
        words = ["".join(three) for three in product(syllables, repeat=3)]
        random.Random(1).shuffle(words)  # noqa: S311 - made-up data
        self._words = words[:WORDS]
        self._shares = list(accumulate(1 / rank for rank in range(1, WORDS + 1)))

    def documents(self, chunks: int, *, edition: int = 0, every: int = 1) -> list[Document]:
        """Documents of ``chunks`` chunks in all; of one in ``every`` the text is that of ``edition``."""
        count = max(1, chunks // CHUNKS_A_DOCUMENT)
        return [self._document(number, count, 0 if number % every else edition) for number in range(count)]

    def questions(self, count: int) -> Sequence[str]:
        """Texts of the same words."""
        draw = random.Random(2)  # noqa: S311
        return [" ".join(self._drawn(draw, QUESTION_WORDS)) for _ in range(count)]

    def prose(self, number: int) -> str:
        """The text of chunk ``number`` where nobody cuts it out of a document."""
        return self._prose(random.Random(2_000_000_000 + number))  # noqa: S311

    def _document(self, number: int, count: int, edition: int) -> Document:
        draw = random.Random(1_000_000 * edition + number)  # noqa: S311
        sections = [f"## Part {place}\n\n{self._prose(draw)}" for place in range(CHUNKS_A_DOCUMENT)]
        return Document(
            doc_id=f"d{number}",
            title=f"Document {number}",
            text="\n\n".join(sections),
            digest=f"{edition}-{number}",
            path=f"d{number}.md",
            extra={PART: part_of(number, count)},
        )

    def _prose(self, draw: random.Random) -> str:
        drawn = self._drawn(draw, WORDS_A_CHUNK)
        return " ".join(f"{word}." if place % 15 == 14 else word for place, word in enumerate(drawn))

    def _drawn(self, draw: random.Random, count: int) -> list[str]:
        return draw.choices(self._words, cum_weights=self._shares, k=count)
