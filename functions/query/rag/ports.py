"""What the pipeline needs from the world, as Protocols; adapters and fakes implement them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from rag.types import Completion, Deadline, Hit, Message, SearchQuery


class Retriever(Protocol):
    """Finds chunks."""

    def __call__(self, query: SearchQuery) -> tuple[Hit, ...]:
        """The best hits for ``query``, best first, scores on the profile's scale.

        Raises:
            IndexUnavailable: there is no usable index.
            SearchFailed: the query on the open index failed.
        """
        ...


class ChatModel(Protocol):
    """A chat model behind an OpenAI-compatible API."""

    @property
    def model(self) -> str:
        """The model in use now."""
        ...

    @property
    def last_error(self) -> str | None:
        """What went wrong last, without vendor text; None after a success."""
        ...

    def complete(self, messages: Sequence[Message], *, deadline: Deadline) -> Completion:
        """Complete ``messages``, retrying within ``deadline``.

        Raises:
            LlmUnavailable: it cannot be reached, or not in time.
            LlmFailed: it refused the request or its completion cannot be read.
        """
        ...


class TokenCounter(Protocol):
    """Counts the tokens of a text as the model in use does."""

    def count(self, text: str) -> int:
        """Tokens in ``text``: never fewer than the model's own count, at most a quarter more."""
        ...
