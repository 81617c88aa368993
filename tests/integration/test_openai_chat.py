"""The LLM adapter against a misbehaving server on a real socket."""

import gzip
import json
import socket
import threading
import traceback
import tracemalloc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from command_line import run_fresh
from fakes_chat import Connect, FakeTime, config, connecting
from fakes_llm import (
    MODEL,
    SERVER_ERROR_TEXT,
    Exchange,
    LlmServer,
    Step,
    chunk,
    completion,
    cut,
    drip,
    error,
    garbage,
    hang,
    html,
    json_body,
    model_not_found,
    moved,
    only_models,
    raw,
    reply,
    reset,
    trickle,
)

from rag.errors import ContextTooLong, LlmFailed, LlmUnavailable, RequestRefused
from rag.values.chat import Completion, Deadline, Message, Usage

KEY = "sk-test-0123456789"
MESSAGES = (Message("system", "Answer from this: {context}"), Message("user", "What needs a permit? é漢"))
NEVER_S = 60.0
NOON = 1_792_929_600.0  # Sun, 25 Oct 2026 12:00:00 GMT


@pytest.fixture
def deadline(fake_time: FakeTime) -> Deadline:
    return Deadline.after(27.0, fake_time)


USUAL = {"model": "llama-3.1-8b-instant", "base_s": 1.0, "cap_s": 10.0}


@pytest.fixture
def connect(fake_time: FakeTime) -> Iterator[Connect]:
    """Makes adapters for a server, on fake time."""
    with connecting(USUAL, sleep=fake_time.sleep, random=lambda: 0.5, wall_clock=lambda: NOON) as connect:
        yield connect


# --- what is sent, what is read ---------------------------------------------------------------------------------------


def test_the_request_is_exactly_what_was_asked_for(connect: Connect, deadline: Deadline) -> None:
    with LlmServer([reply("Yes.")]) as server:
        connect(server).complete(MESSAGES, deadline=deadline)

    [request] = server.requests
    assert (request.method, request.path) == ("POST", "/v1/chat/completions")
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.headers["content-type"] == "application/json"
    assert request.json == {
        "model": "llama-3.1-8b-instant",
        "messages": [
            {"role": "system", "content": "Answer from this: {context}"},
            {"role": "user", "content": "What needs a permit? é漢"},
        ],
        "temperature": 0.3,
        "max_tokens": 500,
    }


def test_the_completion_is_read_whole(connect: Connect, fake_time: FakeTime, deadline: Deadline) -> None:
    usage = {"prompt_tokens": 900, "completion_tokens": 40, "total_tokens": 940}
    with LlmServer([reply("Yes. [Permits]", model="m-2026", finish_reason="length", usage=usage)]) as server:
        model = connect(server)
        completion = model.complete(MESSAGES, deadline=deadline)

    assert completion == Completion(
        text="Yes. [Permits]",
        model="m-2026",
        requested_model="llama-3.1-8b-instant",
        finish_reason="length",
        usage=Usage(900, 40, 940),
        calls=1,
        retries=0,
        degraded=False,
    )
    assert model.last_error is None
    assert fake_time.slept == []


def test_without_max_tokens_the_server_decides(connect: Connect, deadline: Deadline) -> None:
    with LlmServer([reply("x")]) as server:
        connect(server, max_tokens=None).complete(MESSAGES, deadline=deadline)

    assert set(server.requests[0].json) == {"model", "messages", "temperature"}


@pytest.mark.parametrize(("key", "sent"), [("", "Bearer none"), (f" {KEY}\n", f"Bearer {KEY}")])
def test_the_key_that_is_sent(connect: Connect, key: str, sent: str, deadline: Deadline) -> None:
    with LlmServer([reply("x")]) as server:
        connect(server, api_key=lambda: key).complete(MESSAGES, deadline=deadline)

    assert server.requests[0].headers["authorization"] == sent


