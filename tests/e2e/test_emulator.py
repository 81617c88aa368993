"""The built function under AWS's Runtime Interface Emulator: the same answers as here, in Lambda's surroundings."""

import json
import shutil
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from artefacts import BUILD, FUNCTION, INDEX, ROOT
from fakes_llm import LlmServer, drip, error, reply
from functional.golden import differences, normalise
from local_server import Server, serving

from emulator.rie import Invocation
from emulator.session import Artefacts, Session, built

pytestmark = pytest.mark.build

EVENTS = {
    path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted((ROOT / "tests/events").glob("*.json"))
}
NOWHERE = {"LLM_BASE_URL": "http://192.0.2.1/v1", "LLM_MAX_RETRIES": "0"}
"""An LLM at an address that is reserved for documentation (RFC 5737)."""

WAYPOINT = {"Profile": "waypoint"}
"""What the build that the tests make is for."""

OF_THE_SERVER = {"connection", "content-length", "date", "server", "x-amzn-requestid"}
"""Headers that come from HTTP or from API Gateway's part, not from the function."""

UNAVAILABLE = {"error": "Pipeline error: LLM request failed", "code": "llm_unavailable"}


@pytest.fixture(scope="module")
def buffered() -> dict[str, Invocation]:
    """Every sample event, invoked one after the other in one environment; the first in the dict is the cold one."""
    before = _fingerprint()
    with Session(built(), parameters=WAYPOINT) as session:
        told = {name: session.invoke(event) for name, event in EVENTS.items()}
    assert _fingerprint() == before, "the function changed what was built"
    return told


@pytest.fixture(scope="module")
def streaming() -> dict[str, Invocation]:
    """The same with our runtime in place of Lambda's."""
    with Session(built(), parameters={**WAYPOINT, "Streaming": "on"}) as session:
        return {name: session.invoke(event) for name, event in EVENTS.items()}


@pytest.fixture(scope="module")
def local() -> Iterator[Server]:
    """The local server, on the index that was built into the layer."""
    with serving(INDEX, "--profile", "waypoint") as server:
        yield server


def _fingerprint() -> dict[str, tuple[int, int, int]]:
    """Of each file that was built its size, its time and its mode."""
    facts = {str(path.relative_to(BUILD)): path.stat() for path in BUILD.rglob("*") if path.is_file()}
    return {path: (fact.st_size, fact.st_mtime_ns, fact.st_mode) for path, fact in facts.items()}


def _headers(response: Mapping[str, Any]) -> dict[str, list[str]]:
    return {name.lower(): values for name, values in (response.get("multiValueHeaders") or {}).items()}


@pytest.mark.parametrize("name", EVENTS)
def test_status_headers_and_body_are_those_of_the_local_server(
    buffered: Mapping[str, Invocation], streaming: Mapping[str, Invocation], local: Server, name: str
) -> None:
    here = local.replay(EVENTS[name])
    usual = {header: value for header, value in here.headers.items() if header not in OF_THE_SERVER}
    for runtime, there in (("buffered", buffered[name].body), ("streaming", streaming[name].body)):
        assert (there["statusCode"], there["isBase64Encoded"]) == (here.status, False), runtime
        assert {header: ", ".join(values) for header, values in _headers(there).items()} == usual, runtime
        body = json.loads(there["body"])
        found = list(differences(normalise(body), normalise(here.json)))
        assert not found, f"{runtime}: {'; '.join(found)}"
        # Numbers may drift between processors, but the layer computes here what the server computes.
        assert name != "health" or body == here.json, runtime


@pytest.mark.parametrize(("function", "stage"), [("on", "off"), ("off", "on")])
def test_a_stage_that_is_deployed_otherwise_reads_the_same_response(
    buffered: Mapping[str, Invocation], function: str, stage: str
) -> None:
    # While `Streaming` is switched, forth or back, and while a deployment is rolled back
    with Session(built(), parameters={**WAYPOINT, "Streaming": function}, stage={"Streaming": stage}) as session:
        reply = session.invoke(EVENTS["query"])
    assert reply.streamed is (stage == "on")
    ours, usual = reply.body, buffered["query"].body
    assert not buffered["query"].streamed
    assert (ours["statusCode"], ours["multiValueHeaders"]) == (usual["statusCode"], usual["multiValueHeaders"])
    assert not list(differences(normalise(json.loads(ours["body"])), normalise(json.loads(usual["body"]))))


