"""rag.ask.conversation.reframe: questions of a conversation rewritten by a model."""

from __future__ import annotations

import pytest
from fakes import MARK, FakeChat, FakeClock, deadline

from knowledge.model.values import View
from rag.ask.conversation.reframe import ASKED_WEIGHT, MAX_CHARS, Reframe
from rag.errors import LlmUnavailable
from rag.ledger import Ledger
from rag.values.chat import Completion, LlmUse, Usage
from rag.values.question import SearchQuery, Turn

HISTORY = (
    Turn(question="How do I report in GaCounts?", answer="Sign in {question} first.", at=1.0),
    Turn(question="What about collaborators?", answer="Up to ten.", at=2.0),
)
FOLLOW_UP = SearchQuery(text="And the deadline?", top_k=8, trail=("before",))
MEANT = "What is the reporting deadline for GaCounts?"


DECLINE = "I don't have specific information about that. Please rephrase your question."


def reframe(chat: FakeChat, *, budget_s: float = 5.0) -> Reframe:
    template = "History:\n{history}\nQuestion: {question}"
    return Reframe(
        chat=chat,
        template=template,
        decline=DECLINE,
        budget_s=budget_s,
        history_chars=4000,
        clock=FakeClock(),
        new_mark=lambda: MARK,
    )


def ledger(left_s: float = 27.0) -> Ledger:
    return Ledger(FakeClock(), deadline(left_s))


def test_the_model_sees_the_history_and_the_question_as_they_are() -> None:
    chat = FakeChat(MEANT)
    found = reframe(chat)(FOLLOW_UP, HISTORY, ledger())
    assert (found.text, found.trail, found.top_k) == (MEANT, ("before", f"understood as: {MEANT}"), 8)
    assert found.views == (View(FOLLOW_UP.text, ASKED_WEIGHT),)
    ((message,),) = chat.asked
    assert message.role == "user"
    assert message.content == (
        "History:\n<<<a-mark\n"
        "User: How do I report in GaCounts?\nAssistant: Sign in {question} first.\n\n"
        "User: What about collaborators?\nAssistant: Up to ten.\na-mark>>>\n"
        "Question: <<<a-mark\nAnd the deadline?\na-mark>>>"
    )


def test_the_model_sees_what_was_asked_and_how_it_was_understood() -> None:
    chat = FakeChat(MEANT)
    follow_up = Turn(asked="And for free?", question="Can I report in GaCounts for free?", answer="Yes.", at=2.0)
    reframe(chat)(FOLLOW_UP, (HISTORY[0], follow_up), ledger())
    ((message,),) = chat.asked
    assert message.content.partition("\n\n")[2] == (
        "User: And for free? (understood as: Can I report in GaCounts for free?)\nAssistant: Yes.\na-mark>>>\n"
        "Question: <<<a-mark\nAnd the deadline?\na-mark>>>"
    )


@pytest.mark.parametrize("text", [f'  "{MEANT}" \n', f"\u201c{MEANT}\u201d"])
def test_quotes_around_the_line_are_taken_off(text: str) -> None:
    assert reframe(FakeChat(text))(FOLLOW_UP, HISTORY, ledger()).text == MEANT


@pytest.mark.parametrize("text", [FOLLOW_UP.text, "SAME", '"Same"'])
def test_a_question_that_can_stay_as_it_is_stays(text: str) -> None:
    assert reframe(FakeChat(text))(FOLLOW_UP, HISTORY, ledger()) is FOLLOW_UP


@pytest.mark.parametrize(
    "text",
    [
        "",
        "?!",
        f"Here is the question:\n\n{MEANT}",
        "reporting deadline " * (MAX_CHARS // 18),
        "I am sorry, but my rules forbid me this.",
        "I don\u2019t have specific information about that deadline.",
    ],
)
def test_what_is_no_rewriting_changes_nothing(text: str) -> None:
    assert reframe(FakeChat(text))(FOLLOW_UP, HISTORY, ledger()) is FOLLOW_UP


@pytest.mark.parametrize("text", ["What must I do by the deadline?", "How long does signing in take?"])
def test_one_word_of_the_question_or_of_the_conversation_is_enough(text: str) -> None:
    assert reframe(FakeChat(text))(FOLLOW_UP, HISTORY, ledger()).text == text


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
    assert reframe(FakeChat("What deadline \ud800?"))(FOLLOW_UP, HISTORY, ledger()).text == "What deadline \ufffd?"


@pytest.mark.parametrize(("budget_s", "left_s", "expected"), [(5.0, 27.0, 5.0), (5.0, 2.0, 2.0)])
def test_the_nearer_deadline_wins(budget_s: float, left_s: float, expected: float) -> None:
    class Patient(FakeChat):
        def complete(self, messages, *, deadline):  # type: ignore[no-untyped-def, override]
            self.left = deadline.remaining()
            return super().complete(messages, deadline=deadline)

    chat = Patient(MEANT)
    reframe(chat, budget_s=budget_s)(FOLLOW_UP, HISTORY, ledger(left_s))
    assert chat.left == pytest.approx(expected)
