"""The models: who writes and decides, and who embeds behind an API."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, Required, TypedDict, Unpack

from knowledge.model.values import Embedder
from rag.values.answer import Context
from rag.values.chat import Completion, Deadline, Message, OnText
from rag.values.question import Question, Turn


class Remote(Protocol):
    """A client of a server, made before or at the first call."""

    def warm(self) -> None:
        """Import what a call needs and make the client, without reading a key or calling anybody.

        Raises:
            LlmUnavailable: its address cannot be used.
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
        """What went wrong last, without vendor text; None after a success."""
        ...

    def complete(self, messages: Sequence[Message], *, deadline: Deadline, on_text: OnText | None = None) -> Completion:
        """Complete ``messages``, retrying within ``deadline``, but not once ``on_text`` has got something.

        What ends early after that is returned as far as it came, with the finish reason "length" (no time is left),
        "interrupted" (the model broke off) or "stopped" (nobody listens any more).

        Raises:
            LlmUnavailable: it cannot be reached, or not in time, or gives no completion.
        """
        ...


class RemoteEmbedder(Remote, Embedder, Protocol):
    """An embedding model behind an API."""

    def sized(self, dimensions: int) -> Embedder:
        """This embedder, for an index whose vectors have ``dimensions`` numbers; calls nobody."""
        ...


class Writing(TypedDict, total=False):
    """How a writer is asked: until when, after which turns, and who hears a model's text as it comes."""

    deadline: Required[Deadline]
    history: Sequence[Turn]
    on_text: OnText | None


class Writer(Protocol):
    """Writes the answer to a question from a context."""

    def __call__(self, question: Question, context: Context, **how: Unpack[Writing]) -> Completion:
        """The completion; its text is ``""`` where the context holds nothing to answer with.

        What needs no waiting does not go to ``on_text``.

        Raises:
            LlmUnavailable: the model cannot be reached, or not in time, or gives no completion.
        """
        ...