def test_a_base64_body_and_a_direct_event_get_the_answer_of_the_plain_one(buffered: Mapping[str, Invocation]) -> None:
    plain, base64, direct = (
        normalise(json.loads(buffered[name].body["body"])) for name in ("query", "query_base64", "query_direct")
    )
    assert isinstance(plain, dict)
    assert plain["sources"][0]["title"] == "Singapore Import Permits and TradeNet"
    assert base64 == plain
    assert direct == plain


def test_the_first_invocation_is_cold_and_every_other_is_warm(buffered: Mapping[str, Invocation]) -> None:
    first, *rest = buffered.values()
    assert first.init_ms is not None
    assert first.init_ms > 0
    assert [invocation.init_ms for invocation in rest] == [None] * len(rest)
    assert "INIT" not in "".join(line for invocation in rest for line in invocation.lines)


def test_each_invocation_logs_json_and_its_report(
    buffered: Mapping[str, Invocation], streaming: Mapping[str, Invocation]
) -> None:
    for invocations in (buffered, streaming):
        lines = [line for invocation in invocations.values() for line in invocation.lines]
        assert all(isinstance(json.loads(line), dict) for line in lines if line.startswith("{"))
        assert [line for line in lines if "Traceback" in line or "Warning" in line] == []
        assert sum('"ColdStart"' in line for line in lines) == 1
        # Metrics are printed, not logged: what an event measured has left before its end.
        assert any('"TotalMs"' in line for line in invocations["query"].lines)
    reports = {name: sum(line.startswith("REPORT ") for line in told.lines) for name, told in buffered.items()}
    assert reports == dict.fromkeys(EVENTS, 1)


PROBE = """
import errno, os, socket, sys, tempfile

import app


def refusal(act):
    try:
        act()
    except OSError as error:
        return errno.errorcode.get(error.errno, str(error.errno))
    return "allowed"


def handler(event, context):
    app.lambda_handler(event["event"], context)
    places = [os.environ["LAMBDA_TASK_ROOT"], "/opt/python", "/opt/python/knowledge", "/opt/index"]
    return {
        "writes": {place: refusal(lambda: open(os.path.join(place, "new"), "w")) for place in places},
        "touches": refusal(lambda: os.utime("/opt/index/manifest.json")),
        "appends": refusal(lambda: open(os.path.join(os.environ["LAMBDA_TASK_ROOT"], "app.py"), "a")),
        "tmp": refusal(lambda: open(os.path.join(tempfile.gettempdir(), "new"), "w")),
        "connect": refusal(lambda: socket.create_connection(("192.0.2.1", 80), timeout=2)),
        "interfaces": [name for _, name in socket.if_nameindex()],
        "environment": dict(os.environ),
        "directory": os.getcwd(),
        "opt": sorted(os.listdir("/opt")),
        "modules": sorted(sys.modules),
        "version": list(sys.version_info[:2]),
    }
"""


