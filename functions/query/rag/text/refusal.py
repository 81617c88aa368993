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
from rag.text.refusal_patterns import (
    CONCEDES,
    COURTEOUS,
    FOOTER,
    LABELS,
    NO_SOURCES,
    OPENS,
    REFUSES,
    REFUSES_TOO,
    REFUSES_UNCITED,
    SOURCES,
    TOPICS,
    UNDECIDED,
)
from rag.text.refusal_words import classify

MAX_CLAUSE_CHARS = 600
"""What is read of a clause: a refusal says so early."""

type _Kind = Literal["refusal", "sources", "courtesy", "something"]


def is_refusal(answer: str) -> bool:
    """True when ``answer`` says that it does not know or that the sources do not say, and nothing else.

    Citations beside a refusal do not make it an answer; a statement beside it does, cited or not.
    """
    found: set[_Kind] = set()
    footer = False
    for clause in split_clauses(answer):
        if footer and NO_SOURCES.fullmatch(clause.text):
            continue
        footer = bool(FOOTER.fullmatch(clause.text)) or (footer and not clause.text)
        if footer:
            continue
        opened = False
        for tags, opener in _parts(clause):
            opened = opened or " S " in opener
            kind = _kind(tags, clause, opened=opened, of_sources=bool(found & {"refusal", "sources"}))
            if kind == "something" and not (clause.listed and not clause.cited and "refusal" in found):
                return False
            found.add(kind)
    return "refusal" in found


def has_words(answer: str) -> bool:
    """Whether ``answer`` holds anything beside citations and punctuation."""
    return any(character.isalnum() for clause in split_clauses(answer) for character in clause.text)


def _parts(clause: Clause) -> Iterator[tuple[str, str]]:
    """The word classes of ``clause`` without what only leads in, and that; of "while X, Y" first X, then Y."""
    if not clause.text or clause.text in LABELS:
        return
    tags = f"{classify(clause.text[:MAX_CLAUSE_CHARS])} "
    # All other words are classes of their own, or in lower case.
    tags = tags.replace("Z", "Q") if clause.cited else tags.replace("Z", "S").replace("Q", "P")
    whole = tags
    while True:
        while opener := OPENS.match(tags):
            tags = tags[opener.end() :]
        conceded = CONCEDES.match(tags)
        if not conceded:
            break
        yield conceded[1].strip(), whole[: -len(tags)]
        tags = tags[conceded.end() :]
    if tags:
        yield tags.rstrip(), whole[: -len(tags)]


def _kind(tags: str, clause: Clause, *, opened: bool, of_sources: bool) -> _Kind:
    """``opened`` says that the clause begins with "based on the documentation" or the like."""
    if not clause.asks and (
        REFUSES.match(tags)
        or (of_sources and REFUSES_TOO.match(tags))
        or (not clause.cited and REFUSES_UNCITED.match(tags))
        or ((opened or not clause.cited) and UNDECIDED.match(tags))
    ):
        return "refusal"
    if clause.cited:
        return "sources" if SOURCES.match(tags) and TOPICS.search(clause.text) else "something"
    if COURTEOUS.match(tags):
        return "courtesy"
    return "sources" if SOURCES.match(tags) and not clause.asks else "something"
