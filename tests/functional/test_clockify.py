"""Clockify as a profile: refusals, validated ids, confidence, routing and questions of exact words."""

import json
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from fakes_llm import LlmServer, error, reply
from functional.harness import API_KEY, OUT_OF_SCOPE, Api, Json, Start, post, rest_event, starting

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
    answered = api.call(rest_event("POST", "/v1/query", json.dumps({"question": question, **fields})))
    assert answered.status == 200, answered.text
    return answered.json


# --- offline


def test_an_answer_in_the_help_desks_words(desk: Api) -> None:
    body = ask(desk, QUESTION)

    assert set(body) == {"answer", "sources", "confidence", "refused", "routing", "timing", "metadata"}
    assert body["refused"] is False
    assert body["metadata"] == {}
    assert 40 <= body["confidence"] <= 100
    assert body["routing"] == {"action": "return", "reason": f"Confidence {body['confidence']:g}"}
    cited = re.findall(r"\[(id_\d+)\]", body["answer"])
    assert body["sources"] == list(dict.fromkeys(cited))
    assert {"retrievalMs", "generationMs", "citationMs", "totalMs"} <= set(body["timing"])


def test_a_misspelt_question_is_answered_as_the_one_that_was_meant(desk: Api) -> None:
    meant = "How many languages does it speak"
    body = desk.ask("How many langauges does it speak").json

    assert f"also searched as: {meant}" in body["metadata"]["trail"]
    assert body["citations"][0]["id"] == desk.ask(meant).json["citations"][0]["id"]
    assert "do not mention" not in body["answer"]


def test_a_question_in_another_language_is_told_that_of_the_documents(desk: Api) -> None:
    body = ask(desk, "Wie viele Urlaubstage darf man ins nächste Jahr mitnehmen?")

    assert body["answer"] == "The documents are in English, and your question is not. Please ask in English."
    assert body["refused"] is True
    reason = "The question is in another language than the documents"
    assert body["routing"] == {"action": "return", "reason": reason}


def test_the_api_shape_names_ids_and_headings(desk: Api) -> None:
    body = desk.ask(QUESTION).json
    citation = body["citations"][0]
    assert re.fullmatch(r"id_\d+", citation["id"])
    assert citation["raw"] == f"[{citation['id']}]"
    assert citation["title"] == citation["section"].split(" > ")[-1]
    assert body["routing"]["action"] == "return"


def test_debug_brings_the_metadata(desk: Api) -> None:
    metadata = ask(desk, QUESTION, debug=True)["metadata"]
    assert metadata["profile"] == "clockify"
    assert metadata["query"] == QUESTION
    assert metadata["chunksRetrieved"] >= 1


def test_a_refusal_by_the_gate(desk: Api) -> None:
    body = ask(desk, "Who won the football world cup in 2018?")
    assert body["answer"] == DECLINE
    assert (body["refused"], body["confidence"], body["sources"]) == (True, 0, [])
    assert body["routing"]["action"] == "augment_kb"


def test_a_threshold_that_a_request_sets_decides_alone(desk: Api) -> None:
    assert desk.ask(QUESTION, threshold=0.95).json["refused"] is True
    assert desk.ask("What is the legal minimum wage in Germany?", threshold=-1).json["refused"] is False


@pytest.mark.parametrize("top_k", [1, 2, 50])
def test_fewer_chunks_may_be_asked_for(desk: Api, top_k: int) -> None:
    body = desk.ask(QUESTION, topK=top_k).json
    assert body["refused"] is False
    assert 1 <= body["metadata"]["chunksRetrieved"] <= top_k
    assert body["citations"][0]["section"] == desk.ask(QUESTION).json["citations"][0]["section"]


@pytest.mark.parametrize("variable", ["DEFAULT_PACK_TOP", "DEFAULT_TOP_K"])
def test_fewer_chunks_may_be_configured(open_desk: Start, variable: str) -> None:
    body = open_desk(**{variable: "1"}).ask(QUESTION).json
    assert body["refused"] is False
    assert body["metadata"]["chunksRetrieved"] == 1


