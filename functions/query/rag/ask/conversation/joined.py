"""A question together with the turns before it, as further views of what is searched for.

Nothing decides whether a question leans on the conversation: it is searched for alone, with the questions before it and
with the answer before it, and the scores are blended. docs/retrieval.md has the figures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from knowledge.model.values import View
from rag.values.question import SearchQuery, Turn

QUESTIONS_WEIGHT = 0.55
ANSWER_WEIGHT = 0.27
"""Beside the question's own 1: of the blend .55 is the question alone, .3 and .15 these. Topic shifts lose nothing."""
MAX_CHARS = 800
"""Longest view; the embedding model reads about 1,000 characters of a text."""
ANSWER_CHARS = 200
"""So much of an answer, its beginning, says what it is about."""


def with_turns(query: SearchQuery, history: Sequence[Turn], *, answer: str) -> SearchQuery:
    """``query`` with a view of it and the questions of ``history``, and one of it and the beginning of ``answer``.

    ``history`` is oldest first; the newest question stands next to the one asked. ``answer`` is what was answered last,
    ``""`` for nothing of use. What ``MAX_CHARS`` has no room for is left out, the oldest questions first.
    """
    joined = query.text
    for turn in reversed(history):
        longer = f"{joined} {turn.question}"
        if len(longer) > MAX_CHARS:
            break
        joined = longer
    answered = f"{query.text} {answer[:ANSWER_CHARS]}".strip()
    candidates = (View(joined, QUESTIONS_WEIGHT, optional=True), View(answered, ANSWER_WEIGHT, optional=True))
    views = tuple(view for view in candidates if len(query.text) < len(view.text) <= MAX_CHARS)
    if not views:
        return query
    trail = (*query.trail, "searched for alone and together with the turns before")
    return replace(query, views=(*query.views, *views), trail=trail)
