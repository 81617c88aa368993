"""A chat model behind any OpenAI-compatible API (Groq, OpenAI, Ollama ...): retries, fallback models, one deadline.

``openai`` and ``tenacity`` are imported on first use, or by ``warm``: an answer without a model does not load them.
"""

from __future__ import annotations

import logging
import random as random_module
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from rag.adapters.llm.backoff import backoff_s
from rag.adapters.llm.openai_client import ModelNotFound, OpenAiServer, Transient
from rag.adapters.llm.openai_stream import BrokeOff, Listener, LongEnough, StreamedCompletion
from rag.adapters.llm.openai_wire import most_chars, read_completion, spends_tokens_on_reasoning
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
    from openai import APIResponse, OpenAI, Timeout
    from tenacity import RetryCallState

MAX_BODY_BYTES = 4 * 1024 * 1024
TOKEN_BYTES = 1024
"""Most bytes of a response: the first, and the second for each token of the limit. A streamed token has 200 to 500."""


@dataclass(frozen=True, slots=True)
class RequestParameters:
    """The optional parameters that a model accepts. ``limit`` is the name of the one for the greatest length.

    OpenAI's GPT-5 and o-models answer 400 to ``max_tokens`` and to any temperature but their own.
    """

    limit: str = "max_tokens"
    refused: frozenset[str] = frozenset()

    @property
    def counts_reasoning(self) -> bool:
        """Whether reasoning counts towards the limit, as its name says."""
        return self.limit == "max_completion_tokens"

    def without(self, parameter: str) -> RequestParameters:
        """Return the parameters of a model that refused ``parameter``."""
        if parameter == self.limit == "max_tokens":
            return replace(self, limit="max_completion_tokens")
        return replace(self, refused=self.refused | {parameter})


