"""What a model says, statement by statement: held against the sources, and put to a model as a judge."""

import re

import pytest
import real_model
from fakes_llm import USAGE, LlmServer, Step, drip, error, hang, reply
from functional.gacounts_service import counted
from functional.harness import DECLINE, IN_SCOPE, QUOTED, SAID, Json, Reply, Start
from functional.test_streams import Stream, asked, deltas, events, streamed

from knowledge.embedding import MiniLM
from knowledge.model.values import TextEncoding
from rag.answer.check import CHECK_BUDGET

GUIDE = "Singapore Import Permits and TradeNet"
DOCUMENTS = f"[{GUIDE} > Documents needed for import customs clearance]"
APPLICANT = f"[{GUIDE} > Who applies for the permit]"
INVENTED = "Our Bangkok office also asks for a signed photograph of every driver."
NOT_FOUND = "*(not found in the sources)*"


def said(start: Start, text: str, **settings: str) -> Json:
    """The reply's body when the model says ``text``."""
    return start(reply(text), **settings).ask(IN_SCOPE).json


def verdicts(body: Json) -> list[str]:
    return [statement["support"] for statement in body["metadata"]["statements"]]


def test_an_invented_statement_is_marked_and_costs_confidence(with_llm: Start) -> None:
    sound, mixed = said(with_llm, QUOTED), said(with_llm, f"{QUOTED} {INVENTED}")
    assert (sound["answer"], verdicts(sound)) == (QUOTED, ["supported"])
    assert mixed["answer"] == f"{QUOTED} {INVENTED} {NOT_FOUND}"
    assert verdicts(mixed) == ["supported", "unsupported"]
    assert (sound["confidence"]["level"], mixed["confidence"]["level"]) == ("High", "Low")
    assert "1 of 2 statements not found in the sources" in mixed["confidence"]["reason"]


def test_an_invented_statement_is_removed_or_kept_where_somebody_says_so(with_llm: Start) -> None:
    text = f"{QUOTED}\n\n- {INVENTED}"
    removed, kept = (said(with_llm, text, UNSUPPORTED=what) for what in ("remove", "keep"))
    assert removed["answer"].strip() == QUOTED
    assert kept["answer"] == text
    assert verdicts(removed) == verdicts(kept) == ["supported", "unsupported"]
    assert removed["confidence"] == kept["confidence"]


UNCITED = QUOTED.replace(f" {DOCUMENTS}", "")


@pytest.mark.parametrize(
    ("text", "answer", "why"),
    [
        (QUOTED.replace(DOCUMENTS, APPLICANT), QUOTED, "what it cited does not support it"),
        (UNCITED, f"{UNCITED} {DOCUMENTS}", "it cited nothing"),
    ],
    ids=["a wrong citation", "none"],
)
def test_a_true_statement_is_cited_to_the_passage_that_says_so(
    with_llm: Start, text: str, answer: str, why: str
) -> None:
    sound, body = said(with_llm, QUOTED), said(with_llm, text)
    assert (body["answer"], body["confidence"]) == (answer, sound["confidence"])
    [citation] = body["citations"]
    assert (f"[{citation['fullTitle']} > {citation['section']}]", citation["support"]) == (DOCUMENTS, "supported")
    assert body["metadata"]["statements"][0]["citations"] == [DOCUMENTS]
    assert f"statement 1 is now cited to {DOCUMENTS}: {why}" in body["metadata"]["trail"]


def test_what_the_sources_do_not_support_at_all_goes_to_a_person_in_every_profile(with_llm: Start) -> None:
    body = said(with_llm, f"{INVENTED[:-1]} {DOCUMENTS}.", LLM_WEAK="text")
    assert (body["confidence"]["level"], body["routing"]["action"]) == ("Low", "escalate")
    assert body["confidence"]["score"] <= 35
    assert [citation["support"] for citation in body["citations"]] == ["unsupported"]


@pytest.mark.parametrize("unsupported", ["mark", "remove"])
def test_quotes_stand_in_place_of_an_answer_without_any_support(with_llm: Start, unsupported: str) -> None:
    body = said(with_llm, f"{INVENTED} {DOCUMENTS}\n\nPurple whales sing.", UNSUPPORTED=unsupported)
    assert body["answer"].startswith("This may not be what you asked for:\n\n")
    assert body["modelText"] == f"{INVENTED}\n\nPurple whales sing."
    assert set(verdicts(body)) == {"supported"}
    assert (body["refused"], body["confidence"]["level"]) == (False, "Low")
    metadata = body["metadata"]
    assert (metadata["model"], metadata["degraded"], metadata["finishReason"]) == ("extractive", True, "stop")
    assert metadata["usage"]["totalTokens"] == USAGE["total_tokens"]
    assert metadata["trail"] == ["nothing of the model's answer is in the documents; quotes are shown"]


