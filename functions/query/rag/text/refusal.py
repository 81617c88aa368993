"""Does an answer say that it has no answer, and nothing beyond that?

Models reword the sentence that the prompt gives them, lead into it, cite beside it, give a reason and refer the user
elsewhere. So an answer is read clause by clause: it is a refusal when at least one clause refuses and the others lead
in, say what the sources are about, or are courtesy. A clause that says anything else makes it an answer, however small
a part of the question that answers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from rag.text.clauses import Clause, split_clauses
from rag.text.refusal_patterns import CONCEDES, COURTEOUS, LABELS, OPENS, REFUSES, REFUSES_TOO, SOURCES
from rag.text.refusal_words import classify

MAX_CLAUSE_CHARS = 600
"""What is read of a clause: a refusal says so early."""

type _Kind = Literal["refusal", "sources", "courtesy", "something"]


def is_refusal(answer: str) -> bool:
    """True when ``answer`` says that it does not know or that the sources do not say, and nothing else.

    Citations beside a refusal do not make it an answer; a statement beside it does, cited or not.
    """
    found: set[_Kind] = set()
    for clause in split_clauses(answer):
        for tags in _parts(clause):
            kind = _kind(tags, clause, of_sources=bool(found & {"refusal", "sources"}))
            if kind == "something" and not (clause.listed and not clause.cited and "refusal" in found):
                return False
            found.add(kind)
    return "refusal" in found


def has_words(answer: str) -> bool:
    """Whether ``answer`` holds anything beside citations and punctuation."""
    return any(character.isalnum() for clause in split_clauses(answer) for character in clause.text)


def _parts(clause: Clause) -> Iterator[str]:
    """The word classes of ``clause`` without what only leads in; of "while X, Y" first X, then Y."""
    if not clause.text or clause.text in LABELS:
        return
    tags = f"{classify(clause.text[:MAX_CLAUSE_CHARS])} "
    while True:
        while opener := OPENS.match(tags):
            tags = tags[opener.end() :]
        conceded = CONCEDES.match(tags)
        if not conceded:
            break
        yield conceded[1].strip()
        tags = tags[conceded.end() :]
    if tags:
        yield tags.rstrip()


def _kind(tags: str, clause: Clause, *, of_sources: bool) -> _Kind:
    if not clause.asks and (REFUSES.match(tags) or (of_sources and REFUSES_TOO.match(tags))):
        return "refusal"
    if clause.cited:
        return "something"
    if COURTEOUS.match(tags):
        return "courtesy"
    return "sources" if SOURCES.match(tags) and not clause.asks else "something"
