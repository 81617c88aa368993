"""What a model writes, held back until it is known not to be a refusal."""

from __future__ import annotations

from rag.stages.score.contract import begins_with_decline, may_decline
from rag.values.chat import OnText


def told_apart(on_text: OnText, decline: str) -> OnText:
    """``on_text`` without the beginning of an answer as long as that may be ``decline``, and without all of a refusal.

    What is held back comes in one piece once it is told apart. A refusal begins with the decline's first sentence, as
    the prompt demands; nobody should read "I don't have specific" and see it change.
    """
    held, told, refuses = "", False, False

    def hold(text: str) -> None:
        nonlocal held, told, refuses
        if told or refuses:
            on_text(text if told else "")
            return
        held += text
        if any(map(str.isalnum, text)):  # what else is added tells nothing apart, and would be read again each time
            refuses = begins_with_decline(f"{held}x", decline)
            told = not may_decline(held, decline)
        on_text(held if told else "")

    return hold
