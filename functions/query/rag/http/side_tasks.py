"""What Open WebUI asks of a model beside what its user asks: a title, tags, follow-up questions.

Its requests say so in two ways. A connection sends the name of the task in a header, where whoever set it up asked for
that (its value ``{{TASK}}``). And the prompt has the form that its templates fix: one message of the user that begins
with "### Task:" and holds a <chat_history>. Its template for a question with documents begins alike, and holds none.
"""

from __future__ import annotations

from rag.http.openai_requests import Asked

HEADER = "x-openwebui-task"
NOTHING = "{}"
"""An object without a title, tags or questions: the program then takes the user's words for a title."""
_BEGINS, _HOLDS = "### Task:", "<chat_history>"


def is_side_task(asked: Asked, header: str) -> bool:
    """Whether this is no question to the documents; ``header`` is ``HEADER``'s value, ``""`` where there is none."""
    if asked.stream or asked.question.turns:
        return False
    text = asked.question.text
    named = header.strip() not in {"", "{{TASK}}"}
    return named or (text.startswith(_BEGINS) and _HOLDS in text)
