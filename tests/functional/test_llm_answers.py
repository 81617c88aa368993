"""Answers that an LLM wrote: what it is sent, and what becomes of what it says."""

import re

import pytest
from fakes_llm import only_models, reply
from functional.harness import API_KEY, DECLINE, IN_SCOPE, OUT_OF_SCOPE, REPOSITORY, SAID, Json, Start, post

from rag.contract import first_sentence
from rag.text.template import fill

TITLE = "Singapore Import Permits and TradeNet"
LABEL = f"[{TITLE} > Documents needed for import customs clearance]"


def answer_to(start: Start, text: str, **env: str) -> Json:
    """The reply's body when the LLM writes ``text``."""
    result = start(reply(text), **env).ask(IN_SCOPE)
    assert result.status == 200
    return result.json


def test_exactly_two_messages_are_sent(with_llm: Start) -> None:
    api = with_llm(reply(f"Three papers. {LABEL}"), LLM_MODEL="a-model")
    body = api.ask(f"  {IN_SCOPE} ").json
    (request,) = api.llm.requests
    assert request.path == "/v1/chat/completions"
    assert request.headers["authorization"] == f"Bearer {API_KEY}"
    assert set(request.json) == {"model", "messages", "temperature", "max_tokens"}
    assert request.json["model"] == "a-model"
    assert request.json["temperature"] == 0.3
    assert request.json["max_tokens"] == 500
    system, user = request.json["messages"]
    assert user == {"role": "user", "content": IN_SCOPE}
    # The system message is the template with what it names in its place, and nothing else.
    template = (REPOSITORY / "prompts" / "shared" / "system.txt").read_text(encoding="utf-8")
    about = (REPOSITORY / "prompts" / "waypoint" / "about.txt").read_text(encoding="utf-8").strip()
    mark = system["content"].rpartition(">>>\n")[0].rpartition("\n")[2]
    [today] = re.findall(r"Today is (\d+ [A-Z][a-z]+ \d{4})\.", system["content"])
    named = {"fence": mark, "today": today, "history": "", "about": about, "decline": first_sentence(DECLINE)}
    head, tail = fill(template, named).split("{context}")
    assert system["role"] == "system"
    assert system["content"].startswith(head)
    assert system["content"].endswith(tail)
    context = system["content"][len(head) : len(system["content"]) - len(tail)]
    assert re.fullmatch("[a-z]+ [a-z]+", mark)
    begin, context = context.removesuffix(f"\n{mark}>>>").split("\n", maxsplit=1)
    assert begin == f"<<<{mark}"
    assert len(context) <= 8000
    assert context.startswith(f"[1] {TITLE} > ")
    assert f" {LABEL[1:-1]} (2026-03-02)\n## Documents needed for import customs clearance\n" in context
    assert IN_SCOPE not in context
    assert body["metadata"]["chunksRetrieved"] >= context.count("\n\n[") + 1


def test_seed_rules_keep_the_seed_s_prompt_and_labels(with_llm: Start) -> None:
    api = with_llm(reply(f"Three papers. {LABEL} [1]"), SEED_RULES="on")
    body = api.ask(IN_SCOPE).json
    rules, _, context = api.llm.requests[0].json["messages"][0]["content"].partition("\nCONTEXT\n")
    assert "as it stands in\n   square brackets above that passage: [Title > Section]" in rules
    assert f"\n{LABEL}\n## Documents needed" in context
    assert "Today is" not in context
    assert body["answer"].startswith(f"Three papers. {LABEL}")
    assert len(body["citations"]) == 1


def test_the_model_s_answer_is_parsed(with_llm: Start) -> None:
    body = with_llm(reply(SAID, model="served-8b", finish_reason="length")).ask(IN_SCOPE).json
    assert body["answer"] == SAID
    assert body["refused"] is False
    metadata = body["metadata"]
    assert metadata["model"] == "served-8b"
    assert (metadata["finishReason"], body["partial"]) == ("length", True)
    assert metadata["usage"] == {"promptTokens": 12, "completionTokens": 5, "totalTokens": 17}
    assert metadata["degraded"] is False
    assert metadata["chunksUsed"] == 1
    assert body["confidence"]["score"] > 50


