"""Clockify as a profile: the seed's refusals, validated ids, confidence and routing, through the real handler."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
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

        def run(**env: str) -> Api:
            return start(RAG_PROFILE="clockify", **env)

        yield run


def ask(api: Api, question: str, **fields: object) -> Json:
    answered = api.call(rest_event("POST", "/v1/query", json.dumps({"question": question, **fields})))
    assert answered.status == 200, answered.text
    return answered.json


def writing(text: Callable[[list[str]], str]) -> Callable[[Json], str]:
    """A model that writes ``text`` of the ids in its context."""

    def answer(request: Json) -> str:
        system = request["messages"][0]["content"]
        return text(re.findall(r"^\[(id_\d+)\]", system, re.MULTILINE))

    return answer


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


def test_white_space_is_collapsed(desk: Api) -> None:
    assert desk.ask(f"  {QUESTION.replace(' ', chr(10) + '  ')} ").json["metadata"]["query"] == QUESTION


# --- with a model


def test_the_model_sees_ids_and_headings_and_the_question(open_desk: Start) -> None:
    with LlmServer(answer=writing(lambda ids: f"Ten days. [{ids[0]}]")) as server:
        body = ask(open_desk(RAG_OLLAMA_URL=server.url.removesuffix("/v1")), QUESTION)
    [request] = server.requests
    system, user = request.json["messages"]
    assert user == {"role": "user", "content": QUESTION}
    assert re.search(r"^\[id_\d+\] [^\n]+\n\S", system["content"], re.MULTILINE)
    assert request.json["temperature"] == 0
    assert request.json["model"] == "qwen2.5:32b"
    assert body["refused"] is False


def test_invented_ids_are_removed_and_counted(open_desk: Start) -> None:
    text = writing(lambda ids: f"It is five days [id_99999], or so [{ids[0]}, id_88888]. Ask HR [id_77777].")
    with LlmServer(answer=text) as server:
        desk = open_desk(LLM_BASE_URL=server.url, LLM_API_KEY=API_KEY, UNSUPPORTED="keep")
        body = desk.ask(QUESTION).json
    kept = body["citations"][0]["id"]
    assert body["answer"] == f"It is five days, or so [{kept}]. Ask HR."
    assert "removed 3 citations of what was not in the context" in body["metadata"]["trail"]
    assert [citation["id"] for citation in body["citations"]] == [kept]


def test_full_width_brackets_cite_and_other_forms_stay_words(open_desk: Start) -> None:
    text = writing(lambda ids: f"Ten days \u3010{ids[0]}\u2020L1-L3\u3011, (id_99999) \uff3b{ids[1]}\uff3d.")
    with LlmServer(answer=text) as server:
        body = ask(open_desk(LLM_BASE_URL=server.url, UNSUPPORTED="keep"), QUESTION, debug=True)
    first, second = body["sources"]
    assert body["answer"] == f"Ten days \u3010{first}\u2020L1-L3\u3011, (id_99999) \uff3b{second}\uff3d."


@pytest.mark.parametrize(
    "words",
    [
        DECLINE,
        "I don't know based on the MD. [ID]",
        "I don\u2019t know based on the MD. It only covers timers [ID].",
        "I don't know based on the MD. [id_99999]",
    ],
)
def test_a_refusal_by_the_model_is_escalated(open_desk: Start, words: str) -> None:
    with LlmServer(answer=writing(lambda ids: words.replace("ID", ids[0]))) as server:
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
        body = ask(open_desk(LLM_BASE_URL=server.url), QUESTION)
    assert (body["refused"], body["confidence"] <= 35, body["sources"]) == (False, True, [])
    assert body["routing"] == {
        "action": "escalate",
        "reason": "No statement of the answer cites a source that was found",
    }


def test_a_partial_answer_is_one(open_desk: Start) -> None:
    text = "The documentation does not say why, but ten days carry over"
    with LlmServer(answer=writing(lambda ids: f"{text} [{ids[0]}].")) as server:
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
        (" \n\t ", "empty_query", "Question cannot be empty"),
        ("a" * 10_001, "query_too_long", "Question exceeds maximum length of 10000 characters"),
        ("hi <script>alert(1)</script>", "unsafe_query", "Question holds a script pattern; plain text is accepted"),
        ("javascript:alert(1)", "unsafe_query", "Question holds a script pattern; plain text is accepted"),
        ("what does eval('x') do", "unsafe_query", "Question holds a script pattern; plain text is accepted"),
        (
            "bell \x07",
            "unsafe_query",
            "Question holds control characters; plain text of any script is accepted",
        ),
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
        "چطور می‌توانم تایمر را شروع کنم؟",
        "Wie starte ich die Stoppuhr? 🕒👩‍💻🏴󠁧󠁢󠁥󠁮󠁧󠁿",
        "Is 3 < 5 and 7 > 2?",
        "Does it need JavaScript: yes or no?",
        "What does <button class=start> do?",
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
