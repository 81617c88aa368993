"""The built function under AWS's Runtime Interface Emulator: the same answers as here, in Lambda's surroundings."""

import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from artefacts import BUILD, FUNCTION, INDEX, ROOT
from fakes_llm import LlmServer, error, reply
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
def emulated() -> Iterator[dict[str, Invocation]]:
    """Every sample event, invoked one after the other in one environment; the first in the dict is the cold one."""
    before = _fingerprint()
    with Session(built(), parameters=WAYPOINT) as session:
        yield {name: session.invoke(event) for name, event in EVENTS.items()}
    assert _fingerprint() == before, "the function changed what was built"


@pytest.fixture(scope="module")
def local() -> Iterator[Server]:
    """The local server, on the index that was built into the layer."""
    with serving(INDEX, "--profile", "waypoint") as server:
        yield server


def _fingerprint() -> str:
    digest = hashlib.sha256()
    for path in sorted(path for path in BUILD.rglob("*") if path.is_file()):
        digest.update(f"{path.relative_to(BUILD)} {path.stat().st_mtime_ns} {path.stat().st_mode}\n".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def _headers(response: Mapping[str, Any]) -> dict[str, list[str]]:
    return {name.lower(): values for name, values in (response.get("multiValueHeaders") or {}).items()}


# --- the same answers


@pytest.mark.parametrize("name", EVENTS)
def test_status_headers_and_body_are_those_of_the_local_server(
    emulated: Mapping[str, Invocation], local: Server, name: str
) -> None:
    there, here = emulated[name].body, local.replay(EVENTS[name])
    assert there["statusCode"] == here.status
    told = {header: ", ".join(values) for header, values in _headers(there).items()}
    assert told == {header: value for header, value in here.headers.items() if header not in OF_THE_SERVER}
    body = json.loads(there["body"])
    found = list(differences(normalise(body), normalise(here.json)))
    assert not found, "; ".join(found)
    # Numbers may drift between processors, but the layer computes here what the server computes.
    if name == "health":
        assert body == here.json
    assert there["isBase64Encoded"] is False


def test_a_base64_body_and_a_direct_event_get_the_answer_of_the_plain_one(emulated: Mapping[str, Invocation]) -> None:
    plain, base64, direct = (
        normalise(json.loads(emulated[name].body["body"])) for name in ("query", "query_base64", "query_direct")
    )
    assert isinstance(plain, dict)
    assert plain["sources"][0]["title"] == "Singapore Import Permits and TradeNet"
    assert base64 == plain
    assert direct == plain


def test_the_first_invocation_is_cold_and_every_other_is_warm(emulated: Mapping[str, Invocation]) -> None:
    first, *rest = emulated.values()
    assert first.init_ms is not None
    assert first.init_ms > 0
    assert [invocation.init_ms for invocation in rest] == [None] * len(rest)
    assert "INIT" not in "".join(line for invocation in rest for line in invocation.lines)
    starts = [line for invocation in emulated.values() for line in invocation.lines if '"ColdStart"' in line]
    assert len(starts) == 1


def test_each_invocation_logs_json_and_its_report(emulated: Mapping[str, Invocation]) -> None:
    for name, invocation in emulated.items():
        assert sum(line.startswith("REPORT ") for line in invocation.lines) == 1, name
        for line in invocation.lines:
            if line.startswith("{"):
                assert isinstance(json.loads(line), dict)
        assert not any("Traceback" in line or "Warning" in line for line in invocation.lines), name


# --- Lambda's surroundings


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


def test_a_session_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))  # for the processes that the session starts
    with Session(built(), parameters=WAYPOINT) as session:
        assert session.invoke(EVENTS["health"]).body["statusCode"] == 200
        assert [path.name[:11] for path in tmp_path.iterdir()] == ["lambda-tmp-"]
    assert list(tmp_path.iterdir()) == []


# --- the LLM


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


def test_two_environments_of_one_network_run_beside_each_other() -> None:
    with (
        Session(built(), parameters=WAYPOINT, network=True) as one,
        Session(built(), parameters=WAYPOINT, network=True) as other,
    ):
        assert [session.invoke(EVENTS["health"]).body["statusCode"] for session in (one, other)] == [200, 200]


def test_at_debug_no_line_holds_what_was_asked_or_answered() -> None:
    with (
        LlmServer([reply("XQZZY. [Singapore Import Permits and TradeNet]"), error(400)]) as server,
        Session(
            built(),
            environment={"LLM_BASE_URL": server.url, "LLM_API_KEY": "sk-e2e-key"},
            parameters={**WAYPOINT, "LogLevel": "DEBUG", "LlmFallbackModels": "another"},
            network=True,
        ) as session,
    ):
        answered, failed = (session.invoke(EVENTS["query"]) for _ in range(2))
    assert (answered.body["statusCode"], failed.body["statusCode"]) == (200, 503)
    lines = [json.loads(line) for line in (*answered.lines, *failed.lines) if line.startswith('{"level"')]
    messages = [line["message"] for line in lines]
    assert [one for one in messages if "gave no completion" not in one] == ["answered", "request failed"]
    assert len(messages) == 4  # the model and the one after it were asked, in vain
    said = "\n".join((*answered.lines, *failed.lines))
    question = json.loads(EVENTS["query"]["body"])["query"]
    assert [word for word in (question, "XQZZY", "sk-e2e-key", "You are Waypoint", "TradeNet") if word in said] == []


def test_the_llm_s_answer_comes_back() -> None:
    text = "You need a permit. [Singapore Import Permits and TradeNet]"
    with (
        LlmServer([reply(text, model="served")]) as server,
        Session(
            built(),
            parameters=WAYPOINT,
            environment={"LLM_BASE_URL": server.url, "LLM_API_KEY": "sk-e2e-key"},
            network=True,
        ) as session,
    ):
        first, second = (session.invoke(EVENTS["query"]) for _ in range(2))
        assert len(server.requests) == 2
        assert server.connections == 1, "a warm function keeps its connection"
        assert server.requests[0].headers["authorization"] == "Bearer sk-e2e-key"
        question = json.loads(EVENTS["query"]["body"])["query"]
        assert server.requests[0].json["messages"][-1] == {"role": "user", "content": question}
    for invocation in (first, second):
        body = json.loads(invocation.body["body"])
        assert body["answer"].startswith("You need a permit.")
        assert body["metadata"]["model"] == "served"
        assert body["citations"][0]["title"] == "Singapore Import Permits and TradeNet"
        assert "sk-e2e-key" not in "\n".join(invocation.lines) + invocation.body["body"]
