"""Read the responses of an OpenAI-compatible server: completions and errors."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from rag.adapters.llm.answer_text import AnswerText
from rag.errors import LlmDenied, LlmFailed, LlmTooSlow, LlmUnavailable, RequestRefused
from rag.values.chat import Completion, Usage

MODEL_GONE_CODES = frozenset({"model_not_found", "model_decommissioned"})
"""Error codes (Groq, OpenAI) of a model that is not available, or no longer."""

QUOTA_CODES = frozenset({"insufficient_quota"})
"""Error codes of a 429 that a retry does not cure: the account is empty."""

OPTIONAL_PARAMETERS = ("max_tokens", "max_completion_tokens", "temperature", "reasoning_effort", "stream_options")
"""Parameters that a request can drop or rename."""

_OPTIONAL_PARAMETER = re.compile(rf"(?<![a-z_])(?:{'|'.join(OPTIONAL_PARAMETERS)})(?![a-z_])")
_CONTEXT_WINDOW = re.compile(r"context[ _]*(?:length|size|window)", re.IGNORECASE)
"""In the errors of OpenAI and Groq (code context_length_exceeded), llama.cpp (type exceed_context_size_error), vLLM
("maximum context length is"), Ollama and LM Studio ("context length")."""

_PASSING_STATUSES = frozenset({408, 409, 429})
_OPERATOR_STATUSES = frozenset({401, 402, 403})

CUT = "length"
"""Finish reason of a completion that max_tokens ended."""
INTERRUPTED = "interrupted"
"""Finish reason of a text that broke off, or ended incomplete for another reason."""
WHOLE = "stop"
"""Finish reason of a text that its model ended."""

_FINISH_REASONS = {
    **dict.fromkeys(("stop", "eos", "eos_token", "stop_sequence", "end_turn", "complete"), WHOLE),
    **dict.fromkeys(("length", "max_tokens"), CUT),
}
"""Vendors' finish reasons in lower case; any other one, such as content_filter, means an incomplete answer."""

CHARS_PER_TOKEN = 16
"""Most characters of a completion for each token of its limit: four times the average of English.

The longest tokens of GPT-4o and Llama 3 are runs of a hundred blanks or dashes; a text of these may be cut."""

_NAME = re.compile(r"[\w.:/@+-]{1,128}", re.ASCII)


class Transient(LlmUnavailable):
    """A temporary failure, worth a retry."""


class TimedOut(Transient, LlmTooSlow):
    """One call exceeded its time."""


class ModelNotFound(LlmUnavailable):
    """The server does not have the model."""


def classify_error(
    status: int, error: object, *, has_retry_after: bool
) -> type[Transient | ModelNotFound | LlmDenied | RequestRefused]:
    """Return the class of the error that an HTTP ``status`` of 300 or more means.

    ``error`` is the body's ``error`` object, or the body. ``has_retry_after``: the response has a readable retry-after;
    Groq's 413 then means tokens per minute, and otherwise a request that is too large.
    """
    fields = error if isinstance(error, Mapping) else {}
    code = str(fields.get("code"))
    # Ollama's 404 for a missing model has a message without a code; a wrong address mostly has no message.
    if (status in (400, 404) and code in MODEL_GONE_CODES) or (status == 404 and "message" in fields):
        return ModelNotFound
    if status < 400 or status in _OPERATOR_STATUSES or status == 404 or (status == 429 and code in QUOTA_CODES):
        return LlmDenied
    if status in _PASSING_STATUSES or status >= 500 or (status == 413 and has_retry_after):
        return Transient
    return RequestRefused


def names_context_window(error: object) -> bool:
    """Return whether the ``error`` of a 400 or 413 says that the request exceeds the model's context window."""
    return _CONTEXT_WINDOW.search(_error_text(error)) is not None


def refused_parameter(error: object) -> str | None:
    """Return the first optional parameter that the ``error`` of a 400 or 422 names, None if it names none."""
    named = error.get("param") if isinstance(error, Mapping) else None
    if named in OPTIONAL_PARAMETERS:
        return str(named)
    found = _OPTIONAL_PARAMETER.search(_error_text(error))
    return found[0] if found else None


def _error_text(error: object) -> str:
    fields = error if isinstance(error, Mapping) else {}
    return " ".join(str(fields[name]) for name in ("code", "type", "message") if name in fields) or str(error)


def read_completion(body: bytes, *, model: str, most: int | None = None) -> Completion:
    """Read the first choice of a completion; ``model`` is the requested one, used if the body names none.

    A text of more than ``most`` characters, reasoning included, is cut there with the finish reason ``length``. A
    missing finish reason is None, and so is a usage without all three counts.

    Raises:
        LlmFailed: the body is no JSON, no completion, an HTML page, or has no text beside reasoning.
    """
    try:
        data = json.loads(body)
    except (ValueError, RecursionError) as exc:
        raise LlmFailed("Unreadable completion: not JSON") from exc
    choice = first_choice(data.get("choices") if isinstance(data, dict) else None)
    if choice is None:
        raise LlmFailed("Unreadable completion: no choices")
    message = choice.get("message")
    content = content_text(message.get("content")) if isinstance(message, dict) else ""
    answer = AnswerText()
    answer.take(content[:most])
    answer.end()
    if not has_words(answer.text):
        raise LlmFailed("Unreadable completion: no text")
    is_cut = most is not None and len(content) > most
    finish = CUT if is_cut else read_finish_reason(choice.get("finish_reason"))
    return Completion(
        text=answer.text,
        model=served_name(data.get("model")) or model,
        requested_model=model,
        finish_reason=own_finish_reason(answer) or finish,
        usage=read_usage(data.get("usage")),
    )


def first_choice(choices: object) -> dict[str, Any] | None:
    """Return the choice with the index 0, which a server may leave out; None if there is none."""
    found = choices if isinstance(choices, list) else []
    return next((choice for choice in found if isinstance(choice, dict) and not choice.get("index")), None)


def content_text(content: object) -> str:
    """Return the text of a message's or delta's ``content``, which Mistral's reasoning models send in parts."""
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
    texts = (part.get("text") for part in parts if isinstance(part, dict) and part.get("type") == "text")
    return "".join(text for text in texts if isinstance(text, str))


def has_words(text: str) -> bool:
    """Return whether ``text`` has a letter or a digit; blanks, invisible characters and dots are no answer."""
    return any(char.isalnum() for char in text)


def read_finish_reason(value: object) -> str | None:
    """Return the service's name of a vendor's finish reason, None if there is none."""
    return _FINISH_REASONS.get(value.lower(), INTERRUPTED) if isinstance(value, str) and value else None


def own_finish_reason(answer: AnswerText) -> str | None:
    """Return the finish reason of an ``answer`` that ended before the vendor's text, None if it did not."""
    return (CUT if answer.is_loop else WHOLE) if answer.has_ended else None


def served_name(value: object) -> str | None:
    """Return the server's name of the model, None if the value is no name."""
    return value if isinstance(value, str) and _NAME.fullmatch(value) else None


def read_usage(value: object) -> Usage | None:
    """Return the token counts in ``value``, None unless all three are there."""
    fields = value if isinstance(value, dict) else {}
    match fields:
        case {"prompt_tokens": int(prompt), "completion_tokens": int(completion), "total_tokens": int(total)}:
            return Usage(prompt_tokens=prompt, completion_tokens=completion, total_tokens=total)
    return None
