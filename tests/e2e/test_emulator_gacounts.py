"""GaCounts as built, under AWS's Runtime Interface Emulator, with moto's server as DynamoDB."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
import real_model
from artefacts import FUNCTION, LIBRARIES, ROOT
from functional.harness import Json, rest_event
from scripted_dynamodb import REGION, create_table, scripted_server

from emulator.rie import Invocation
from emulator.session import Artefacts, Session
from knowledge.build.ingest import ingest
from knowledge.model.manifest import Provenance
from knowledge.read.documents import read
from layerbuilder.index import build

pytestmark = pytest.mark.build

SAMPLES = ROOT / "samples" / "gacounts"
TABLE = "rag"
REPORTING = "How do I report in GaCounts?"
FOLLOW_UP = "What about collaborators?"
MEALS = "What is the meal allowance in the latest travel policy?"


@pytest.fixture(scope="module")
def artefacts(tmp_path_factory: pytest.TempPathFactory) -> Artefacts:
    """The built function and, as a layer, an index with this profile's tables."""
    place = tmp_path_factory.mktemp("gacounts")
    index, layer = place / "index", place / "layer"
    tables = {name: (SAMPLES / name).read_text(encoding="utf-8") for name in ("acronyms.json", "filters.json")}
    with real_model.few_background_questions():
        documents, provenance = read([SAMPLES]).documents, Provenance(tables=tables)
        ingest(documents, target=index, embedder=real_model.model(), provenance=provenance)
    build(layer, index=index)
    return Artefacts(FUNCTION, {"python": LIBRARIES, "index": layer / "index"})


@pytest.fixture(scope="module")
def dynamodb() -> Iterator[str]:
    """The address of a DynamoDB with the table that the template makes."""
    with scripted_server() as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ACCESS_KEY_ID", "x")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "x")
        create_table(server.url, TABLE)
        yield server.url


def _session(artefacts: Artefacts, endpoint: str) -> Session:
    table = {"TABLE_NAME": TABLE, "TABLE_ENDPOINT": endpoint, "AWS_REGION": REGION, "AWS_DEFAULT_REGION": REGION}
    # This DynamoDB runs beside all other tests: it may be slow.
    environment = {"RAG_PROFILE": "gacounts", "STORE_WAIT_S": "30", **table}
    return Session(artefacts, environment=environment, network=True)


def _post(session: Session, path: str, body: Json) -> tuple[int, Any, Invocation]:
    invocation = session.invoke(rest_event("POST", path, json.dumps(body)))
    return invocation.body["statusCode"], json.loads(invocation.body["body"]), invocation


def _ask(session: Session, question: str, **fields: str) -> Json:
    status, body, invocation = _post(session, "/api/query", {"query": question, **fields})
    assert status == 200, body
    assert not any("Traceback" in line for line in invocation.lines)
    reply: Json = body
    return reply


def _trail(reply: Json) -> str:
    return "\n".join(reply["metadata"]["trail"])


def test_a_conversation_in_two_environments_over_one_table(artefacts: Artefacts, dynamodb: str) -> None:
    """The environments run beside each other."""
    with _session(artefacts, dynamodb) as here, _session(artefacts, dynamodb) as there:
        first = _ask(here, REPORTING)
        assert (first["metadata"]["profile"], first["metadata"]["skipped"]) == ("gacounts", [])
        assert "expanded 'GaCounts' to 'Georgia Counts (GaCounts)'" in _trail(first)
        assert "prefers, by the word 'gacounts'" in _trail(first)
        warm = _ask(here, REPORTING.lower())
        assert _trail(warm).endswith("answered from the cache (l1)")
        assert (warm["metadata"]["cached"], warm["answer"]) == (True, first["answer"])
        meals = _ask(here, MEALS)
        order = [citation["docId"] for citation in meals["citations"]]
        assert order[0] == "ABO-002", "the newer policy comes first"

        follow_up = _ask(there, FOLLOW_UP, sessionId=first["sessionId"])
        assert follow_up["metadata"]["skipped"] == []
        assert "searched for alone and together with" in _trail(follow_up)
        assert "APP-003" in {found["docId"] for found in follow_up["relatedDocs"]}

        cold = _ask(there, REPORTING, sessionId="a-session-of-the-reader")
        assert _trail(cold).endswith("answered from the cache (l2)")
        assert (cold["answer"], cold["citations"]) == (first["answer"], first["citations"])
        assert len({first["responseId"], warm["responseId"], cold["responseId"]}) == 3

        vote = {"responseId": cold["responseId"], "helpful": False, "comment": "Not that."}
        status, body, invocation = _post(there, "/api/feedback", vote)
        assert (status, body) == (202, {"responseId": cold["responseId"], "accepted": True})
        assert any('"FeedbackReceived"' in line for line in invocation.lines)
        again = [_ask(there, REPORTING)["metadata"] for _ in range(2)]
        assert [metadata["cached"] for metadata in again] == [False, False], "evicted, and kept out while it stands"

        _post(there, "/api/feedback", {**vote, "helpful": None})
        assert [_ask(there, REPORTING)["metadata"]["cached"] for _ in range(2)] == [False, True]
        assert _post(there, "/api/feedback", {**vote, "responseId": "never-given"})[0] == 404


def test_without_its_table_the_question_is_answered(artefacts: Artefacts) -> None:
    with _session(artefacts, "http://127.0.0.1:9") as alone:
        reply = _ask(alone, MEALS)
    assert reply["citations"]
    assert set(reply["metadata"]["skipped"]) == {"cache", "feedback", "memory"}
