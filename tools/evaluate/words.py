"""What a reply says, compared with what a right answer says."""

from __future__ import annotations

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Iterable

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_MARKDOWN = str.maketrans("", "", "*`")
_QUOTES = str.maketrans("\u2018\u2019\u201c\u201d\u2010\u2011\u2012\u2013\u2212", "''\"\"-----")
_CELL = re.compile(r"\s*\|\s*")


def without_marks(text: str, marks: Iterable[str]) -> str:
    """``text`` without its citation ``marks``; a link stays, because its words are part of a sentence."""
    for mark in marks:
        if "](" not in mark:
            text = text.replace(mark, "")
    return text


def contains(reply: str, gold: str) -> bool:
    """Whether ``reply`` says ``gold`` word for word: in any case, spacing, quotation marks and Markdown.

    It begins and ends where words and numbers do: "9 %" is not in "19 %" or "0.9 %". Scripts that write no blanks
    between words have no such borders.
    """
    said, wanted = _plain(reply), _plain(gold)
    if not wanted:
        return False
    place = said.find(wanted)
    while place >= 0:
        if _apart(said[:place][-2:], wanted[0]) and _apart(said[place + len(wanted) :][:2][::-1], wanted[-1]):
            return True
        place = said.find(wanted, place + 1)
    return False


def token_f1(reply: str, gold: str) -> float:
    """SQuAD's token F1 (0..1) of ``reply`` against ``gold``; Rajpurkar et al., 2016, their normalisation."""
    said, wanted = squad_tokens(reply), squad_tokens(gold)
    common = (Counter(said) & Counter(wanted)).total()
    return 2 * common / (len(said) + len(wanted)) if common else 0.0


def squad_tokens(text: str) -> list[str]:
    """The words of ``text`` in lower case, without ASCII punctuation and English articles, as SQuAD's script does."""
    return _ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split()


def _plain(text: str) -> str:
    text = unicodedata.normalize("NFKC", text).translate(_QUOTES).translate(_MARKDOWN)
    return " ".join(_CELL.sub(" ", text).casefold().split())


def _apart(beside: str, edge: str) -> bool:
    """Whether a word or number that has ``edge`` outermost ends there; ``beside`` are two characters, nearest last."""
    if not _has_border(edge):
        return True
    goes_on = beside[-1:] in {".", ","} and beside[:-1].isdigit()
    return not goes_on and not (beside and _has_border(beside[-1]))


def _has_border(character: str) -> bool:
    return unicodedata.category(character) in {"Ll", "Lu", "Nd"}