@pytest.fixture(scope="module")
def inside(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the function sees and may do, told by a handler that lies beside it."""
    task = tmp_path_factory.mktemp("probe") / "task"
    shutil.copytree(FUNCTION, task)
    (task / "probe.py").write_text(PROBE, encoding="utf-8")
    with Session(Artefacts(task, built().opt, "probe.handler")) as session:
        told = session.invoke({"event": EVENTS["query"]}).body
    assert "environment" in told, told
    facts: dict[str, Any] = told
    return facts


def test_function_and_layers_are_read_only_and_tmp_is_not(inside: dict[str, Any]) -> None:
    assert set(inside["writes"].values()) == {"EROFS"}
    assert len(inside["writes"]) == 4
    assert (inside["touches"], inside["appends"]) == ("EROFS", "EROFS")
    assert inside["tmp"] == "allowed"


def test_there_is_no_network_but_loopback(inside: dict[str, Any]) -> None:
    assert inside["interfaces"] == ["lo"]
    assert inside["connect"] == "ENETUNREACH"


def test_the_environment_is_lambda_s(inside: dict[str, Any]) -> None:
    environment = inside["environment"]
    assert "HOME" not in environment
    assert environment["LAMBDA_TASK_ROOT"] == inside["directory"]
    assert environment["INDEX_URI"] == "/opt/index"
    assert environment["AWS_LAMBDA_FUNCTION_MEMORY_SIZE"] == "1769"
    assert environment["AWS_LAMBDA_FUNCTION_TIMEOUT"] == "29"
    # Nothing of the developer's or CI's own environment gets in.
    assert not {"VIRTUAL_ENV", "PYTEST_CURRENT_TEST", "PIP_INDEX_URL", "USER"} & set(environment)
    assert {"python", "index"} <= set(inside["opt"])
    assert inside["version"] == [3, 13]


def test_no_client_of_others_is_imported_before_the_first_request(inside: dict[str, Any]) -> None:
    assert {"app", "chromadb", "aws_lambda_powertools"} <= set(inside["modules"])
    assert not {"boto3", "openai"} & set(inside["modules"])


def test_an_llm_that_cannot_be_reached_is_503() -> None:
    with Session(built(), parameters=WAYPOINT, environment=NOWHERE) as session:
        first, second = (session.invoke(EVENTS["query"]) for _ in range(2))
        declined = session.invoke(EVENTS["query_out_of_scope"])
    for invocation in (first, second):
        assert invocation.body["statusCode"] == 503
        assert json.loads(invocation.body["body"]) == UNAVAILABLE
        assert any("Network is unreachable" in line for line in invocation.lines)
    assert declined.body["statusCode"] == 200, "a question without results needs no LLM"


def test_a_secret_that_cannot_be_read_stops_neither_the_start_nor_health() -> None:
    with Session(built(), parameters=WAYPOINT, environment={"LLM_SECRET_NAME": "rag/llm-key"}) as session:
        health = session.invoke(EVENTS["health"])
        asked = session.invoke(EVENTS["query"])
    assert health.body["statusCode"] == 200
    assert json.loads(health.body["body"])["llm"]["engine"] == "openai"
    assert asked.body["statusCode"] == 503
    assert json.loads(asked.body["body"]) == UNAVAILABLE
    assert any("secret with the LLM's key cannot be read" in line for line in asked.lines)


def test_the_llm_s_answer_comes_back_and_at_debug_no_line_holds_what_was_asked_or_answered() -> None:
    text = "You need a permit. XQZZY. [Singapore Import Permits and TradeNet]"
    with (
        LlmServer([*[reply(text, model="served")] * 2, error(400)]) as server,
        Session(
            built(),
            environment={"LLM_BASE_URL": server.url, "LLM_API_KEY": "sk-e2e-key"},
            parameters={**WAYPOINT, "LogLevel": "DEBUG", "LlmFallbackModels": "another"},
            network=True,
        ) as session,
    ):
        answered = [session.invoke(EVENTS["query"]) for _ in range(2)]
        assert len(server.requests) == 2
        assert server.connections == 1, "a warm function keeps its connection"
        failed = session.invoke(EVENTS["query"])
    question = json.loads(EVENTS["query"]["body"])["query"]
    assert server.requests[0].headers["authorization"] == "Bearer sk-e2e-key"
    assert server.requests[0].json["messages"][-1] == {"role": "user", "content": question}
    for invocation in answered:
        body = json.loads(invocation.body["body"])
        assert body["answer"].startswith("You need a permit.")
        assert body["metadata"]["model"] == "served"
        assert body["citations"][0]["title"] == "Singapore Import Permits and TradeNet"
        assert "sk-e2e-key" not in invocation.body["body"]
    assert failed.body["statusCode"] == 503
    lines = [line for invocation in (*answered, failed) for line in invocation.lines]
    messages = [json.loads(line)["message"] for line in lines if line.startswith('{"level"')]
    assert [one for one in messages if "gave no completion" not in one] == ["answered", "answered", "request failed"]
    assert len(messages) == 5  # the model and the one after it were asked, in vain
    said = "\n".join(lines)
    assert [word for word in (question, "XQZZY", "sk-e2e-key", "You are Waypoint", "TradeNet") if word in said] == []


def test_events_are_streamed_as_the_model_writes() -> None:
    """The emulator hands them on in one piece; that each leaves at once is shown in integration."""
    event: dict[str, Any] = json.loads(json.dumps(EVENTS["query"]))
    event["headers"]["Accept"] = "text/event-stream"
    event["multiValueHeaders"]["Accept"] = ["text/event-stream"]
    with (
        LlmServer([drip("You need ", "a permit. ", "[Singapore Import Permits and TradeNet]")]) as server,
        Session(
            built(),
            environment={"LLM_BASE_URL": server.url, "LLM_API_KEY": "sk-e2e-key", "AWS_LAMBDA_LOG_FORMAT": "JSON"},
            parameters={"Streaming": "on"},
            network=True,
        ) as session,
    ):
        invocation = session.invoke(event)
    response = invocation.body
    assert response["statusCode"] == 200
    assert response["headers"]["Content-Type"] == "text/event-stream"
    names = [line.removeprefix("event: ") for line in response["body"].splitlines() if line.startswith("event: ")]
    assert "delta" in names
    assert names[-1] == "answer"
    answer = json.loads(response["body"].rstrip().rpartition("\ndata: ")[2])
    assert answer["answer"].startswith("You need a permit.")
    assert any('"FirstTextMs"' in line for line in invocation.lines)
