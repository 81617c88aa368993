"""Answers that an LLM wrote: what it is sent, and what becomes of what it says."""

import re

from fakes_llm import only_models, reply
from functional.harness import API_KEY, DECLINE, IN_SCOPE, OUT_OF_SCOPE, REPOSITORY, SAID, Json, Start

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
    query = f"{IN_SCOPE} {{context}} {{0}} %s"  # whose braces stay text
    api = with_llm(reply(f"Three papers. {LABEL}"), LLM_MODEL="a-model")
    body = api.ask(f"  {query} ").json
    (request,) = api.llm.requests
    assert request.path == "/v1/chat/completions"
    assert request.headers["authorization"] == f"Bearer {API_KEY}"
    system, user = request.json.pop("messages")
    assert request.json == {"model": "a-model", "temperature": 0.3, "max_tokens": 500}
    assert user == {"role": "user", "content": query}
    # The system message is the template with what it names in its place, and nothing else.
    template = (REPOSITORY / "prompts" / "shared" / "system.txt").read_text(encoding="utf-8")
    about = (REPOSITORY / "prompts" / "waypoint" / "about.txt").read_text(encoding="utf-8").strip()
    mark = system["content"].rpartition(">>>\n")[0].rpartition("\n")[2]
    [today] = re.findall(r"Today is (\d+ [A-Z][a-z]+ \d{4})\.", system["content"])
    named = {"fence": mark, "today": today, "history": "", "about": about, "decline": first_sentence(DECLINE)}
    head, tail = fill(template, named).split("{context}")
    assert (system["role"], system["content"][: len(head)]) == ("system", head)
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


def test_an_answer_that_was_cut_off_is_partial(with_llm: Start) -> None:
    body = with_llm(reply(SAID, finish_reason="length")).ask(IN_SCOPE).json
    assert (body["answer"], body["partial"], body["metadata"]["finishReason"]) == (SAID, True, "length")
    assert body["metadata"]["usage"] == {"promptTokens": 12, "completionTokens": 5, "totalTokens": 17}
    assert (body["confidence"]["level"], body["confidence"]["score"] > 50) == ("Medium", True)


def test_nothing_found_means_no_llm_call(with_llm: Start) -> None:
    api = with_llm(reply("never"))
    body = api.ask(OUT_OF_SCOPE).json
    assert api.llm.requests == []
    assert api.llm.connections == 0
    assert body["answer"] == DECLINE
    assert body["metadata"]["model"] is None


def test_a_label_cites_its_document(with_llm: Start) -> None:
    body = answer_to(with_llm, f"Three papers {LABEL}.")
    (citation,) = body["citations"]
    assert (citation["docId"], citation["fullTitle"], citation["raw"]) == ("SG-REG-001", TITLE, LABEL)
    assert citation["section"] == "Documents needed for import customs clearance"
    assert citation["position"] == len("Three papers ")
    assert citation["sourceUrls"] == ["https://www.customs.gov.sg/", "https://www.tradenet.gov.sg/"]
    assert [source["url"] for source in body["sources"]] == citation["sourceUrls"]
    assert body["metadata"]["chunksUsed"] == 1


def test_a_label_that_means_no_document_is_dropped(with_llm: Start) -> None:
    body = answer_to(with_llm, "Unicorns graze on clover [Zzz > Documents needed].", LLM_WEAK="text")
    assert body["citations"] == body["sources"] == []
    assert (body["citationsMarkdown"], body["metadata"]["chunksUsed"], body["refused"]) == ("", 0, False)
    assert body["relatedDocs"]


def test_a_model_that_says_it_does_not_know_has_refused(with_llm: Start) -> None:
    text = "I don\u2019t have specific information about that in the knowledge base."
    body = answer_to(with_llm, text)
    assert (body["answer"], body["refused"], body["citations"]) == (text, True, [])
    assert (body["confidence"]["level"], body["confidence"]["score"]) == ("Low", 0)
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
