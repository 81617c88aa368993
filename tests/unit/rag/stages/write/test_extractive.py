"""rag.stages.write.extractive: whole sentences of the context, each with its citation."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from fakes import FakeIndex, deadline, make_hit
from fakes_embedding import HashingEmbedder
from hypothesis import assume, given
from hypothesis import strategies as st

from rag.stages.pack.by_title import TitledPacker
from rag.stages.write.extractive import MAX_CHARS, ExtractiveWriter
from rag.values.answer import Context, Hit, Question


def context_of(*hits: Hit) -> Context:
    return TitledPacker(8000)(hits)


def write(question: str, context: Context, index: FakeIndex | None = None) -> str:
    writer = ExtractiveWriter(index or FakeIndex())
    return writer(Question(text=question), context, deadline=deadline()).text


@dataclass(frozen=True)
class Quote:
    sentence: str
    citation: str


def quotes(answer: str) -> list[Quote]:
    """The answer taken apart: sentence, citation, sentence, citation ..."""
    found = [Quote(*match) for match in re.findall(r"(.+?) (\[[^\[\]]+\])(?: |$)", answer)]
    assert " ".join(f"{quote.sentence} {quote.citation}" for quote in found) == answer
    return found


PERMITS = make_hit(
    "# Permits\n\nAn import permit takes five working days. The fee is **12.50 dollars** for each permit.\n\n"
    "Ask the desk, e.g. Ms. Tan, for the form.",
    number=1,
    title="Import permits",
    section="Fees",
    doc_id="permits",
    cosine=0.8,
)
TEA = make_hit("Tea is served at four. Cakes come on Fridays only.", number=2, title="Tea", doc_id="tea", cosine=0.2)


def test_the_sentences_that_answer_with_their_citation() -> None:
    answer = write("How many days does an import permit take?", context_of(PERMITS, TEA))
    assert quotes(answer)[0] == Quote("An import permit takes five working days.", "[Import permits > Fees]")
    assert "Tea" not in answer


def test_it_says_that_it_is_no_model() -> None:
    completion = ExtractiveWriter(FakeIndex())(
        Question(text="How much is a permit?"), context_of(PERMITS), deadline=deadline(0)
    )
    assert (completion.model, completion.calls, completion.usage, completion.finish_reason, completion.degraded) == (
        "extractive",
        0,
        None,
        "stop",
        False,
    )


CODES = """Messages end with a code. Tell us the code when you write.

