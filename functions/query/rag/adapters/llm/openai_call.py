"""One call to an OpenAI-compatible chat endpoint."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
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

    def complete(
        self, model: str, messages: Sequence[Message], *, limit_s: float, listener: Listener | None = None
    ) -> Completion:
        """Ask ``model`` once and wait for at most ``limit_s`` seconds in all.

        With a ``listener`` the server is asked to stream, and that gets the answer's text as it comes, without
        reasoning before it; ``limit_s`` bounds the time to the first text then, and the listener knows what follows.
        A server that does not stream is read all the same. A text that is longer than ``max_tokens`` can be ends there.

        Raises:
            BrokeOff: some text had been heard; it is not lost.
            Transient, ModelNotFound, LlmDenied, LlmFailed: see ``OpenAiServer.call``; ClientGone: as the listener did.
        """

        def request(client: OpenAI, timeout: Timeout) -> AbstractContextManager[APIResponse[Any]]:
            from openai import omit

            create: Any = client.chat.completions.with_streaming_response.create  # its overloads want a constant stream
            response: AbstractContextManager[APIResponse[Any]] = create(
                model=model,
                messages=[{"role": message.role, "content": message.content} for message in messages],
                temperature=self._temperature,
                max_tokens=omit if self._max_tokens is None else self._max_tokens,
                reasoning_effort="low" if spends_tokens_on_reasoning(model) else omit,
                stream=omit if listener is None else True,
                stream_options=omit if listener is None else {"include_usage": True},
                timeout=timeout,
            )
            return response

        if listener is None:
            return read_completion(self.call(request, limit_s=limit_s), model=model, most=self._most)
        growing = GrowingCompletion(listener, most=self._most)
        try:
            with suppress(LongEnough):
                self.stream(
                    request, growing.take, limit_s=limit_s, left_s=listener.left_s, pause_s=listener.longest_pause_s()
                )
            return growing.completion(model)
        except (Transient, LlmFailed, ClientGone) as exc:
            so_far = growing.so_far(model, finish_reason=listener.finish_reason(exc))
            if so_far is None:
                raise
            if growing.has_ended:  # what broke off was no text any more
                return so_far
            raise BrokeOff(so_far, exc) from exc
