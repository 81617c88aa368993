"""rag.ask.conversation.conversation: sessions, what is recalled, and what is remembered."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

import pytest
from fakes import MARK, FakeChat, FakeClock, deadline
from fakes_stores import InMemoryMemory

from rag.ask.conversation.conversation import Conversation
from rag.ask.conversation.reframe import Reframe
from rag.errors import LlmUnavailable, StoreUnavailable
from rag.ledger import Ledger
from rag.values.answer import Answer, Confidence, Source
from rag.values.question import Question, SearchQuery, Turn

SESSION, OTHER = "s" * 22, "t" * 22
TOPIC = "How do I report in GaCounts?"
FOLLOW_UP = "And the deadline?"
MEANT = "What is the reporting deadline for GaCounts?"


class BrokenMemory:
    """A memory out of reach."""

    def remember(self, session_id: str, turn: Turn) -> None:
        raise StoreUnavailable("down")

    def recall(self, session_id: str, *, limit: int) -> tuple[Turn, ...]:
        raise StoreUnavailable("down")


def conversation(chat: FakeChat | None = None, *, turns: int = 5) -> Conversation:
    clock = FakeClock(1e9)
    numbers = count(1)
    return Conversation(
        memory=InMemoryMemory(),
        reframe=chat and reframe(chat),  # type: ignore[arg-type]
        decline="I don't know.",
        turns=turns,
        new_session=lambda: f"new-{next(numbers):018d}",
        now=clock,
    )


def reframe(chat: FakeChat) -> Reframe:
    template = "{history}{question}"
    return Reframe(
        chat=chat,
        template=template,
        decline="I don't know.",
        budget_s=5.0,
        history_chars=4000,
        clock=FakeClock(),
        new_mark=lambda: MARK,
    )


def ledger() -> Ledger:
    return Ledger(FakeClock(), deadline())


def answer(text: str, session: str, *, asked: str = TOPIC, understood: str = "") -> Answer:
    return Answer(
        text=text,
        question=Question(text=asked, session_id=session, understood=understood),
        profile="gacounts",
        response_id="r",
        confidence=Confidence("Low", 0.0, ""),
        refused=False,
        sources=(Source(title="T", org="", url="https://a.example", section=""),),
    )


def resolve(
    this: Conversation, text: str, session: str, gathered: Ledger | None = None
) -> tuple[SearchQuery, tuple[Turn, ...]]:
    return this.resolve(SearchQuery(text=text, top_k=8), Question(text=text, session_id=session), gathered or ledger())


def test_a_session_is_issued_only_where_there_is_none() -> None:
    this = conversation()
    assert this.identified(Question(text="x", session_id=SESSION)).session_id == SESSION
    issued = [this.identified(Question(text="x")).session_id for _ in range(2)]
    assert issued == ["new-000000000000000001", "new-000000000000000002"]


def test_a_turn_is_remembered_as_it_was_asked_and_as_it_was_understood() -> None:
    this = conversation()
    this.remember(answer("The tenth.", SESSION, asked=FOLLOW_UP, understood=MEANT))
    this.remember(answer("Indeed.", SESSION))
    turn = Turn(question=MEANT, asked=FOLLOW_UP, answer="The tenth.", at=1e9, sources=("https://a.example",))
    alone = replace(turn, question=TOPIC, asked=TOPIC, answer="Indeed.")
    assert this.memory.recall(SESSION, limit=5) == (turn, alone)  # type: ignore[union-attr]


def test_without_a_model_every_question_is_searched_for_with_what_the_turns_before_meant() -> None:
    this = conversation()
    this.remember(answer("The tenth.", SESSION, asked=FOLLOW_UP, understood=MEANT))
    gathered = ledger()
    query, history = resolve(this, "And for volunteers?", SESSION, gathered)
    assert query.text == "And for volunteers?"
    assert [view.text for view in query.views] == [f"And for volunteers? {MEANT}", "And for volunteers? The tenth."]
    assert [turn.asked for turn in history] == [FOLLOW_UP]
    assert gathered.events == []


def test_a_question_is_rewritten_in_the_light_of_its_own_session_only() -> None:
    chat = FakeChat(MEANT)
    this = conversation(chat)
    this.remember(answer("So.", SESSION))
    gathered = ledger()
    query, history = resolve(this, FOLLOW_UP, SESSION, gathered)
    assert (query.text, [turn.question for turn in history]) == (MEANT, [TOPIC])
    assert [view.text for view in query.views] == [FOLLOW_UP]
    assert gathered.events == ["reframed"]
    elsewhere = ledger()
    assert resolve(this, FOLLOW_UP, OTHER, elsewhere) == (SearchQuery(text=FOLLOW_UP, top_k=8), ())
    assert elsewhere.events == []
    assert len(chat.asked) == 1


@pytest.mark.parametrize("said", ["SAME", "I don't know that.", LlmUnavailable("down")])
def test_without_a_rewriting_the_turns_and_the_history_are_there_all_the_same(said: str | Exception) -> None:
    this = conversation(FakeChat(said))
    this.remember(answer("So.", SESSION))
    gathered = ledger()
    query, history = resolve(this, FOLLOW_UP, SESSION, gathered)
    assert (query.text, [view.text for view in query.views]) == (
        FOLLOW_UP,
        [f"{FOLLOW_UP} {TOPIC}", f"{FOLLOW_UP} So."],
    )
    assert len(history) == 1
    assert (gathered.skipped, gathered.events) == ([] if isinstance(said, str) else ["reframe"], [])


def test_a_decline_says_nothing_of_the_topic() -> None:
    this = conversation()
    this.remember(answer("I don't know. Please ask a specialist.", SESSION))
    query, _ = resolve(this, FOLLOW_UP, SESSION)
    assert [view.text for view in query.views] == [f"{FOLLOW_UP} {TOPIC}"]


def test_no_more_than_the_last_turns_are_recalled() -> None:
    this = conversation(turns=2)
    for number in range(4):
        this.remember(answer("So.", SESSION, asked=f"{TOPIC} {number}"))
    _, history = resolve(this, FOLLOW_UP, SESSION)
    assert [turn.question for turn in history] == [f"{TOPIC} 2", f"{TOPIC} 3"]


def test_a_memory_that_is_down_is_skipped() -> None:
    this = replace(conversation(), memory=BrokenMemory())
    gathered = ledger()
    assert resolve(this, FOLLOW_UP, SESSION, gathered) == (SearchQuery(text=FOLLOW_UP, top_k=8), ())
    assert gathered.skipped == ["recall"]
    with pytest.raises(StoreUnavailable):
        this.remember(answer("So.", SESSION))