def test_nothing_comes_from_the_client_s_own_variables(
    connect: Connect, monkeypatch: pytest.MonkeyPatch, deadline: Deadline
) -> None:
    for name, value in {
        "OPENAI_API_KEY": "stray-key",
        "OPENAI_ADMIN_KEY": "stray-admin",
        "OPENAI_ORG_ID": "stray-org",
        "OPENAI_PROJECT_ID": "stray-project",
        "OPENAI_BASE_URL": "http://127.0.0.1:9/stray",
        "OPENAI_WEBHOOK_SECRET": "stray-secret",
        "OPENAI_CUSTOM_HEADERS": "X-Stray: stray-header\nUser-Agent: stray-agent\nAuthorization: Bearer stray-auth",
    }.items():
        monkeypatch.setenv(name, value)

    with LlmServer([reply("x")]) as server:
        connect(server, api_key=lambda: "").complete(MESSAGES, deadline=deadline)

    headers = server.requests[0].headers
    assert not [name for name, value in headers.items() if "stray" in f"{name}: {value}"]
    assert headers["authorization"] == "Bearer none"
    assert "openai-organization" not in headers
    assert "openai-project" not in headers


# --- what may pass is tried again -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "failure",
    [error(429), error(503), error(408), cut(), reset()],
    ids=["429", "503", "408", "cut", "reset"],
)
def test_a_failure_that_may_pass_is_retried(
    connect: Connect, failure: Step, fake_time: FakeTime, deadline: Deadline
) -> None:
    with LlmServer([failure, failure, reply("At last.")]) as server:
        model = connect(server)
        completion = model.complete(MESSAGES, deadline=deadline)

    assert (completion.text, completion.calls, completion.retries) == ("At last.", 3, 2)
    assert fake_time.slept == [1.125, 2.25]
    assert model.last_error is None
    assert [request.json for request in server.requests] == [server.requests[0].json] * 3


def test_after_three_retries_it_is_unavailable(connect: Connect, fake_time: FakeTime, deadline: Deadline) -> None:
    with LlmServer([error(500)]) as server:
        model = connect(server)
        with pytest.raises(LlmUnavailable) as caught:
            model.complete(MESSAGES, deadline=deadline)

    assert len(server.requests) == 4
    assert fake_time.slept == [1.125, 2.25, 4.5]
    assert str(caught.value) == model.last_error == "LLM answered 500 (InternalServerError)"
    assert caught.value.retry_after is None
    assert str(caught.value.__cause__) == "status 500, type some_error"


@pytest.mark.parametrize(
    ("failure", "wait_s"),
    [
        (error(429, retry_after=0.1), 0.1),
        (error(429, retry_after=20), 20.0),
        (error(503, retry_after="Sun, 25 Oct 2026 12:00:09 GMT"), 9.0),
        (error(429, headers={"Retry-After-Ms": "700"}), 0.7),
        (error(413, retry_after=3, message="tokens per minute"), 3.0),
        (error(429, retry_after="rubbish"), 1.125),
    ],
    ids=["seconds", "beyond the cap", "date", "milliseconds", "413", "unreadable"],
)
def test_the_server_s_retry_after_is_honoured(
    connect: Connect, failure: Step, wait_s: float, fake_time: FakeTime, deadline: Deadline
) -> None:
    with LlmServer([failure, reply("x")]) as server:
        completion = connect(server).complete(MESSAGES, deadline=deadline)

    assert fake_time.slept == [wait_s]
    assert completion.retries == 1


def test_nobody_listens(connect: Connect, fake_time: FakeTime, deadline: Deadline) -> None:
    with socket.socket() as bound_but_not_listening:
        bound_but_not_listening.bind(("127.0.0.1", 0))
        port = bound_but_not_listening.getsockname()[1]
        model = connect(f"http://127.0.0.1:{port}/v1")
        with pytest.raises(LlmUnavailable):
            model.complete(MESSAGES, deadline=deadline)

    assert fake_time.slept == [1.125, 2.25, 4.5]
    assert model.last_error == "LLM connection failed (ConnectError)"


# --- the deadline -----------------------------------------------------------------------------------------------------