| Code | Meaning |
|---|---|
| CHR-1042 | too long |
| CHR-4003 | wrong audience |
"""


@pytest.mark.parametrize("question", ["CHR-1042", "chr 1042", "CHR 1042", "What does CHR-1042 mean?"])
def test_a_row_is_quoted_where_it_alone_holds_the_code_that_is_asked_for(question: str) -> None:
    answer = write(question, context_of(make_hit(CODES)))
    assert quotes(answer)[0].sentence == "Code: CHR-1042; Meaning: too long"
    assert "4003" not in answer


@pytest.mark.parametrize("question", ["Which code do I tell you?", "CHR-9999", "code"])
def test_rows_are_not_quoted_beside_sentences_for_anything_else(question: str) -> None:
    assert "Meaning" not in write(question, context_of(make_hit(CODES)))


def test_a_sentence_that_stands_in_two_chunks_is_quoted_once() -> None:
    one = make_hit("Permits take five days. Plants need a permit always.", number=1, chunk_index=0)
    two = make_hit("Plants need a  permit ALWAYS. Seeds need one as well.", number=2, chunk_index=1)
    answer = write("Do plants need a permit?", context_of(one, two))
    assert answer.lower().count("plants need a") == 1


def test_a_section_s_quotes_come_in_the_order_of_the_document_not_of_the_score() -> None:
    late = make_hit("Plants always need an import permit.", number=2, chunk_index=5, cosine=0.9)
    early = make_hit("An import permit for plants takes days.", number=1, chunk_index=1, cosine=0.5)
    answer = write("Do plants always need an import permit?", context_of(late, early))
    assert [quote.sentence for quote in quotes(answer)] == [
        "An import permit for plants takes days.",
        "Plants always need an import permit.",
    ]


def test_the_best_ranked_section_comes_first_wherever_it_stands() -> None:
    late = make_hit("Plants always need an import permit.", number=2, chunk_index=5, section="B", cosine=0.9)
    early = make_hit("An import permit for plants takes days.", number=1, chunk_index=1, section="A", cosine=0.5)
    answer = write("import permit for plants", context_of(late, early))
    assert [quote.citation for quote in quotes(answer)] == ["[Import permits > B]", "[Import permits > A]"]


def test_documents_come_in_the_order_of_the_context() -> None:
    b = make_hit("Plants always need an import permit.", title="B", doc_id="b", chunk_index=9, cosine=0.9)
    a = make_hit("An import permit for plants takes days.", title="A", doc_id="a", chunk_index=0, cosine=0.5)
    assert [quote.citation for quote in quotes(write("import permit for plants", context_of(b, a)))] == ["[B]", "[A]"]


def test_a_huge_sentence_does_not_crowd_out_a_second_one() -> None:
    huge = "Permit " + "permit " * 120 + "is the word."
    assert 800 < len(huge) < 890
    answer = write("permit", context_of(make_hit(f"{huge} Fees are due at once. Plants need a permit first.")))
    assert len(quotes(answer)) == 2
    assert huge not in answer


def test_a_huge_sentence_alone_is_still_an_answer() -> None:
    huge = "Permit " + "permit " * 120 + "is the word."
    assert write("permit", context_of(make_hit(huge))) == f"{huge} [Import permits]"


def test_a_sentence_over_the_limit_is_never_cut() -> None:
    endless = "Permit " + "permit " * 200 + "is the word."
    answer = write("permit", context_of(make_hit(f"{endless} Fees are due at once.")))
    assert answer == "Fees are due at once. [Import permits]"


def test_what_is_embedded_is_limited() -> None:
    embedder = HashingEmbedder()
    text = " ".join(f"Sentence number {n} about permit{n} goods." for n in range(200))
    write("permit150 goods", context_of(make_hit(text)), FakeIndex(embedder=embedder))
    assert embedder.calls == 2  # the question by itself, then all sentences at once
    assert len(embedder.texts) <= 50
    assert "Sentence number 150 about permit150 goods." in embedder.texts


def test_sentences_that_do_not_bear_on_the_question_are_left_out_once_there_are_two() -> None:
    text = "Plants need an import permit. An import permit is for plants. Tea comes at four. Cakes come on Fridays."
    answer = write("Do plants need an import permit?", context_of(make_hit(text)))
    assert [quote.sentence for quote in quotes(answer)] == [
        "Plants need an import permit.",
        "An import permit is for plants.",
    ]


def test_the_index_is_given_back() -> None:
    index = FakeIndex()
    write("Which permit?", context_of(PERMITS), index)
    assert index.leases == 0


WORD = st.sampled_from(
    ["permit", "carrier", "fees", "days", "goods", "customs", "invoice", "weight", "port", "plants", "seeds", "tea"]
)
SENTENCE = st.lists(WORD, min_size=4, max_size=30).map(lambda words: " ".join(words).capitalize() + ".")
CHUNK = st.tuples(
    st.lists(SENTENCE, min_size=1, max_size=6),
    st.sampled_from(["Permits", "Rates [2024]", "Weights > 30 kg"]),
    st.sampled_from(["", "Fees", "Part > Times"]),
    st.integers(0, 5),
    st.floats(0, 1),
)


@given(st.lists(CHUNK, min_size=1, max_size=4), st.lists(WORD, min_size=1, max_size=6).map(" ".join))
def test_any_context(chunks: Sequence[tuple[list[str], str, str, int, float]], question: str) -> None:
    # Given distinct sentences (as sets of words the hashing embedder tells them apart), best chunk first
    bags = [tuple(sorted(s.lower().rstrip(".").split())) for sentences, *_ in chunks for s in sentences]
    assume(len({frozenset(bag) for bag in bags}) == len(bags))
    hits = [
        make_hit(
            "\n\n".join(["# Heading", " ".join(sentences), "| a | b |"]),
            number=n,
            title=title,
            doc_id=title,
            section=section,
            chunk_index=10 * place + n,
            cosine=cosine,
        )
        for n, (sentences, title, section, place, cosine) in enumerate(chunks)
    ]
    context = context_of(*sorted(hits, key=lambda hit: -hit.parts["dense"]))
    # When
    answer = write(question, context)
    # Then: whole sentences of the source, each with the citation of its own passage
    found = quotes(answer)
    assert len(answer) <= MAX_CHARS == 900
    assert len(found) <= 5
    places: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for quote in found:
        (passage,) = [p for p in context.used if quote.sentence in p.text]
        assert quote.citation == passage.citation
        chunk = passage.hit.chunk
        section = places.setdefault((chunk.doc_id, chunk.section), [])
        section.append((chunk.chunk_index, passage.text.index(quote.sentence)))
        assert list(places)[-1] == (chunk.doc_id, chunk.section)  # a section's quotes stand together
    assert all(order == sorted(order) for order in places.values())
    ranks = [(p.hit.chunk.doc_id, p.hit.chunk.section) for p in context.used]
    others = [ranks.index(section) for section in places][1:]
    assert others == sorted(others)
    assert len({quote.sentence for quote in found}) == len(found)
    # two at least where two can stand together
    embedder = HashingEmbedder()
    everything = [
        (s, p.citation) for p in context.used for s in p.text.split("\n\n")[1].replace(". ", ".\n").split("\n")
    ]
    vectors = embedder.embed([sentence for sentence, _ in everything])
    pairs = [
        (i, j)
        for i in range(len(everything))
        for j in range(i)
        if sum(len(" ".join(everything[n])) + 1 for n in (i, j)) <= MAX_CHARS and vectors[i] @ vectors[j] < 0.94
    ]
    assert len(found) >= (2 if pairs else 1)
