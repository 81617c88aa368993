"""rag.write.paragraphs: what is quoted where nothing is known of tokens."""

from __future__ import annotations

from fakes import make_hit

from rag.values.answer import Passage
from rag.values.chat import Quote
from rag.write.paragraphs import MAX_BYTES, paragraphs


def quoted(question: str, *texts: str) -> list[str]:
    passages = [Passage(hit=make_hit(text), citation="[x]", text=text) for text in texts]
    return [excerpt.text for excerpt in paragraphs(passages, question)]


def test_the_paragraph_that_shares_most_then_the_one_that_adds_most() -> None:
    first = "# Permits\n\nTea is at four.\n\nA permit takes five days."
    assert quoted("How many days do permits take, and the fee?", first, "The fee is due.\n\nA permit is paper.") == [
        "A permit takes five days.",
        "The fee is due.",
    ]


def test_of_equals_the_better_ranked_one_and_nothing_for_its_own_sake() -> None:
    assert quoted("zebra", "Tea is at four.", "Cakes on Fridays.") == ["Tea is at four."]


def test_a_long_paragraph_is_cut_at_a_sentence_and_says_so() -> None:
    (text,) = quoted("permit", "A permit takes five days. " * 50)
    assert text.endswith("days. ...")
    assert len(text) <= MAX_BYTES


def test_code_is_whole() -> None:
    code = "```sh\nflux stop\n\nflux start\n```"
    passages = [Passage(hit=make_hit(code), citation="[x]", text=f"Read on.\n\n{code}")]
    assert paragraphs(passages, "flux start") == (Quote(0, code, block=True),)


def test_nothing_of_what_is_outdated() -> None:
    passages = [
        Passage(hit=make_hit(), citation="[x]", text="Old."),
        Passage(hit=make_hit(), citation="[x]", text="New."),
    ]
    assert [excerpt.text for excerpt in paragraphs(passages, "old", without={0})] == ["New."]