# --- with a model


def test_the_model_sees_numbers_and_headings_and_the_question_and_a_reader_ids(open_desk: Start) -> None:
    with LlmServer([reply("Ten days [1].")]) as server:
        body = ask(open_desk(RAG_OLLAMA_URL=server.url.removesuffix("/v1")), QUESTION)
    [request] = server.requests
    system, user = request.json["messages"]
    assert user == {"role": "user", "content": QUESTION}
    assert re.search(r"^<<<.*\n\[1\] [^\n]+ > [^\n]+\n\S", system["content"], re.MULTILINE)
    assert request.json["temperature"] == 0
    assert request.json["model"] == "qwen2.5:32b"
    assert body["refused"] is False
    assert body["answer"].startswith(f"Ten days [{body['sources'][0]}].")


def test_invented_ids_are_removed_and_counted(open_desk: Start) -> None:
    with LlmServer([reply("It is five days [id_99999], or so [1, 888]. Ask HR [777].")]) as server:
        desk = open_desk(LLM_BASE_URL=server.url, LLM_API_KEY=API_KEY, UNSUPPORTED="keep")
        body = desk.ask(QUESTION).json
    kept = body["citations"][0]["id"]
    assert body["answer"] == f"It is five days, or so [{kept}]. Ask HR."
    assert "removed 3 citations of what was not in the context" in body["metadata"]["trail"]
    assert [citation["id"] for citation in body["citations"]] == [kept]


def test_full_width_brackets_cite_and_other_forms_stay_words(open_desk: Start) -> None:
    with LlmServer([reply("Ten days \u30101\u2020L1-L3\u3011, (id_99999) \uff3b2\uff3d.")]) as server:
        body = ask(open_desk(LLM_BASE_URL=server.url, UNSUPPORTED="keep", LLM_WEAK="text"), QUESTION, debug=True)
    first, second = body["sources"]
    assert body["answer"] == f"Ten days [{first}], (id_99999) [{second}]."


@pytest.mark.parametrize(
    "words",
    [
        DECLINE,
        "I don't know based on the MD. [1]",
        "I don\u2019t know based on the MD. It only covers timers [1].",
        "I don't know based on the MD. [id_99999]",
    ],
)
def test_a_refusal_by_the_model_is_escalated(open_desk: Start, words: str) -> None:
    with LlmServer([reply(words)]) as server:
        body = ask(open_desk(LLM_BASE_URL=server.url), QUESTION)
    assert body["refused"] is True
    assert body["routing"]["action"] == "escalate"
    assert body["confidence"] == 0
    assert body["sources"] == []


@pytest.mark.parametrize("text", ["[id_99999]", "[id_99999], [id_88888].", "- ([id_99999])\n- **[id_88888]**"])
def test_an_answer_of_invented_ids_alone_is_a_refusal(open_desk: Start, text: str) -> None:
    with LlmServer([reply(text)]) as server:
        body = ask(open_desk(LLM_BASE_URL=server.url), QUESTION)
    assert (body["answer"], body["refused"], body["confidence"], body["sources"]) == (DECLINE, True, 0, [])
    assert body["routing"]["action"] == "escalate"


@pytest.mark.parametrize(
    "text", ["The documentation does not mention this.", "Ten days (id_1).", "Five days [id_99999]."]
)
def test_an_answer_without_a_valid_citation_is_escalated_whatever_it_says(open_desk: Start, text: str) -> None:
    with LlmServer([reply(text)]) as server:
        body = ask(open_desk(LLM_BASE_URL=server.url, LLM_WEAK="text"), QUESTION)
    assert (body["refused"], body["confidence"] <= 35, body["sources"]) == (False, True, [])
    assert body["routing"] == {
        "action": "escalate",
        "reason": "No statement of the answer cites a source that was found",
    }


