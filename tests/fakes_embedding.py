"""An embedder for tests: no model, the same vector for the same text everywhere, near texts near each other."""

from __future__ import annotations

import functools
import hashlib
import re
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from knowledge.model.values import TextEncoding

if TYPE_CHECKING:
    from knowledge.model.values import Matrix, Vector

_WORDS = re.compile(r"\w+")


class HashingEmbedder:
    """Bag of words, each hashed to a signed coordinate; unit length. Counts its calls and the texts it was given."""

    def __init__(self, *, model: str = "hashing", dimensions: int = 384) -> None:
        self.calls = 0
        self.texts: list[str] = []
        self._model = model
        self._dimensions = dimensions
        self._lock = threading.Lock()

    @property
    def model(self) -> str:
        return self._model

    @property
    def dimensions(self) -> int:
        return self._dimensions

    def embed(self, texts: Sequence[str]) -> Matrix:
        with self._lock:
            self.calls += 1
            self.texts.extend(texts)
        matrix = np.zeros((len(texts), self._dimensions), dtype=np.float32)
        for row, text in enumerate(texts):
            matrix[row, 0] = 1e-3  # a text without a word has a direction too
            for word in _WORDS.findall(text.lower()):
                place = _digest(word)
                matrix[row, place % self._dimensions] += 1 if place >> 63 else -1
        return np.asarray(matrix / np.linalg.norm(matrix, axis=1, keepdims=True), dtype=np.float32)


class ReadingEmbedder(HashingEmbedder):
    """Tells the vector of every token too: of each word its own, whatever stands around it."""

    vocabulary = 1 << 16

    def has(self, word: str) -> bool:
        """Every word is one piece of its."""
        return True

    def count(self, text: str) -> int:
        """Its words."""
        return len(_WORDS.findall(text))

    def read(self, text: str) -> TextEncoding:
        words = list(_WORDS.finditer(text))
        pieces = [_digest(word[0].lower()) % self.vocabulary for word in words]
        return TextEncoding(
            vector=self.embed([text])[0],
            tokens=np.array([_token(piece, self.dimensions) for piece in pieces], dtype=np.float32).reshape(
                -1, self.dimensions
            ),
            pieces=np.array(pieces, dtype=np.int32),
            spans=np.array([word.span() for word in words], dtype=np.int32).reshape(-1, 2),
        )


def _digest(word: str) -> int:
    return int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest())


@functools.cache
def _token(piece: int, dimensions: int) -> Vector:
    return np.random.default_rng(piece).standard_normal(dimensions).astype(np.float32)
