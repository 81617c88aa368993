"""Words in any script, and the pieces that replace words in scripts without blanks.

In these a run of letters becomes all its overlapping pieces, as in Lucene's CJKBigramFilter: of Chinese, Japanese and
Korean (which glues particles to its words) of two letters, of Thai, Lao, Burmese and Khmer of three, as each of their
letters says less. That takes no list of words. nDCG@10 of BM25 alone with the runs whole, by two and by three letters:
XQuAD Chinese .110, .961, .880 and Thai .851, .942, .967; JSQuAD .260, .967; KorQuAD .885, .973 (300 paragraphs each).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

MARKS = (
    "\u0300-\u036f\u064b-\u065f\u0900-\u0963\u0966-\u0e3e\u0e40-\u0e4e\u0e50-\u0e59\u0e80-\u0eff"
    "\u1000-\u1049\u1050-\u109f\u1780-\u17d3"
)
"""For the inside of a regular expression's brackets, beside ``\\w``: vowels and other marks, which ``re`` does not
count as letters. Without these nDCG@10 of Hindi is .755, with them .946."""

_PAIRS = (
    "\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7a3\uf900-\ufaff\U00020000-\U000323af"
)
_TRIPLES = "\u0e01-\u0e3a\u0e40-\u0e4e\u0e80-\u0ece\u0edc-\u0edf\u1000-\u103f\u1050-\u108f\u1780-\u17d3"
UNSPACED = _PAIRS + _TRIPLES
"""The letters of such scripts, for the inside of brackets too."""
_RUN = re.compile(f"([{_PAIRS}]+)|([{_TRIPLES}]+)|[^{UNSPACED}]+")

_BEYOND_LATIN = "\u0250"


def parts(word: str) -> Iterator[tuple[int, str]]:
    """Yield the search pieces of ``word`` with their offsets: the word itself in scripts with blanks."""
    if word.isascii():
        yield 0, word
        return
    for run in _RUN.finditer(word):
        size = 2 if run[1] else 3 if run[2] else len(run[0])
        for at in range(max(1, len(run[0]) - size + 1)):  # a shorter run is one piece
            yield run.start() + at, run[0][at : at + size]


def is_unspaced(text: str) -> bool:
    """Whether ``text`` has a letter of a script that is searched by pieces."""
    return not text.isascii() and any(run[1] or run[2] for run in _RUN.finditer(text))


def latin_share(texts: Iterable[str]) -> float:
    """Return the share (0..1) of Latin letters among the letters of ``texts``; 1 without letters."""
    letters = [char for text in texts for char in text if char.isalpha()]
    latin = sum(char < _BEYOND_LATIN or "\u1e00" <= char <= "\u1eff" for char in letters)
    return latin / len(letters) if letters else 1.0