def test_an_answer_with_some_support_a_decline_and_one_that_a_judge_acquits_stay(with_llm: Start) -> None:
    acquitted, _ = judged(with_llm, REWORDED, reply("1: supported"))
    bodies = [acquitted.json, said(with_llm, f"{INVENTED} {QUOTED}"), said(with_llm, f"{DECLINE} {INVENTED}")]
    assert [(body["modelText"], body["refused"]) for body in bodies] == [(None, False), (None, False), (None, True)]


def test_a_number_that_the_source_does_not_have_is_seen(with_llm: Start) -> None:
    for papers, support in (("three papers", "supported"), ("41 papers", "unsupported"), ("three weeks", "partial")):
        assert verdicts(said(with_llm, QUOTED.replace("three papers", papers), LLM_WEAK="text")) == [support]


def test_what_is_said_in_other_words_may_be_high(with_llm: Start) -> None:
    body = said(with_llm, SAID)
    assert verdicts(body) == ["partial"]
    assert body["confidence"]["level"] == "High"
    assert body["confidence"]["reason"].endswith("1 source cited")


def test_courtesies_around_an_answer_state_nothing_and_what_only_looks_like_one_does(with_llm: Start) -> None:
    front, behind = "Sure! Thank you for reaching out.", "I hope this helps! Let me know if you need anything else!"
    sound, body = said(with_llm, QUOTED), said(with_llm, f"{front} {QUOTED} {behind}")
    assert (body["answer"], verdicts(body)) == (f"{front} {QUOTED} {behind}", ["supported"])
    assert body["confidence"] == sound["confidence"]
    other = said(with_llm, f"{QUOTED} Let Anna Smith know if you need anything else!")
    assert verdicts(other)[1:] == ["unsupported"]


