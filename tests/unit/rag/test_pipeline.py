"""rag.pipeline, rag.contract: the order of the slots, their timings, declines and refusals."""

from dataclasses import replace
from typing import cast

import pytest
from fakes import FakeChat, FakeClock, FakeIndex, deadline, make_evidence, make_hit, make_inputs, make_writer

from knowledge.model.errors import IndexMissing
from knowledge.model.values import Evidence, SearchResult
from rag.answer.check import CheckedAnswer
from rag.answer.confidence import NO_SOURCES, NOT_ANSWERED, ConfidenceRouter
from rag.answer.tree import Tree
from rag.ask.conversation import Conversation, Reframe
from rag.ask.remarks import Remarks
from rag.contract import begins_with_decline, is_empty, may_decline
from rag.errors import EmptyQuery, LlmUnavailable
from rag.ledger import Ledger
from rag.pipeline import Pipeline
from rag.profiles import clockify, load_profile, waypoint
from rag.values.answer import Answer, Confidence, Decline, Proceed, RepeatedQuestion, Routing
from rag.values.chat import Completion, Deadline, Usage
from rag.values.question import Question, Turn
from rag.values.request import Delta, Event, PassagesEvent, Patch, Status

HITS = (
    make_hit(number=1, cosine=0.9, title="Import permits", doc_id="permits", source_urls=("https://a.example",)),
    make_hit("Carriers call at noon.", number=2, cosine=0.8, title="Carriers", doc_id="carriers"),
    make_hit("Ports close at night.", number=3, cosine=0.7, title="Ports", doc_id="ports"),
    make_hit("Tea is served.", number=4, cosine=0.2, title="Tea", doc_id="tea"),
)


def pipeline(chat: FakeChat, index: FakeIndex, clock: FakeClock | None = None) -> Pipeline:
    inputs = make_inputs(index, make_writer(chat, "{context}"))
    made = load_profile("waypoint").build(waypoint.WaypointSettings(seed_rules=True), inputs)
    return replace(made, clock=clock or FakeClock(), new_id=lambda: "response-1")


def ask(chat: FakeChat, index: FakeIndex | None = None, **fields: object) -> Answer:
    question = replace(Question(text="Which permit?"), **fields)  # type: ignore[arg-type]
    return pipeline(chat, FakeIndex(HITS) if index is None else index).run(question, deadline=deadline())


def test_an_answer_from_question_to_confidence() -> None:
    completion = Completion(text="Five days [Import permits]. Noon [carriers].", model="m", usage=Usage(9, 4, 13))
    answer = ask(FakeChat(completion), text="  Which permit? ", session_id="s" * 22)
    assert answer.text == "Five days [Import permits]. Noon [carriers]."
    assert [citation.hit.chunk.number for citation in answer.citations] == [1, 2]
    assert [source.url for source in answer.sources] == ["https://a.example"]
    assert [doc.doc_id for doc in answer.related_docs] == ["permits", "carriers", "ports"]
    # Scores .8, .6, .4: mean .6 over three.
    assert answer.confidence.score == pytest.approx(80.0)
    assert (answer.confidence.level, answer.confidence.reason) == ("High", "3 relevant sources with 2 citations")
    assert answer.question == Question(text="Which permit?", session_id="s" * 22, understood="Which permit?")
    assert (answer.chunks_retrieved, answer.completion, answer.refused) == (3, completion, False)
    assert (answer.profile, answer.response_id, answer.routing) == ("waypoint", "response-1", None)
    assert (answer.cached, answer.trail) == (False, ())


def test_the_model_sees_what_passed_the_threshold_best_first() -> None:
    chat = FakeChat("x")
    ask(chat)
    ((system, user),) = chat.asked
    permits, others = "[Import permits]\nPermits take five working days.", "[Carriers]\nCarriers call at noon.\n\n"
    assert system.content == f"<<<a-mark\n{permits}\n\n{others}[Ports]\nPorts close at night.\na-mark>>>"
    assert user.content == "Which permit?"