def test_nothing_found_means_no_llm_call(with_llm: Start) -> None:
    api = with_llm(reply("never"))
    body = api.ask(OUT_OF_SCOPE).json
    assert api.llm.requests == []
    assert api.llm.connections == 0
    assert body["answer"] == DECLINE
    assert body["metadata"]["model"] is None


@pytest.mark.parametrize(
    ("written", "section"),
    [
        (LABEL, "Documents needed for import customs clearance"),
        (f"\u3010{TITLE}\u3011", None),
        ("[Singapore Imprt Permts and TradeNet]", None),
    ],
)
def test_ways_to_cite_the_same_document(with_llm: Start, written: str, section: str | None) -> None:
    body = answer_to(with_llm, f"Three papers {written}.")
    (citation,) = body["citations"]
    assert citation["docId"] == "SG-REG-001"
    assert citation["fullTitle"] == TITLE
    assert citation["raw"] == written
    assert citation["section"] == section
    assert citation["position"] == len("Three papers ")
    assert citation["sourceUrls"] == ["https://www.customs.gov.sg/", "https://www.tradenet.gov.sg/"]
    assert [source["url"] for source in body["sources"]] == citation["sourceUrls"]
    assert body["metadata"]["chunksUsed"] == 1


@pytest.mark.parametrize("label", ["Annual report", "99", "Zzz > Documents needed"])
def test_labels_that_mean_no_document_are_dropped(with_llm: Start, label: str) -> None:
    body = answer_to(with_llm, f"Unicorns graze on clover [{label}].", LLM_WEAK="text")
    assert body["citations"] == []
    assert body["sources"] == []
    assert body["citationsMarkdown"] == ""
    assert body["metadata"]["chunksUsed"] == 0
    assert body["relatedDocs"]
    assert body["refused"] is False


@pytest.mark.parametrize(
    "text",
    [
        "I don't have specific information about that in the knowledge base.",
        "I don\u2019t have specific information about that in the knowledge base.",
        DECLINE,
    ],
)
def test_a_model_that_says_it_does_not_know_has_refused(with_llm: Start, text: str) -> None:
    body = answer_to(with_llm, text)
    assert body["refused"] is True
    assert body["answer"] == text
    assert body["confidence"]["level"] == "Low"
    assert body["confidence"]["score"] == 0
    assert body["citations"] == []
    assert body["metadata"]["model"] == "served-model"


def test_a_withdrawn_model_is_replaced_and_the_replacement_remembered(with_llm: Start) -> None:
    api = with_llm(only_models("openai/gpt-oss-20b", text=f"Yes. {LABEL}"), LLM_MODEL="llama-3.1-8b-instant")
    first, second = api.ask(IN_SCOPE), api.ask(IN_SCOPE)
    health = api.health().json["llm"]
    assert [first.json["metadata"]["model"], second.json["metadata"]["model"]] == ["openai/gpt-oss-20b"] * 2
    asked = [request.json["model"] for request in api.llm.requests]
    assert asked == ["llama-3.1-8b-instant", "openai/gpt-oss-20b", "openai/gpt-oss-20b"]
    assert [request.json.get("reasoning_effort") for request in api.llm.requests] == [None, "low", "low"]
    assert health == {"engine": "openai", "model": "openai/gpt-oss-20b", "lastError": None}


def test_the_question_s_own_braces_stay_text(with_llm: Start) -> None:
    query = f"{IN_SCOPE} {{context}} {{0}} %s"
    api = with_llm(reply("Yes."))
    assert api.call(post({"query": query})).status == 200
    system, user = api.llm.requests[0].json["messages"]
    assert user["content"] == query
    assert "{context}" not in system["content"]
