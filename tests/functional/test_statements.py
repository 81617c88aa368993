"""What a model says, statement by statement: held against the sources, cited anew, marked or taken out."""

from __future__ import annotations

import pytest
import real_model
from fakes_llm import LlmServer, reply
from functional.harness import IN_SCOPE, QUOTED, SAID, Json, Start

from knowledge.embedding import MiniLM
from knowledge.model.values import Reading
from rag.answer.check_limit import ROOM

GUIDE = "Singapore Import Permits and TradeNet"
DOCUMENTS = f"[{GUIDE} > Documents needed for import customs clearance]"
APPLICANT = f"[{GUIDE} > Who applies for the permit]"
INVENTED = "Our Bangkok office also asks for a signed photograph of every driver."
NOT_FOUND = "*(not found in the sources)*"


def said(start: Start, text: str, **settings: str) -> Json:
    """The reply's body when the model says ``text``."""
    with LlmServer([reply(text)]) as server:
        return start(server, **settings).ask(IN_SCOPE).json


def verdicts(body: Json) -> list[str]:
    return [statement["support"] for statement in body["metadata"]["statements"]]


def test_an_invented_statement_is_marked_and_costs_confidence(with_llm: Start) -> None:
    sound, mixed = said(with_llm, QUOTED), said(with_llm, f"{QUOTED} {INVENTED}")
    assert (sound["answer"], verdicts(sound)) == (QUOTED, ["supported"])
    assert mixed["answer"] == f"{QUOTED} {INVENTED} {NOT_FOUND}"
    assert verdicts(mixed) == ["supported", "unsupported"]
    assert mixed["confidence"]["score"] == round(sound["confidence"]["score"] / 2, 1)
    assert mixed["confidence"]["level"] == "Low"
    assert "1 of 2 statements not found in the sources" in mixed["confidence"]["reason"]


def test_an_invented_statement_is_removed_or_kept_where_somebody_says_so(with_llm: Start) -> None:
    text = f"{QUOTED}\n\n- {INVENTED}"
    removed, kept = (said(with_llm, text, UNSUPPORTED=what) for what in ("remove", "keep"))
    assert removed["answer"].strip() == QUOTED
    assert kept["answer"] == text
    assert verdicts(removed) == verdicts(kept) == ["supported", "unsupported"]
    assert removed["confidence"] == kept["confidence"]


def test_a_wrong_citation_is_replaced_by_the_passage_that_says_so(with_llm: Start) -> None:
    body = said(with_llm, QUOTED.replace(DOCUMENTS, APPLICANT))
    assert body["answer"] == QUOTED
    assert [citation["section"] for citation in body["citations"]] == ["Documents needed for import customs clearance"]
    assert body["citations"][0]["support"] == "supported"
    assert body["metadata"]["statements"][0]["citations"] == [DOCUMENTS]
    note = f"statement 1 is now cited to {DOCUMENTS}: what it cited does not support it"
    assert note in body["metadata"]["trail"]


def test_a_true_statement_that_cites_nothing_is_cited_and_counts_half(with_llm: Start) -> None:
    uncited = QUOTED.replace(f" {DOCUMENTS}", "")
    sound, body = said(with_llm, QUOTED), said(with_llm, uncited)
    assert body["answer"] == f"{uncited} {DOCUMENTS}"
    assert f"statement 1 is now cited to {DOCUMENTS}: it cited nothing" in body["metadata"]["trail"]
    assert body["confidence"]["score"] < sound["confidence"]["score"]


def test_what_the_sources_do_not_support_at_all_goes_to_a_person_in_every_profile(with_llm: Start) -> None:
    body = said(with_llm, f"{INVENTED[:-1]} {DOCUMENTS}.")
    assert (body["confidence"]["level"], body["routing"]["action"]) == ("Low", "escalate")
    assert body["confidence"]["score"] <= 35
    assert body["citations"] == []


def test_a_number_that_the_source_does_not_have_is_seen(with_llm: Start) -> None:
    for papers, support in (
        ("three papers", "supported"),
        ("four papers", "unsupported"),
        ("three weeks", "unsupported"),
    ):
        assert verdicts(said(with_llm, QUOTED.replace("three papers", papers))) == [support]


def test_what_is_said_in_other_words_is_medium_at_most_and_the_reason_says_so(with_llm: Start) -> None:
    body = said(with_llm, SAID)
    assert verdicts(body) == ["partial"]
    assert body["confidence"]["level"] == "Medium"
    assert body["confidence"]["reason"].endswith("1 of 1 statements in other words than the sources")


def test_a_yes_is_read_with_its_question(with_llm: Start) -> None:
    with LlmServer([reply(f"Yes {APPLICANT}.")]) as server:
        body = with_llm(server).ask("Does the importer of record apply for the import permit through TradeNet?").json
    assert body["answer"] == f"Yes {APPLICANT}."
    assert verdicts(body) == ["partial"]


def test_the_seeds_check_nothing(with_llm: Start) -> None:
    body = said(with_llm, f"{QUOTED} {INVENTED}", SEED_RULES="on")
    assert body["answer"] == f"{QUOTED} {INVENTED}"
    assert body["metadata"]["statements"] == []
    assert body["citations"][0]["support"] is None


def test_what_the_check_adds_stands_behind_its_sentence(with_llm: Start) -> None:
    true = QUOTED.replace(f" {DOCUMENTS}", "")
    other = "Purple whales sing nine songs [Importing Food into Singapore]."
    body = said(with_llm, f"{true} {other} {INVENTED}")
    assert body["answer"] == f"{true} {DOCUMENTS} Purple whales sing nine songs. {NOT_FOUND} {INVENTED} {NOT_FOUND}"


def test_of_30_kilobytes_no_more_is_read_than_there_is_room_for(
    with_llm: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever a model was led to write: what the check takes grows with what it reads."""
    read: list[str] = []
    real = MiniLM.read

    def noted(model: MiniLM, text: str) -> Reading:
        read.append(text)
        return real(model, text)

    monkeypatch.setattr(MiniLM, "read", noted)
    sentences = [f"Shipment {number} waits for paper {number * 7} in the harbour at night." for number in range(520)]
    with LlmServer([reply(" ".join(sentences))]) as server:
        body = with_llm(server, LLM_MAX_TOKENS="8000").ask(IN_SCOPE).json
    assert sum(real_model.model().count(text) for text in read if text in sentences) <= ROOM
    assert all(sentence.rstrip(".") in body["answer"] for sentence in sentences)
    assert 0 < len(body["metadata"]["statements"]) < len(sentences)
    assert body["metadata"]["skipped"] == ["check"]
    assert body["confidence"]["level"] == "Low"
