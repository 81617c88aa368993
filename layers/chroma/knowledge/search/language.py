"""Which language documents are in: the one whose stop words (bm25s' lists) are most of their words.

Of 29 languages of the ChatterBot corpus, of SQuAD, ClapNQ, COVID FAQ and six documentation sites, none is given a wrong
name; 17 have none: there is no list, or two lists fit.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

ENGLISH = "English"
LEAST = 0.17
"""So large a share of all words are stop words of the language, at least; Ukrainian has .15 of Russian."""
AHEAD = 2
"""So many times the share of the next language."""

_NAMES = "Danish Dutch French German Italian Norwegian Portuguese Russian Spanish Swedish Turkish"
_WORD = re.compile(r"[^\W\d_]+")


def language_of(texts: Iterable[str]) -> str:
    """The English name of the language that ``texts`` are in, ``""`` where that is not certain."""
    counts = Counter(word for text in texts for word in _WORD.findall(text.lower()))
    held = {name: sum(counts[word] for word in words) for name, words in _lists().items()}
    first, second = sorted(held, key=lambda name: -held[name])[:2]
    certain = held[first] >= max(LEAST * counts.total(), AHEAD * held[second], 1)
    return first if certain else ""


def stop_words_of(language: str) -> Sequence[str]:
    """The stop words of texts in ``language``, sorted; where that is ``""`` those of English."""
    return sorted(_lists()[language or ENGLISH])


def _lists() -> dict[str, frozenset[str]]:
    from bm25s import stopwords  # late: `import bm25s` takes 150 ms, and only an ingest needs it

    lists = {name: frozenset(getattr(stopwords, f"STOPWORDS_{name.upper()}")) for name in _NAMES.split()}
    # "i" is rare in documents and in every other question: it would decide.
    return lists | {ENGLISH: frozenset((*stopwords.STOPWORDS_EN, "i"))}
