"""rag.find.pack.by_mark: the seed's context format within a token budget."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from fakes import make_hit
from hypothesis import given
from hypothesis import strategies as st

from knowledge.model.values import Hit
from rag.find.pack.by_mark import IdPacker
from rag.find.pack.tokens import BYTES_PER_TOKEN, budget_bytes, size


def tokens(text: str) -> int:
    """The smallest budget that has room for ``text``."""
    return math.ceil(size(text) / BYTES_PER_TOKEN)


def hit(number: int, text: str, section: str = "Time tracking > Manual entry") -> Hit:
    found = make_hit(number=number)
    return replace(found, chunk=replace(found.chunk, text=text, section=section))


def test_the_format() -> None:
    context = IdPacker(100)((hit(42, "One way."), hit(87, "Another way.", "")))
    title = hit(87, "").chunk.title
    assert context.text == f"[id_42] Manual entry\nOne way.\n\n[id_87] {title}\nAnother way.\n\n"
    assert [passage.citation for passage in context.used] == ["[id_42]", "[id_87]"]


def test_what_exceeds_the_rest_is_cut_at_a_sentence_and_ends_the_packing() -> None:
    second = "First sentence here. Second sentence here. Third sentence is longer than the rest."
    packed = "[id_1] Manual entry\nFive words are in here.\n\n[id_2] Manual entry\nFirst sentence here. ...\n\n"
    context = IdPacker(tokens(packed))((hit(1, "Five words are in here."), hit(2, second), hit(3, "Never.")))
    assert context.text == packed


def test_a_second_chunk_of_which_no_sentence_fits_is_left_out() -> None:
    context = IdPacker(40)((hit(1, "Five words are in here."), hit(2, "No sentence of this one fits in " * 3)))
    assert [passage.citation for passage in context.used] == ["[id_1]"]


@pytest.mark.parametrize(
    "text",
    [
        "[id_1]\n\n\n",  # the mark alone, which is never cut
        "[id_1] M ...\na ...\n\n",
        "[id_1] Manual entry\na text without an end ...\n\n",
    ],
)
def test_the_first_chunk_is_in_whatever_the_budget(text: str) -> None:
    first = hit(1, "a text without an end that goes on and on and on and on and on and on")
    context = IdPacker(tokens(text))((first, hit(2, "b")))
    assert context.text == text


def test_a_heading_leaves_half_of_the_room_to_the_text() -> None:
    context = IdPacker(30)((hit(1, "One sentence. And many more words here.", "A very long heading " * 30),))
    assert context.text == "[id_1] A very long heading A very ...\nOne sentence. ...\n\n"


@given(
    texts=st.lists(st.text(alphabet="ab .\n!\u00e9\u8ba1", min_size=1, max_size=60), min_size=1, max_size=6),
    budget=st.integers(8, 60),
)
def test_the_budget_holds_and_every_text_begins_as_its_chunk(texts: list[str], budget: int) -> None:
    hits = tuple(hit(n, text, "S") for n, text in enumerate(texts))
    context = IdPacker(budget)(hits)
    assert context.used
    assert size(context.text) <= budget_bytes(budget)
    for passage in context.used:
        assert passage.hit.chunk.text.startswith(passage.text.removesuffix(" ...").rstrip())
