"""The built function with ``Streaming=on`` under the emulator: our runtime in place of Lambda's, and the same answers.

The emulator hands on a streamed response in one piece; that each piece leaves at once, and what a snapshot asks of a
runtime, is shown in tests/integration/test_streaming_runtime.py.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from artefacts import ROOT
from fakes_llm import LlmServer, drip
from functional.golden import differences, normalise

from emulator.rie import Invocation
from emulator.session import Session, built

pytestmark = pytest.mark.build

EVENTS = {
    path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted((ROOT / "tests/events").glob("*.json"))
}
TOKENS = ["You need ", "a permit. ", "[Singapore Import Permits and TradeNet]"]


@pytest.fixture(scope="module")
def streaming() -> Iterator[dict[str, Invocation]]:
    """Every sample event with ``Streaming=on``, one after the other in one environment."""
    with Session(built(), parameters={"Streaming": "on"}) as session:
        yield {name: session.invoke(event) for name, event in EVENTS.items()}


@pytest.fixture(scope="module")
def buffered() -> Iterator[dict[str, Invocation]]:
    """The same under the runtime that Lambda brings."""
    with Session(built(), parameters={"Streaming": "off"}) as session:
        yield {name: session.invoke(event) for name, event in EVENTS.items()}


@pytest.mark.parametrize("name", EVENTS)
def test_both_runtimes_give_the_same_response(
    streaming: Mapping[str, Invocation], buffered: Mapping[str, Invocation], name: str
) -> None:
    ours, lambdas = streaming[name].body, buffered[name].body
    assert ours["statusCode"] == lambdas["statusCode"]
    assert ours.get("multiValueHeaders") == lambdas["multiValueHeaders"]
    assert not list(differences(normalise(json.loads(ours["body"])), normalise(json.loads(lambdas["body"]))))
    assert ours["isBase64Encoded"] is False


@pytest.mark.parametrize(("function", "stage"), [("on", "off"), ("off", "on")])
def test_a_stage_that_is_deployed_otherwise_reads_the_same_response(
    buffered: Mapping[str, Invocation], function: str, stage: str
) -> None:
    # While `Streaming` is switched, forth or back, and while a deployment is rolled back
    with Session(built(), parameters={"Streaming": function}, stage={"Streaming": stage}) as session:
        reply = session.invoke(EVENTS["query"])
    assert reply.streamed is (stage == "on")
    ours, usual = reply.body, buffered["query"].body
    assert not buffered["query"].streamed
    assert (ours["statusCode"], ours["multiValueHeaders"]) == (usual["statusCode"], usual["multiValueHeaders"])
    assert not list(differences(normalise(json.loads(ours["body"])), normalise(json.loads(usual["body"]))))


def test_logs_are_json_lines_and_metrics_are_among_them(streaming: Mapping[str, Invocation]) -> None:
    for name, invocation in streaming.items():
        assert all(isinstance(json.loads(line), dict) for line in invocation.lines if line.startswith("{")), name
        assert not any("Traceback" in line or "Warning" in line for line in invocation.lines), name
    # Metrics are printed, not logged: what an event measured has left before its end.
    assert any('"TotalMs"' in line for line in streaming["query"].lines)
    starts = [line for invocation in streaming.values() for line in invocation.lines if '"ColdStart"' in line]
    assert len(starts) == 1


def test_events_are_streamed_as_the_model_writes() -> None:
    event: dict[str, Any] = json.loads(json.dumps(EVENTS["query"]))
    event["headers"]["Accept"] = "text/event-stream"
    event["multiValueHeaders"]["Accept"] = ["text/event-stream"]
    with (
        LlmServer([drip(*TOKENS)]) as server,
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