def test_a_wait_that_does_not_fit_ends_it_at_once(connect: Connect, fake_time: FakeTime, deadline: Deadline) -> None:
    with LlmServer([error(429, retry_after=28)]) as server, pytest.raises(LlmUnavailable) as caught:
        connect(server).complete(MESSAGES, deadline=deadline)

    assert (len(server.requests), fake_time.slept, caught.value.retry_after) == (1, [], 28.0)


def test_backoff_stops_where_the_deadline_comes_first(connect: Connect, fake_time: FakeTime) -> None:
    deadline = Deadline.after(3.0, fake_time)

    with LlmServer([error(500)]) as server, pytest.raises(LlmUnavailable):
        connect(server).complete(MESSAGES, deadline=deadline)

    assert fake_time.slept == [1.125]  # 1.875 s are left, 2.25 are due
    assert len(server.requests) == 2


def test_no_call_is_made_when_no_time_is_left(connect: Connect, fake_time: FakeTime) -> None:
    deadline = Deadline.after(0.0, fake_time)

    with LlmServer([reply("x")]) as server:
        model = connect(server)
        with pytest.raises(LlmUnavailable, match="No time left"):
            model.complete(MESSAGES, deadline=deadline)

    assert server.requests == []
    assert model.last_error == "No time left for an LLM call"


@pytest.mark.parametrize(
    "slow", [hang(), trickle(in_headers=True), trickle()], ids=["silence", "headers now and then", "body now and then"]
)
def test_no_call_outlives_the_deadline(connect: Connect, slow: Step, fake_time: FakeTime) -> None:
    """Each would end in a valid completion after ten minutes, so that only giving up in time makes it fail.

    On fake time the deadline comes no nearer before the call begins, however slow the machine is.
    """
    with LlmServer([slow]) as server:
        model = connect(server)
        with pytest.raises(LlmUnavailable):
            model.complete(MESSAGES, deadline=Deadline.after(0.1, fake_time))

    assert model.last_error == "LLM call timed out"
    assert fake_time.slept == []


def test_the_thread_that_a_trickling_server_holds_ends_itself(connect: Connect, fake_time: FakeTime) -> None:
    before = threading.active_count()
    with LlmServer([trickle()]) as server:
        with pytest.raises(LlmUnavailable):
            connect(server, retries=0, read_timeout_s=0.08).complete(MESSAGES, deadline=Deadline.after(27.0, fake_time))
        workers = [thread for thread in threading.enumerate() if thread.name == "time-limited"]
        for worker in workers:
            worker.join(NEVER_S)
        assert not any(worker.is_alive() for worker in workers)
    assert threading.active_count() <= before


def test_a_slow_call_is_retried_while_there_is_time(connect: Connect, fake_time: FakeTime, deadline: Deadline) -> None:
    with LlmServer([hang(), reply("x")]) as server:
        completion = connect(server, read_timeout_s=0.5).complete(MESSAGES, deadline=deadline)

    assert completion.text == "x"
    assert completion.retries >= 1
    assert fake_time.slept[0] == 1.125


# --- models that are gone ---------------------------------------------------------------------------------------------


def test_a_withdrawn_model_gives_way_to_the_next_one_for_good(
    connect: Connect, fake_time: FakeTime, deadline: Deadline
) -> None:
    with LlmServer([only_models("openai/gpt-oss-20b")]) as server:
        model = connect(server, fallback_models=("also-gone", "openai/gpt-oss-20b"))
        assert model.model == "llama-3.1-8b-instant"
        first = model.complete(MESSAGES, deadline=deadline)
        second = model.complete(MESSAGES, deadline=deadline)

    assert [request.json["model"] for request in server.requests] == [
        "llama-3.1-8b-instant",
        "also-gone",
        "openai/gpt-oss-20b",
        "openai/gpt-oss-20b",
    ]
    assert [request.json.get("reasoning_effort") for request in server.requests] == [None, None, "low", "low"]
    assert (first.calls, first.retries, first.model) == (3, 0, "openai/gpt-oss-20b")
    assert (second.calls, second.retries) == (1, 0)
    assert model.model == "openai/gpt-oss-20b"
    assert fake_time.slept == []


