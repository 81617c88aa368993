"""Citations that a sentence needs as words: "[id_3] and [id_4] do not mention it", "it is not in [id_3]"."""

from __future__ import annotations

import re

from rag.text.refusal_words import PAPER_WORDS, SOURCE_WORDS, SPEAKS

CITED = "\ufdd0"
"""Stands for a citation in what ``name_sources`` is given and returns."""
NAMED = "\ufdd1"
"""Follows a citation that names a source by its id, or by title and section: it may be a word of the sentence."""
NAME = "the cited snippets"

_RUN = re.compile(rf"{CITED}{NAMED}(?:(?:[ ]?(?:[,/&+\u2013-]|\b(?:and|or|nor)\b))*[ ]?{CITED}{NAMED})*")
_VERB = re.compile(r",? ([a-z]+)")
_NAMES = re.compile(
    r"\W{0,3}(?:see |sources?: ?)?(?:ids?[\s_:#-]{0,2}\d|\d+\W{0,3}$)|\W[^>]{1,200}[^>\s]\s?>\s?\w", re.IGNORECASE
)
_BEFORE_CHARS = 80
_ENDS = (".", "!", "?", ";", ":", ",", "-", "\u2013", "\u2014")
_GIVEN = frozenset(("the", "both", "all", "these", "those", "provided", "given", "retrieved", "available"))
_PREPOSITIONS = frozenset(("in", "within", "by", "from", "of"))
_LEADING = frozenset(
    ("and", "but", "or", "so", "as", "that", "while", "although", "though", "since", "because", "whereas")
) | {"however", "neither", "unfortunately"}


def mark_names(mark: str) -> str:
    """What stands for the citation ``mark`` in a line: ``CITED``, and ``NAMED`` where it names a source.

    "[Export]" does not: it is likelier a button that the answer is about.
    """
    return CITED + NAMED if _NAMES.match(mark) else CITED


def name_sources(line: str) -> str:
    """``line`` with words for the citations that are its subjects, or that a preposition needs; single spaces.

    A noun that such a citation belongs to ("snippets [id_3] and [id_4]") goes with it. The citations stay beside
    as ``CITED``.
    """
    if NAMED not in line:
        return line
    parts: list[str] = []
    at = 0
    for run in _RUN.finditer(line):
        before = line[max(at, run.start() - _BEFORE_CHARS) : run.start()]
        kept = _before_the_name(before, at_start=run.start() == len(before), verb=_VERB.match(line, run.end()))
        parts += [line[at : run.start() - len(before)], before if kept is None else f" {kept} {NAME}", CITED]
        at = run.end()
    return " ".join("".join((*parts, line[at:])).replace(NAMED, "").split())


def _before_the_name(before: str, *, at_start: bool, verb: re.Match[str] | None) -> str | None:
    """What of ``before`` stays before the name of a source; None where the citation is no word of its sentence."""
    words = before.split()
    noun = words[-1].lower() if words else ""
    if noun in SOURCE_WORDS or (noun in PAPER_WORDS and (not words[:-1] or words[-2].lower() not in _GIVEN)):
        words.pop()
    while words and words[-1].lower() in _GIVEN:
        words.pop()
    last = words[-1].lower() if words else ""
    if last in _PREPOSITIONS:
        return " ".join(words)
    says = verb is not None and (verb[1] in SPEAKS or verb[1].removesuffix("n") in SPEAKS)
    begins = last in _LEADING or last.endswith(_ENDS) if words else at_start
    return " ".join(words) if says and begins else None
