"""rag.find.pack.by_title: exactly the context that the model sees."""

from __future__ import annotations

import pytest
from fakes import make_hit
from hypothesis import given
from hypothesis import strategies as st

from knowledge.model.values import Hit
from rag.answer.growing import read_answer
from rag.answer.title_form import TitleForm
from rag.answer.tree import Cite
from rag.answer.walk import all_nodes
from rag.find.pack.by_title import TitledPacker
from rag.text.labels import make_label

HITS = st.lists(
    st.builds(
        lambda text, title, section: make_hit(text, title=title, section=section),
        text=st.text("ab. \n", max_size=120),
        title=st.text("Tt >[]", min_size=1, max_size=20).map(lambda title: f"T{title}"),
        section=st.text("Ss >", max_size=20),
    ),
    min_size=1,
    max_size=6,
).map(tuple)


def test_the_seeds_format() -> None:
    hits = (
        make_hit("Apply online.\nPay.", title="Import permits", section="Strategic goods"),
        make_hit("Five days.", title="Times", section=""),
    )
    context = TitledPacker(8000, TitleForm(0.5, 3))(hits)
    assert context.text == "[Import permits > Strategic goods]\nApply online.\nPay.\n\n[Times]\nFive days.\n\n"
    assert [(passage.citation, passage.text) for passage in context.used] == [
        ("[Import permits > Strategic goods]", "Apply online.\nPay."),
        ("[Times]", "Five days."),
    ]
    assert [passage.hit for passage in context.used] == list(hits)


def test_a_chunk_that_fills_the_budget_exactly_is_in() -> None:
    one, two = make_hit("a" * 10, title="T"), make_hit("b" * 10, title="T")
    block = len("[T]\n" + "a" * 10 + "\n\n")
    assert len(TitledPacker(2 * block, TitleForm(0.5, 3))((one, two)).used) == 2
    assert len(TitledPacker(2 * block - 1, TitleForm(0.5, 3))((one, two)).used) == 1


def test_packing_stops_at_the_first_chunk_that_does_not_fit_even_if_a_later_one_would() -> None:
    hits = (make_hit("a" * 30), make_hit("b" * 500), make_hit("c"))
    assert [passage.text for passage in TitledPacker(200, TitleForm(0.5, 3))(hits).used] == ["a" * 30]


def test_a_first_chunk_over_the_budget_is_cut_at_a_word() -> None:
    context = TitledPacker(len("[T]\n") + len("The fee is 3.5") - 1 + len("\n\n"), TitleForm(0.5, 3))(
        (make_hit("The fee is 3.5 dollars.", title="T"), make_hit("x", title="T"))
    )
    assert context.text == "[T]\nThe fee is\n\n"
    assert [passage.text for passage in context.used] == ["The fee is"]


def test_a_label_over_the_budget_is_cut_too_and_can_still_be_read() -> None:
    context = TitledPacker(200, TitleForm(0.5, 3))((make_hit("Text.", title="Long " * 60, section="Part"),))
    assert len(context.text) <= 200
    label = context.used[0].citation
    assert context.text.startswith(f"{label}\n")
    assert make_label("Long " * 60, "").startswith(label.rstrip("]"))


@given(hits=HITS, max_chars=st.integers(10, 400))
def test_never_over_the_budget_never_empty_always_in_order(hits: tuple[Hit, ...], max_chars: int) -> None:
    context = TitledPacker(max_chars, TitleForm(0.5, 3))(hits)
    assert len(context.text) <= max_chars
    assert context.text == "".join(f"{passage.citation}\n{passage.text}\n\n" for passage in context.used)
    assert tuple(passage.hit for passage in context.used) == hits[: len(context.used)]
    assert context.used
    for passage in context.used[1:]:
        assert passage.text == passage.hit.chunk.text
    assert context.used[0].hit.chunk.text.startswith(context.used[0].text)


@given(hits=HITS, max_chars=st.integers(10, 400))
def test_nothing_is_left_out_that_fits(hits: tuple[Hit, ...], max_chars: int) -> None:
    context = TitledPacker(max_chars, TitleForm(0.5, 3))(hits)
    left_out = hits[len(context.used) :]
    if left_out:
        chunk = left_out[0].chunk
        block = f"{make_label(chunk.title, chunk.section)}\n{chunk.text}\n\n"
        assert len(context.text) + len(block) > max_chars


@pytest.mark.parametrize("title", ["A > B", "Rates [2024]"])
def test_what_is_packed_can_be_cited(title: str) -> None:
    context = TitledPacker(8000, TitleForm(0.5, 3))((make_hit("Text.", title=title, section="X > Y"),))
    (passage,) = context.used
    read = read_answer(f"So {passage.citation}.", TitleForm(0.5, 3), context)
    (cite,) = (node for node in all_nodes(read.tree) if isinstance(node, Cite))
    assert (cite.raw, cite.chunk) == (passage.citation, passage.hit.chunk.number)
