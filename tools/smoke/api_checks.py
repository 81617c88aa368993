"""Checks of the API: answers with and without a key, and the gateway's own answers."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import batched
from typing import Any

from smoke.stack import Api, ApiReply, Check, Failed, Skipped, Stack

SAMPLE_QUESTIONS = 3
"""Sample questions that are tried until one is answered: a model may decline one that the index answers."""
TOO_LARGE = 70 * 1024
AT_ONCE = 20
VISITORS = 50
MAX_BURST = 1_000
"""Most requests of the burst; a usage plan that allows more is not tested."""


def healthy(stack: Stack) -> str:
    """The service is up, with an index."""
    health = stack.health()
    index = health.get("index") or {}
    if health.get("status") != "ok" or not index.get("version"):
        raise Failed(f"status {health.get('status')!r}, index {index.get('version')!r}")
    return f"profile {health['profile']}, {index['documents']} documents, index {index['version']}"


def answers(stack: Stack) -> str:
    """A sample question of the index is answered, with a citation."""
    body = _ask_sample(stack)
    return f"{len(body['citations'])} citations, confidence {body['confidence']['level']}"


def declines(stack: Stack) -> str:
    """A question outside the documents is declined, without sources."""
    reply = stack.api.ask(stack.off_topic)
    if reply.status != 200 or not reply.body.get("refused"):
        raise Failed(f"{reply.summary}, not declined: {stack.off_topic!r} (--off-topic names another question)")
    if reply.body["sources"] or reply.body["citations"]:
        raise Failed("declined, but with sources")
    return "declined, without sources"


def wants_a_key(stack: Stack) -> str:
    """A request without a key, or with a wrong one, is refused."""
    for name, key in {"without a key": None, "with a wrong key": secrets.token_urlsafe(30)}.items():
        _expect(stack.api.send("GET", "/api/health", key=key), 403, "forbidden", name)
    return "403 forbidden without a key and with a wrong one"


def takes_a_bearer_token(stack: Stack) -> str:
    """The key is accepted as a bearer token, as OpenAI's clients send it."""
    reply = stack.api.send("GET", "/v1/models", bearer=True)
    if reply.status != 200:
        raise Failed(f"GET /v1/models with the key as bearer token got {reply.summary}, not 200")
    other = stack.api.send("GET", "/v1/models", key=secrets.token_urlsafe(30), bearer=True)
    _expect(other, 403, "forbidden", "with a wrong bearer token")
    return "200 with the key, 403 forbidden with another"


def streams_as_deployed(stack: Stack) -> str:
    """A streamed answer is complete; with ``Streaming=on`` it comes in pieces, without a length in its head."""
    body = {"messages": [{"role": "user", "content": stack.off_topic}], "stream": True}
    reply = stack.api.send("POST", "/v1/chat/completions", body)
    if reply.status != 200 or not reply.media_type.startswith("text/event-stream"):
        raise Failed(f"a streamed answer got {reply.summary}, {reply.media_type or 'no type'}")
    if not reply.text.rstrip().endswith("data: [DONE]"):
        raise Failed("a streamed answer broke off")
    on = stack.parameters.get("Streaming") == "on"
    if reply.has_length is on:
        raise Failed(f"Streaming={'on' if on else 'off'}, but the answer came {'in one piece' if on else 'in pieces'}")
    return f"event stream, {'in pieces' if on else 'in one piece'}"


def opens_the_page(stack: Stack) -> str:
    """Fifty visits, twenty at a time, get the complete page without a key."""
    with ThreadPoolExecutor(AT_ONCE) as threads:
        replies = list(threads.map(lambda _: stack.api.send_once("GET", "/", key=None), range(VISITORS)))
    if all(reply.summary == "404 not_found" for reply in replies):
        raise Skipped("Web=off")
    seen = Counter(reply.summary for reply in replies)
    if seen != {"200": VISITORS}:
        raise Failed(f"{VISITORS} visits, {AT_ONCE} at a time, got {dict(seen)}")
    if "<script" not in replies[0].text or " src=" in replies[0].text:
        raise Failed("the page is not one document")
    return f"{VISITORS} visits, {AT_ONCE} at a time, {len(replies[0].text) // 1024} KB, one document"