DECLINE = waypoint.WaypointSettings.decline


def test_a_decline_asks_no_model() -> None:
    chat = FakeChat()
    answer = ask(chat, FakeIndex([make_hit(cosine=0.2)]))
    assert chat.asked == []
    assert (answer.text, answer.refused, answer.confidence) == (DECLINE, True, NO_SOURCES)
    assert (answer.citations, answer.sources, answer.related_docs) == ((), (), ())
    assert (answer.chunks_retrieved, answer.completion) == (0, None)
    assert answer.trail == ("0 chunks passed the threshold, 1 needed",)
    assert "generation" not in answer.timings


def test_a_writer_that_found_nothing_to_say_is_a_decline() -> None:
    answer = ask(FakeChat(Completion(text="", model="extractive", calls=0)))
    assert (answer.text, answer.refused, answer.confidence) == (DECLINE, True, NO_SOURCES)
    assert (answer.completion, answer.related_docs, answer.chunks_retrieved) == (None, (), 0)
    assert answer.trail == ("what was found holds nothing that can be quoted",)


@pytest.mark.parametrize("text", [DECLINE, "- 【Tea】, **[Nowhere > Fees]**.\n", "..."])
def test_a_model_that_declines_or_of_whose_answer_nothing_is_left_refuses(text: str) -> None:
    answer = ask(FakeChat(text))
    assert (answer.text, answer.refused, answer.confidence) == (DECLINE, True, NOT_ANSWERED)
    assert (answer.citations, answer.sources, answer.chunks_retrieved) == ((), (), 3)


def test_invented_citations_go_and_lower_the_confidence() -> None:
    answer = ask(FakeChat("Five days [Import permits]. Free [Customs Act]. Soon [Ports > Nowhere], [Decree 9]."))
    assert answer.text == "Five days [Import permits]. Free. Soon [Ports]."
    cited = [(citation.raw, citation.section) for citation in answer.citations]
    assert cited == [("[Import permits]", ""), ("[Ports]", "")]
    assert (answer.confidence.level, answer.confidence.score) == ("Low", 35.0)
    assert answer.trail == ("removed 2 citations of what was not in the context",)


def test_evidence_and_trail_of_a_search_are_carried_on() -> None:
    evidence = make_evidence(0.4)
    result = SearchResult(HITS, evidence, trail=("searched otherwise",))
    seen: list[Evidence | None] = []

    def gate(found: SearchResult, question: Question) -> Proceed | Decline:
        seen.append(found.evidence)
        return Proceed(found.hits, 4, found.evidence)

    line = replace(pipeline(FakeChat("x"), FakeIndex()), retrieve=lambda _: result, gate=gate)
    watch = Ledger(FakeClock(), deadline())
    draft = line.prepare(Question(text="q"), watch)
    assert draft.context is not None
    assert seen == [evidence] == [draft.context.evidence]
    assert line.finish(draft, Completion(text="x", model="m"), watch).trail == ("searched otherwise",)


def spoken(text: str, remark: Decline | RepeatedQuestion) -> tuple[Answer, FakeIndex]:
    """The answer where ``remark`` is made of every question, with the help desk's routing."""
    index = FakeIndex(HITS)
    remarks = cast(Remarks, lambda *_, **__: remark)
    line = replace(pipeline(FakeChat("x"), index), remarks=remarks, route=ConfidenceRouter())
    return line.run(Question(text=text), deadline=deadline()), index


def test_a_remark_is_answered_in_kind_without_a_search() -> None:
    answer, index = spoken("Thanks a lot!", Decline("nothing was asked", "You're welcome."))
    assert answer.text == "You're welcome."
    assert (answer.refused, answer.completion, answer.confidence.reason) == (True, None, "Nothing was asked")
    assert answer.routing == Routing("return", "Nothing was asked")  # the knowledge base lacks nothing
    assert (answer.trail, answer.events, index.searches) == (("nothing was asked",), ("small_talk",), [])


