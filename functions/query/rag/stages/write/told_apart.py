"""What a model writes, held back until it is known not to be a refusal."""

from __future__ import annotations

from rag.stages.score.contract import may_decline
from rag.values.chat import OnText


def told_apart(on_text: OnText, decline: str) -> OnText:
    """``on_text`` without the beginning of an answer as long as that may be ``decline``, and without all of a refusal.

    What is held back comes in one piece once it is told apart. A refusal begins with the decline's first sentence, as
    the prompt demands; nobody should read "I don't have specific" and see it change.
    """
    held, told = "", False

    def hold(text: str) -> None:
        nonlocal held, told
        if told:
            on_text(text)
            return
        held += text
        told = not may_decline(held, decline)
        on_text(held if told else "")

    return hold
