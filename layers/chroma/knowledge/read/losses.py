"""The comparison of a document's indexed words with those that a reader of its file sees."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from knowledge.read.invisible import INVISIBLE

WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_\u3040-\u30ff\u3400-\u9fff]{2,}")
"""A word of two letters or more; each character of Chinese and Japanese, which put no blanks between words."""

LEAST_KEPT, MOST_INDEXED = 0.8, 1.5
"""Shares of a file's words: with fewer, or with more in runs that stand several times, a document is reported."""
LEAST_WORDS = 50
"""In a shorter file a label or a footer is a fifth of the words."""
RUN = 12
"""Words in a run. Cells and columns that stand several times on purpose, beside each row, are mostly shorter."""
EXCERPT_CHARS = 80

_ADDRESS = re.compile(r"\]\([^()\s]*(?:\s+\"[^\"]*\")?\)")  # of a Markdown link
_BROKEN = re.compile(r"(?<=\w)[\ufffe\u00ad-][ \t]*\n\s*")  # a word over two lines
_HIDDEN = re.compile(r"left out as hidden: (\d+)")


class WordLoss(NamedTuple):
    """The words of a file and of its document, and the longest run that is left out or stands several times."""

    source: int
    indexed: int
    excerpt: str

    def describe(self) -> str:
        """Return the caveat."""
        what = "stands several times" if self.indexed > self.source else "left out"
        return f"has {self.source:,} words, of which {self.indexed:,} are indexed; {what}: {self.excerpt}"

    def as_json(self, path: str) -> dict[str, str | int]:
        """Return the fields of the report."""
        return {"path": path, "sourceWords": self.source, "indexedWords": self.indexed, "excerpt": self.excerpt}


def split_words(text: str) -> list[str]:
    """Return the words of ``text`` in order."""
    return WORD.findall(INVISIBLE.sub("", _BROKEN.sub("", text)))


def find_loss(plain: str | None, indexed: str, caveats: Iterable[str] = ()) -> WordLoss | None:
    """Compare the ``plain`` text of a file with what is ``indexed`` of it; None if they are about the same words.

    Words that ``caveats`` name as hidden are not missed.
    """
    written, shown = split_words(plain or ""), split_words(_ADDRESS.sub("] ", indexed.casefold()))
    source = [word.casefold() for word in written]
    if len(source) < LEAST_WORDS:
        return None
    hidden = sum(int(count) for caveat in caveats for count in _HIDDEN.findall(caveat))
    lost = (Counter(source) - Counter(shown)).total() - hidden
    if lost > (1 - LEAST_KEPT) * len(source):
        return WordLoss(len(source), len(source) - lost, _longest_gap(written, shown)[:EXCERPT_CHARS].strip())
    if len(shown) > MOST_INDEXED * len(source):
        usual, found = Counter(_runs(source, RUN)), Counter(_runs(shown, RUN))
        again = Counter({run: count - max(usual[run], 1) for run, count in found.items() if count > 1})
        if again.total() > (MOST_INDEXED - 1) * len(source):
            return WordLoss(len(source), len(shown), " ".join(again.most_common(1)[0][0])[:EXCERPT_CHARS].strip())
    return None


def _longest_gap(written: Sequence[str], shown: Sequence[str]) -> str:
    """Return the longest run of words that are in no three words that ``shown`` has too."""
    known = set(_runs(shown, 3))
    begin, longest = 0, range(0)
    for at in range(len(written)):
        if tuple(map(str.casefold, written[at : at + 3])) in known:
            begin = at + 3
        longest = max(longest, range(begin, at + 1), key=len)
    return " ".join(written[longest.start : longest.stop])


def _runs(words: Sequence[str], length: int) -> Iterable[tuple[str, ...]]:
    return zip(*(words[at:] for at in range(length)), strict=False)
