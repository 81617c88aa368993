"""What a caller gets of the API, with a key and without, and the gateway's own answers."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import batched
from typing import Any

from smoke.stack import Api, Check, Failed, Reply, Skipped, Stack

TRIED = 3
"""Sample questions that are asked until one is answered: a model may decline what the index would answer."""
TOO_LARGE = 70 * 1024
AT_ONCE = 20
VISITORS = 50
MAX_BURST = 1_000
"""Requests that the burst may take at most; a usage plan that allows more is not tried."""


def healthy(stack: Stack) -> str:
    """The service is up, with an index."""
    health = stack.health()
    index = health.get("index") or {}
    if health.get("status") != "ok" or not index.get("version"):
        raise Failed(f"status {health.get('status')!r}, index {index.get('version')!r}")
    return f"profile {health['profile']}, {index['documents']} documents, index {index['version']}"


def answers(stack: Stack) -> str:
    """A question of the index's own is answered, with a citation."""
    body = _answered(stack)
    return f"{len(body['citations'])} citations, confidence {body['confidence']['level']}"


def declines(stack: Stack) -> str:
    """What the documents say nothing about is declined, without sources."""
    reply = stack.api.ask(stack.off_topic)
    body = _body(reply)
    if reply.status != 200 or not body.get("refused"):
        raise Failed(f"{reply.told}, not declined: {stack.off_topic!r} (--off-topic names another question)")
    if body["sources"] or body["citations"]:
        raise Failed("declined, but with sources")
    return "declined, without sources"


def wants_a_key(stack: Stack) -> str:
    """Neither without a key nor with a wrong one."""
    for name, key in {"without a key": None, "with a wrong key": secrets.token_urlsafe(30)}.items():
        _expect(stack.api.send("GET", "/api/health", key=key), 403, "forbidden", name)
    return "403 forbidden without a key and with a wrong one"


def takes_a_bearer_token(stack: Stack) -> str:
    """The key where OpenAI's clients put it."""
    reply = stack.api.send("GET", "/v1/models", bearer=True)
    if reply.status != 200:
        raise Failed(f"GET /v1/models with the key as bearer token got {reply.told}, not 200")
    other = stack.api.send("GET", "/v1/models", key=secrets.token_urlsafe(30), bearer=True)
    _expect(other, 403, "forbidden", "with a wrong bearer token")
    return "200 with the key, 403 forbidden with another"


def streams_as_deployed(stack: Stack) -> str:
    """A streamed answer is whole, and where ``Streaming`` is on it comes in pieces: nobody knows its length before."""
    body = {"messages": [{"role": "user", "content": stack.off_topic}], "stream": True}
    reply = stack.api.send("POST", "/v1/chat/completions", body)
    if reply.status != 200 or not reply.kind.startswith("text/event-stream"):
        raise Failed(f"a streamed answer got {reply.told}, {reply.kind or 'no type'}")
    if not reply.text.rstrip().endswith("data: [DONE]"):
        raise Failed("a streamed answer broke off")
    on = stack.parameters.get("Streaming") == "on"
    if reply.sized is on:
        raise Failed(f"Streaming={'on' if on else 'off'}, but the answer came {'in one piece' if on else 'in pieces'}")
    return f"event stream, {'in pieces' if on else 'in one piece'}"


def opens_the_page(stack: Stack) -> str:
    """Fifty visits, twenty of them at a time, get the page, whole and without a key."""
    with ThreadPoolExecutor(AT_ONCE) as threads:
        replies = list(threads.map(lambda _: stack.api.once("GET", "/", key=None), range(VISITORS)))
    if all(reply.told == "404 not_found" for reply in replies):
        raise Skipped("Web=off")
    seen = Counter(reply.told for reply in replies)
    if seen != {"200": VISITORS}:
        raise Failed(f"{VISITORS} visits, {AT_ONCE} at a time, got {dict(seen)}")
    if "<script" not in replies[0].text or " src=" in replies[0].text:
        raise Failed("the page is not one document")
    return f"{VISITORS} visits, {AT_ONCE} at a time, {len(replies[0].text) // 1024} KB, one document"


def knows_no_such_path(stack: Stack) -> str:
    """A path that there is not."""
    return _expect(stack.api.send("GET", "/api/no-such-path"), 404, "not_found", "an unknown path")


def refuses_large_bodies(stack: Stack) -> str:
    """A body over 64 KiB."""
    return _expect(stack.api.ask("x" * TOO_LARGE), 413, "body_too_large", f"a body of {TOO_LARGE} bytes")


