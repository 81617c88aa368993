"""TokenCounter: how many tokens of a context window a text takes, without asking the model.

Exact for Qwen 1 to 3 (Clockify's default is qwen2.5:32b), whose vocabulary ships with the embedding model. For others
a documented multiple of that count, since no rule of thumb holds: bytes per token differ by 2x between base64, tables
and prose, and Qwen's own count follows them all.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from unicodedata import is_normalized, normalize

from knowledge.bpe import VOCABULARY_FILE, Vocabulary
from knowledge.pieces import split_pieces

DEFAULT_VOCABULARY = Path(__file__).resolve().parent.parent / "model" / VOCABULARY_FILE

REMEMBERED_PIECES = 20_000
REMEMBERED_CHARS = 32
"""Longer pieces hardly come twice; with both bounds what is remembered stays below about 3 MB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """Models whose count is at most Qwen's times these factors: one for ASCII pieces, one for the others.

    Qwen takes numbers digit by digit; ``digits`` is how many this family takes together.
    """

    names: re.Pattern[str]
    ascii: float
    other: float
    digits: int = 1


FAMILIES = (
    # Qwen 3.5 has another vocabulary: it is one of the rest.
    Family(names=re.compile(r"qwq|qwen(?!-?(?:3\.[5-9]|[4-9]))"), ascii=1, other=1),
    # cl100k and o200k, and Llama 3, which extends cl100k as Qwen does. For 1,820 passages of up to 1,500 characters, of
    # prose and Markdown, this gives 1.03 times their count or more, 1.12 on average, and for 99 of 100 of prose 1.24
    # or less. In 17 scripts other than Latin they need up to 1.97 of Qwen's tokens (cl100k, Hebrew), on average 1.2.
    Family(names=re.compile(r"gpt-?(?:oss|[3-9])|\bo[1-9]\b|llama-?(?:[3-9]|guard)"), ascii=1.1, other=2, digits=3),
    # Everything else, never below but for runs of white space, and so up to two thirds above in English. The worst that
    # was measured against Qwen: the 32,000 tokens of Mistral 7B and Mixtral, 1.0 to 1.71 in English, on average 1.14,
    # and Claude 2 in Thai, 3.52. Mistral's Tekken (up to 1.15) and DeepSeek (1.27) stay well within.
    Family(names=re.compile(""), ascii=1.75, other=3.6),
)


class TokenCounter:
    """Counts as the model in use does: never below it, and for Qwen exactly. Safe to call from several threads.

    Exactly means as Ollama counts, and vLLM: the latter composes accents first (NFC), the former does not, and of the
    two the larger counts. Special tokens that a chat template adds are the caller's; written in a text they count as
    the characters that they are.
    """

    def __init__(self, model: Callable[[], str], *, path: Path = DEFAULT_VOCABULARY) -> None:
        """Load nothing yet.

        Args:
            model: the name of the model in use now, in any spelling of any provider (``"qwen2.5:32b"``,
                ``"Qwen/Qwen2.5-7B-Instruct"``, ``"openai/gpt-oss-20b"``); asked at each count, as it may change.
            path: the vocabulary that ``python -m modelbuilder`` wrote.
        """
        self._model = model
        self._path = path

    def count(self, text: str) -> int:
        """How many tokens ``text`` is: at least 0, at most the UTF-8 bytes of it (or of its NFC form) and 1.

        Raises:
            ModelMissing: the vocabulary is absent or damaged.
        """
        if is_normalized("NFC", text):
            return self._count(text)
        return max(self._count(text), self._count(normalize("NFC", text)))

    def warm(self) -> None:
        """Load what counting needs: milliseconds, once. For a before-snapshot hook; the first count does it too.

        Raises:
            ModelMissing: the vocabulary is absent or damaged.
        """
        self.count("warm")

    def _count(self, text: str) -> int:
        family = family_of(self._model())
        pieces = split_pieces(text)
        tokens = sum(map(self._tokens_of.__getitem__, pieces))
        if family.ascii == family.other == 1:
            return tokens
        plain = sum(map(self._tokens_of.__getitem__, filter(str.isascii, pieces)))
        together = _digits_together(text, family.digits)
        tokens, plain = tokens - together, plain - together
        most = len(_encode(text)) + 1  # each has a token for every byte, and SentencePiece puts a space in front
        return min(most, math.ceil(plain * family.ascii + (tokens - plain) * family.other)) if text else 0

    @cached_property
    def _tokens_of(self) -> _Remembered:
        return _Remembered(Vocabulary(self._path))


def family_of(model: str) -> Family:
    """The first of ``FAMILIES`` that ``model`` belongs to; the last takes all."""
    name = model.casefold()
    return next(family for family in FAMILIES if family.names.search(name))


def _digits_together(text: str, size: int) -> int:
    """How many tokens fewer the numbers of ``text`` are when up to ``size`` digits are one."""
    return sum(len(digits) - 1 for digits in re.findall(f"[0-9]{{1,{size}}}", text)) if size > 1 else 0


class _Remembered(dict[str, int]):
    """Piece -> its number of tokens; what is looked up is remembered, as a few thousand pieces make most text."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        super().__init__()
        self._vocabulary = vocabulary

    def __missing__(self, piece: str) -> int:
        tokens = self._vocabulary.count(_encode(piece))
        if len(piece) <= REMEMBERED_CHARS:
            if len(self) >= REMEMBERED_PIECES:
                self.clear()
            self[piece] = tokens
        return tokens


def _encode(text: str) -> bytes:
    # A lone surrogate is sent as some replacement of one to three bytes: never below its count.
    return text.encode("utf-8", "surrogatepass")
