"""Short calls to a chat model that decide: a question's meaning, the best passage, a claim's support."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from rag.errors import LlmFailed
from rag.ledger import Ledger
from rag.ports.models import ChatModel
from rag.text.fence import Fence, NewMark, fence_for, two_words
from rag.text.fill import fill
from rag.text.surrogates import replace_surrogates
from rag.values.chat import Deadline, Message


@cache
def _secret_key() -> bytes:
    """Return 256 random bits, made with the first prompt, so that no snapshot of a process holds them."""
    return secrets.token_bytes(32)


def new_mark(text: str, attempt: int) -> str:
    """Return two words for the fence of ``text`` that the authors of documents, questions and turns cannot guess.

    The same text has the same words, so that a model's server finds the beginning of the prompt in its cache.
    """
    return two_words(_secret_key(), text, attempt)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decider:
    """Asks ``chat`` by ``template``, within ``budget_s`` seconds of ``clock`` or the request's nearer deadline.

    Text from documents and users stands in the prompt between lines of a ``{fence}`` of ``new_mark``, which it cannot
    hold.
    """

    chat: ChatModel
    template: str
    budget_s: float
    clock: Callable[[], float] = time.monotonic
    new_mark: NewMark = new_mark

    def fence(self, *texts: str) -> Fence:
        """Return the fence for ``texts``."""
        return fence_for(self.new_mark, *texts, self.template)

    def complete(self, ledger: Ledger, fence: Fence, **values: str) -> str:
        """Return the model's completion of the template with ``values``; ``ledger`` counts the call.

        Raises:
            LlmError: the model cannot be reached in time, or its completion is unreadable or incomplete.
        """
        messages = (Message("user", replace_surrogates(fill(self.template, {**values, "fence": fence.mark}))),)
        limit = Deadline.after(min(self.budget_s, ledger.deadline.remaining()), self.clock)
        completion = ledger.complete(lambda: self.chat.complete(messages, deadline=limit))
        if completion.partial:
            raise LlmFailed("the completion is not whole")
        return fence.remove_from(completion.text)
