"""How to read what an OpenAI-compatible server answers: a completion, or an error and what to do about it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from enum import Enum, auto
from typing import Any

from rag.adapters.llm.answer_text import AnswerText
from rag.errors import LlmFailed
from rag.values.chat import Completion, Usage

MODEL_GONE_CODES = frozenset({"model_not_found", "model_decommissioned"})
"""Error codes (Groq, OpenAI) that mean: this model is not, or no longer, for you."""

QUOTA_CODES = frozenset({"insufficient_quota"})
"""Error codes of a 429 that waiting does not cure: the account has run dry."""

OPTIONAL_PARAMETERS = ("max_tokens", "max_completion_tokens", "temperature", "reasoning_effort", "stream_options")
"""What a request can do without, or say in another way."""

_OPTIONAL_PARAMETER = re.compile(rf"(?<![a-z_])(?:{'|'.join(OPTIONAL_PARAMETERS)})(?![a-z_])")
_CONTEXT_WINDOW = re.compile(r"context[ _]*(?:length|size|window)", re.IGNORECASE)
"""In the errors of OpenAI and Groq (code context_length_exceeded), llama.cpp (type exceed_context_size_error), vLLM
("maximum context length is"), Ollama and LM Studio ("context length")."""

_PASSING_STATUSES = frozenset({408, 409, 429})
_OPERATOR_STATUSES = frozenset({401, 402, 403})

CUT = "length"
"""The finish reason of a completion that max_tokens ended."""
INTERRUPTED = "interrupted"
"""The finish reason of a text that broke off by itself, or ended for a reason that makes it no whole answer."""
WHOLE = "stop"
"""The finish reason of a text that its model ended."""

_FINISH_REASONS = {
    **dict.fromkeys(("stop", "eos", "eos_token", "stop_sequence", "end_turn", "complete"), WHOLE),
    **dict.fromkeys(("length", "max_tokens"), CUT),
}
"""Vendors' finish reasons in lower case; any other one, as content_filter and tool_calls, leaves no whole answer."""

CHARS_PER_TOKEN = 16
"""No completion has more characters for each token that was asked for: four times what English has.

The longest tokens of GPT-4o and Llama 3 are runs of a hundred blanks or rulers; a text of little else may be cut."""

_NAME = re.compile(r"[\w.:/@+-]{1,128}", re.ASCII)


class Verdict(Enum):
    """What to do about an error response."""

    RETRY = auto()
    """It may pass: try again later."""
    NEXT_MODEL = auto()
    """This model does not exist here: try another one."""
    UNAVAILABLE = auto()
    """Trying again is of no use until the operator acts (key, account, address)."""
    FAILED = auto()
    """The request itself was refused."""


def judge(status: int, error: object, *, told_to_wait: bool) -> Verdict:
    """The verdict on an HTTP ``status`` of 300 or more.

    ``error`` is the body's ``error`` object, or whatever the body held. ``told_to_wait`` says that the response
    has a readable retry-after: Groq's 413 means tokens per minute then, and a request that is too large otherwise.
    """
    fields = error if isinstance(error, Mapping) else {}
    code = str(fields.get("code"))
    # Ollama's 404 for a model that was not pulled has a message but no code; that of a wrong address mostly has none.
    if (status in (400, 404) and code in MODEL_GONE_CODES) or (status == 404 and "message" in fields):
        return Verdict.NEXT_MODEL
    if status < 400 or status in _OPERATOR_STATUSES or status == 404 or (status == 429 and code in QUOTA_CODES):
        return Verdict.UNAVAILABLE
    if status in _PASSING_STATUSES or status >= 500 or (status == 413 and told_to_wait):
        return Verdict.RETRY
    return Verdict.FAILED


def names_context_window(error: object) -> bool:
    """Return whether the ``error`` of a 400 or 413 says that the request exceeds the model's context window."""
    return _CONTEXT_WINDOW.search(_error_text(error)) is not None


def refused_parameter(error: object) -> str | None:
    """Return the optional parameter that the ``error`` of a 400 or 422 names; the first one where it names more."""
    named = error.get("param") if isinstance(error, Mapping) else None
    if named in OPTIONAL_PARAMETERS:
        return str(named)
    found = _OPTIONAL_PARAMETER.search(_error_text(error))
    return found[0] if found else None


def _error_text(error: object) -> str:
    fields = error if isinstance(error, Mapping) else {}
    return " ".join(str(fields[name]) for name in ("code", "type", "message") if name in fields) or str(error)


def spends_tokens_on_reasoning(model: str) -> bool:
    """Whether ``model`` is one of the gpt-oss family, which reasons within max_tokens unless told to be brief."""
    return "gpt-oss" in model


def most_chars(max_tokens: int | None) -> int | None:
    """The longest text that ``max_tokens`` can be, reasoning included; None where nobody asked for an end."""
    return None if max_tokens is None else max_tokens * CHARS_PER_TOKEN


def read_completion(body: bytes, *, model: str, most: int | None = None) -> Completion:
    """Read the first choice of a completion; ``model`` is the one asked for, used when the body names none.

    A text of more than ``most`` characters ends there, and its finish reason is ``length``: what the server should
    have done. What ``AnswerText`` leaves out counts. The finish reason, and the usage unless all three counts are
    there, become None when missing.

    Raises:
        LlmFailed: the body is not JSON, not a completion, or holds no text beside reasoning, or an HTML page.
    """
    try:
        data = json.loads(body)
    except (ValueError, RecursionError) as exc:
        raise LlmFailed("Unreadable completion: not JSON") from exc
    choice = first_choice(data.get("choices") if isinstance(data, dict) else None)
    if choice is None:
        raise LlmFailed("Unreadable completion: no choices")
    message = choice.get("message")
    content = said(message.get("content")) if isinstance(message, dict) else ""
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
    """The one of ``choices`` with the index 0, which a server may leave out; None where there is none."""
    found = choices if isinstance(choices, list) else []
    return next((choice for choice in found if isinstance(choice, dict) and not choice.get("index")), None)


def said(content: object) -> str:
    """The text of a message's or a delta's ``content``; Mistral's reasoning models give a list of parts."""
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
    texts = (part.get("text") for part in parts if isinstance(part, dict) and part.get("type") == "text")
    return "".join(text for text in texts if isinstance(text, str))


def has_words(text: str) -> bool:
    """Whether ``text`` holds a letter or a digit: blanks, invisible characters and dots alone are no answer."""
    return any(char.isalnum() for char in text)


def read_finish_reason(value: object) -> str | None:
    """A vendor's finish reason in the service's words; None where it gives none."""
    return _FINISH_REASONS.get(value.lower(), INTERRUPTED) if isinstance(value, str) and value else None


def own_finish_reason(answer: AnswerText) -> str | None:
    """Why ``answer`` ended before the vendor's text did; None where it did not."""
    return (CUT if answer.is_loop else WHOLE) if answer.has_ended else None


def served_name(value: object) -> str | None:
    """What a server calls the model that it used; None where that is no name of one."""
    return value if isinstance(value, str) and _NAME.fullmatch(value) else None


def read_usage(value: object) -> Usage | None:
    """The token counts in ``value``; None unless all three are there."""
    fields = value if isinstance(value, dict) else {}
    match fields:
        case {"prompt_tokens": int(prompt), "completion_tokens": int(completion), "total_tokens": int(total)}:
            return Usage(prompt_tokens=prompt, completion_tokens=completion, total_tokens=total)
    return None