@pytest.mark.parametrize(
    "gone",
    [
        model_not_found("m"),
        model_not_found("m", code="model_decommissioned", status=400),
        json_body({"error": {"message": "model 'm' not found, try pulling it first", "code": None}}, 404),
    ],
    ids=["groq", "decommissioned", "ollama"],
)
def test_ways_to_say_that_a_model_is_gone(connect: Connect, gone: Step, deadline: Deadline) -> None:
    with LlmServer([gone, error(429), reply("x")]) as server:
        completion = connect(server, fallback_models=("next",)).complete(MESSAGES, deadline=deadline)

    assert [request.json["model"] for request in server.requests] == ["llama-3.1-8b-instant", "next", "next"]
    assert (completion.calls, completion.retries) == (3, 1)


def test_when_every_model_is_gone_it_is_unavailable_and_looks_again_next_time(
    connect: Connect, fake_time: FakeTime, deadline: Deadline
) -> None:
    with LlmServer([model_not_found("a"), model_not_found("b"), reply("back again")]) as server:
        model = connect(server, model="a", fallback_models=("b",))
        with pytest.raises(LlmUnavailable, match="every configured model"):
            model.complete(MESSAGES, deadline=deadline)
        assert model.last_error == "LLM answered 404 (NotFoundError) for every configured model"
        completion = model.complete(MESSAGES, deadline=deadline)

    assert completion.text == "back again"
    assert [request.json["model"] for request in server.requests] == ["a", "b", "a"]
    assert fake_time.slept == []


# --- what does not pass -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("failure", "last_error"),
    [
        (error(401), "LLM answered 401 (AuthenticationError)"),
        (error(403), "LLM answered 403 (PermissionDeniedError)"),
        (html(404), "LLM answered 404 (NotFoundError)"),
        (error(429, code="insufficient_quota"), "LLM answered 429 (RateLimitError)"),
    ],
    ids=["401", "403", "wrong address", "no money left"],
)
def test_what_only_the_operator_can_mend_is_unavailable_at_once(
    connect: Connect, failure: Step, last_error: str, fake_time: FakeTime, deadline: Deadline
) -> None:
    with LlmServer([failure]) as server:
        model = connect(server, fallback_models=("next",))
        with pytest.raises(LlmUnavailable):
            model.complete(MESSAGES, deadline=deadline)

    assert (len(server.requests), fake_time.slept, model.last_error) == (1, [], last_error)


@pytest.mark.parametrize("status", [301, 304, 307])
def test_nothing_is_sent_where_a_server_points_to(
    connect: Connect, status: int, fake_time: FakeTime, deadline: Deadline
) -> None:
    """To another address as little as in a loop: the prompt stays where the operator sent it."""
    with LlmServer([reply("caught")]) as elsewhere, LlmServer([moved(status, f"{elsewhere.url}/x?q=secret")]) as server:
        model = connect(server, fallback_models=("next",))
        with pytest.raises(LlmUnavailable, match=r"its base URL redirects, which is not followed") as caught:
            model.complete(MESSAGES, deadline=deadline)
        with pytest.raises(LlmUnavailable):
            model.complete(MESSAGES, deadline=deadline, on_text=lambda text: None)
        assert elsewhere.connections == 0
    assert (len(server.requests), fake_time.slept) == (2, [])
    assert "secret" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("refusal", [error(400), error(413)], ids=["400", "413"])
def test_a_refused_request_fails_at_once(
    connect: Connect, refusal: Step, fake_time: FakeTime, deadline: Deadline
) -> None:
    with LlmServer([refusal]) as server, pytest.raises(LlmUnavailable) as caught:
        connect(server).complete(MESSAGES, deadline=deadline)

    assert (len(server.requests), fake_time.slept) == (1, [])
    assert SERVER_ERROR_TEXT not in "".join(traceback.format_exception(caught.value))
    refused = caught.value.__cause__
    assert isinstance(refused, LlmFailed)
    assert str(refused.__cause__).startswith("status 4")
    assert str(refused.__cause__).endswith("type some_error")


