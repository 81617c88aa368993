"""rag.stages.pack.by_id: the seed's context format within a token budget."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fakes import make_hit
from hypothesis import given
from hypothesis import strategies as st

from rag.stages.pack.by_id import IdPacker, heading
from rag.values.answer import Hit


class Words:
    """A token is a word."""

    def count(self, text: str) -> int:
        return len(text.split())


def hit(number: int, text: str, section: str = "Time tracking > Manual entry") -> Hit:
    found = make_hit(number=number)
    return replace(found, chunk=replace(found.chunk, text=text, section=section))


def test_the_format() -> None:
    context = IdPacker(100, Words())((hit(42, "One way."), hit(87, "Another way.", "")))
    title = hit(87, "").chunk.title
    assert context.text == f"[id_42] Manual entry\nOne way.\n\n[id_87] {title}\nAnother way.\n\n"
    assert [passage.citation for passage in context.used] == ["[id_42]", "[id_87]"]


def test_what_exceeds_the_rest_is_cut_at_a_sentence_with_an_ellipsis() -> None:
    second = "First sentence here. Second sentence here. Third sentence is longer than the rest."
    context = IdPacker(16, Words())((hit(1, "Five words are in here."), hit(2, second), hit(3, "Never reached.")))
    assert [passage.text for passage in context.used] == ["Five words are in here.", "First sentence here. ..."]


def test_a_cut_at_a_line_end() -> None:
    context = IdPacker(10, Words())((hit(1, "- one two\n- three four\n- five six seven eight nine"),))
    assert context.used[0].text == "- one two\n- three four ..."


def test_the_first_chunk_is_always_in() -> None:
    context = IdPacker(8, Words())((hit(1, "a sentence without any end that goes on and on and on"),))
    assert context.used[0].text == "a sentence without any ..."
    assert Words().count(context.text) == 8


def test_a_second_chunk_of_which_no_sentence_fits_is_left_out() -> None:
    context = IdPacker(12, Words())((hit(1, "Five words are in here."), hit(2, "No sentence of this one fits in.")))
    assert len(context.used) == 1


@pytest.mark.parametrize(
    ("budget", "text"),
    [
        (1, "[id_1]\n\n\n"),  # the mark alone, which is never cut
        (2, "[id_1]\n\n\n"),
        (3, "[id_1]\na ...\n\n"),
        (4, "[id_1]\na text ...\n\n"),
        (5, "[id_1] Manual entry\na ...\n\n"),
    ],
)
def test_the_first_chunk_is_in_whatever_the_budget(budget: int, text: str) -> None:
    context = IdPacker(budget, Words())((hit(1, "a text without an end"), hit(2, "b")))
    assert context.text == text
    assert [passage.citation for passage in context.used] == ["[id_1]"]


def test_a_heading_leaves_half_of_the_room_to_the_text() -> None:
    context = IdPacker(11, Words())((hit(1, "One sentence. And many more words here.", "A very long heading " * 30),))
    assert context.text == "[id_1] A very long heading ...\nOne sentence. ...\n\n"


def test_a_later_chunk_is_left_out_if_its_heading_fills_the_rest() -> None:
    context = IdPacker(12, Words())((hit(1, "One."), hit(2, "Two.", "A very long heading " * 30)))
    assert [passage.citation for passage in context.used] == ["[id_1]"]


def test_headings() -> None:
    assert heading(hit(1, "", "A > B").chunk) == "B"
    assert heading(hit(1, "", "").chunk) == hit(1, "").chunk.title


@given(
    texts=st.lists(st.text(alphabet="ab .\n!", min_size=1, max_size=60), min_size=1, max_size=6),
    budget=st.integers(1, 60),
)
def test_the_budget_holds_and_every_text_begins_as_its_chunk(texts: list[str], budget: int) -> None:
    hits = tuple(hit(n, text, "S") for n, text in enumerate(texts))
    context = IdPacker(budget, Words())(hits)
    assert context.used
    assert Words().count(context.text) <= budget
    for passage in context.used:
        assert passage.hit.chunk.text.startswith(passage.text.removesuffix(" ...").rstrip())
