"""Clockify as a profile: refusals, validated ids, confidence, routing and questions of exact words."""

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from fakes_llm import LlmServer, error, reply
from functional.harness import OUT_OF_SCOPE, Api, Json, Start, starting

DECLINE = "I don't know based on the MD."
QUESTION = "How many unused vacation days carry over to next year?"


@pytest.fixture(scope="module")
def desk(clockify_index: Path) -> Iterator[Api]:
    """The help desk without an LLM."""
    with starting(clockify_index) as start:
        yield start(RAG_PROFILE="clockify")


@pytest.fixture
def open_desk(clockify_index: Path) -> Iterator[Start]:
    with starting(clockify_index) as start:
        yield partial(start, RAG_PROFILE="clockify")


def ask(api: Api, question: str, **fields: object) -> Json:
    answered = api.send("/v1/query", question=question, **fields)
    assert answered.status == 200, answered.text
    return answered.json


def test_an_answer_in_the_help_desks_words(desk: Api) -> None:
    body = ask(desk, QUESTION)
    assert set(body) == {"answer", "sources", "confidence", "refused", "routing", "timing", "metadata"}
    assert (body["refused"], body["metadata"], 40 <= body["confidence"] <= 100) == (False, {}, True)
    assert body["routing"] == {"action": "return", "reason": f"Confidence {body['confidence']:g}"}
    cited = re.findall(r"\[(id_\d+)\]", body["answer"])
    assert body["sources"] == list(dict.fromkeys(cited))
    assert {"retrievalMs", "generationMs", "citationMs", "totalMs"} <= set(body["timing"])
    metadata = ask(desk, QUESTION, debug=True)["metadata"]
    assert (metadata["profile"], metadata["query"], metadata["chunksRetrieved"] >= 1) == ("clockify", QUESTION, True)


def test_a_misspelt_question_is_answered_as_the_one_that_was_meant(desk: Api) -> None:
    meant = "How many languages does it speak"
    body = desk.ask("How many langauges does it speak").json
    assert f"also searched as: {meant}" in body["metadata"]["trail"]
    assert body["citations"][0]["id"] == desk.ask(meant).json["citations"][0]["id"]
    assert "do not mention" not in body["answer"]


def test_a_question_in_another_language_is_told_that_of_the_documents(desk: Api) -> None:
    body = ask(desk, "Wie viele Urlaubstage darf man ins nächste Jahr mitnehmen?")
    told = "The documents are in English, and your question is not. Please ask in English."
    assert (body["answer"], body["refused"]) == (told, True)
    reason = "The question is in another language than the documents"
    assert body["routing"] == {"action": "return", "reason": reason}


def test_the_api_shape_names_ids_and_headings(desk: Api) -> None:
    body = desk.ask(QUESTION).json
    citation = body["citations"][0]
    assert re.fullmatch(r"id_\d+", citation["id"])
    assert citation["raw"] == f"[{citation['id']}]"
    assert citation["title"] == citation["section"].split(" > ")[-1]
    assert body["routing"]["action"] == "return"


def test_a_refusal_by_the_gate(desk: Api) -> None:
    body = ask(desk, OUT_OF_SCOPE)
    assert (body["answer"], body["refused"], body["confidence"], body["sources"]) == (DECLINE, True, 0, [])
    assert body["routing"]["action"] == "augment_kb"


def test_a_threshold_that_a_request_sets_decides_alone(desk: Api) -> None:
    assert desk.ask(QUESTION, threshold=0.95).json["refused"] is True
    assert desk.ask("What is the legal minimum wage in Germany?", threshold=-1).json["refused"] is False


def test_fewer_chunks_may_be_configured_or_asked_for(desk: Api, open_desk: Start) -> None:
    one = {**{name: open_desk(**{name: "1"}) for name in ("DEFAULT_PACK_TOP", "DEFAULT_TOP_K")}, "topK": desk}
    bodies = {name: api.ask(QUESTION, **({"topK": 1} if api is desk else {})).json for name, api in one.items()}
    found = {name: (body["refused"], body["metadata"]["chunksRetrieved"]) for name, body in bodies.items()}
    assert found == dict.fromkeys(found, (False, 1))


