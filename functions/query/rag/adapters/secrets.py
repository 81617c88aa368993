"""Secrets from AWS Secrets Manager, through Powertools and its cache."""

from __future__ import annotations

import json

from rag.errors import LlmUnavailable

MAX_AGE_S = 300
"""How long a value is kept: a rotated key is in use after five minutes at the latest."""

FIELD = "LLM_API_KEY"


def read_secret(name: str) -> str:
    """The value of the secret ``name``; of a JSON object, its field ``LLM_API_KEY``.

    Raises:
        LlmUnavailable: it cannot be read, or is not text.
    """
    # boto3 costs a third of a second to import: only a function that has a secret pays for it, on its first call.
    from aws_lambda_powertools.utilities.parameters import get_secret
    from aws_lambda_powertools.utilities.parameters.exceptions import GetParameterError

    try:
        value = get_secret(name, max_age=MAX_AGE_S)
    except GetParameterError as exc:
        raise LlmUnavailable("The secret with the LLM's key cannot be read") from exc
    if not isinstance(value, str):
        raise LlmUnavailable("The secret with the LLM's key is not text")
    if not value.lstrip().startswith("{"):
        return value
    try:
        key = json.loads(value)[FIELD]
    except (ValueError, KeyError) as exc:
        raise LlmUnavailable(f"The secret with the LLM's key is JSON without {FIELD!r}") from exc
    return str(key)


def forget_secrets() -> None:
    """Empty the cache: what was read before a snapshot may be old when it is restored."""
    from aws_lambda_powertools.utilities.parameters import clear_caches

    clear_caches()  # type: ignore[no-untyped-call]
