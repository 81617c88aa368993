"""One call to an OpenAI-compatible chat endpoint."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from rag.adapters.llm.openai_client import OpenAiServer, Transient
from rag.adapters.llm.openai_stream import BrokeOff, GrowingCompletion, Listener, LongEnough
from rag.adapters.llm.openai_wire import most_chars, read_completion, spends_tokens_on_reasoning
from rag.adapters.model_config import ChatConfig
from rag.errors import ClientGone, LlmFailed
from rag.values.chat import Completion, Message

if TYPE_CHECKING:
    from openai import APIResponse, OpenAI, Timeout

MAX_BODY_BYTES = 4 * 1024 * 1024
TOKEN_BYTES = 1024
"""A body of more bytes than the first, and the second for each token that was asked for, is no completion.

A streamed token is an event of 200 to 500 bytes. Reading on would only fill the memory."""


@dataclass(frozen=True, slots=True)
class RequestParameters:
    """The optional parameters that a model takes. ``limit`` is the name of the one that ends a completion.

    OpenAI's GPT-5 and o-models answer 400 to ``max_tokens`` and to any temperature but their own.
    """

    limit: str = "max_tokens"
    refused: frozenset[str] = frozenset()

    @property
    def counts_reasoning(self) -> bool:
        """Whether the model reasons within the limit of a completion, which its name says."""
        return self.limit == "max_completion_tokens"

    def without(self, parameter: str) -> RequestParameters:
        """Return the parameters for a model that has refused ``parameter``."""
        if parameter == self.limit == "max_tokens":
            return replace(self, limit="max_completion_tokens")
        return replace(self, refused=self.refused | {parameter})


class ChatEndpoint(OpenAiServer):
    """Chat completions of one server and account. An instance serves any number of threads with one client.

    ``wall_clock`` (Unix seconds) is what retry-after dates are compared with.
    """

    def __init__(self, config: ChatConfig, *, wall_clock: Callable[[], float]) -> None:
        super().__init__(
            base_url=config.base_url,
            api_key=config.api_key,
            connect_timeout_s=config.connect_timeout_s,
            max_body_bytes=MAX_BODY_BYTES + TOKEN_BYTES * (config.max_tokens or 0),
            noun="LLM",
            answer="completion",
            wall_clock=wall_clock,
        )
        self._temperature = config.temperature
        self._max_tokens = config.max_tokens
        self._most = most_chars(config.max_tokens)
        self._parameters: dict[str, RequestParameters] = {}  # by model
        self._open_in_reasoning: set[str] = set()
        """Models whose last stream closed a block of reasoning that the server's template had opened."""

    def parameters(self, model: str) -> RequestParameters:
        """Return how ``model`` is asked from now on."""
        return self._parameters.get(model, RequestParameters())

    def leave_out(self, model: str, parameter: str) -> bool:
        """Ask ``model`` without ``parameter``, or with its newer name, from now on; return whether that is a change."""
        before = self.parameters(model)
        self._parameters[model] = after = before.without(parameter)
        return after != before

    def complete(
        self, model: str, messages: Sequence[Message], *, limit_s: float, listener: Listener | None = None
    ) -> Completion:
        """Ask ``model`` once and wait for at most ``limit_s`` seconds in all.

        With a ``listener`` the server is asked to stream, and that gets the answer's text as it comes, without
        reasoning; ``limit_s`` bounds the time to the first text then, and the listener knows what follows.
        A server that does not stream is read all the same. A text that is longer than ``max_tokens`` can be ends there.

        Raises:
            BrokeOff: some text had been heard; it is not lost.
            Transient, ModelNotFound, LlmDenied, LlmFailed: see ``OpenAiServer.call``. ClientGone: as the listener did.
        """
        asked = self.parameters(model)

        def request(client: OpenAI, timeout: Timeout) -> AbstractContextManager[APIResponse[Any]]:
            values = {
                "temperature": self._temperature,
                asked.limit: self._max_tokens,
                "reasoning_effort": "low" if asked.counts_reasoning or spends_tokens_on_reasoning(model) else None,
                "stream": listener and True,
                "stream_options": listener and {"include_usage": True},
            }
            sent = {name: value for name, value in values.items() if value is not None and name not in asked.refused}
            create: Any = client.chat.completions.with_streaming_response.create  # its overloads want a constant stream
            response: AbstractContextManager[APIResponse[Any]] = create(
                model=model,
                messages=[{"role": message.role, "content": message.content} for message in messages],
                timeout=timeout,
                **sent,
            )
            return response

        if listener is None:
            return read_completion(self.call(request, limit_s=limit_s), model=model, most=self._most)
        is_open = model in self._open_in_reasoning
        growing = GrowingCompletion(listener, most=self._most, opens_in_reasoning=is_open)
        try:
            with suppress(LongEnough):
                self.stream(
                    request, growing.take, limit_s=limit_s, left_s=listener.left_s, pause_s=listener.longest_pause_s()
                )
            made = growing.completion(model)
            (self._open_in_reasoning.add if growing.closed_reasoning else self._open_in_reasoning.discard)(model)
            return made
        except (Transient, LlmFailed, ClientGone) as exc:
            so_far = growing.so_far(model, finish_reason=listener.finish_reason(exc))
            if so_far is None:
                raise
            if growing.has_ended:  # what broke off was no text any more
                return so_far
            raise BrokeOff(so_far, exc) from exc
