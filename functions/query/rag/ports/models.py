"""Ports of models: chat models, remote embedders and writers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, Required, TypedDict, Unpack

from knowledge.model.values import Embedder
from rag.values.answer import Context
from rag.values.chat import Completion, Deadline, Message, OnText
from rag.values.question import Question, Turn


class Remote(Protocol):
    """A client of a server."""

    def warm(self) -> None:
        """Import the client's modules and make the client, without reading a key and without a call.

        Raises:
            LlmUnavailable: the address cannot be used.
        """
        ...

    def renew(self) -> None:
        """Close all connections and forget the key; the client stays. Not while calls are under way."""
        ...


class ChatModel(Remote, Protocol):
    """A chat model."""

    @property
    def model(self) -> str:
        """The model in use now."""
        ...

    @property
    def last_error(self) -> str | None:
        """The last error without the vendor's words, None after a success."""
        ...

    def complete(self, messages: Sequence[Message], *, deadline: Deadline, on_text: OnText | None = None) -> Completion:
        """Complete ``messages``; retry within ``deadline`` until ``on_text`` has received text.

        A completion that ends early after that is returned as far as it arrived, with the finish reason "length" (the
        deadline has passed), "interrupted" (the model broke off) or "stopped" (the reader has gone).

        Raises:
            LlmUnavailable: no completion before the deadline.
        """
        ...


class RemoteEmbedder(Remote, Embedder, Protocol):
    """An embedding model behind an API."""

    def sized(self, dimensions: int) -> Embedder:
        """Return this embedder for an index with vectors of length ``dimensions``, without a call."""
        ...


class Writing(TypedDict, total=False):
    """Options of a writer: the deadline, the earlier turns and the receiver of streamed text."""

    deadline: Required[Deadline]
    history: Sequence[Turn]
    on_text: OnText | None


class Writer(Protocol):
    """Writes the answer to a question from a context."""

    def __call__(self, question: Question, context: Context, **how: Unpack[Writing]) -> Completion:
        """Return the completion; its text is ``""`` if the context has no answer.

        Text that is there at once does not go to ``on_text``.

        Raises:
            LlmUnavailable: no completion before the deadline.
        """
        ...