def test_a_partial_answer_is_one(open_desk: Start) -> None:
    text = "The documentation does not say why, but ten days carry over"
    with LlmServer([reply(f"{text} [1].")]) as server:
        body = ask(open_desk(LLM_BASE_URL=server.url, UNSUPPORTED="keep"), QUESTION)
    assert body["refused"] is False
    assert body["confidence"] > 0
    assert len(body["sources"]) == 1


def test_one_retry(open_desk: Start) -> None:
    with LlmServer([error(500)]) as server:
        api = open_desk(LLM_BASE_URL=server.url, LLM_BACKOFF_BASE_S="0.001")
        failed = api.call(post({"query": QUESTION}))
    assert failed.status == 503
    assert failed.json["code"] == "llm_unavailable"
    assert len(server.requests) == 2


# --- admission


@pytest.mark.parametrize(
    ("question", "code", "sentence"),
    [
        ("", "empty_query", "Question cannot be empty"),
        ("a" * 10_001, "query_too_long", "Question exceeds maximum length of 10000 characters"),
        ("hi <script>alert(1)</script>", "unsafe_query", "Question holds a script pattern; plain text is accepted"),
        ("a\x07", "unsafe_query", "Question holds control characters; plain text of any script is accepted"),
    ],
)
def test_what_is_not_admitted(desk: Api, question: str, code: str, sentence: str) -> None:
    answered = desk.call(rest_event("POST", "/v1/query", json.dumps({"question": question})))
    assert (answered.status, answered.json) == (400, {"error": sentence, "code": code})


@pytest.mark.parametrize("body", ["{", '{"query": "wrong field"}'])
def test_bad_bodies(desk: Api, body: str) -> None:
    answered = desk.call(rest_event("POST", "/v1/query", body))
    assert answered.status == 400
    assert answered.json["code"] in {"invalid_json", "invalid_query"}


@pytest.mark.parametrize(
    "question",
    [
        "ฉันจะเริ่มจับเวลาได้อย่างไร",
        "Wie starte ich die Stoppuhr? 🕒👩‍💻🏴󠁧󠁢󠁥󠁮󠁧󠁿",
        "\uf0b7\u00a0How do I start a \u201ctimer\u201d?\u00ad\u200b",
    ],
)
def test_every_script_and_plain_question_is_admitted(desk: Api, question: str) -> None:
    assert desk.ask(question).status == 200


def test_without_an_index(open_desk: Start, tmp_path: Path) -> None:
    api = open_desk(INDEX_URI=str(tmp_path / "none"))
    answered = api.call(rest_event("POST", "/v1/query", json.dumps({"question": QUESTION})))
    assert (answered.status, answered.json) == (503, {"error": "Run /v1/ingest first", "code": "index_not_ready"})


def test_the_help_desks_route_is_there_in_every_profile(api: Api) -> None:
    body = ask(api, "How long does a truck take from Singapore to Kuala Lumpur?")
    assert body["refused"] is False
    assert body["routing"] == {"action": "return", "reason": f"Confidence {body['confidence']:g}"}
    assert ask(api, OUT_OF_SCOPE)["routing"]["action"] == "augment_kb"
    assert all(re.fullmatch(r"id_\d+", source) for source in body["sources"])