class ChatEndpoint(OpenAiServer):
    """Chat completions of one server and account. An instance serves any number of threads with one client.

    ``wall_clock`` (Unix seconds) is compared with retry-after dates.
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
        """Models whose last stream closed a block of reasoning that the server's template opened."""

    def parameters(self, model: str) -> RequestParameters:
        """Return the optional parameters that ``model`` accepts, as far as known."""
        return self._parameters.get(model, RequestParameters())

    def leave_out(self, model: str, parameter: str) -> bool:
        """Drop ``parameter`` for ``model``, or use its newer name; return whether that changes later requests."""
        before = self.parameters(model)
        self._parameters[model] = after = before.without(parameter)
        return after != before

    def complete(
        self, model: str, messages: Sequence[Message], *, limit_s: float, listener: Listener | None = None
    ) -> Completion:
        """Ask ``model`` once and wait for at most ``limit_s`` seconds in all.

        With a ``listener`` the server is asked to stream, and the listener gets the text as it arrives, without
        reasoning; ``limit_s`` then limits the time to the first text, and the listener the rest. A server that does not
        stream is supported. A text beyond the longest possible one of ``max_tokens`` is cut.

        Raises:
            BrokeOff: the stream broke off after text was passed on.
            Transient, ModelNotFound, LlmDenied, LlmFailed: see ``OpenAiServer.call``. ClientGone: from the listener.
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
            create: Any = client.chat.completions.with_streaming_response.create  # overloads need a constant stream
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
        streamed = StreamedCompletion(listener, most=self._most, opens_in_reasoning=is_open)
        try:
            with suppress(LongEnough):
                self.stream(
                    request, streamed.take, limit_s=limit_s, left_s=listener.left_s, pause_s=listener.longest_pause_s()
                )
            completion = streamed.completion(model)
            (self._open_in_reasoning.add if streamed.closed_reasoning else self._open_in_reasoning.discard)(model)
            return completion
        except (Transient, LlmFailed, ClientGone) as exc:
            partial = streamed.partial(model, finish_reason=listener.finish_reason(exc))
            if partial is None:
                raise
            if streamed.has_ended:  # no text is missing
                return partial
            raise BrokeOff(partial, exc) from exc


logger = logging.getLogger(__name__)


@dataclass(slots=True)
class _ChatRequest:
    """A request: its messages, the remaining ``models`` and the attempts so far."""

    messages: Sequence[Message]
    deadline: Deadline
    listener: Listener | None
    models: list[str]
    calls: int = 0
    attempts: int = 0
    failed: LlmFailed | None = None

    @property
    def has_failed_midway(self) -> bool:
        """Whether a model failed after text was passed on."""
        return self.failed is not None and self.listener is not None and self.listener.anything


class OpenAiChat:
    """A ``ChatModel`` on the ``openai`` client. One instance serves any number of threads.

    Tests replace ``sleep``, ``random`` (0..1) and ``wall_clock`` (Unix seconds, for retry-after dates).
    """

    def __init__(
        self,
        config: ChatConfig,
        *,
        sleep: Callable[[float], None] = time.sleep,
        random: Callable[[], float] = random_module.random,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        self._config = config
        self._models = tuple(dict.fromkeys((config.model, *config.fallback_models)))
        self._model = config.model
        self._last_error: str | None = None
        self._sleep = sleep
        self._random = random
        self._endpoint = ChatEndpoint(config, wall_clock=wall_clock)

    @property
    def model(self) -> str:
        """The model in use now: the configured one until the server no longer has it."""
        return self._model

    @property
    def last_error(self) -> str | None:
        """The last error (status and error class), None after a success.

        An answer that broke off counts as an error, unless the listener stopped it.
        """
        return self._last_error

    def warm(self) -> None:
        """Import the libraries and build the client, without reading a key and without a call.

        Raises:
            LlmUnavailable: the base URL cannot be used.
        """
        import openai.resources.chat  # noqa: F401
        import tenacity  # noqa: F401 - so that the first answer need not wait for it

        self._endpoint.warm()

    def renew(self) -> None:
        """Close all connections and forget the key. Not to be called during calls."""
        self._endpoint.reset()

    def complete(self, messages: Sequence[Message], *, deadline: Deadline, on_text: OnText | None = None) -> Completion:
        """Complete ``messages``; all calls and waits fit into ``deadline``.

        Temporary failures (429, 5xx, 408, 409, connection errors, timeouts) are retried after the server's retry-after
        or ``backoff_s``, until the next wait does not fit. A model that refuses an optional parameter is asked without
        it, in this and later requests. If a model is not found, refuses the request for another reason or returns no
        completion, the next one is asked. With ``on_text`` the model is asked to stream; after the first text there is
        no retry.

        An answer that breaks off after that is returned as far as it arrived, without usage. Its finish reason is
        ``length`` if ``deadline.stream_deadline()`` has passed, ``stopped`` if ``on_text`` raised ``ClientGone``, else
        ``interrupted``: a pause of ``deadline.between_s``, or a broken stream.

        Raises:
            LlmUnavailable: no completion before the deadline; LlmDenied: the operator must act.
            ContextTooLong: the messages exceed the model's context window.
            RequestRefused: the model refused the request, and the configuration ``is_strict``.
            ClientGone: ``on_text`` raised it before the first text.
        """
        from tenacity import Retrying, retry_if_exception_type

        listener = Listener(on_text, deadline) if on_text else None
        models = list(self._models[self._models.index(self._model) :])
        request = _ChatRequest(messages, deadline, listener, models)

        def stop(state: RetryCallState) -> bool:
            # tenacity sets upcoming_sleep before it calls this.
            if listener and listener.anything:
                return True
            return state.attempt_number > self._config.retries or state.upcoming_sleep >= deadline.remaining()

        retrying = Retrying(
            retry=retry_if_exception_type(Transient),
            wait=self._delay_s,
            stop=stop,
            sleep=self._sleep,
            before_sleep=_log_retry,
            reraise=True,
        )
        try:
            self._endpoint.client()  # making it and reading the key take time that is not the call's
            completion = retrying(self._attempt, request)
            self._last_error = None
        except BrokeOff as broken:
            completion = broken.completion
            self._last_error = None if completion.finish_reason == STOPPED else str(broken)
            logger.warning("%s; the text so far is used", broken)
        except LlmFailed as exc:
            self._last_error = str(exc)
            raise
        except LlmUnavailable as exc:
            self._last_error = str(exc)
            denied = 1 if isinstance(exc, LlmDenied) else 0
            exc.spent = LlmUse(calls=request.calls, retries=max(0, request.attempts - 1), denied=denied)
            raise
        return replace(completion, calls=request.calls, retries=request.attempts - 1)

    def _attempt(self, request: _ChatRequest) -> Completion:
        """Ask the remaining models in order until one returns a completion; a retry goes on with the same one."""
        request.attempts += 1
        first = self._model
        missing: ModelNotFound | None = None
        while request.models and not request.has_failed_midway:
            limit_s = min(self._config.read_timeout_s, request.deadline.remaining())
            if limit_s <= 0:
                raise LlmTooSlow("No time left for an LLM call") from (missing or request.failed)
            request.calls += 1
            model = request.models[0]
            try:
                return self._endpoint.complete(model, request.messages, limit_s=limit_s, listener=request.listener)
            except ModelNotFound as exc:
                missing = exc
                del request.models[0]
                if request.models and self._model == model:
                    logger.warning("LLM model is not available (%s); using %r from now on", exc, request.models[0])
                    self._model = request.models[0]
            except ContextTooLong:
                raise  # the writer may send shorter passages
            except LlmFailed as exc:
                if isinstance(exc, ParameterRefused) and self._endpoint.leave_out(model, exc.parameter):
                    logger.warning("%s; later requests leave it out", exc)
                    continue
                if self._config.is_strict and isinstance(exc, RequestRefused):
                    raise
                request.failed = exc
                del request.models[0]
                logger.warning("LLM model %r gave no completion (%s)", model, exc)
        if request.failed:
            raise LlmUnavailable(str(request.failed)) from request.failed
        # The next request asks these models again: one may be back.
        self._model = first
        raise LlmDenied(f"{missing} for every configured model") from missing

    def _delay_s(self, state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        if isinstance(error, LlmUnavailable) and error.retry_after is not None:
            return error.retry_after
        return backoff_s(
            state.attempt_number,
            random=self._random,
            base=self._config.backoff_base_s,
            cap=self._config.backoff_cap_s,
            jitter=self._config.jitter,
        )


def _log_retry(state: RetryCallState) -> None:
    error = state.outcome.exception() if state.outcome else None
    logger.warning("%s; call %d follows in %.2f s", error, state.attempt_number + 1, state.upcoming_sleep)