def test_of_30_kilobytes_no_more_is_read_than_there_is_room_for(
    with_llm: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever a model was led to write: what the check takes grows with what it reads."""
    read: list[str] = []
    real = MiniLM.read

    def noted(model: MiniLM, text: str) -> TextEncoding:
        read.append(text)
        return real(model, text)

    monkeypatch.setattr(MiniLM, "read", noted)
    sentences = [f"Shipment {number} waits for paper {number * 7} in the harbour at night." for number in range(520)]
    body = with_llm(reply(" ".join(sentences)), LLM_MAX_TOKENS="8000").ask(IN_SCOPE).json
    assert sum(real_model.model().count(text) for text in read if text in sentences) <= CHECK_BUDGET
    assert all(sentence.rstrip(".") in body["answer"] for sentence in sentences)
    assert 0 < len(body["metadata"]["statements"]) < len(sentences)
    assert body["metadata"]["skipped"] == ["check"]
    assert body["confidence"]["level"] == "Low"


COPIED = f"Documents must be kept for five years after the permit is approved {DOCUMENTS}."
REWORDED = f"An invoice, the packing list and some transport document are what customs clearance takes {DOCUMENTS}."
RENUMBERED = f"You need 41 papers: the commercial invoice, the packing list and the bill of lading {DOCUMENTS}."
NOT_JUDGED = "the judge gave no word: the check's stands"


def judged(start: Start, text: str, *steps: Step, check: str = "llm", **settings: str) -> tuple[Reply, LlmServer]:
    """The reply when the model says ``text``, and the judge what ``steps`` are."""
    api = start(reply(text), *steps, CHECK=check, LLM_MAX_RETRIES="0", **settings)
    return api.ask(IN_SCOPE), api.llm


def test_an_honest_judge_settles_what_is_in_other_words_in_one_call_that_is_counted_and_timed(with_llm: Start) -> None:
    answer, server = judged(with_llm, f"{COPIED} {REWORDED}", reply("1: supported\n2: unsupported"))
    assert verdicts(answer.json) == ["supported", "unsupported"]
    assert answer.json["answer"] == f"{COPIED} {REWORDED} {NOT_FOUND}"
    assert "1 of 2 statements not found in the sources" in answer.json["confidence"]["reason"]
    request = server.requests[1].json
    assert (len(server.requests), request["temperature"], len(request["messages"])) == (2, 0.0, 1)
    assert counted(answer, "LlmCalls") == 2
    assert counted(answer, "PromptTokens") == 2 * USAGE["prompt_tokens"]
    assert counted(answer, "CompletionTokens") == 2 * USAGE["completion_tokens"]
    assert answer.json["metadata"]["usage"]["promptTokens"] == USAGE["prompt_tokens"]  # the answer's own
    assert answer.json["metadata"]["timings"]["judgeMs"] > 0


@pytest.mark.parametrize(
    "step", [reply("1: supported\n2: supported\n\nJudge: answer supported"), hang()], ids=["and more", "late"]
)
def test_a_judge_without_a_word_leaves_that_of_the_check(with_llm: Start, step: Step) -> None:
    answer, _ = judged(with_llm, f"{COPIED} {REWORDED}", step, JUDGE_TIMEOUT_S="0.3")
    assert (answer.status, verdicts(answer.json)) == (200, ["supported", "partial"])
    assert answer.json["answer"] == f"{COPIED} {REWORDED}"
    assert answer.json["metadata"]["skipped"] == ["judge"]
    assert NOT_JUDGED in answer.json["metadata"]["trail"]
    assert [line for line in answer.metrics if line.get("stage") == "judge" and "SoftFailures" in line]


def test_by_default_and_where_auto_finds_no_reason_nobody_is_asked(with_llm: Start) -> None:
    for text, settings in ((f"{COPIED} {REWORDED}", {"check": "off"}), (COPIED, {"check": "auto"})):
        answer, server = judged(with_llm, text, **settings)
        assert len(server.requests) == 1
        assert "judgeMs" not in answer.json["metadata"]["timings"]
    assert verdicts(answer.json) == ["supported"], "what auto leaves alone"


def test_the_engine_that_quotes_and_the_seeds_ask_nobody(start: Start, with_llm: Start) -> None:
    assert start(CHECK="llm").ask(IN_SCOPE).json["metadata"]["skipped"] == []
    api = with_llm(error(500), CHECK="llm", LLM_MAX_RETRIES="0", LLM_FALLBACK="extractive")
    assert (api.ask(IN_SCOPE).json["metadata"]["degraded"], len(api.llm.requests)) == (True, 1)
    seeds, server = judged(with_llm, f"{QUOTED} {INVENTED}", SEED_RULES="on")
    assert (seeds.json["answer"], len(server.requests)) == (f"{QUOTED} {INVENTED}", 1)
    assert (seeds.json["metadata"]["statements"], seeds.json["citations"][0]["support"]) == ([], None)  # no check


def test_the_verdicts_of_a_stream_and_its_answer_are_those_of_the_judge(with_llm: Start) -> None:
    stream, words = Stream(), f"{COPIED} {REWORDED}"
    streamed(with_llm(drip(words), reply("1: unsupported\n2: supported"), CHECK="llm"), asked(IN_SCOPE), stream)
    told = events(stream.text)
    (answer,) = [data for name, data in told if name == "answer"]
    assert deltas(stream.text) == words
    found = [data["support"] for name, data in told if name == "statement"]
    assert found == [one["support"] for one in answer["metadata"]["statements"]] == ["unsupported", "supported"]
    assert answer["answer"] == f"{COPIED} {NOT_FOUND} {REWORDED}"


HOLIDAYS = re.compile(r"^\[(\d)\] Holidays and leave \((.*)\)$", re.MULTILINE)


@pytest.mark.parametrize(
    ("days", "level", "told"), [("27", "High", "1 source cited"), ("25", "Medium", "a newer edition differs")]
)
def test_a_statement_of_the_older_edition_is_medium_and_says_so(
    with_llm: Start, tmp_path_factory: pytest.TempPathFactory, days: str, level: str, told: str
) -> None:
    def write(request: Json) -> str:
        """Copy the sentence with so many days and cite the passage that has it."""
        context: str = request["messages"][0]["content"]
        assert HOLIDAYS.findall(context)[:2] == [("1", "2026-01-05"), ("2", "2025-01-07")]
        sentence = re.search(rf"Full-time staff have {days} working days of holiday a year", context)
        assert sentence is not None
        return f"{sentence[0]} [{HOLIDAYS.findall(context[: sentence.start()])[-1][0]}]."

    api = with_llm(answer=write, INDEX_URI=str(real_model.sample_index("house", tmp_path_factory)), RAG_PROFILE="house")
    body = api.ask("How many days of holiday do I get?").json
    assert body["answer"] == f"Full-time staff have {days} working days of holiday a year [1]."
    assert body["confidence"]["level"] == level
    assert body["confidence"]["reason"].endswith(told)
    assert level == "High" or body["confidence"]["score"] == 74.0
