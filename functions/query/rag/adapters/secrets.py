"""Keys from AWS Secrets Manager, through Powertools; kept for a while, and as long as no new one can be read."""

from __future__ import annotations

import functools
import json
import logging
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from knowledge.model.errors import IndexUnreachable
from rag.adapters.bedrock_token import role_token
from rag.adapters.time_limit import within
from rag.config.settings import Settings
from rag.errors import LlmDenied, LlmUnavailable

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.parameters import SecretsProvider

logger = logging.getLogger(__name__)

MAX_AGE_S = 300
"""How long a key is kept: a rotated one is in use after five minutes at the latest."""

PAUSE_S = 60
"""How long the key of before serves when no new one could be read, until Secrets Manager is asked again."""

REFRESH_S = 2.0
"""The longest wait for a new key where there is one of before: the question needs its time for other things."""

CONNECT_TIMEOUT_S = 2
READ_TIMEOUT_S = 4
ATTEMPTS = 2
"""All attempts together stay below a request's deadline. In a VPC without a way out, boto3's own patience (60 s, five
times) would outlast the function, and callers would get the gateway's 504 in place of an answer."""


class Key(NamedTuple):
    """Whose key it is, and the field that holds it in a secret of JSON."""

    owner: str
    field: str


LLM = Key("LLM", "LLM_API_KEY")
EMBEDDER = Key("embedder", "EMBED_API_KEY")
INDEX = Key("index", "INDEX_TOKEN")


def llm_key(settings: Settings) -> Callable[[], str]:
    """Where the LLM's key comes from: the role, the named secret, else the environment. Reads no secret yet."""
    if settings.llm_auth == "aws":
        return lambda: _kept_or_new(("", LLM), role_token)
    if settings.llm_secret_name:
        return lambda: read_secret(settings.llm_secret_name, LLM)
    return settings.llm_api_key.get_secret_value


def embedder_key(settings: Settings) -> Callable[[], str]:
    """Where the embedder's key comes from: its own secret or variable, else from where the LLM's does."""
    if settings.embed_secret_name:
        return lambda: read_secret(settings.embed_secret_name, EMBEDDER)
    if settings.embed_api_key.get_secret_value():
        return settings.embed_api_key.get_secret_value
    if settings.llm_auth == "aws":  # a token of the role is for Bedrock alone
        return settings.llm_api_key.get_secret_value
    return llm_key(settings)


def index_key(settings: Settings) -> Callable[[], str]:
    """Where the key of Chroma's server comes from: its secret, else its variable, which may be empty."""
    if not settings.index_secret_name:
        return settings.index_token.get_secret_value

    def read() -> str:
        try:
            return read_secret(settings.index_secret_name, INDEX)
        except LlmUnavailable as exc:
            raise IndexUnreachable("The secret with the key of Chroma's server cannot be read") from exc

    return read


def warm_secrets() -> None:
    """Make Secrets Manager's client, without reading a secret: with its imports it takes half a second.

    Raises:
        LlmUnavailable: it cannot be made.
    """
    from botocore.exceptions import BotoCoreError  # type: ignore[import-untyped]

    try:
        _provider()
    except BotoCoreError as exc:  # no region
        raise LlmUnavailable(f"Secrets Manager cannot be used: {type(exc).__name__}") from exc


class _Kept(NamedTuple):
    """A key as it was read, and from when on (Unix seconds) it is to be read anew."""

    text: str
    until: float


_kept: dict[tuple[str, Key], _Kept] = {}


def read_secret(name: str, key: Key) -> str:
    """The value of the secret ``name``, at most MAX_AGE_S old; of a JSON object, ``key``'s field.

    Powertools' own cache lets go of a value that has aged. This one goes on with it while no new one can be read.

    Raises:
        LlmDenied: it cannot be read, or is not text, and never was.
    """
    return _kept_or_new((name, key), partial(_fetch, name, key))


def _kept_or_new(of: tuple[str, Key], fetch: Callable[[], str]) -> str:
    now, key = time.time(), of[1]
    kept = _kept.get(of)
    if kept and now < kept.until <= now + MAX_AGE_S:  # a clock that was set back would keep it for longer
        return kept.text
    try:
        text = within(REFRESH_S, fetch) if kept else fetch()
        age_s = MAX_AGE_S
    except (LlmUnavailable, TimeoutError) as exc:
        if kept is None:
            raise
        logger.warning(
            "%s; the %s's key of before goes on being used", str(exc) or "A new key is slow to come", key.owner
        )
        text, age_s = kept.text, PAUSE_S
    _kept[of] = _Kept(text, now + age_s)
    return text


def _fetch(name: str, key: Key) -> str:
    # Imported late: only a function that has a secret pays for boto3, on its first call or before its snapshot.
    from aws_lambda_powertools.utilities.parameters.exceptions import GetParameterError
    from botocore.exceptions import BotoCoreError

    try:
        value = _provider().get(name, force_fetch=True)
    except (GetParameterError, BotoCoreError) as exc:
        raise LlmDenied(f"The secret with the {key.owner}'s key cannot be read") from exc
    if not isinstance(value, str):
        raise LlmDenied(f"The secret with the {key.owner}'s key is not text")
    if not value.lstrip().startswith("{"):
        return value
    try:
        text = json.loads(value)[key.field]
    except (ValueError, KeyError) as exc:
        raise LlmDenied(f"The secret with the {key.owner}'s key is JSON without {key.field!r}") from exc
    if not isinstance(text, str):
        raise LlmDenied(f"{key.field!r} in the secret with the {key.owner}'s key is not text")
    return text


def renew_secrets() -> None:
    """Drop the connections and all keys: what was read before a snapshot may be old after it. The client stays."""
    _kept.clear()
    if _provider.cache_info().currsize:
        _provider().store.clear()
        _provider().client.close()  # its connections alone: it opens new ones


@functools.cache
def _provider() -> SecretsProvider:
    from aws_lambda_powertools.utilities.parameters import SecretsProvider
    from botocore.config import Config  # type: ignore[import-untyped]

    retries = {"mode": "standard", "total_max_attempts": ATTEMPTS}
    return SecretsProvider(
        boto_config=Config(connect_timeout=CONNECT_TIMEOUT_S, read_timeout=READ_TIMEOUT_S, retries=retries)
    )
