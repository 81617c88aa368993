"""Questions of exact words (a code, a name, a quotation, a few keywords), and whether a text holds these words."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cache
from unicodedata import normalize

from rag.stages.retrieve.intent import KEYWORDS_MAX_WORDS, QUOTED, is_exact
from rag.text.stems import COMMON_WORDS, stems

# "Ctrl+Alt+T" and "billing@example.com" are one word; so are "CHR 1042" and "C++".
_WORD = re.compile(r"\b[A-Z]{2,} \d+(?:[.,]\d+)*\b|\b[A-Za-z](?:\+{1,2}|#)(?![\w+#])|\w+(?:['’\-./:+@]\w+)*")
_CODE = re.compile(r"[A-Z]{2,} \d\S*|[A-Za-z][A-Za-z0-9]*(?:[-_./][A-Za-z0-9]+)*")
_PARTS = re.compile(r"\w+")
# What may join the parts of one word, or the words of a phrase; not what ends a sentence.
_JOINT = r"(?:\s?[^\w\s.!?]{1,3}\s?|\s|\.)?"
_CLITIC = re.compile(r"(?:n['’]t|['’]\w{1,2})$")
_JOINTS = frozenset("+@./:")

MAX_PARTS = 24
"""A longer question is not read: a quotation of a whole paragraph is no word."""

_ASKING_WORDS = """
available availability ca define definition exist exists explain find happen happens hello help hi know list mean
meaning means need needed no ok please say show support supported supports tell thanks use used uses using work
working works wo yes
"""
_ASKING = COMMON_WORDS | frozenset(_ASKING_WORDS.split())
"""They ask without saying about what."""
_GENERIC_WORDS = """
api appear article case cause chapter code detail display error fail failure figure fix form get give got handle id
identifier info information invalid issue item key label line message name new no number occur option page paragraph
problem reason receive ref reference resolve result return row screen section see shown solve standard status step table
text throw ticket troubleshoot type unknown value version warning
"""
"""Beside a code they say what kind of thing it is, or what happens to it; alone they ask about nothing else."""
_NUMBER = re.compile(r"[IVX]+|[\W\d]+")
_LINKS = frozenset(("and", "at", "by", "for", "from", "in", "into", "of", "on", "or", "the", "to", "with"))
"""Between keywords they do not make a sentence: "export to Excel"."""


@dataclass(frozen=True, slots=True)
class ExactWords:
    """The words that a question hangs on; the text that answers it holds every one.

    ``phrases`` must stand in it as they are (but for case and for what joins their parts: "CHR 1042" is "CHR-1042"),
    ``words`` by their stems. ``codes`` are those of the phrases that mix letters and digits: nothing paraphrases
    them. ``plain`` says that no word is a code, quoted, an acronym or an identifier.
    """

    phrases: tuple[str, ...]
    words: frozenset[str]
    codes: frozenset[str]
    plain: bool

    @property
    def single(self) -> bool:
        """Whether it is one word."""
        return len(self.phrases) + len(self.words) == 1

    @property
    def codes_alone(self) -> bool:
        """Whether nothing of substance is asked beside the codes: "error ERR-4711", but not "weekly report W45"."""
        others = [phrase for phrase in self.phrases if phrase not in self.codes and not _NUMBER.fullmatch(phrase)]
        return bool(self.codes) and self.words.union(stems(" ".join(others))) <= _generic()

    def without(self, codes: Collection[str]) -> ExactWords:
        """What is left to hold when ``codes`` are incidental: plain, as it is weaker evidence without them."""
        left = tuple(phrase for phrase in self.phrases if phrase not in codes)
        return replace(self, phrases=left, codes=self.codes.difference(codes), plain=True)

    def held_by(self, text: str) -> bool:
        """Whether ``text`` holds all of them."""
        return all(holds(text, phrase) for phrase in self.phrases) and self.words <= set(stems(text))

    def missing_from(self, texts: Sequence[str]) -> tuple[str, ...]:
        """The phrases that none of ``texts`` holds."""
        return tuple(phrase for phrase in self.phrases if not any(holds(text, phrase) for text in texts))


@dataclass(frozen=True, slots=True)
class _Unit:
    text: str
    exact: bool
    name: bool


def exact_words(question: str) -> ExactWords | None:
    """The exact words of ``question``; None where it hangs on its meaning.

    Without the words of grammar and of asking it has at most four words, and half of them are exact (quoted, with a
    digit, an underscore, camel case, or in capitals), or the others are names; or it is nothing but keywords
    and the links between them.
    """
    text = normalize("NFKC", question)
    if len(_PARTS.findall(text)) > MAX_PARTS:
        return None
    if text.isupper() and len(_WORD.findall(text)) > 2:
        text = text.lower()  # capitals everywhere say nothing
    quoted = [phrase for groups in QUOTED.findall(text) if (phrase := "".join(groups)) and _PARTS.search(phrase)]
    rest = QUOTED.sub(" ", text)
    words = _WORD.findall(rest)
    units = [_Unit(phrase, exact=True, name=False) for phrase in quoted]
    units += [_unit(word, first=i == 0) for i, word in enumerate(words) if _CLITIC.sub("", word.lower()) not in _ASKING]
    exact = sum(unit.exact for unit in units)
    keywords = COMMON_WORDS.isdisjoint({word.lower() for word in words} - _LINKS)
    named = exact + sum(unit.name for unit in units) == len(units)
    if not 0 < len(units) <= KEYWORDS_MAX_WORDS or not (keywords or named or 2 * exact >= len(units)):
        return None
    phrases = tuple(unit.text for unit in units if unit.exact or len(_PARTS.findall(unit.text)) > 1)
    return ExactWords(
        phrases=phrases,
        words=frozenset(stem for unit in units if unit.text not in phrases for stem in stems(unit.text)),
        codes=frozenset(phrase for phrase in phrases if _CODE.fullmatch(phrase) and any(map(str.isdigit, phrase))),
        plain=not exact,
    )


def holds(text: str, phrase: str) -> bool:
    """Whether ``phrase`` stands in ``text`` as whole words, whatever joins them, in any case."""
    joined = _JOINT.join(map(re.escape, _PARTS.findall(phrase)))
    return re.search(rf"(?<!\w){joined}(?!\w)", normalize("NFKC", text), re.IGNORECASE) is not None


def _unit(word: str, *, first: bool) -> _Unit:
    acronym = len(word) > 1 and word.isupper() and word.isalpha()
    exact = acronym or is_exact(word) or not _JOINTS.isdisjoint(word.rstrip("+"))
    return _Unit(word, exact=exact, name=not exact and not first and word[0].isupper())


@cache
def _generic() -> frozenset[str]:
    return frozenset(stems(_GENERIC_WORDS))
