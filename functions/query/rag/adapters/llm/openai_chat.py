"""A chat model behind any OpenAI-compatible API (Groq, OpenAI, Ollama ...): retries, fallback models, one deadline.

``openai`` is imported on first use, or by ``warm``: an answer without a model does not load it.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from rag.adapters.llm.openai_client import OpenAiServer
from rag.adapters.llm.openai_completion import (
    CHARS_PER_TOKEN,
    CUT,
    INTERRUPTED,
    LongEnough,
    StreamedCompletion,
    read_completion,
)
from rag.adapters.llm.openai_errors import ModelNotFound, Transient
from rag.adapters.model_config import ChatConfig
from rag.errors import (
    ClientGone,
    ContextTooLong,
    LlmDenied,
    LlmFailed,
    LlmTooSlow,
    LlmUnavailable,
    ParameterRefused,
    RequestRefused,
)
from rag.values.chat import STOPPED, Completion, Deadline, LlmUse, Message, OnText

if TYPE_CHECKING:
    from openai import OpenAI, Timeout

    from rag.adapters.llm.openai_client import StreamedResponse

MAX_BODY_BYTES = 4 * 1024 * 1024
TOKEN_BYTES = 1024
"""Most bytes of a response: the first, and the second for each token of the limit. A streamed token has 200 to 500."""

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class _ChatRequest:
    """A request with its messages, remaining ``models``, attempts and passed text.

    ``has_begun``: a character was passed on, after which a call must not begin the answer again. ``text_at``: the time
    of the last text with more than white space.
    """

    messages: Sequence[Message]
    deadline: Deadline
    on_text: OnText | None
    models: list[str]
    calls: int = 0
    attempts: int = 0
    failed: LlmFailed | None = None
    broke_off: str | None = None
    has_begun: bool = False
    text_at: float | None = None

    def pass_on(self, text: str) -> None:
        """Call ``on_text``, which may raise."""
        self.has_begun = self.has_begun or text != ""
        try:
            if self.on_text:
                self.on_text(text)
        finally:  # the time of ``on_text`` is no pause of the model
            if text.strip():
                self.text_at = self.deadline.clock()

    def left_s(self) -> float | None:
        """Return the seconds left until the next text or the end, None before the first text."""
        if self.text_at is None:
            return None
        pause_s = self.text_at + self.deadline.between_s - self.deadline.clock()
        return min(pause_s, self.deadline.remaining_in_stream())

    def finish_reason(self, cause: Exception) -> str:
        """Return the finish reason of a stream that the model did not end."""
        if isinstance(cause, ClientGone):
            return STOPPED
        return INTERRUPTED if self.deadline.remaining_in_stream() > 0 else CUT


class OpenAiChat:
    """A ``ChatModel`` on the ``openai`` client. One instance serves any number of threads.

    ``model`` is the configured one as long as the server offers it. ``last_error`` is the status and the class of the
    last error, None after a success; an answer that broke off is an error unless the listener stopped it.
    """

    def __init__(self, config: ChatConfig) -> None:
        self.model = config.model
        self.last_error: str | None = None
        self.server = OpenAiServer(
            base_url=config.base_url,
            api_key=config.api_key,
            connect_timeout_s=config.connect_timeout_s,
            max_body_bytes=MAX_BODY_BYTES + TOKEN_BYTES * (config.max_tokens or 0),
            noun="LLM",
            answer="completion",
        )
        self._config = config
        self._models = tuple(dict.fromkeys((config.model, *config.fallback_models)))
        self._refused: dict[str, frozenset[str]] = defaultdict(frozenset)
        """Optional parameters that a model refused, by model."""
        self._open_in_reasoning: set[str] = set()
        """Models whose last stream closed a block of reasoning that the server's template opened."""

    def warm(self) -> None:
        import openai.resources.chat  # noqa: F401

        self.server.warm()

    def renew(self) -> None:
        self.server.reset()

    def complete(self, messages: Sequence[Message], *, deadline: Deadline, on_text: OnText | None = None) -> Completion:
        """Complete ``messages``; all calls and waits fit into ``deadline``.

        Temporary failures (429, 5xx, 408, 409, connection errors, timeouts) are retried. A model that refuses an
        optional parameter is asked without it, in this and later requests. If a model is not found, refuses the request
        for another reason or returns no completion, the next one is asked. With ``on_text`` the model is asked to
        stream; after the first text there is no retry, and an answer that breaks off has no usage.

        Raises:
            LlmUnavailable: no completion before the deadline; LlmDenied: the operator must act.
            ContextTooLong: the messages exceed the model's context window.
            RequestRefused: the model refused the request, and the configuration ``is_strict``.
            ClientGone: ``on_text`` raised it before the first text.
        """
        request = _ChatRequest(messages, deadline, on_text, [*self._models[self._models.index(self.model) :]])
        try:
            self.server.client()  # making it and reading the key take time that is not the call's
            completion = self.server.retry(
                partial(self._attempt, request),
                self._config,
                left_s=lambda: 0.0 if request.has_begun else deadline.remaining(),
            )
        except (LlmFailed, LlmUnavailable) as exc:
            self.last_error = str(exc)
            if isinstance(exc, LlmUnavailable):
                retries, denied = max(0, request.attempts - 1), int(isinstance(exc, LlmDenied))
                exc.spent = LlmUse(calls=request.calls, retries=retries, denied=denied)
            raise
        self.last_error = request.broke_off
        return replace(completion, calls=request.calls, retries=request.attempts - 1)

    def _attempt(self, request: _ChatRequest) -> Completion:
        """Ask the remaining models in order until one returns a completion; a retry goes on with the same one."""
        request.attempts += 1
        first = self.model
        missing: ModelNotFound | None = None
        while request.models and not (request.failed and request.has_begun):
            limit_s = min(self._config.read_timeout_s, request.deadline.remaining())
            if limit_s <= 0:
                raise LlmTooSlow("No time left for an LLM call") from (missing or request.failed)
            request.calls += 1
            model = request.models[0]
            try:
                return self._ask(model, request, limit_s=limit_s)
            except ModelNotFound as exc:
                missing = exc
                del request.models[0]
                if request.models and self.model == model:
                    logger.warning("LLM model is not available (%s); using %r from now on", exc, request.models[0])
                    self.model = request.models[0]
            except LlmFailed as exc:
                if isinstance(exc, ParameterRefused) and exc.parameter not in self._refused[model]:
                    self._refused[model] |= {exc.parameter}
                    logger.warning("%s; later requests leave it out", exc)
                    continue
                refusal = RequestRefused if self._config.is_strict else ContextTooLong
                if isinstance(exc, refusal):
                    raise  # to ContextTooLong the writer may answer with shorter passages
                request.failed = exc
                del request.models[0]
                logger.warning("LLM model %r gave no completion (%s)", model, exc)
        if request.failed:
            raise LlmUnavailable(str(request.failed)) from request.failed
        # The next request asks these models again: one may be back.
        self.model = first
        raise LlmDenied(f"{missing} for every configured model") from missing

    def _ask(self, model: str, asked: _ChatRequest, *, limit_s: float) -> Completion:
        """Ask ``model`` once and wait for at most ``limit_s`` seconds in all.

        If the request has ``on_text``, the server is asked to stream, and ``on_text`` gets the text as it arrives,
        without reasoning; ``limit_s`` then limits the time to the first text, and the request the rest. A server that
        does not stream is supported. A text beyond the longest possible one of ``max_tokens`` is cut.
        """
        refused, is_streamed = self._refused[model], asked.on_text is not None
        # OpenAI's GPT-5 and o-models answer 400 to ``max_tokens``, and to any temperature but their own. The newer name
        # counts reasoning towards the limit.
        is_reasoning_limited = "max_tokens" in refused
        must_be_brief = is_reasoning_limited or "gpt-oss" in model  # these reason within max_tokens unless told so
        values = {
            "temperature": self._config.temperature,
            "max_completion_tokens" if is_reasoning_limited else "max_tokens": self._config.max_tokens,
            "reasoning_effort": "low" if must_be_brief else None,
            "stream": True if is_streamed else None,
            "stream_options": {"include_usage": True} if is_streamed else None,
        }

        def request(client: OpenAI, timeout: Timeout) -> StreamedResponse:
            # Its overloads need a constant stream.
            create: Callable[..., StreamedResponse] = client.chat.completions.with_streaming_response.create
            return create(
                model=model,
                messages=[{"role": message.role, "content": message.content} for message in asked.messages],
                timeout=timeout,
                **{name: value for name, value in values.items() if value is not None and name not in refused},
            )

        most = self._config.max_tokens and self._config.max_tokens * CHARS_PER_TOKEN
        if not is_streamed:
            return read_completion(self.server.call(request, limit_s=limit_s), model=model, most=most)
        is_open = model in self._open_in_reasoning
        streamed = StreamedCompletion(model, asked.pass_on, most=most, opens_in_reasoning=is_open)
        longest_pause_s = min(asked.deadline.between_s, asked.deadline.remaining_in_stream())
        try:
            with suppress(LongEnough):
                self.server.stream(
                    request, streamed.take, limit_s=limit_s, left_s=asked.left_s, pause_s=longest_pause_s
                )
            completion = streamed.completion()
            (self._open_in_reasoning.add if streamed.answer.drops else self._open_in_reasoning.discard)(model)
            return completion
        except (Transient, LlmFailed, ClientGone) as exc:
            partial_completion = streamed.partial(asked.finish_reason(exc))
            if partial_completion is None:
                raise
            if not streamed.has_ended:  # some text is missing
                message = f"The LLM's answer is not whole ({partial_completion.finish_reason}): {exc}"
                logger.warning("%s; the text so far is used", message)
                asked.broke_off = None if partial_completion.finish_reason == STOPPED else message
            return partial_completion
