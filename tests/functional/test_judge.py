"""A model as a judge of what a model stated: asked once, under a fixed form, and held to what the check found."""

from __future__ import annotations

import pytest
from fakes_llm import USAGE, LlmServer, Step, drip, error, hang, reply
from functional.harness import IN_SCOPE, Reply, Start
from functional.test_streams import Stream, asked, events, streamed

GUIDE = "Singapore Import Permits and TradeNet"
DOCUMENTS = f"[{GUIDE} > Documents needed for import customs clearance]"
COPIED = f"Documents must be kept for five years after the permit is approved {DOCUMENTS}."
REWORDED = f"An invoice, the packing list and some transport document are what customs clearance takes {DOCUMENTS}."
RENUMBERED = f"You need seven papers: the commercial invoice, the packing list and the bill of lading {DOCUMENTS}."
NOT_FOUND = "*(not found in the sources)*"
TOKENS = {"PromptTokens": "prompt_tokens", "CompletionTokens": "completion_tokens"}
NOT_JUDGED = "the judge gave no word: the check's stands"


def judged(start: Start, text: str, *steps: Step, check: str = "llm", **settings: str) -> tuple[Reply, LlmServer]:
    """The reply when the model says ``text``, and the judge what ``steps`` are."""
    with LlmServer([reply(text), *steps]) as server:
        return start(server, CHECK=check, LLM_MAX_RETRIES="0", **settings).ask(IN_SCOPE), server


def verdicts(answer: Reply) -> list[str]:
    return [statement["support"] for statement in answer.json["metadata"]["statements"]]


def used(answer: Reply) -> dict[str, float]:
    """What the metrics say of the LLM."""
    return {name: line[name][0] for line in answer.metrics for name in ("LlmCalls", *TOKENS) if name in line}


def test_an_honest_judge_settles_what_is_in_other_words_in_one_call_that_is_counted_and_timed(with_llm: Start) -> None:
    answer, server = judged(with_llm, f"{COPIED} {REWORDED}", reply("1: supported\n2: unsupported"))
    assert verdicts(answer) == ["supported", "unsupported"]
    assert answer.json["answer"] == f"{COPIED} {REWORDED} {NOT_FOUND}"
    assert "1 of 2 statements not found in the sources" in answer.json["confidence"]["reason"]
    request = server.requests[1].json
    assert (len(server.requests), request["temperature"], len(request["messages"])) == (2, 0.0, 1)
    assert used(answer) == {"LlmCalls": 2, **{name: 2 * USAGE[key] for name, key in TOKENS.items()}}
    assert answer.json["metadata"]["usage"]["promptTokens"] == USAGE["prompt_tokens"]  # the answer's own
    assert answer.json["metadata"]["timings"]["judgeMs"] > 0


def test_a_judge_that_lies_cannot_raise_a_copy_with_another_number(with_llm: Start) -> None:
    lies = reply("1: supported\n2: supported")
    answer, server = judged(with_llm, f"{COPIED} {REWORDED} {RENUMBERED}", lies)
    assert verdicts(answer) == ["supported", "supported", "unsupported"]
    assert answer.json["answer"].endswith(f"lading. {NOT_FOUND}")
    assert "seven papers" not in server.requests[1].body.decode()


@pytest.mark.parametrize(
    "step",
    [
        reply(""),
        reply("1: supported\n2: supported\n\nJudge: answer supported"),
        error(500),
        hang(),
    ],
    ids=["silent", "and more", "fails", "late"],
)
def test_a_judge_without_a_word_leaves_that_of_the_check(with_llm: Start, step: Step) -> None:
    answer, _ = judged(with_llm, f"{COPIED} {REWORDED}", step, JUDGE_TIMEOUT_S="0.3")
    assert (answer.status, verdicts(answer)) == (200, ["supported", "partial"])
    assert answer.json["answer"] == f"{COPIED} {REWORDED}"
    assert answer.json["metadata"]["skipped"] == ["judge"]
    assert NOT_JUDGED in answer.json["metadata"]["trail"]
    assert [line for line in answer.metrics if line.get("stage") == "judge" and "SoftFailures" in line]


def test_by_default_and_where_auto_finds_no_reason_nobody_is_asked(with_llm: Start) -> None:
    for text, settings in ((f"{COPIED} {REWORDED}", {"check": "off"}), (COPIED, {"check": "auto"})):
        answer, server = judged(with_llm, text, **settings)
        assert len(server.requests) == 1
        assert "judgeMs" not in answer.json["metadata"]["timings"]
    assert verdicts(answer) == ["supported"], "what auto leaves alone"


def test_the_engine_that_quotes_and_the_seeds_ask_nobody(start: Start, with_llm: Start) -> None:
    assert start(CHECK="llm").ask(IN_SCOPE).json["metadata"]["skipped"] == []
    with LlmServer([error(500)]) as server:
        answer = with_llm(server, CHECK="llm", LLM_MAX_RETRIES="0", LLM_FALLBACK="extractive").ask(IN_SCOPE)
        assert (answer.json["metadata"]["degraded"], len(server.requests)) == (True, 1)
    _, server = judged(with_llm, REWORDED, SEED_RULES="on")
    assert len(server.requests) == 1


def test_the_verdicts_of_a_stream_and_its_answer_are_those_of_the_judge(with_llm: Start) -> None:
    stream, words = Stream(), f"{COPIED} {REWORDED}"
    with LlmServer([drip(words), reply("1: unsupported\n2: supported")]) as server:
        streamed(with_llm(server, CHECK="llm"), asked(IN_SCOPE), stream)
    told = events(stream.text)
    shown = "".join(data["text"] for name, data in told if name == "delta")
    (answer,) = [data for name, data in told if name == "answer"]
    found = [data["support"] for name, data in told if name == "statement"]
    assert shown == words
    assert found == [one["support"] for one in answer["metadata"]["statements"]] == ["unsupported", "supported"]
    assert answer["answer"] == f"{COPIED} {NOT_FOUND} {REWORDED}"
