"""The LLM adapter against a misbehaving server on a real socket."""

import gzip
import traceback
import tracemalloc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from command_line import run_fresh
from fakes_chat import Chat, Connect, FakeTime, config, connecting
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


@pytest.fixture
def chat(connect: Connect, fake_time: FakeTime) -> Chat:
    return Chat(connect, fake_time, MESSAGES, left_s=27.0)


def trace(error: Exception) -> str:
    """All that a log would have of it."""
    return "".join(traceback.format_exception(error))


def test_the_request_is_exactly_what_was_asked_for_and_the_completion_is_read_whole(
    chat: Chat, fake_time: FakeTime
) -> None:
    usage = {"prompt_tokens": 900, "completion_tokens": 40, "total_tokens": 940}
    made = chat.ask(reply("Yes. [Permits]", model="m-2026", finish_reason="length", usage=usage))

    [request] = chat.requests
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
    assert made == Completion(
        text="Yes. [Permits]",
        model="m-2026",
        requested_model="llama-3.1-8b-instant",
        finish_reason="length",
        usage=Usage(900, 40, 940),
        calls=1,
        retries=0,
        degraded=False,
    )
    assert (chat.model.last_error, fake_time.slept) == (None, [])


def test_nothing_comes_from_the_client_s_own_variables(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
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

    chat.ask(reply("x"), api_key=lambda: "", max_tokens=None)

    headers = chat.requests[0].headers
    assert not [name for name, value in headers.items() if "stray" in f"{name}: {value}"]
    assert headers["authorization"] == "Bearer none"
    assert headers.keys() & {"openai-organization", "openai-project"} == set()
    assert chat.requests[0].json.keys() == {"model", "messages", "temperature"}, "without max_tokens the server decides"


@pytest.mark.parametrize("failure", [error(503), cut(), reset()], ids=["503", "cut", "reset"])
def test_a_failure_that_may_pass_is_retried(chat: Chat, failure: Step, fake_time: FakeTime) -> None:
    made = chat.ask(failure, failure, reply("At last."))
    assert (made.text, made.calls, made.retries) == ("At last.", 3, 2)
    assert (fake_time.slept, chat.model.last_error) == ([1.125, 2.25], None)
    assert [request.json for request in chat.requests] == [chat.requests[0].json] * 3


def test_after_three_retries_it_is_unavailable(chat: Chat, fake_time: FakeTime) -> None:
    failed = chat.fail(error(500), kind=LlmUnavailable)
    assert (len(chat.requests), fake_time.slept) == (4, [1.125, 2.25, 4.5])
    assert str(failed) == chat.model.last_error == "LLM answered 500 (InternalServerError)"
    assert failed.retry_after is None
    assert str(failed.__cause__) == "status 500, type some_error"


@pytest.mark.parametrize(
    ("failure", "wait_s"),
    [
        (error(429, retry_after=20), 20.0),
        (error(503, retry_after="Sun, 25 Oct 2026 12:00:09 GMT"), 9.0),
        (error(429, headers={"Retry-After-Ms": "700"}), 0.7),
        (error(413, retry_after=3, message="tokens per minute"), 3.0),
        (error(429, retry_after="rubbish"), 1.125),
    ],
    ids=["beyond the cap", "date", "milliseconds", "413", "unreadable"],
)
def test_the_server_s_retry_after_is_honoured(chat: Chat, failure: Step, wait_s: float, fake_time: FakeTime) -> None:
    made = chat.ask(failure, reply("x"))
    assert (fake_time.slept, made.retries) == ([wait_s], 1)


def test_nobody_listens(connect: Connect, fake_time: FakeTime, deadline: Deadline) -> None:
    model = connect("http://127.0.0.1:9/v1")
    with pytest.raises(LlmUnavailable):
        model.complete(MESSAGES, deadline=deadline)
    assert fake_time.slept == [1.125, 2.25, 4.5]
    assert model.last_error == "LLM connection failed (ConnectError)"


def test_a_wait_that_does_not_fit_ends_it_at_once(chat: Chat, fake_time: FakeTime) -> None:
    failed = chat.fail(error(429, retry_after=28), kind=LlmUnavailable)
    assert (len(chat.requests), fake_time.slept, failed.retry_after) == (1, [], 28.0)
    chat.fail(error(500), kind=LlmUnavailable, left=3.0)
    assert (len(chat.requests), fake_time.slept) == (2, [1.125])  # 1.875 s are left, 2.25 are due


def test_no_call_is_made_when_no_time_is_left(chat: Chat) -> None:
    failed = chat.fail(reply("x"), kind=LlmUnavailable, left=0.0)
    assert (chat.requests, str(failed)) == ([], "No time left for an LLM call")
    assert chat.model.last_error == str(failed)


@pytest.mark.parametrize(
    "slow", [hang(), trickle(in_headers=True), trickle()], ids=["silence", "headers now and then", "body now and then"]
)
def test_no_call_outlives_the_deadline(chat: Chat, slow: Step, fake_time: FakeTime) -> None:
    """Each would end in a valid completion after ten minutes, so that only giving up in time makes it fail.

    On fake time the deadline comes no nearer before the call begins, however slow the machine is.
    """
    chat.fail(slow, kind=LlmUnavailable, left=0.1)
    assert (chat.model.last_error, fake_time.slept) == ("LLM call timed out", [])


def test_a_slow_call_is_retried_while_there_is_time(chat: Chat, fake_time: FakeTime) -> None:
    made = chat.ask(hang(), reply("x"), read_timeout_s=0.5)
    assert (made.text, made.retries >= 1, fake_time.slept[0]) == ("x", True, 1.125)


def test_a_withdrawn_model_gives_way_to_the_next_one_for_good(
    connect: Connect, fake_time: FakeTime, deadline: Deadline
) -> None:
    with LlmServer([only_models("openai/gpt-oss-20b")]) as server:
        model = connect(server, fallback_models=("also-gone", "openai/gpt-oss-20b"))
        assert model.model == "llama-3.1-8b-instant"
        first = model.complete(MESSAGES, deadline=deadline)
        second = model.complete(MESSAGES, deadline=deadline)

    assert [(request.json["model"], request.json.get("reasoning_effort")) for request in server.requests] == [
        ("llama-3.1-8b-instant", None),
        ("also-gone", None),
        ("openai/gpt-oss-20b", "low"),
        ("openai/gpt-oss-20b", "low"),
    ]
    assert (first.calls, first.retries, first.model) == (3, 0, "openai/gpt-oss-20b")
    assert (second.calls, second.retries) == (1, 0)
    assert (model.model, fake_time.slept) == ("openai/gpt-oss-20b", [])


def test_when_every_model_is_gone_it_is_unavailable_and_looks_again_next_time(
    connect: Connect, fake_time: FakeTime, deadline: Deadline
) -> None:
    with LlmServer([model_not_found("a"), model_not_found("b"), reply("back again")]) as server:
        model = connect(server, model="a", fallback_models=("b",))
        with pytest.raises(LlmUnavailable, match="every configured model"):
            model.complete(MESSAGES, deadline=deadline)
        assert model.last_error == "LLM answered 404 (NotFoundError) for every configured model"
        assert model.complete(MESSAGES, deadline=deadline).text == "back again"
    assert [request.json["model"] for request in server.requests] == ["a", "b", "a"]
    assert fake_time.slept == []


@pytest.mark.parametrize(
    ("failure", "last_error"),
    [
        (error(401), "LLM answered 401 (AuthenticationError)"),
        (html(404), "LLM answered 404 (NotFoundError)"),
        (error(429, code="insufficient_quota"), "LLM answered 429 (RateLimitError)"),
    ],
    ids=["401", "wrong address", "no money left"],
)
def test_what_only_the_operator_can_mend_is_unavailable_at_once(
    chat: Chat, failure: Step, last_error: str, fake_time: FakeTime
) -> None:
    chat.fail(failure, kind=LlmUnavailable, fallback_models=("next",))
    assert (len(chat.requests), fake_time.slept, chat.model.last_error) == (1, [], last_error)


@pytest.mark.parametrize("status", [304, 307])
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
    assert "secret" not in trace(caught.value)


def test_a_refused_request_fails_at_once_and_a_strict_model_s_asks_no_other(chat: Chat, fake_time: FakeTime) -> None:
    failed = chat.fail(error(413), kind=LlmUnavailable)
    assert (len(chat.requests), fake_time.slept) == (1, [])
    assert SERVER_ERROR_TEXT not in trace(failed)
    assert isinstance(failed.__cause__, LlmFailed)
    assert str(failed.__cause__.__cause__) == "status 413, type some_error"
    chat.fail(error(400), kind=RequestRefused, fallback_models=("another",), is_strict=True)
    assert len(chat.requests) == 1


def test_a_parameter_that_a_model_refuses_is_renamed_or_left_out_from_then_on(
    connect: Connect, deadline: Deadline
) -> None:
    """As OpenAI's GPT-5 and o-models answer."""
    tokens = "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead."
    heat = "Unsupported value: 'temperature' does not support 0.3 with this model."
    refusals = [
        json_body({"error": {"message": tokens, "code": "unsupported_parameter", "param": None}}, 400),
        json_body({"error": {"message": heat, "code": "unsupported_value", "param": "temperature"}}, 400),
    ]
    told: list[str] = []
    with LlmServer([*refusals, reply("Yes.")]) as server:
        model = connect(server)
        first = model.complete(MESSAGES, deadline=deadline)
        model.complete(MESSAGES, deadline=deadline, on_text=told.append)

    assert (first.text, first.calls, "".join(told)) == ("Yes.", 3, "Yes.")
    assert len(server.requests) == 4
    for request in server.requests[2:]:
        assert request.json["max_completion_tokens"] == 500
        assert request.json.keys() & {"max_tokens", "temperature"} == set()


def test_a_refusal_that_leaving_out_does_not_mend_ends_it(chat: Chat) -> None:
    refusal = json_body({"error": {"message": "max_completion_tokens and max_tokens are wrong"}}, 400)
    chat.fail(refusal, kind=LlmUnavailable)
    assert len(chat.requests) == 2


@pytest.mark.parametrize(
    "refusal",
    [
        {"code": "context_length_exceeded"},
        {"type": "exceed_context_size_error"},
        {"message": "max_tokens is too large. This model's maximum context length is 512 tokens."},
    ],
    ids=["OpenAI", "llama.cpp", "vLLM"],
)
def test_a_prompt_that_exceeds_the_context_window_is_said_to_do_so(chat: Chat, refusal: dict[str, str]) -> None:
    chat.fail(json_body({"error": refusal}, 400), kind=ContextTooLong, fallback_models=("another",))
    assert len(chat.requests) == 1


@pytest.mark.parametrize(
    "unreadable",
    [
        garbage(),
        raw(200, b"not gzip", {"Content-Encoding": "gzip"}),
        raw(200, gzip.compress(b" " * 5_000_000), {"Content-Encoding": "gzip"}),
    ],
    ids=["garbage", "bad gzip", "gzip bomb"],
)
def test_an_unreadable_completion_fails_at_once(chat: Chat, unreadable: Step, fake_time: FakeTime) -> None:
    failed = chat.fail(unreadable, kind=LlmUnavailable)
    assert (len(chat.requests), fake_time.slept) == (1, [])
    assert str(failed).startswith("Unreadable completion: ")
    assert chat.model.last_error == str(failed)


@pytest.mark.parametrize(("chars", "finish"), [(8000, "stop"), (8001, "length")])
def test_a_completion_ends_where_max_tokens_ends(chat: Chat, chars: int, finish: str) -> None:
    """500 tokens are 8,000 characters at most; a server that writes on anyway is taken as one that stopped there."""
    text = " ".join(map(str, range(chars // 2)))[:chars]
    made = chat.ask(reply(text))
    assert (made.text, made.finish_reason) == (text[:8000], finish)
    assert "no text" in str(chat.fail(reply(f"<think>{'x' * chars}</think>Yes."), kind=LlmUnavailable))


def test_a_body_grows_with_what_was_asked_for(connect: Connect, deadline: Deadline) -> None:
    """A stream of five megabytes is no misbehaviour where 10,000 tokens were asked for."""
    words = [f"{number} " for number in range(1_000)]
    events = drip(*[{"choices": [{"delta": {"content": word}}], "id": "x" * 5_000} for word in words])
    with LlmServer([events]) as server:
        model = connect(server, max_tokens=10_000)
        assert model.complete(MESSAGES, deadline=deadline, on_text=lambda text: None).text == "".join(words)


def test_json_is_read_whatever_the_server_calls_it(chat: Chat) -> None:
    body = b'{"choices": [{"message": {"content": "x"}}]}'
    assert chat.ask(raw(200, body, kind="text/plain")).text == "x"


def test_the_key_is_in_no_message_and_no_repr(chat: Chat, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG", logger="rag")
    failed = chat.fail(error(401, message=f"Incorrect key: Bearer {KEY}"), kind=LlmUnavailable)
    assert KEY not in trace(failed)
    assert KEY not in caplog.text
    assert KEY not in f"{config('http://a/v1')!r} {chat.model!r} {chat.model.last_error!r}"


@pytest.mark.parametrize("key", ["sk-two\nlines", "sk-schlüssel"])
def test_a_key_that_no_header_can_carry_is_named_not_shown(chat: Chat, key: str) -> None:
    failed = chat.fail(reply("x"), kind=LlmUnavailable, api_key=lambda: key)
    assert "API key" in str(failed)
    assert "sk-" not in "".join(traceback.format_exception(failed, limit=0))
    assert chat.requests == []


@pytest.mark.parametrize("url", ["localhost:11434/v1", "http://127.0.0.1:port/v1"])
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
        sent = [request.headers["authorization"].removeprefix("Bearer ") for request in server.requests]
        assert sent == ["sk-old", "sk-old", "sk-new", "sk-new"]  # the third is a retry already
        assert server.connections == 1, "a new key needs no new client"


def test_the_key_that_was_refused_is_kept_from_the_log_even_if_another_one_is_in_use_by_then(chat: Chat) -> None:
    keys = [KEY]

    def refuse(exchange: Exchange) -> None:
        keys[0] = "sk-new"
        chat.model.server.client()
        error(401, message=f"Incorrect key: Bearer {KEY}")(exchange)

    assert KEY not in trace(chat.fail(refuse, kind=LlmUnavailable, api_key=lambda: keys[0]))


def test_eight_threads_share_one_adapter(connect: Connect, deadline: Deadline) -> None:
    def shout(exchange: Exchange) -> None:
        request = exchange.request.json
        if request["model"] == "next":
            reply(request["messages"][0]["content"].upper())(exchange)
        else:
            model_not_found(request["model"])(exchange)

    with LlmServer([shout]) as server, ThreadPoolExecutor(8) as pool:
        model = connect(server, fallback_models=("next",))

        def ask(number: int) -> str:
            return model.complete([Message("user", f"question {number}")], deadline=deadline).text

        answers = list(pool.map(ask, range(40)))
        assert server.connections <= 8

    assert answers == [f"QUESTION {number}" for number in range(40)]
    assert (model.model, model.last_error) == ("next", None)


def test_an_error_s_body_is_read_in_moderation_and_never_unpacked(connect: Connect, deadline: Deadline) -> None:
    """50 KB can be 50 MB; the client itself reads all of an error, before anybody is asked."""
    bomb = raw(400, gzip.compress(b" " * 50_000_000, 1), {"Content-Encoding": "gzip"})
    long = raw(500, b" " * 5_000_000)
    tracemalloc.start()
    try:
        with LlmServer([bomb, long]) as server:
            model = connect(server, retries=0)
            tracemalloc.reset_peak()
            for _ in range(2):
                with pytest.raises(LlmUnavailable):
                    model.complete(MESSAGES, deadline=deadline)
            assert {request.headers["accept-encoding"] for request in server.requests} == {"identity"}
            assert tracemalloc.get_traced_memory()[1] < 20_000_000  # the server's own 5 MB are in it
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", ["x" * 129, f"Bearer {KEY}", 7])
def test_a_server_s_name_for_the_model_is_a_name_or_nothing(connect: Connect, deadline: Deadline, name: object) -> None:
    event = {**chunk({"content": "x"}), "model": name}
    with LlmServer([json_body({**completion("x"), "model": name}), drip(event, usage=None)]) as server:
        model = connect(server)
        plain = model.complete(MESSAGES, deadline=deadline)
        streamed = model.complete(MESSAGES, deadline=deadline, on_text=lambda _: None)
    assert (plain.model, plain.requested_model) == (model.model, model.model)
    assert (streamed.model, streamed.requested_model) == (MODEL, model.model)  # its first event has one


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
from rag.adapters.embedding.embedders import remote_embedder
from rag.config.settings import Settings, load
embedder = remote_embedder(load(Settings, {"EMBED_MODEL": "text-embedding-3-large"}), side="question")
print(embedder.dimensions, sorted(heavy & set(sys.modules)))
model.warm()
print(sorted(heavy & set(sys.modules)))
"""
    assert run_fresh(program).splitlines() == ["[]", "3072 ['pydantic']", "['httpx2', 'openai', 'pydantic']"]