def test_a_question_that_is_asked_again_is_looked_up_as_it_was_and_answered_in_the_light_of_the_remark() -> None:
    before = Turn(question="Which permit?", answer="Form A.", at=0.0)
    answer, index = spoken("More simply?", RepeatedQuestion((before,)))
    assert (answer.refused, answer.text, len(index.searches)) == (False, "x", 1)
    assert answer.question.understood == "Which permit?\nMore simply?"
    assert answer.trail[0] == "looked up again: Which permit?"


def test_of_a_long_message_what_asks_is_searched_for_and_all_is_asked() -> None:
    chat, index = FakeChat("x"), FakeIndex(HITS)
    mail = "The lamps are painted in Augsburg. " * 20
    answer = ask(chat, index, text=f"{mail}\n\nWhich permit?")
    assert answer.question.understood == "Which permit?"
    ((_, user),) = chat.asked
    assert user.content == f"{mail}\n\nWhich permit?"


def test_a_translated_question_is_searched_for_and_the_model_is_asked_as_the_user_wrote() -> None:
    chat, index = FakeChat("x"), FakeIndex(HITS)
    reframe = cast(Reframe, lambda query, *_: replace(query, text="Which permit?"))
    talk = Conversation(memory=None, reframe=reframe, decline="No.", turns=5, new_session=str, now=lambda: 0.0)
    line = replace(pipeline(chat, index), conversation=talk)
    answer = line.run(Question(text="Welche Genehmigung?"), deadline=deadline())
    assert (answer.question.understood, len(index.searches)) == ("Which permit?", 1)
    ((_, user),) = chat.asked
    assert user.content == "Welche Genehmigung?"


def test_the_requests_top_k_threshold_and_filters_are_honoured() -> None:
    index = FakeIndex(HITS, fields={"doc_id": "str"})
    answer = ask(FakeChat("x"), index, threshold=-1.0, filters={"doc_id": ["tea", "ports"]})
    assert [doc.doc_id for doc in answer.related_docs] == ["ports", "tea"]
    assert answer.trail == ("filtered by the request's own filters: doc_id",)
    ask(FakeChat("x"), index, top_k=1)
    assert [search.k for search in index.searches] == [10, 1]


def test_nothing_is_retrieved_for_a_question_that_is_not_admitted() -> None:
    index = FakeIndex(HITS)
    with pytest.raises(EmptyQuery):
        ask(FakeChat(), index, text=" ")
    assert index.searches == []


def test_retrieval_and_generation_raise_and_no_lease_is_left_out() -> None:
    with pytest.raises(IndexMissing):
        ask(FakeChat(), FakeIndex(broken=IndexMissing("none")))
    index = FakeIndex(HITS, fields={"doc_id": "str"})
    ask(FakeChat("x"), index, filters={"doc_id": "tea"}, threshold=-1.0)
    with pytest.raises(LlmUnavailable):
        ask(FakeChat(LlmUnavailable("down")), index)
    assert index.leases == 0


@pytest.mark.parametrize(("left_s", "chars", "looked"), [(0.4, 200, True), (0.0, 200, False), (0.4, 20_000, False)])
def test_an_answer_that_came_late_is_not_checked_and_never_looks_checked(
    left_s: float, chars: int, looked: bool
) -> None:
    """Where the model left too little of the deadline for the check of so long an answer, that is said."""
    clock = FakeClock()
    checked: list[Tree] = []

    def write(*_: object, **__: object) -> Completion:
        clock.now += 27.0 - left_s
        return Completion(text="Five days [Import permits]. ".ljust(chars, "x"), model="m")

    def check(tree: Tree, *_: object) -> CheckedAnswer:
        checked.append(tree)
        return CheckedAnswer(tree)

    line = pipeline(FakeChat(), FakeIndex(HITS), clock)
    answering = replace(line.answering, check=check)  # type: ignore[arg-type]
    sure = Confidence("High", 100.0, "3 sources", raw=100.0)
    line = replace(line, write=write, answering=answering, score=lambda *_: sure)
    answer = line.run(Question(text="Which permit?"), deadline=Deadline.after(27.0, clock))
    assert len(checked) == looked
    if looked:
        assert (answer.skipped, answer.confidence.level) == ((), "High")
        return
    assert answer.skipped == ("check",)
    assert "the statements were not checked" in answer.trail
    assert (answer.statements, {one.support for one in answer.citations}) == ((), {None})
    told = "3 sources, the statements were not checked"
    assert answer.confidence == replace(sure, level="Medium", score=74.0, reason=told)