@pytest.fixture
def written(with_llm: Start, clockify_index: Path) -> Start:
    """Starts the help desk beside a model, its ``llm``, that answers with these steps."""
    settings = {"RAG_PROFILE": "clockify", "UNSUPPORTED": "keep", "LLM_WEAK": "text"}
    return partial(with_llm, INDEX_URI=str(clockify_index), **settings)


def test_the_model_sees_numbers_and_headings_and_the_question_and_a_reader_ids(open_desk: Start) -> None:
    with LlmServer([reply("Ten days [1].")]) as server:
        body = ask(open_desk(RAG_OLLAMA_URL=server.url.removesuffix("/v1")), QUESTION)
    [request] = server.requests
    system, user = request.json["messages"]
    assert user == {"role": "user", "content": QUESTION}
    assert re.search(r"^<<<.*\n\[1\] [^\n]+ > [^\n]+\n\S", system["content"], re.MULTILINE)
    assert (request.json["temperature"], request.json["model"]) == (0, "qwen2.5:32b")
    assert body["refused"] is False
    assert body["answer"].startswith(f"Ten days [{body['sources'][0]}].")


def test_invented_ids_are_removed_and_counted(written: Start) -> None:
    body = written(reply("It is five days [id_99999], or so [1, 888]. Ask HR [777].")).ask(QUESTION).json
    kept = body["citations"][0]["id"]
    assert body["answer"] == f"It is five days, or so [{kept}]. Ask HR."
    assert "removed 3 citations of what was not in the context" in body["metadata"]["trail"]
    assert [citation["id"] for citation in body["citations"]] == [kept]


def test_full_width_brackets_cite_and_other_forms_stay_words(written: Start) -> None:
    body = ask(written(reply("Ten days \u30101\u2020L1-L3\u3011, (id_99999) \uff3b2\uff3d.")), QUESTION)
    first, second = body["sources"]
    assert body["answer"] == f"Ten days [{first}], (id_99999) [{second}]."


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("I don\u2019t know based on the MD. It only covers timers [1].", None),
        ("- ([id_99999])\n- **[id_88888]**", DECLINE),
    ],
    ids=["a refusal", "invented ids alone"],
)
def test_a_refusal_by_the_model_is_escalated(written: Start, text: str, answer: str | None) -> None:
    body = ask(written(reply(text)), QUESTION)
    assert (body["refused"], body["confidence"], body["sources"]) == (True, 0, [])
    assert body["routing"]["action"] == "escalate"
    assert body["answer"] == (answer or body["answer"])


def test_an_answer_without_a_valid_citation_is_escalated_whatever_it_says(written: Start) -> None:
    body = ask(written(reply("Five days [id_99999]."), UNSUPPORTED="mark"), QUESTION)
    assert (body["refused"], body["confidence"] <= 35, body["sources"]) == (False, True, [])
    reason = "No statement of the answer cites a source that was found"
    assert body["routing"] == {"action": "escalate", "reason": reason}


def test_one_retry(written: Start) -> None:
    api = written(error(500))
    assert api.ask(QUESTION).json["code"] == "llm_unavailable"
    assert len(api.llm.requests) == 2


@pytest.mark.parametrize(
    ("body", "code", "sentence"),
    [
        ({"question": ""}, "empty_query", "Question cannot be empty"),
        ({"question": "a" * 10_001}, "query_too_long", "Question exceeds maximum length of 10000 characters"),
        ({"question": "a\x07"}, "unsafe_query", "Question holds control characters; plain text of any script"),
        ({"query": "wrong field"}, "invalid_query", ""),
    ],
    ids=["empty", "long", "control", "another field"],
)
def test_what_is_not_admitted(desk: Api, body: Json, code: str, sentence: str) -> None:
    answered = desk.send("/v1/query", **body)
    assert (answered.status, answered.json["code"]) == (400, code)
    assert answered.json["error"].startswith(sentence)


