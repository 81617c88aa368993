"""rag.stages.pack_ids: the seed's context format within a token budget."""

from __future__ import annotations

from dataclasses import replace

from fakes import make_hit
from hypothesis import given
from hypothesis import strategies as st

from rag.stages.pack_ids import IdPacker, heading
from rag.types import Hit


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


def test_headings() -> None:
    assert heading(hit(1, "", "A > B").chunk) == "B"
    assert heading(hit(1, "", "").chunk) == hit(1, "").chunk.title


@given(
    texts=st.lists(st.text(alphabet="ab .\n!", min_size=1, max_size=60), min_size=1, max_size=6),
    budget=st.integers(8, 60),
)
def test_the_budget_holds_and_every_text_begins_as_its_chunk(texts: list[str], budget: int) -> None:
    hits = tuple(hit(n, text, "S") for n, text in enumerate(texts))
    context = IdPacker(budget, Words())(hits)
    assert Words().count(context.text) <= budget
    for passage in context.used:
        assert passage.hit.chunk.text.startswith(passage.text.removesuffix(" ...").rstrip())
