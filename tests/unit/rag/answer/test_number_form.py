"""rag.answer.number_form: passages by their numbers, and the numbers that a reader sees."""

from __future__ import annotations

import pytest
from fakes import make_hit

from rag.answer.growing import GrowingAnswer, read_answer
from rag.answer.markdown import markdown
from rag.answer.number_form import NumberForm
from rag.answer.printers import cited_chunks
from rag.values.answer import Context, Passage
from rag.values.events import Delta

FORM = NumberForm()
HITS = tuple(make_hit(f"Text {number}.", number=number) for number in (40, 50, 60))
CONTEXT = Context("", tuple(Passage(hit=hit, citation=f"[{at}]", text="") for at, hit in enumerate(HITS, start=1)))


@pytest.mark.parametrize(
    ("said", "chunks", "removed"),
    [
        ("Five days [1].", (40,), 0),
        ("Five days[3].", (60,), 0),
        ("Five days [1, 3].", (40, 60), 0),
        ("Five days [1][2].", (40, 50), 0),
        ("Five days \u30102\u2020L1-L3\u3011.", (50,), 0),
        ("Five days [2](https://evil.example).", (50,), 0),
        ("Five days [4].", (), 1),
        ("Five days [0].", (), 1),
        ("Five days [2, 9].", (50,), 1),
        ("The year [2026] and a note[^1] and `x[1]` stay.", (), 0),
    ],
)
def test_what_a_mark_means(said: str, chunks: tuple[int, ...], removed: int) -> None:
    read = read_answer(said, FORM, CONTEXT)
    assert (cited_chunks(read.tree), read.removed) == (chunks, removed)


def test_a_reader_sees_the_numbers_of_the_references_in_their_order() -> None:
    tree = read_answer("One [3]. Two [1, 3].\n\n- Three **[2]**", FORM, CONTEXT).tree
    numbers = {chunk: n for n, chunk in enumerate(cited_chunks(tree), start=1)}
    assert markdown(FORM.shown(tree, numbers)).text == "One [1]. Two [2] [1].\n\n- Three **[3]**"


def test_a_stream_shows_the_numbers_that_the_answer_has() -> None:
    told: list[str] = []
    growing = GrowingAnswer(
        FORM, CONTEXT, listen=lambda event: told.append(event.text) if isinstance(event, Delta) else None
    )
    for piece in ("One thing [", "3]. ", "Another [1].\n\nAnd ", "one more [3, 2]."):
        growing(piece)
    growing.end()
    assert "".join(told) == "One thing [1]. Another [2].\n\nAnd one more [1] [3]."