def test_a_parameter_that_a_model_refuses_is_renamed_or_left_out_from_then_on(
    connect: Connect, deadline: Deadline
) -> None:
    """As OpenAI's GPT-5 and o-models answer."""
    tokens = (
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    )
    heat = "Unsupported value: 'temperature' does not support 0.3 with this model."
    refusals = [
        raw(400, json.dumps({"error": {"message": tokens, "code": "unsupported_parameter", "param": None}}).encode()),
        raw(
            400, json.dumps({"error": {"message": heat, "code": "unsupported_value", "param": "temperature"}}).encode()
        ),
    ]
    with LlmServer([*refusals, reply("Yes.")]) as server:
        model = connect(server)
        first = model.complete(MESSAGES, deadline=deadline)
        model.complete(MESSAGES, deadline=deadline)
        told: list[str] = []
        model.complete(MESSAGES, deadline=deadline, on_text=told.append)

    assert (first.text, first.calls, "".join(told)) == ("Yes.", 3, "Yes.")
    assert len(server.requests) == 5
    for request in server.requests[2:]:
        assert (request.json["max_completion_tokens"], request.json.keys() & {"max_tokens", "temperature"}) == (
            500,
            set(),
        )


def test_a_refusal_that_leaving_out_does_not_mend_ends_it(connect: Connect, deadline: Deadline) -> None:
    refusal = raw(400, json.dumps({"error": {"message": "max_completion_tokens and max_tokens are wrong"}}).encode())
    with LlmServer([refusal]) as server, pytest.raises(LlmUnavailable):
        connect(server).complete(MESSAGES, deadline=deadline)
    assert len(server.requests) <= 4


@pytest.mark.parametrize(
    "refusal",
    [
        error(400, code="context_length_exceeded"),
        raw(400, b'{"error": {"code": 400, "type": "exceed_context_size_error", "n_ctx": 512}}'),
        raw(
            400,
            b'{"error": {"message": "max_tokens is too large. This model\'s maximum context length is 512 tokens."}}',
        ),
    ],
    ids=["OpenAI", "llama.cpp", "vLLM"],
)
def test_a_prompt_that_exceeds_the_context_window_is_said_to_do_so(
    connect: Connect, refusal: Step, deadline: Deadline
) -> None:
    with LlmServer([refusal]) as server, pytest.raises(ContextTooLong):
        connect(server, fallback_models=("another",)).complete(MESSAGES, deadline=deadline)
    assert len(server.requests) == 1


def test_a_strict_model_s_refusal_asks_no_other(connect: Connect, deadline: Deadline) -> None:
    with LlmServer([error(400)]) as server, pytest.raises(RequestRefused):
        connect(server, fallback_models=("another",), is_strict=True).complete(MESSAGES, deadline=deadline)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "unreadable",
    [
        garbage(),
        json_body(["not", "a", "completion"]),
        raw(200, b"not gzip", {"Content-Encoding": "gzip"}),
        raw(200, gzip.compress(b" " * 5_000_000), {"Content-Encoding": "gzip"}),
    ],
    ids=["garbage", "a list", "bad gzip", "gzip bomb"],
)
def test_an_unreadable_completion_fails_at_once(
    connect: Connect, unreadable: Step, fake_time: FakeTime, deadline: Deadline
) -> None:
    with LlmServer([unreadable]) as server:
        model = connect(server)
        with pytest.raises(LlmUnavailable, match=r"^Unreadable completion: ") as caught:
            model.complete(MESSAGES, deadline=deadline)

    assert (len(server.requests), fake_time.slept) == (1, [])
    assert model.last_error == str(caught.value)