def knows_no_such_path(stack: Stack) -> str:
    """An unknown path is 404."""
    return _expect(stack.api.send("GET", "/api/no-such-path"), 404, "not_found", "an unknown path")


def refuses_large_bodies(stack: Stack) -> str:
    """A body over 64 KiB is 413."""
    return _expect(stack.api.ask("x" * TOO_LARGE), 413, "body_too_large", f"a body of {TOO_LARGE} bytes")


def takes_feedback(stack: Stack) -> str:
    """A vote on an answer is accepted, and withdrawn at once, so that it teaches nothing."""
    if "TableName" not in stack.outputs:
        raise Skipped("the stack has no table (Store=none)")
    response = _ask_sample(stack, sessionId=secrets.token_urlsafe(24))["responseId"]
    for helpful in (True, None):
        reply = stack.api.send("POST", "/api/feedback", {"responseId": response, "helpful": helpful})
        if reply.status != 202:
            raise Failed(f"a vote ({helpful}) on an answer got {reply.summary}, not 202")
    unknown = stack.api.send("POST", "/api/feedback", {"responseId": "no-such-response", "helpful": True})
    _expect(unknown, 404, "unknown_response", "a vote on nothing")
    return "202 for a vote and for its withdrawal, 404 for one on nothing"


def throttles(stack: Stack) -> str:
    """A burst above the usage plan is throttled. The plan's limits are targets, so twice as many are sent."""
    plans = stack.aws.client("apigateway").get_usage_plans(keyId=stack.outputs["ApiKeyId"])["items"]
    limits: Mapping[str, Any] = (plans[0].get("throttle") if plans else None) or {}
    if not limits.get("burstLimit"):
        raise Failed("the API key has no usage plan with a burst limit")
    count = 2 * int(limits["burstLimit"] + limits["rateLimit"]) + AT_ONCE
    if count > MAX_BURST:
        raise Skipped(f"the usage plan allows {limits['burstLimit']} at once: it takes {count} requests to pass it")
    seen = _send_burst(stack.api, count)
    counts = ", ".join(f"{number} x {what}" for what, number in sorted(seen.items()))
    if "429 too_many_requests" not in seen:
        raise Failed(f"no 429 among {seen.total()} requests at once ({counts})")
    return counts


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
"""The burst comes last: it uses up the requests that the others need."""


def _ask_sample(stack: Stack, **fields: object) -> Mapping[str, Any]:
    """Return the body of an answer with citations to a sample question of the index."""
    listed = stack.api.send("GET", "/api/suggestions")
    questions = listed.body.get("questions") or []
    if listed.status != 200 or not questions:
        raise Failed(f"GET /api/suggestions answered {listed.summary}, with {len(questions)} questions")
    outcomes = []
    for question in questions[:SAMPLE_QUESTIONS]:
        reply = stack.api.ask(question, **fields)
        body = reply.body
        if reply.status == 200 and not body.get("refused") and body.get("citations"):
            return body
        outcomes.append(f"{question!r}: {'declined' if body.get('refused') else reply.summary}")
    raise Failed(f"no answer with a citation ({'; '.join(outcomes)})")


def _expect(reply: ApiReply, status: int, code: str, what: str) -> str:
    if (reply.status, reply.body.get("code")) != (status, code):
        raise Failed(f"{what} got {reply.summary}, not {status} {code}")
    return reply.summary


def _send_burst(api: Api, count: int) -> Counter[str]:
    """Count the outcomes of up to ``count`` requests, many at once, until one is throttled."""
    seen: Counter[str] = Counter()
    with ThreadPoolExecutor(AT_ONCE) as threads:
        for batch in batched(range(count), AT_ONCE):
            seen.update(threads.map(lambda _: api.send_once("GET", "/v1/models").summary, batch))
            if "429 too_many_requests" in seen:
                break
    return seen
