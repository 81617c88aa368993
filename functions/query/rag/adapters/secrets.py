"""API keys from the environment, from AWS Secrets Manager (through Powertools) or from the function's role."""

from __future__ import annotations

import functools
import json
import logging
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from knowledge.model.errors import IndexUnreachable
from rag.adapters.bedrock_token import role_token
from rag.adapters.time_limit import run_in_thread
from rag.config.settings import Settings
from rag.errors import LlmDenied, LlmUnavailable

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.parameters import SecretsProvider

logger = logging.getLogger(__name__)

MAX_AGE_S = 300
"""A rotated key is in use after five minutes at the latest."""
RETRY_AFTER_S = 60
"""How long the previous key is used before Secrets Manager is called again for a new one."""
REFRESH_S = 2.0
"""The longest wait for a new key while there is a previous one: the question needs its time for other work."""

CONNECT_TIMEOUT_S = 2
READ_TIMEOUT_S = 4
ATTEMPTS = 2
"""All attempts together stay below a request's deadline. In a VPC without a way out, boto3's own timeouts (60 s, five
attempts) would outlast the function, and callers would get the gateway's 504 instead of an answer."""

LLM, EMBEDDER, INDEX = "LLM_API_KEY", "EMBED_API_KEY", "INDEX_TOKEN"
"""The field of each key in a secret of JSON."""
SERVICES = {LLM: "LLM", EMBEDDER: "embedder", INDEX: "index"}

_cached_keys: dict[tuple[str, str], tuple[str, float]] = {}
"""Keys, and when to read them again (Unix seconds), by the secret's name ("" for the role's token) and its field."""


def llm_key(settings: Settings) -> Callable[[], str]:
    """Return a function that gives the LLM's key: from the role, the named secret, or else the environment."""
    if settings.llm_auth == "aws":
        return partial(read_secret, "", LLM)
    if settings.llm_secret_name:
        return partial(read_secret, settings.llm_secret_name, LLM)
    return settings.llm_api_key.get_secret_value


def embedder_key(settings: Settings) -> Callable[[], str]:
    """Return a function that gives the embedder's key: from its own secret or variable, or else the LLM's key."""
    if settings.embed_secret_name:
        return partial(read_secret, settings.embed_secret_name, EMBEDDER)
    if settings.embed_api_key.get_secret_value():
        return settings.embed_api_key.get_secret_value
    if settings.llm_auth == "aws":  # a token of the role is for Bedrock alone
        return settings.llm_api_key.get_secret_value
    return llm_key(settings)


def index_key(settings: Settings) -> Callable[[], str]:
    """Return a function that gives the key of Chroma's server: from its secret, or else its variable (may be empty)."""
    if not settings.index_secret_name:
        return settings.index_token.get_secret_value

    def read() -> str:
        try:
            return read_secret(settings.index_secret_name, INDEX)
        except LlmUnavailable as exc:
            raise IndexUnreachable("The secret with the key of Chroma's server cannot be read") from exc

    return read


def warm_secrets() -> None:
    """Make the client of Secrets Manager, which takes half a second with its imports; no request is sent.

    Raises:
        LlmUnavailable: the client cannot be made.
    """
    from botocore.exceptions import BotoCoreError  # type: ignore[import-untyped]

    try:
        _provider()
    except BotoCoreError as exc:  # no region
        raise LlmUnavailable(f"Secrets Manager cannot be used: {type(exc).__name__}") from exc


def renew_secrets() -> None:
    """Drop connections and keys, which may be old after a snapshot; the client stays."""
    _cached_keys.clear()
    if _provider.cache_info().currsize:
        _provider().store.clear()
        _provider().client.close()  # closes its connections only; the next call opens others


def read_secret(name: str, field: str) -> str:
    """Return the secret ``name`` ("": the role's token), or its ``field`` if it is JSON; at most ``MAX_AGE_S`` old.

    The previous key is used while no new one can be read; Powertools' own cache drops an aged value.

    Raises:
        LlmDenied: the key was never read and cannot be read, or is not text.
    """
    fetch = partial(_fetch, name, field) if name else role_token
    now = time.time()
    text, refresh_at = _cached_keys.get((name, field), (None, 0.0))
    if text is not None and now < refresh_at <= now + MAX_AGE_S:  # a clock that was set back would keep it for longer
        return text
    try:
        text = fetch() if text is None else run_in_thread(fetch).result(REFRESH_S)
        refresh_at = now + MAX_AGE_S
    except (LlmUnavailable, TimeoutError) as exc:
        if text is None:
            raise
        reason = str(exc) or "A new key is slow to come"
        logger.warning("%s; the %s's key of before goes on being used", reason, SERVICES[field])
        refresh_at = now + RETRY_AFTER_S
    _cached_keys[name, field] = text, refresh_at
    return text


def _fetch(name: str, field: str) -> str:
    # Late: only a function with a secret pays for boto3, on its first call or before its snapshot.
    from aws_lambda_powertools.utilities.parameters.exceptions import GetParameterError
    from botocore.exceptions import BotoCoreError

    secret = f"The secret with the {SERVICES[field]}'s key"
    try:
        value = _provider().get(name, force_fetch=True)
    except (GetParameterError, BotoCoreError) as exc:
        raise LlmDenied(f"{secret} cannot be read") from exc
    if not isinstance(value, str):
        raise LlmDenied(f"{secret} is not text")
    if not value.lstrip().startswith("{"):
        return value
    try:
        text = json.loads(value)[field]
    except (ValueError, KeyError) as exc:
        raise LlmDenied(f"{secret} is JSON without {field!r}") from exc
    if not isinstance(text, str):
        raise LlmDenied(f"{field!r} in the secret with the {SERVICES[field]}'s key is not text")
    return text


@functools.cache
def _provider() -> SecretsProvider:
    from aws_lambda_powertools.utilities.parameters import SecretsProvider
    from botocore.config import Config  # type: ignore[import-untyped]

    retries = {"mode": "standard", "total_max_attempts": ATTEMPTS}
    return SecretsProvider(
        boto_config=Config(connect_timeout=CONNECT_TIMEOUT_S, read_timeout=READ_TIMEOUT_S, retries=retries)
    )
