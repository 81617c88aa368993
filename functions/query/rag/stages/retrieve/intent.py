"""What a question leans on: its meaning, or its exact words."""

from __future__ import annotations

import re

from rag.text.stems import COMMON_WORDS

KEYWORDS_MAX_WORDS = 4
KEYWORDS_EXACTNESS = 0.5

_WORD = re.compile(r"\w+(?:['’\-./:]\w+)*")
QUOTED = re.compile(r'"([^"]+)"|“([^“”]+)”|«([^«»]+)»|`([^`]+)`')
_CAMEL_CASE = re.compile(r"[a-z][A-Z]")


def intent_weight(text: str, *, base: float) -> float:
    """The dense side's share (0..1) of the fused score for the question ``text``; BM25 has the rest.

    A question in plain words has ``base``, one of nothing but exact words (``"ERR-4711"``) has ``1 - base``, and
    between the two it falls with ``exactness``. A ``base`` of at most .5 favours exact words already and stays.
    """
    return base - exactness(text) * max(0.0, 2 * base - 1)


def exactness(text: str) -> float:
    """How much the question hangs on exact words, 0..1.

    The share of its words that are quoted, or hold a digit (codes, numbers, dates), an underscore or camel case
    (identifiers). The words around a code dilute it: "What is the treatment for COVID-19?" asks for a treatment.
    Up to four keywords without any grammar count at least .5.
    """
    words = _WORD.findall(text)
    if not words:
        return 0.0
    quoted = [word for groups in QUOTED.findall(text) for word in _WORD.findall("".join(groups))]
    exact = len(quoted) + sum(map(is_exact, _WORD.findall(QUOTED.sub(" ", text))))
    share = min(1.0, exact / len(words))
    if len(words) <= KEYWORDS_MAX_WORDS and not any(word.lower() in COMMON_WORDS for word in words):
        return max(share, KEYWORDS_EXACTNESS)
    return share


def is_exact(word: str) -> bool:
    """Whether ``word`` is a code, a number or an identifier: it holds a digit, an underscore or camel case."""
    return any(char.isdigit() for char in word) or "_" in word or _CAMEL_CASE.search(word) is not None