def takes_feedback(stack: Stack) -> str:
    """A vote on an answer is accepted; it is withdrawn at once, so that nothing is learnt from it."""
    if "TableName" not in stack.outputs:
        raise Skipped("the stack has no table (Store=none)")
    response = _answered(stack, sessionId=secrets.token_urlsafe(24))["responseId"]
    for helpful in (True, None):
        reply = stack.api.send("POST", "/api/feedback", {"responseId": response, "helpful": helpful})
        if reply.status != 202:
            raise Failed(f"a vote ({helpful}) on an answer got {reply.told}, not 202")
    unknown = stack.api.send("POST", "/api/feedback", {"responseId": "no-such-response", "helpful": True})
    _expect(unknown, 404, "unknown_response", "a vote on nothing")
    return "202 for a vote and for its withdrawal, 404 for one on nothing"


def throttles(stack: Stack) -> str:
    """More requests at once than the usage plan allows. Its limits are targets, so twice as many are sent."""
    plans = stack.aws.client("apigateway").get_usage_plans(keyId=stack.outputs["ApiKeyId"])["items"]
    limits: Mapping[str, Any] = (plans[0].get("throttle") if plans else None) or {}
    if not limits.get("burstLimit"):
        raise Failed("the API key has no usage plan with a burst limit")
    count = 2 * int(limits["burstLimit"] + limits["rateLimit"]) + AT_ONCE
    if count > MAX_BURST:
        raise Skipped(f"the usage plan allows {limits['burstLimit']} at once: it takes {count} requests to pass it")
    seen = _burst(stack.api, count)
    told = ", ".join(f"{number} x {what}" for what, number in sorted(seen.items()))
    if "429 too_many_requests" not in seen:
        raise Failed(f"no 429 among {seen.total()} requests at once ({told})")
    return told


API_CHECKS = (
    Check(
        "health", healthy, "the function's log: 503 is its own, 502 no start at all; a new key is 403 for some seconds"
    ),
    Check("answer", answers, "metadata.trail of the answer; the parameter RelevanceThreshold; metadata.skipped"),
    Check("decline", declines, "the parameter RelevanceThreshold, or whether the documents do answer this"),
    Check("403 without key", wants_a_key, "the method's `security` in infra/template.yaml, the stage's deployment"),
    Check("bearer token", takes_a_bearer_token, "the log /aws/lambda/<stack>-authorizer; the API's key source"),
    Check("streaming", streams_as_deployed, "the stage's variable `streaming`, and what is deployed to it"),
    Check("page", opens_the_page, "MethodSettings of the stage for GET /; the account's limit of requests at once"),
    Check("404", knows_no_such_path, "MISSING_AUTHENTICATION_TOKEN under GatewayResponses in infra/template.yaml"),
    Check("413", refuses_large_bodies, "the function's log (line `request rejected`)"),
    Check("feedback", takes_feedback, "metadata.skipped of an answer (record), the function's rights on the table"),
    Check("429 by burst", throttles, "the usage plan: does it name this API's stage and this key?"),
)
"""The burst comes last: it uses up what the others need."""


def _answered(stack: Stack, **fields: object) -> Mapping[str, Any]:
    """The body of an answer with citations to one of the index's own questions."""
    listed = stack.api.send("GET", "/api/suggestions")
    questions = _body(listed).get("questions") or []
    if listed.status != 200 or not questions:
        raise Failed(f"GET /api/suggestions answered {listed.told}, with {len(questions)} questions")
    told = []
    for question in questions[:TRIED]:
        reply = stack.api.ask(question, **fields)
        body = _body(reply)
        if reply.status == 200 and not body.get("refused") and body.get("citations"):
            return body
        told.append(f"{question!r}: {'declined' if body.get('refused') else reply.told}")
    raise Failed(f"no answer with a citation ({'; '.join(told)})")


def _expect(reply: Reply, status: int, code: str, what: str) -> str:
    if (reply.status, _body(reply).get("code")) != (status, code):
        raise Failed(f"{what} got {reply.told}, not {status} {code}")
    return reply.told


def _body(reply: Reply) -> Mapping[str, Any]:
    return reply.body if isinstance(reply.body, dict) else {}


def _burst(api: Api, count: int) -> Counter[str]:
    """What up to ``count`` requests got, many at once; no more are sent once one was throttled."""
    seen: Counter[str] = Counter()
    with ThreadPoolExecutor(AT_ONCE) as threads:
        for some in batched(range(count), AT_ONCE):
            seen.update(threads.map(lambda _: api.once("GET", "/v1/models").told, some))
            if "429 too_many_requests" in seen:
                break
    return seen
