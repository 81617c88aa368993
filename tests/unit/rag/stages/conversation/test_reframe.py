"""rag.stages.conversation.reframe: follow-ups stand alone afterwards, whoever rewrote them."""

from __future__ import annotations

import pytest
from fakes import FakeChat, FakeClock, deadline

from rag.errors import LlmUnavailable
from rag.ledger import Ledger
from rag.stages.conversation.reframe import MAX_CHARS, Reframe
from rag.values.answer import Completion, LlmUse, SearchQuery, Usage
from rag.values.stored import Turn

HISTORY = (
    Turn(question="How do I report in GaCounts?", answer="Sign in {question} first.", at=1.0),
    Turn(question="What about collaborators?", answer="Up to ten.", at=2.0),
)
FOLLOW_UP = SearchQuery(text="And the deadline?", top_k=8, trail=("before",))
MEANT = "What is the reporting deadline for GaCounts?"


def reframe(chat: FakeChat | None, *, budget_s: float = 5.0) -> Reframe:
    template = "History:\n{history}\nQuestion: {question}"
    return Reframe(chat=chat, template=template, budget_s=budget_s, history_chars=4000, clock=FakeClock())


def ledger(left_s: float = 27.0) -> Ledger:
    return Ledger(FakeClock(), deadline(left_s))


def test_only_what_leans_on_a_history_leans() -> None:
    stage = reframe(None)
    assert stage.is_follow_up(FOLLOW_UP.text, HISTORY)
    assert not stage.is_follow_up(FOLLOW_UP.text, ())
    assert not stage.is_follow_up("Which colors does our brand have?", HISTORY)


def test_the_model_sees_the_history_and_the_question_as_they_are() -> None:
    chat = FakeChat(MEANT)
    found = reframe(chat)(FOLLOW_UP, HISTORY, ledger())
    assert (found.text, found.trail, found.top_k) == (MEANT, ("before", f"understood as: {MEANT}"), 8)
    ((message,),) = chat.asked
    assert message.role == "user"
    assert message.content == (
        "History:\n"
        "User: How do I report in GaCounts?\nAssistant: Sign in {question} first.\n\n"
        "User: What about collaborators?\nAssistant: Up to ten.\n"
        "Question: And the deadline?"
    )


def test_the_model_sees_what_was_asked_and_how_it_was_understood() -> None:
    chat = FakeChat(MEANT)
    follow_up = Turn(asked="And for free?", question="Can I report in GaCounts for free?", answer="Yes.", at=2.0)
    reframe(chat)(FOLLOW_UP, (HISTORY[0], follow_up), ledger())
    ((message,),) = chat.asked
    assert message.content.partition("\n\n")[2] == (
        "User: And for free? (understood as: Can I report in GaCounts for free?)\nAssistant: Yes.\n"
        "Question: And the deadline?"
    )


def test_without_a_model_the_topic_is_what_a_follow_up_was_understood_as() -> None:
    earlier = Turn(asked="And for horses?", question="Which stalls are there for horses?", answer="Two.", at=1.0)
    assert reframe(None)(FOLLOW_UP, (earlier,), ledger()).text == "And the deadline? (stalls horses)"


@pytest.mark.parametrize("text", [f'  "{MEANT}" \n', f"\u201c{MEANT}\u201d"])
def test_quotes_around_the_line_are_taken_off(text: str) -> None:
    assert reframe(FakeChat(text))(FOLLOW_UP, HISTORY, ledger()).text == MEANT


def test_a_question_that_is_repeated_is_left_as_it_is() -> None:
    assert reframe(FakeChat(FOLLOW_UP.text))(FOLLOW_UP, HISTORY, ledger()) is FOLLOW_UP


@pytest.mark.parametrize("text", ["", '""', f"Here is the question:\n\n{MEANT}", "x" * (MAX_CHARS + 1)])
def test_what_is_no_rewriting_gives_way_to_the_fallback(text: str) -> None:
    stage = reframe(FakeChat(text))
    found = stage(FOLLOW_UP, HISTORY, ledger())
    assert found == stage.fallback(FOLLOW_UP, HISTORY)
    assert "GaCounts" in found.text


def test_without_a_model_the_topic_is_carried_over() -> None:
    found = reframe(None)(FOLLOW_UP, HISTORY, ledger())
    assert found.text.startswith("And the deadline? (")
    assert "GaCounts" in found.text
    assert found.trail == ("before", f"understood as: {found.text}")


def test_a_model_that_is_down_raises() -> None:
    with pytest.raises(LlmUnavailable):
        reframe(FakeChat(LlmUnavailable("down")))(FOLLOW_UP, HISTORY, ledger())


@pytest.mark.parametrize("text", [MEANT, ""])
def test_the_call_is_counted_whatever_came_of_it(text: str) -> None:
    this = ledger()
    chat = FakeChat(Completion(text=text, model="m", usage=Usage(12, 5, 17), calls=2, retries=1))
    reframe(chat)(FOLLOW_UP, HISTORY, this)
    assert this.llm == LlmUse(calls=2, retries=1, prompt_tokens=12, completion_tokens=5)


def test_a_lone_surrogate_from_the_model_is_replaced() -> None:
    assert reframe(FakeChat("What \ud800?"))(FOLLOW_UP, HISTORY, ledger()).text == "What \ufffd?"


@pytest.mark.parametrize(("budget_s", "left_s", "expected"), [(5.0, 27.0, 5.0), (5.0, 2.0, 2.0)])
def test_the_nearer_deadline_wins(budget_s: float, left_s: float, expected: float) -> None:
    class Patient(FakeChat):
        def complete(self, messages, *, deadline):  # type: ignore[no-untyped-def]
            self.left = deadline.remaining()
            return super().complete(messages, deadline=deadline)

    chat = Patient(MEANT)
    reframe(chat, budget_s=budget_s)(FOLLOW_UP, HISTORY, ledger(left_s))
    assert chat.left == pytest.approx(expected)
