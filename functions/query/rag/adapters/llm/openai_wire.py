"""How to read what an OpenAI-compatible server answers: a completion, or an error and what to do about it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from enum import Enum, auto
from typing import Any

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

CHARS_PER_TOKEN = 16
"""No completion has more characters for each token that was asked for: four times what English has.

The longest tokens of GPT-4o and Llama 3 are runs of a hundred blanks or rulers; a text of little else may be cut."""

# What models write before they answer, where the server leaves it in the text. One that is not closed was cut by
# max_tokens: all of it is reasoning. Some templates open the block within the prompt, so that only its end is there.
_REASONING = re.compile(r"(?:\s*<(think|thinking|thought|reasoning)>.*?(?:</\1>|\Z))+\s*", re.DOTALL | re.IGNORECASE)
_NAME = re.compile(r"[\w.:/@+-]{1,128}", re.ASCII)
_REASONING_TAGS = ("<think>", "<thinking>", "<thought>", "<reasoning>")
_REASONING_END = re.compile(r"^[ \t]*</(?:think|thinking)>[ \t]*$\s*", re.MULTILINE | re.IGNORECASE)


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
    have done. Reasoning before the answer counts, and is left out. The finish reason, and the usage unless all three
    counts are there, become None when missing.

    Raises:
        LlmFailed: the body is not JSON, not a completion, or holds no text beside reasoning.
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
    whole = content[:most]
    text = without_reasoning(whole)
    if not text.strip():
        raise LlmFailed("Unreadable completion: no text")
    finish = choice.get("finish_reason")
    return Completion(
        text=text,
        model=served_name(data.get("model")) or model,
        asked=model,
        finish_reason=CUT if len(whole) < len(content) else finish if isinstance(finish, str) else None,
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


def served_name(value: object) -> str | None:
    """What a server calls the model that it used; None where that is no name of one."""
    return value if isinstance(value, str) and _NAME.fullmatch(value) else None


def without_reasoning(text: str) -> str:
    """``text``, a whole completion, from where the answer begins."""
    if opened := _REASONING.match(text):
        return text[opened.end() :]
    closed = _REASONING_END.search(text)
    # An end with a beginning before it is an example within the answer.
    return text[closed.end() :] if closed and "<think" not in text[: closed.start()].lower() else text


def answer_start(text: str) -> int | None:
    """Where the answer begins in ``text``, a completion that is not done; None while it may be reasoning still."""
    opened = _REASONING.match(text)
    start = opened.end() if opened else 0
    begun = text[start:].lstrip().lower()
    return None if any(tag.startswith(begun[: len(tag)]) for tag in _REASONING_TAGS) else start


def read_usage(value: object) -> Usage | None:
    """The token counts in ``value``; None unless all three are there."""
    fields = value if isinstance(value, dict) else {}
    match fields:
        case {"prompt_tokens": int(prompt), "completion_tokens": int(completion), "total_tokens": int(total)}:
            return Usage(prompt_tokens=prompt, completion_tokens=completion, total_tokens=total)
    return None
