"""A chat model behind any OpenAI-compatible API (Groq, OpenAI, Ollama ...): retries, fallback models, one deadline.

``openai`` and ``tenacity`` are imported on first use, or by ``warm``: an answer without an LLM never pays for them.
"""

from __future__ import annotations

import logging
import random as random_module
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rag.adapters.llm.backoff import backoff_s
from rag.adapters.llm.openai_call import ChatEndpoint
from rag.adapters.llm.openai_client import ModelNotFound, Transient
from rag.adapters.llm.openai_stream import BrokeOff, Listener
from rag.adapters.model_config import ChatConfig
from rag.errors import (
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
    from tenacity import RetryCallState

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class _Asking:
    """One request: what is asked, the ``models`` that may still be asked, and what came of it so far."""

    messages: Sequence[Message]
    deadline: Deadline
    listener: Listener | None
    models: list[str]
    calls: int = 0
    attempts: int = 0
    failed: LlmFailed | None = None

    @property
    def is_beyond_repair(self) -> bool:
        """Whether a model failed of which somebody has heard something already."""
        return self.failed is not None and self.listener is not None and self.listener.anything


class OpenAiChat:
    """A ``ChatModel`` on the ``openai`` client. One instance serves any number of threads.

    ``sleep``, ``random`` (0..1) and ``wall_clock`` (Unix seconds, for retry-after dates) are there for tests.
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
        """The model in use now: the configured one until it proves to be gone."""
        return self._model

    @property
    def last_error(self) -> str | None:
        """What went wrong last (status and error class); None after a success.

        An answer that broke off has gone wrong, unless it was the listener who did not want the rest.
        """
        return self._last_error

    def warm(self) -> None:
        """Import the libraries and build the client, without reading a key or calling anybody.

        Raises:
            LlmUnavailable: the base URL cannot be used.
        """
        import openai.resources.chat  # noqa: F401
        import tenacity  # noqa: F401 - imported here so that the first answer does not have to

        self._endpoint.warm()

    def renew(self) -> None:
        """Close all connections and forget the key. Not while calls are under way."""
        self._endpoint.reset()

    def complete(self, messages: Sequence[Message], *, deadline: Deadline, on_text: OnText | None = None) -> Completion:
        """Complete ``messages``; every call and every wait fits into ``deadline``.

        Retries what may pass (429, 5xx, 408, 409, connection errors, timeouts) after the server's retry-after or
        ``backoff_s``, and gives up as soon as the next wait does not fit. A model that refuses an optional parameter is
        asked without it, in this and later requests. One that is not found, refuses the request for another reason or
        answers with no completion gives way to the next one. With ``on_text`` the model is asked to
        stream, and nothing is retried once that got some text.

        Nor is anything lost from then on: what broke off is returned as far as it came, without usage. Its finish
        reason is ``length`` where ``deadline.stream_deadline()`` is over, ``stopped`` where ``on_text`` raised
        ``ClientGone``, and else ``interrupted``: nothing came for ``deadline.between_s``, or the stream broke.

        Raises:
            LlmUnavailable: no model gave a completion, or not in time; LlmDenied: none will to this account.
            ContextTooLong: the messages exceed the model's context window.
            RequestRefused: the model refused the request, and the configuration ``is_strict``.
            ClientGone: ``on_text`` raised it, and had got no text.
        """
        from tenacity import Retrying, retry_if_exception_type

        listener = Listener(on_text, deadline) if on_text else None
        models = list(self._models[self._models.index(self._model) :])
        asking = _Asking(messages, deadline, listener, models)

        def stop(state: RetryCallState) -> bool:
            # tenacity has set upcoming_sleep when it asks.
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
            self._endpoint.client()  # making it and reading its key take time, which the call's limit must not count on
            completion = retrying(self._attempt, asking)
            self._last_error = None
        except BrokeOff as broken:
            completion = broken.completion
            self._last_error = None if completion.finish_reason == STOPPED else str(broken)
            logger.warning("%s; it was used as far as it came", broken)
        except LlmFailed as exc:
            self._last_error = str(exc)
            raise
        except LlmUnavailable as exc:
            self._last_error = str(exc)
            denied = 1 if isinstance(exc, LlmDenied) else 0
            exc.spent = LlmUse(calls=asking.calls, retries=max(0, asking.attempts - 1), denied=denied)
            raise
        return replace(completion, calls=asking.calls, retries=asking.attempts - 1)

    def _attempt(self, asking: _Asking) -> Completion:
        """Ask the models that are left, in order, until one gives a completion; a retry goes on with the same one."""
        asking.attempts += 1
        first = self._model
        missing: ModelNotFound | None = None
        while asking.models and not asking.is_beyond_repair:
            limit_s = min(self._config.read_timeout_s, asking.deadline.remaining())
            if limit_s <= 0:
                raise LlmTooSlow("No time left for an LLM call") from (missing or asking.failed)
            asking.calls += 1
            model = asking.models[0]
            try:
                return self._endpoint.complete(model, asking.messages, limit_s=limit_s, listener=asking.listener)
            except ModelNotFound as exc:
                missing = exc
                del asking.models[0]
                if asking.models and self._model == model:
                    logger.warning("LLM model is not available (%s); using %r from now on", exc, asking.models[0])
                    self._model = asking.models[0]
            except ContextTooLong:
                raise  # shorter passages may fit: who wrote the prompt decides
            except LlmFailed as exc:
                if isinstance(exc, ParameterRefused) and self._endpoint.leave_out(model, exc.parameter):
                    logger.warning("%s; it is asked in another way from now on", exc)
                    continue
                if self._config.is_strict and isinstance(exc, RequestRefused):
                    raise
                asking.failed = exc
                del asking.models[0]
                logger.warning("LLM model %r gave no completion (%s)", model, exc)
        if asking.failed:
            raise LlmUnavailable(str(asking.failed)) from asking.failed
        # Nothing better to remember: the next request asks for these again, as one may be back.
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
