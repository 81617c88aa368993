"""rag.write.chat_writer: where it is doubtful that the index knows, quotes stand in for a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest
from fakes import make_hit
from fakes_evidence import make_evidence, matched

from rag.values.answer import Context, Passage
from rag.values.chat import Completion, Deadline, OnText
from rag.values.question import Question, Turn
from rag.write.chat_writer import DoubtfulWriter
from rag.write.extractive import DOUBT, ExtractiveWriter

QUESTION = "How many days does a permit take?"
TEXT = "A permit takes five days."
CONTEXT = Context(
    TEXT, (Passage(hit=matched(make_hit(TEXT), QUESTION), citation="[T]", text=TEXT),), make_evidence(QUESTION)
)
DEADLINE = Deadline.after(60, lambda: 0.0)


@dataclass(frozen=True)
class Model:
    """Says who it is."""

    def __call__(
        self,
        question: Question,
        context: Context,
        *,
        deadline: Deadline,
        history: Sequence[Turn] = (),
        on_text: OnText | None = None,
    ) -> Completion:
        return Completion(text="m", model="m", finish_reason="stop")


@pytest.mark.parametrize(("doubtful", "writer"), [(False, "m"), (True, "extractive")])
def test_the_model_is_not_asked_where_there_is_doubt(doubtful: bool, writer: str) -> None:
    write = DoubtfulWriter(Model(), ExtractiveWriter())
    context = replace(CONTEXT, doubtful=doubtful)
    assert write(Question(text=QUESTION), context, deadline=DEADLINE).model == writer


def test_doubtful_quotes_say_so_first() -> None:
    sure, doubtful = (
        ExtractiveWriter()(Question(text=QUESTION), replace(CONTEXT, doubtful=doubt), deadline=DEADLINE)
        for doubt in (False, True)
    )
    assert (sure.note, doubtful.note) == ("", DOUBT)
    assert doubtful.text == f"{DOUBT}\n\n{sure.text}"
