"""rag.stages.write.chat_writer: two messages to a model, and the last resort."""

from __future__ import annotations

import pytest
from fakes import FakeChat, deadline, make_hit

from rag.errors import LlmFailed, LlmUnavailable
from rag.stages.cite.by_title import TitleCiter
from rag.stages.pack.by_title import TitledPacker
from rag.stages.write.chat_writer import ChatWriter, WithLastResort
from rag.values.answer import Completion, Context, Deadline, Message, Question
from rag.values.stored import Turn

ASKED = Question(text="Which permit?")
CONTEXT = TitledPacker(8000, TitleCiter(0.5, 3))((make_hit("Use {context} and {other}.", title="T"),))


class Writes:
    """A writer that always writes the same and remembers what it was given."""

    def __init__(self, text: str = "Quoted. [T]") -> None:
        self.completion = Completion(text=text, model="extractive", calls=0)
        self.given: list[tuple[Question, Context]] = []

    def __call__(self, question: Question, context: Context, *, deadline: Deadline, history: object = ()) -> Completion:
        self.given.append((question, context))
        return self.completion


def test_system_prompt_with_the_context_then_the_question_as_it_is() -> None:
    chat = FakeChat("Answer [T].")
    completion = ChatWriter(chat, "Answer from:\n{context}\nOnly {this}.")(ASKED, CONTEXT, deadline=deadline())
    assert chat.asked == [
        (
            Message("system", "Answer from:\n[T]\nUse {context} and {other}.\nOnly {this}."),
            Message("user", "Which permit?"),
        )
    ]
    assert completion == Completion(text="Answer [T].", model="fake-model", finish_reason="stop")


@pytest.mark.parametrize(("history_chars", "wording"), [(0, "Which permit for food?"), (1000, "And for food?")])
def test_a_follow_up_is_asked_as_understood_where_the_prompt_holds_no_history(history_chars: int, wording: str) -> None:
    asked = Question(text="And for food?", understood="Which permit for food?")
    before = (Turn(question="Which permit?", asked="Which one?", answer="TradeNet.", at=0.0),)
    chat = FakeChat("x")
    ChatWriter(chat, "{context}{history}", history_chars)(asked, CONTEXT, deadline=deadline(), history=before)
    ((system, user),) = chat.asked
    assert user.content == wording
    assert ("User: Which one?\nAssistant: TradeNet." in system.content) == bool(history_chars)
    assert "Which permit?" not in system.content


def test_a_completion_that_cannot_be_encoded_is_mended() -> None:
    completion = ChatWriter(FakeChat("Cut \ud83d"), "{context}")(ASKED, CONTEXT, deadline=deadline())
    assert completion.text == "Cut \ufffd"


def test_the_last_resort_is_not_asked_while_the_model_answers() -> None:
    last = Writes()
    writer = WithLastResort(ChatWriter(FakeChat("Answer [T]."), "{context}"), last)
    completion = writer(ASKED, CONTEXT, deadline=deadline())
    assert (completion.text, completion.degraded, last.given) == ("Answer [T].", False, [])


def test_the_last_resort_answers_when_the_model_is_unreachable_and_says_so() -> None:
    last = Writes()
    writer = WithLastResort(ChatWriter(FakeChat(LlmUnavailable("down")), "{context}"), last)
    completion = writer(ASKED, CONTEXT, deadline=deadline())
    assert completion == Completion(text="Quoted. [T]", model="extractive", calls=0, degraded=True)
    assert last.given == [(ASKED, CONTEXT)]


def test_where_the_last_resort_has_nothing_to_say_the_model_is_missed() -> None:
    writer = WithLastResort(ChatWriter(FakeChat(LlmUnavailable("down")), "{context}"), Writes(""))
    with pytest.raises(LlmUnavailable, match="down"):
        writer(ASKED, CONTEXT, deadline=deadline())


def test_a_model_that_refuses_is_no_case_for_the_last_resort() -> None:
    writer = WithLastResort(ChatWriter(FakeChat(LlmFailed("400")), "{context}"), Writes())
    with pytest.raises(LlmFailed):
        writer(ASKED, CONTEXT, deadline=deadline())


def test_without_a_last_resort_the_error_goes_up() -> None:
    with pytest.raises(LlmUnavailable, match="down"):
        ChatWriter(FakeChat(LlmUnavailable("down")), "{context}")(ASKED, CONTEXT, deadline=deadline())