def test_without_an_index(open_desk: Start, tmp_path: Path) -> None:
    answered = open_desk(INDEX_URI=str(tmp_path / "none")).send("/v1/query", question=QUESTION)
    assert (answered.status, answered.json) == (503, {"error": "Run /v1/ingest first", "code": "index_not_ready"})


def test_the_help_desks_route_is_there_in_every_profile(api: Api) -> None:
    body = ask(api, "How long does a truck take from Singapore to Kuala Lumpur?")
    assert body["refused"] is False
    assert body["routing"] == {"action": "return", "reason": f"Confidence {body['confidence']:g}"}
    assert ask(api, OUT_OF_SCOPE)["routing"]["action"] == "augment_kb"
    assert all(re.fullmatch(r"id_\d+", source) for source in body["sources"])


HELD = {
    "Does it work with Okta?": "Single sign-on with SAML",
    '"Discard"': "Idle detection",
    "“Copy last week”": "Timesheet view",
    "Ctrl+Alt+T": "Keyboard shortcuts",
    "Retry-After": "API rate limits",
    "X-Api-Key": "API keys",
    "CHR 1042": "App error codes",
    "What does CHR-1042 mean?": "App error codes",
    "form CL-17": "Privacy and GDPR data export",
    "reverse charge": "Subscription bills and VAT",
    "AES-256": "Data retention and backups",
    "member.role_changed": "Audit log",
    "integrate with jira": "Integrations",
    "PayPal": "Payment methods and failed payments",
    # These hold a code that the sample does not hold and that they do not hang on.
    "weekly report W45": "Weekly report",
    "iPhone15 mobile app timer": "Mobile apps",
    "approve timesheet KW7": "Approving timesheets",
}
UNKNOWN = [
    "Kubernetes", "SAP", "HIPAA", "GPS", "Terraform", "ibuprofen", "ERR-9999", "CHR-9999", "What does CHR-9999 mean?",
    "E-999", "AES-512", "ISO 99999", "Retry-Before", "Ctrl+Alt+Z", "X-Api-Token", "COVID-19", '"Dissolve"',
    "Does it support LDAP?", "capital Mongolia", "open door", "form CL-98", "SOC 9 Type II", "football F1",
    "sourdough bread EUR 50", "price of gold", "integrate with batman",
]  # fmt: skip


def test_what_the_index_holds_is_answered_from_the_section_that_holds_it(desk: Api) -> None:
    missed = []
    for question, section in HELD.items():
        body = desk.ask(question).json
        cited = {citation["section"].split(" > ")[0] for citation in body["citations"]}
        if body["refused"] or section not in cited:
            missed.append((question, body["refused"], sorted(cited)))
    assert len(missed) <= 2, missed  # 1 of 17


@pytest.mark.parametrize("code", ["CHR 1042", "CHR-3040", "E-401", "Ctrl+Enter"])
def test_a_code_is_answered_by_what_is_said_of_it(desk: Api, code: str) -> None:
    """All but the first stand in rows of tables only."""
    assert code.replace("CHR ", "CHR-") in desk.ask(code).json["answer"]


def test_what_the_index_does_not_hold_is_refused_or_of_low_confidence(desk: Api) -> None:
    bodies = {question: desk.ask(question).json for question in UNKNOWN}
    told = ("This may not be what you asked for", "The documents do not mention")
    answered = {one for one, body in bodies.items() if not body["refused"] and not body["answer"].startswith(told)}
    sure = {question for question in answered if bodies[question]["confidence"]["level"] != "Low"}
    assert len(answered) <= 7, answered  # 5 of 26: codes that are spelt like those of the index
    assert len(sure) <= 4, sure  # 3
