"""Secrets from AWS Secrets Manager, through Powertools and its cache."""

from __future__ import annotations

import functools
import json
import logging
from typing import TYPE_CHECKING

from rag.errors import LlmUnavailable

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.parameters import SecretsProvider

MAX_AGE_S = 300
"""How long a value is kept: a rotated key is in use after five minutes at the latest."""

FIELD = "LLM_API_KEY"

CONNECT_TIMEOUT_S = 2
READ_TIMEOUT_S = 4
ATTEMPTS = 2
"""All attempts together stay below a request's deadline. In a VPC without a way out, boto3's own patience (60 s, five
times) would outlast the function, and callers would get the gateway's 504 in place of an answer."""


def warm() -> None:
    """Import the libraries, without making a client or reading a secret: boto3 takes a third of a second."""
    import aws_lambda_powertools.utilities.parameters  # noqa: F401


def read_secret(name: str) -> str:
    """The value of the secret ``name``; of a JSON object, its field ``LLM_API_KEY``.

    Raises:
        LlmUnavailable: it cannot be read, or is not text.
    """
    # Imported late: only a function that has a secret pays for boto3, on its first call or before its snapshot.
    from aws_lambda_powertools.utilities.parameters.exceptions import GetParameterError
    from botocore.exceptions import BotoCoreError  # type: ignore[import-untyped]

    try:
        value = _provider().get(name, max_age=MAX_AGE_S)
    except (GetParameterError, BotoCoreError) as exc:
        raise LlmUnavailable("The secret with the LLM's key cannot be read") from exc
    if not isinstance(value, str):
        raise LlmUnavailable("The secret with the LLM's key is not text")
    if not value.lstrip().startswith("{"):
        return value
    try:
        key = json.loads(value)[FIELD]
    except (ValueError, KeyError) as exc:
        raise LlmUnavailable(f"The secret with the LLM's key is JSON without {FIELD!r}") from exc
    if not isinstance(key, str):
        raise LlmUnavailable(f"{FIELD!r} in the secret with the LLM's key is not text")
    return key


def forget_secrets() -> None:
    """Drop the client, its connections and its cache: what was read before a snapshot may be old after it."""
    _provider.cache_clear()


@functools.cache
def _provider() -> SecretsProvider:
    from aws_lambda_powertools.utilities.parameters import SecretsProvider
    from botocore.config import Config  # type: ignore[import-untyped]

    # At DEBUG, which LogLevel sets for every logger on Lambda, botocore logs whole responses: here, the key.
    logging.getLogger("botocore").setLevel(logging.INFO)
    retries = {"mode": "standard", "total_max_attempts": ATTEMPTS}
    return SecretsProvider(
        boto_config=Config(connect_timeout=CONNECT_TIMEOUT_S, read_timeout=READ_TIMEOUT_S, retries=retries)
    )
