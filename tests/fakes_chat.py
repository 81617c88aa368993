"""The LLM adapter with nothing around it: its settings in a test, and a clock that only its pauses move."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from fakes_llm import LlmServer

from rag.adapters.llm.openai_chat import OpenAiChat
from rag.adapters.model_config import ChatConfig

type Connect = Callable[..., OpenAiChat]
"""An adapter for a server or its address, with changes to ``ChatConfig``; it is closed with its block."""

SEED: dict[str, Any] = {
    "api_key": lambda: "sk-test-0123456789",
    "model": "first",
    "temperature": 0.3,
    "max_tokens": 500,
    "connect_timeout_s": 60.0,
    "read_timeout_s": 60.0,
    "retries": 3,
    "base_s": 0.001,
    "cap_s": 0.002,
}


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
