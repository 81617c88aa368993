"""Word stems, the same as the BM25 side's: "exports" meets "exporting", "CHR-1042" is "chr" and "1042"."""

from __future__ import annotations

import re
import threading
from functools import cache
from unicodedata import normalize

import Stemmer

from rag.text.intent import GRAMMAR

# Those of knowledge.lexical, which this package does not import.
_WORD = re.compile(r"\b\w\w+\b|\b\d\b|\b[a-z](?:\+{1,2}|#)(?![\w+#])|(?<!\w['’.])\b[a-zα-ω]\b(?!['’.]\w)")
_LOCK = threading.Lock()  # a stemmer object is not thread-safe


def stems(text: str) -> list[str]:
    """The stems of ``text`` in their order, stop words too: words, single digits and single letters."""
    words = _WORD.findall(normalize("NFKC", text).lower())
    with _LOCK:
        found: list[str] = _stemmer().stemWords(words)
    return found


def content_stems(text: str) -> set[str]:
    """The different stems of ``text`` without those of words that only build sentences."""
    return set(stems(text)) - _grammar()


@cache
def _stemmer() -> Stemmer.Stemmer:
    return Stemmer.Stemmer("english", 0)  # its cache would keep every word that anybody ever asked with


@cache
def _grammar() -> frozenset[str]:
    return frozenset(stems(" ".join(GRAMMAR)))
