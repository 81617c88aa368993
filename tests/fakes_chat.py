"""The LLM adapter with nothing around it: its settings in a test, and a clock that only its pauses move."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from fakes_llm import LlmServer, Recorded, Step

from rag.adapters.llm.openai_chat import OpenAiChat
from rag.adapters.model_config import ChatConfig
from rag.values.chat import Completion, Deadline, Message, OnText

type Connect = Callable[..., OpenAiChat]
"""An adapter for a server or its address, with changes to ``ChatConfig``; it is closed with its block."""

SEED: dict[str, Any] = {
    "api_key": lambda: "sk-test-0123456789", "model": "first", "temperature": 0.3, "max_tokens": 500,
    "connect_timeout_s": 60.0, "read_timeout_s": 60.0, "retries": 3, "base_s": 0.001, "cap_s": 0.002,
}  # fmt: skip


class FakeTime:
    """A monotonic clock that only sleeping moves, and the sleeps that were asked for."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        """Let ``seconds`` pass."""
        self.slept.append(float(seconds))
        self.now += seconds


def config(url: str, **changes: Any) -> ChatConfig:
    """The adapter's settings for the server at ``url``."""
    return ChatConfig(base_url=url, **{**SEED, **changes})


@contextmanager
def connecting(usual: dict[str, Any], **beside: Any) -> Iterator[Connect]:
    """Makes adapters with the settings ``usual`` and what ``beside`` says to each, and closes them after the block."""
    made: list[OpenAiChat] = []

    def make(server: LlmServer | str, **changes: Any) -> OpenAiChat:
        url = server if isinstance(server, str) else server.url
        made.append(OpenAiChat(config(url, **{**usual, **changes})))
        vars(made[-1].server).update(beside)
        return made[-1]

    yield make
    for model in made:
        model.renew()


class Chat:
    """One question to a server that plays ``steps``, and what came of it: ``heard`` is what was streamed."""

    model: OpenAiChat
    requests: Sequence[Recorded]

    def __init__(
        self, connect: Connect, clock: Callable[[], float], messages: Sequence[Message], left_s: float = 60.0
    ) -> None:
        self._connect, self._clock, self._messages, self._left_s = connect, clock, messages, left_s
        self.heard: list[str] = []

    @property
    def models(self) -> list[str]:
        """Those that were asked."""
        return [request.json["model"] for request in self.requests]

    def ask(
        self, *steps: Step, left: float | Deadline | None = None, on_text: OnText | None = None, **changes: Any
    ) -> Completion:
        """The completion that a model of these settings gives."""
        left_s = self._left_s if left is None else left
        deadline = left_s if isinstance(left_s, Deadline) else Deadline.after(left_s, self._clock)
        with LlmServer(steps) as server:
            self.model, self.requests = self._connect(server, **changes), server.requests
            return self.model.complete(self._messages, deadline=deadline, on_text=on_text)

    def stream(self, *steps: Step, on_text: OnText | None = None, **changes: Any) -> Completion:
        """The completion of a question that is streamed."""
        return self.ask(*steps, on_text=on_text or self.heard.append, **changes)

    def fail[E: Exception](self, *steps: Step, kind: type[E], **changes: Any) -> E:
        """The error of this kind in place of a completion."""
        with pytest.raises(kind) as caught:
            self.ask(*steps, **changes)
        return caught.value