def test_every_slot_is_timed_in_milliseconds() -> None:
    # The clock moves 1 s at each look: each slot takes two looks.
    answer = pipeline(FakeChat("x"), FakeIndex(HITS), FakeClock(step=1.0)).run(Question(text="q"), deadline=deadline())
    slots = {"admit", "query", "retrieval", "refine", "gate", "pack", "generation", "citation", "confidence"}
    assert set(answer.timings) == slots | {"total"}
    # To read and to finish what was written are timed as one.
    assert {slot: answer.timings[slot] for slot in slots} == {**dict.fromkeys(slots, 1000.0), "citation": 2000.0}
    assert answer.timings["total"] > sum(answer.timings[slot] for slot in slots)


def test_a_stream_tells_what_becomes_true_in_its_order_and_the_answers_own_text() -> None:
    events: list[Event] = []
    line = pipeline(FakeChat("Five days [Import permits].\n\nNoon [Carriers]."), FakeIndex(HITS))
    answer = line.run(Question(text="Which permit?"), deadline=deadline(), listen=events.append)
    kinds = [event.stage if isinstance(event, Status) else type(event).__name__ for event in events]
    told = ["searching", "reading", "PassagesEvent", "writing", "Patch", "Delta", "checking"]
    assert list(dict.fromkeys(kinds)) == [*told, *(["ClaimChecked"] if answer.statements else [])]
    assert "".join(event.text for event in events if isinstance(event, Delta)) == answer.text
    (reading,) = (event for event in events if isinstance(event, PassagesEvent))
    assert [passage.hit.chunk.number for passage in reading.passages] == [1, 2, 3]
    patches = {event.block: event.nodes for event in events if isinstance(event, Patch)}
    assert [node for place in sorted(patches) for node in patches[place]] == list(answer.nodes)


def test_part_of_an_answer_is_cited_at_most_medium_and_said_to_be_part() -> None:
    completion = Completion(text="Five days [Import permits]. Noon [Carr", model="m", finish_reason="interrupted")
    answer = ask(FakeChat(completion))
    assert (answer.partial, [citation.hit.chunk.number for citation in answer.citations]) == (True, [1])
    assert (answer.confidence.level, answer.confidence.score) == ("Medium", 74.0)
    assert "the answer broke off" in answer.confidence.reason


@pytest.mark.parametrize("profile", ["waypoint", "gacounts", "clockify"])
def test_every_profiles_own_sentence_is_a_refusal_from_its_first_letter_on(profile: str) -> None:
    decline = load_profile(profile).settings.decline
    sentence = decline.split(". ", maxsplit=1)[0].rstrip(".")
    for said in (decline, sentence, f"**{sentence}.** It only covers timers.", f'"{sentence.upper()}"'):
        assert begins_with_decline(said, decline)
    typographic = sentence.replace("'", "\u2019")
    assert begins_with_decline(typographic, decline)
    assert all(may_decline(typographic[:end], decline) for end in range(len(typographic)))
    assert not begins_with_decline(f"Press Start. {sentence}.", decline)
    assert not may_decline(f"Press Start. {sentence}.", decline)


def test_other_english_is_not_read() -> None:
    for said in ("No, the documentation does not have to be in English.", "I don't know based on the MDX guide."):
        assert not begins_with_decline(said, clockify.DECLINE)


@pytest.mark.parametrize(("text", "nothing"), [("- , **.**", True), ("5", False)])
def test_nothing_is_left(text: str, nothing: bool) -> None:
    assert is_empty(text) is nothing
