"""The errors of an OpenAI-compatible server: their meaning, and their words, which no log may have.

A server's words may repeat the prompt or the key. Its classes, its status and short identifiers stay.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from rag.errors import (
    ContextTooLong,
    LlmDenied,
    LlmFailed,
    LlmTooSlow,
    LlmUnavailable,
    ParameterRefused,
    RequestRefused,
)

if TYPE_CHECKING:
    from openai import APIStatusError

OPTIONAL_PARAMETERS = ("max_tokens", "max_completion_tokens", "temperature", "reasoning_effort", "stream_options")
"""Parameters that a request can drop or rename."""

_OPTIONAL_PARAMETER = re.compile(rf"(?<![a-z_])(?:{'|'.join(OPTIONAL_PARAMETERS)})(?![a-z_])")
_CONTEXT_WINDOW = re.compile(r"context[ _]*(?:length|size|window)", re.IGNORECASE)
"""In the errors of OpenAI and Groq (code context_length_exceeded), llama.cpp (type exceed_context_size_error), vLLM
("maximum context length is"), Ollama and LM Studio ("context length")."""

KEY_PART = 6
_IDENTIFIER = re.compile(r"[\w.\[\]-]{1,64}", re.ASCII)


class Transient(LlmUnavailable):
    """A temporary failure, worth a retry."""


class TimedOut(Transient, LlmTooSlow):
    """One call exceeded its time."""


class ModelNotFound(LlmUnavailable):
    """The server does not have the model."""


@contextmanager
def translate_errors(noun: str, answer: str, *, key: str, wall_clock: Callable[[], float]) -> Iterator[None]:
    """Translate errors of the ``openai`` client into ours, without the server's words.

    Messages call the server ``noun`` and its result ``answer``.
    """
    import httpx2
    import openai

    try:
        yield
    except openai.APIStatusError as exc:
        redact_keeping_identifiers(exc, key=key)
        raise translate_status(exc, noun, now=wall_clock()) from exc
    except (TimeoutError, openai.APITimeoutError, httpx2.TimeoutException) as exc:
        redact(exc)
        raise TimedOut(f"{noun} call timed out") from exc
    except httpx2.DecodingError as exc:
        redact(exc)
        raise LlmFailed(f"Unreadable {answer}: bad content encoding") from exc
    except (openai.APIConnectionError, httpx2.RequestError) as exc:
        redact(exc)
        # openai wraps failures before the response's headers, and lets failures in its body through.
        reason = exc.__cause__ or exc
        message = f"{noun} connection failed ({type(reason).__name__})"
        raise (LlmDenied if isinstance(reason, httpx2.UnsupportedProtocol) else Transient)(message) from exc


def translate_status(exc: APIStatusError, noun: str, *, now: float) -> LlmUnavailable | LlmFailed:
    """Return our error for a response with a status of 300 or more; ``now`` is in Unix seconds."""
    retry_after = retry_after_s(exc.response.headers, now=now)
    message = f"{noun} answered {exc.status_code} ({type(exc).__name__})"
    if exc.response.is_redirect:
        message += ": its base URL redirects, which is not followed; it must be the address that this leads to"
    kind = classify_error(exc.status_code, exc.body, has_retry_after=retry_after is not None)
    if issubclass(kind, LlmUnavailable):
        return kind(message, retry_after=retry_after)
    fields = exc.body if isinstance(exc.body, Mapping) else {}
    text = " ".join(str(fields[name]) for name in ("code", "type", "message") if name in fields) or str(exc.body)
    if _CONTEXT_WINDOW.search(text):
        return ContextTooLong(f"{message}: the prompt exceeds its context window")
    parameter = fields.get("param")
    if parameter not in OPTIONAL_PARAMETERS and (found := _OPTIONAL_PARAMETER.search(text)):
        parameter = found[0]
    if parameter in OPTIONAL_PARAMETERS:
        return ParameterRefused(f"{message}: it does not take {parameter} as it was sent", parameter)
    return kind(message)


def classify_error(
    status: int, error: object, *, has_retry_after: bool
) -> type[Transient | ModelNotFound | LlmDenied | RequestRefused]:
    """Return the class of the error that an HTTP ``status`` of 300 or more means.

    ``error`` is the body's ``error`` object, or the body. ``has_retry_after``: the response has a readable retry-after;
    Groq's 413 then means tokens per minute, and otherwise a request that is too large.
    """
    fields = error if isinstance(error, Mapping) else {}
    code = str(fields.get("code"))
    is_gone = code in {"model_not_found", "model_decommissioned"}  # Groq, OpenAI
    # Ollama's 404 for a missing model has a message without a code; a wrong address mostly has no message.
    if (status in (400, 404) and is_gone) or (status == 404 and "message" in fields):
        return ModelNotFound
    is_account_empty = status == 429 and code == "insufficient_quota"
    if status < 400 or status in (401, 402, 403, 404) or is_account_empty:
        return LlmDenied
    if status in (408, 409, 429) or status >= 500 or (status == 413 and has_retry_after):
        return Transient
    return RequestRefused


def retry_after_s(headers: Mapping[str, str], *, now: float) -> float | None:
    """Return the seconds that the server asks to wait, never negative; None without a readable header.

    Reads ``retry-after-ms`` (milliseconds) before ``retry-after`` (seconds, or an HTTP date, which is compared
    with ``now``, Unix seconds). ``headers`` must find lower-case names.
    """
    for name, per_second in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        with suppress(ValueError):
            if math.isfinite(delay := float(headers.get(name, ""))):
                return max(0.0, delay / per_second)
    try:
        moment = parsedate_to_datetime(headers.get("retry-after", ""))
    except ValueError:
        return None
    # RFC 9110's old asctime form names no zone and means UTC.
    return max(0.0, moment.replace(tzinfo=moment.tzinfo or UTC).timestamp() - now)


def redact(error: BaseException) -> None:
    """Remove the server's words from ``error`` and its causes.

    The system's words stay, for example on a failed connection: no route, refused, a wrong certificate.
    """
    from httpcore2 import ConnectError

    chain = [error]
    for one in chain:
        if not isinstance(one, OSError | ConnectError):
            one.args = ()
        chain += [cause for cause in {one.__cause__, one.__context__} if cause and cause not in chain]


def redact_keeping_identifiers(error: APIStatusError, *, key: str) -> None:
    """Redact ``error`` but keep short identifiers of its body, such as a code.

    An identifier that is in the request too is removed, and one with ``KEY_PART`` consecutive characters of ``key``.
    """
    redact(error)
    fields = error.body if isinstance(error.body, Mapping) else {}
    request, key = error.request.content.decode("utf-8", "replace").casefold(), key.casefold()
    key_parts = [key[at : at + KEY_PART] for at in range(max(1, len(key) - KEY_PART + 1))]
    words = [f"status {error.status_code}"]
    for name in ("code", "type", "param"):
        value = str(fields.get(name) or "")
        if _IDENTIFIER.fullmatch(value) and not any(part in value.casefold() for part in key_parts):
            words += [] if value.casefold() in request else [f"{name} {value}"]
    error.args = (", ".join(words),)