@pytest.mark.parametrize(("chars", "finish"), [(8000, "stop"), (8001, "length"), (1_000_000, "length")])
def test_a_completion_ends_where_max_tokens_ends(connect: Connect, deadline: Deadline, chars: int, finish: str) -> None:
    """500 tokens are 8,000 characters at most; a server that writes on anyway is taken as one that stopped there."""
    text = " ".join(map(str, range(chars // 2)))[:chars]
    with LlmServer([reply(text)]) as server:
        made = connect(server).complete(MESSAGES, deadline=deadline)
    assert (made.text, made.finish_reason) == (text[:8000], finish)
    thinks = reply(f"<think>{'x' * chars}</think>Yes.")
    with LlmServer([thinks]) as server, pytest.raises(LlmUnavailable, match="no text"):
        connect(server).complete(MESSAGES, deadline=deadline)


def test_a_body_grows_with_what_was_asked_for(connect: Connect, deadline: Deadline) -> None:
    """A stream of 10,000 tokens, each in an event of half a kilobyte, is no misbehaviour."""
    words = [f"{number} " for number in range(10_000)]
    events = drip(*[{"choices": [{"delta": {"content": word}}], "id": "x" * 500} for word in words])
    for tokens, text in ((10_000, "".join(words)), (500, "".join(words)[:8000])):
        with LlmServer([events]) as server:
            model = connect(server, max_tokens=tokens)
            assert model.complete(MESSAGES, deadline=deadline, on_text=lambda text: None).text == text


def test_json_is_read_whatever_the_server_calls_it(connect: Connect, deadline: Deadline) -> None:
    body = b'{"choices": [{"message": {"content": "x"}}]}'
    with LlmServer([raw(200, body, kind="text/plain")]) as server:
        assert connect(server).complete(MESSAGES, deadline=deadline).text == "x"


# --- secrets, threads, imports ----------------------------------------------------------------------------------------


def test_the_key_is_in_no_message_and_no_repr(
    connect: Connect, deadline: Deadline, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG", logger="rag")
    with LlmServer([error(401, message=f"Incorrect key: Bearer {KEY}")]) as server:
        model = connect(server)
        with pytest.raises(LlmUnavailable) as caught:
            model.complete(MESSAGES, deadline=deadline)

    assert KEY not in "".join(traceback.format_exception(caught.value))
    assert KEY not in caplog.text
    assert KEY not in f"{config(server.url)!r} {model!r} {model.last_error!r}"


@pytest.mark.parametrize("key", ["sk-two\nlines", "sk-schlüssel"])
def test_a_key_that_no_header_can_carry_is_named_not_shown(connect: Connect, key: str, deadline: Deadline) -> None:
    with LlmServer([reply("x")]) as server, pytest.raises(LlmUnavailable, match="API key") as caught:
        connect(server, api_key=lambda: key).complete(MESSAGES, deadline=deadline)

    assert "sk-" not in "".join(traceback.format_exception(caught.value, limit=0))
    assert server.requests == []


@pytest.mark.parametrize("url", ["localhost:11434/v1", "http://127.0.0.1:port/v1", "ftp://127.0.0.1/v1"])
def test_an_address_that_is_none_is_unavailable_without_a_retry(
    connect: Connect, url: str, fake_time: FakeTime, deadline: Deadline
) -> None:
    with pytest.raises(LlmUnavailable):
        connect(url).complete(MESSAGES, deadline=deadline)

    assert fake_time.slept == []


def test_a_key_that_has_changed_goes_out_with_the_next_call(connect: Connect, deadline: Deadline) -> None:
    keys = ["sk-old"]

    def rotate(exchange: Exchange) -> None:
        keys[0] = " sk-new\n"
        error(500)(exchange)

    with LlmServer([reply("x"), rotate, reply("x"), reply("x")]) as server:
        model = connect(server, api_key=lambda: keys[0])
        for _ in range(3):
            model.complete(MESSAGES, deadline=deadline)
        assert [request.headers["authorization"] for request in server.requests] == [
            "Bearer sk-old",
            "Bearer sk-old",
            "Bearer sk-new",  # a retry already
            "Bearer sk-new",
        ]
        assert server.connections == 1, "a new key needs no new client"


def test_the_key_that_was_refused_is_kept_from_the_log_even_if_another_one_is_in_use_by_then(
    connect: Connect, deadline: Deadline
) -> None:
    keys = [KEY]

    def refuse(exchange: Exchange) -> None:
        keys[0] = "sk-new"
        model.server.client()
        error(401, message=f"Incorrect key: Bearer {KEY}")(exchange)

    with LlmServer([refuse]) as server:
        model = connect(server, api_key=lambda: keys[0])
        with pytest.raises(LlmUnavailable) as caught:
            model.complete(MESSAGES, deadline=deadline)

    assert KEY not in "".join(traceback.format_exception(caught.value))


def test_eight_threads_share_one_adapter(connect: Connect, deadline: Deadline) -> None:
    def shout(exchange: Exchange) -> None:
        request = exchange.request.json
        if request["model"] == "next":
            reply(request["messages"][1]["content"].upper())(exchange)
        else:
            model_not_found(request["model"])(exchange)

    with LlmServer([shout]) as server, ThreadPoolExecutor(8) as pool:
        model = connect(server, fallback_models=("next",))

        def ask(number: int) -> str:
            messages = (MESSAGES[0], Message("user", f"question {number}"))
            return model.complete(messages, deadline=deadline).text

        answers = list(pool.map(ask, range(40)))
        assert server.connections <= 8

    assert answers == [f"QUESTION {number}" for number in range(40)]
    assert model.model == "next"
    assert model.last_error is None


@pytest.mark.parametrize("status", [400, 500])
def test_an_error_s_body_is_read_in_moderation_and_never_unpacked(
    connect: Connect, deadline: Deadline, status: int
) -> None:
    """200 KB can be 200 MB; the client itself reads all of an error, before anybody is asked."""
    bomb = raw(status, gzip.compress(b" " * 200_000_000, 1), {"Content-Encoding": "gzip"})
    long = raw(status, b" " * 20_000_000)
    tracemalloc.start()
    try:
        with LlmServer([bomb, long]) as server:
            model = connect(server, retries=0)
            tracemalloc.reset_peak()
            for _ in range(2):
                with pytest.raises(LlmUnavailable):
                    model.complete(MESSAGES, deadline=deadline)
            assert {request.headers["accept-encoding"] for request in server.requests} == {"identity"}
            assert tracemalloc.get_traced_memory()[1] < 60_000_000  # the server's own 20 MB are in it
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", ["x" * 129, f"Bearer {KEY}", "", 7])
@pytest.mark.parametrize("streamed", [False, True])
def test_a_server_s_name_for_the_model_is_a_name_or_nothing(
    connect: Connect, deadline: Deadline, name: object, streamed: bool
) -> None:
    told: Any = name
    plain, event = {**completion("x"), "model": told}, {**chunk({"content": "x"}), "model": told}
    step = drip(event, usage=None) if streamed else json_body(plain)
    with LlmServer([step]) as server:
        model = connect(server)
        made = model.complete(MESSAGES, deadline=deadline, on_text=(lambda _: None) if streamed else None)
    assert (made.model, made.requested_model) == (
        MODEL if streamed else model.model,
        model.model,
    )  # a stream's first event has one


def test_connections_are_kept_and_renewing_drops_them(connect: Connect, deadline: Deadline) -> None:
    with LlmServer([reply("x")]) as server:
        model = connect(server)
        model.complete(MESSAGES, deadline=deadline)
        model.complete(MESSAGES, deadline=deadline)
        assert server.connections == 1
        model.renew()
        model.complete(MESSAGES, deadline=deadline)
        assert server.connections == 2


def test_openai_is_imported_by_warming_and_by_nothing_before() -> None:
    program = """
import sys
from rag.adapters.llm.openai_chat import OpenAiChat
from rag.adapters.model_config import ChatConfig
model = OpenAiChat(ChatConfig(
    base_url="http://127.0.0.1:9/v1", api_key=lambda: "k", model="m", temperature=0, max_tokens=None,
    connect_timeout_s=1, read_timeout_s=1, retries=0, base_s=1, cap_s=1))
model.renew()
heavy = {"openai", "httpx2", "pydantic"}
print(sorted(heavy & set(sys.modules)))
model.warm()
print(sorted(heavy & set(sys.modules)))
"""
    assert run_fresh(program).splitlines() == ["[]", "['httpx2', 'openai', 'pydantic']"]