HELD = {
    "SSO": "Single sign-on with SAML",
    "Is SSO available?": "Single sign-on with SAML",
    "What is SSO?": "Single sign-on with SAML",
    "SAML": "Single sign-on with SAML",
    "Okta": "Single sign-on with SAML",
    "Does it work with Okta?": "Single sign-on with SAML",
    '"Discard"': "Idle detection",
    "“Copy last week”": "Timesheet view",
    "Ctrl+Alt+T": "Keyboard shortcuts",
    "Retry-After": "API rate limits",
    "api key": "API keys",
    "X-Api-Key": "API keys",
    "CHR 1042": "App error codes",
    "CHR-1042": "App error codes",
    "What does CHR-1042 mean?": "App error codes",
    "E-503": "API error codes",
    "E-404": "API error codes",
    "CL-23": "Refunds",
    "form CL-17": "Privacy and GDPR data export",
    "VIES": "Subscription bills and VAT",
    "reverse charge": "Subscription bills and VAT",
    "GDPR": "Privacy and GDPR data export",
    "AES-256": "Data retention and backups",
    "SOC 2": "Security and data location",
    "ISO 27001": "Security and data location",
    "member.role_changed": "Audit log",
    "Wayland": "Auto tracker",
    "kiosk": "Kiosk with PIN",
    "Jira": "Integrations",
    "integrate with jira": "Integrations",
    "sign in with google": "Signing in and passwords",
    "PayPal": "Payment methods and failed payments",
}
INCIDENTAL = {
    "weekly report W45": "Weekly report",
    "Q3 report export": "Exporting reports to CSV, Excel and PDF",
    "hourly rate EUR 50": "Currency",
    "export CSV 3 reports": "Exporting reports to CSV, Excel and PDF",
    "iPhone15 mobile app timer": "Mobile apps",
    "invoice PDF A4": "Creating invoices",
    "approve timesheet KW7": "Approving timesheets",
    "Windows W11 desktop app": "Desktop apps",
}
"""Questions with a code that the sample does not hold and that they do not hang on."""
UNKNOWN = [
    "Kubernetes", "SAP", "blockchain", "HIPAA", "GPS", "COBOL", "Netflix", "Terraform", "ibuprofen", "football",
    "ERR-9999", "CHR-9999", "CHR 9999", "What does CHR-9999 mean?", "error CHR-9999", "E-999", "CL-99", "AES-512",
    "SOC 9", "ISO 99999", "Retry-Before", "Ctrl+Alt+Z", "X-Api-Token", "IPv6", "COVID-19", '"Dissolve"',
    "Is SAP available?", "What is HIPAA?", "Does it support LDAP?", "Does it work with Salesforce?",
    "capital Mongolia", "sourdough bread", "open door", "weather Paris", "minimum wage Germany",
    "unknown error E-999", "fix error CHR-9999", "form CL-98", "SOC 9 Type II", "API E-999", "football F1",
    "capital Mongolia A4", "weather Paris Q3", "sourdough bread EUR 50",
    "flights to paris", "open door policy at work", "price of gold", "integrate with batman",
]  # fmt: skip


def test_what_the_index_holds_is_answered_from_the_section_that_holds_it(desk: Api) -> None:
    missed = []
    for question, section in {**HELD, **INCIDENTAL}.items():
        body = desk.ask(question).json
        cited = {citation["section"].split(" > ")[0] for citation in body["citations"]}
        if body["refused"] or section not in cited:
            missed.append((question, body["refused"], sorted(cited)))
    assert len(missed) <= 8, missed  # 6 of 40


@pytest.mark.parametrize("code", ["CHR 1042", "CHR-3040", "E-401", "Ctrl+Enter"])
def test_a_code_is_answered_by_what_is_said_of_it(desk: Api, code: str) -> None:
    """All but the first stand in rows of tables only."""
    assert code.replace("CHR ", "CHR-") in desk.ask(code).json["answer"]


def test_what_the_index_does_not_hold_is_refused_or_of_low_confidence(desk: Api) -> None:
    bodies = {question: desk.ask(question).json for question in UNKNOWN}
    told = ("This may not be what you asked for", "The documents do not mention")
    answered = {one for one, body in bodies.items() if not body["refused"] and not body["answer"].startswith(told)}
    sure = {question for question in answered if bodies[question]["confidence"]["level"] != "Low"}
    assert len(answered) <= 18, answered  # 15 of 48: codes that are spelt like those of the index
    assert len(sure) <= 5, sure  # 3
