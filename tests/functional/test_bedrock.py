"""A model that knows the service by its role: the token is checked as AWS would, and ends."""

import base64
import hashlib
import hmac
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from types import SimpleNamespace
from urllib.parse import parse_qsl, quote

import pytest
from fakes import forget_secrets
from fakes_llm import Exchange, error, reply
from functional.harness import IN_SCOPE, Start

from rag.adapters import bedrock_token, secrets
from rag.config.settings import Settings, load
from rag.errors import ConfigurationError

REGION, ID, SECRET, SESSION = "eu-central-1", "AKIDEXAMPLE", "wJalrXUtnFEMI", "session-token"
CREDENTIALS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")


@pytest.fixture(autouse=True)
def _role(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What Lambda puts into the environment of a function."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    for name, value in zip(CREDENTIALS, (ID, SECRET, SESSION), strict=True):
        monkeypatch.setenv(name, value)
    forget_secrets()
    yield
    forget_secrets()


def hashed(key: bytes, text: str) -> bytes:
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def ends_at(token: str) -> float:
    """When a token ends (Unix seconds); an AssertionError where it is none of the role's."""
    assert token.startswith("bedrock-api-key-")
    signed = base64.b64decode(token.removeprefix("bedrock-api-key-")).decode()
    host, _, query = signed.removesuffix("&Version=1").partition("/?")
    told = dict(parse_qsl(query))
    day, scope = told["X-Amz-Date"][:8], told["X-Amz-Credential"].removeprefix(f"{ID}/")
    assert (host, told["Action"], told["X-Amz-Security-Token"]) == (
        "bedrock.amazonaws.com",
        "CallWithBearerToken",
        SESSION,
    )
    assert scope == f"{day}/{REGION}/bedrock/aws4_request"
    signature = told.pop("X-Amz-Signature")
    canonical = "&".join(f"{quote(k, safe='-_.~')}={quote(v, safe='-_.~')}" for k, v in sorted(told.items()))
    nothing = hashlib.sha256(b"").hexdigest()
    request = "\n".join(("POST", "/", canonical, f"host:{host}", "", "host", nothing))
    text = "\n".join(("AWS4-HMAC-SHA256", told["X-Amz-Date"], scope, hashlib.sha256(request.encode()).hexdigest()))
    key = f"AWS4{SECRET}".encode()
    for part in scope.split("/"):
        key = hashed(key, part)
    assert signature == hashed(key, text).hex()
    begins = datetime.strptime(told["X-Amz-Date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    return begins.timestamp() + int(told["X-Amz-Expires"])


class Bedrock:
    """Answers whoever shows a token that has not ended; ``now`` is its clock."""

    def __init__(self) -> None:
        self.now = time.time()
        self.tokens: list[str] = []

    def __call__(self, exchange: Exchange) -> None:
        self.tokens.append(exchange.request.headers["authorization"].removeprefix("Bearer "))
        told = reply("Yes.") if self.now < ends_at(self.tokens[-1]) else error(403, message="The token has expired")
        told(exchange)


@pytest.fixture
def by_role(with_llm: Start) -> Start:
    """Starts the function beside an LLM that it shows the role's token."""
    return partial(with_llm, LLM_API_KEY="", LLM_AUTH="aws", LLM_MODEL="openai.gpt-oss-20b-1:0", LLM_FALLBACK_MODELS="")


def test_a_question_is_answered_with_a_token_of_the_role_and_no_secret(by_role: Start) -> None:
    bedrock = Bedrock()
    api = by_role(bedrock)
    answers = [api.ask(IN_SCOPE) for _ in range(2)]
    assert [one.status for one in answers] == [200, 200]
    assert (len(bedrock.tokens), len(set(bedrock.tokens))) == (2, 1), "one token serves for a while"
    assert bedrock.tokens[0] not in "".join(one.output + one.text for one in answers)
    assert SECRET not in "".join(one.output for one in answers)


def test_a_token_is_renewed_long_before_it_ends(by_role: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    bedrock, made = Bedrock(), list[str]()

    def counted() -> str:
        made.append(bedrock_token.role_token())
        return made[-1]

    monkeypatch.setattr(secrets, "role_token", counted)
    monkeypatch.setattr(secrets, "time", SimpleNamespace(time=lambda: bedrock.now))
    api = by_role(bedrock)
    for _ in range(3):
        assert api.ask(IN_SCOPE).status == 200
        bedrock.now += secrets.MAX_AGE_S - 1
    assert len(made) == 2, "kept for five minutes"
    assert bedrock_token.VALID_S >= 3 * secrets.MAX_AGE_S


def test_a_token_that_has_ended_is_a_refusal_in_words(by_role: Start) -> None:
    bedrock = Bedrock()
    bedrock.now += bedrock_token.VALID_S + 60
    told = by_role(bedrock).ask(IN_SCOPE)
    assert (told.status, told.json["code"]) == (503, "llm_unavailable")
    assert bedrock.tokens[0] not in told.output + told.text


def test_without_credentials_nobody_is_asked_and_it_is_said(by_role: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in CREDENTIALS:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
    api = by_role(reply("never"))
    told = api.ask(IN_SCOPE)
    assert (told.status, told.json["code"]) == (503, "llm_unavailable")
    assert "There are no AWS credentials" in told.output
    assert api.llm.requests == []


def test_the_endpoint_is_the_region_s_and_an_embedder_gets_no_token() -> None:
    assert bedrock_token.endpoint() == f"https://bedrock-runtime.{REGION}.amazonaws.com/openai/v1"
    assert secrets.embedder_key(load(Settings, {"LLM_AUTH": "aws"}))() == ""


@pytest.mark.parametrize("url", ["https://example.org/v1", "https://amazonaws.com.example.org/v1"])
def test_no_host_but_aws_s_gets_a_token(start: Start, url: str) -> None:
    with pytest.raises(ConfigurationError, match="sends the role's token to AWS alone"):
        start(LLM_AUTH="aws", LLM_BASE_URL=url, LLM_MODEL="m")
