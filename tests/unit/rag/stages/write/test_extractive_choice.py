"""rag.stages.write.extractive_choice: of two versions of a statement the better ranked one, and how much is quoted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rag.stages.write.extractive_choice import MAX_CHARS, Sentence, choose, shortlist

QUESTION = "What is the reporting deadline?"
OLD = "The reporting deadline is the 15th of the following month."
NEW = "The reporting deadline is the 10th of the following month."
SAME = "The reporting deadline is the 10th, of the following month!"
TEA = "Tea is served to everybody at four."

ASKED = np.array([1, 0, 0], dtype=np.float32)


def sentence(text: str, rank: int, **fields: Any) -> Sentence:
    defaults: dict[str, Any] = {
        "citation": f"[{rank}]",
        "document": f"d{rank}",
        "title": "Guide",
        "section": "",
        "date": None,
        "chunk_cosine": 0.5,
        "place": (rank, 0, 0),
    }
    return Sentence(text=text, rank=rank, **{**defaults, **fields})


def chosen(*sentences: Sentence, question: str = QUESTION, cosines: tuple[float, ...] = ()) -> list[str]:
    """What is quoted where all sentences about reporting are near each other, the later ones a little better."""
    rows = []
    for n, found in enumerate(sentences):
        near = "reporting deadline" in found.text
        cosine = cosines[n] if cosines else 0.7 + n / 100 if near else 0.1
        rest = float(np.sqrt(1 - cosine**2))
        rows.append([cosine, rest, 0] if near else [cosine, 0, rest])
    vectors = np.array(rows, dtype=np.float32)
    return [f"{quote.text} {quote.citation}" for quote in choose(question, sentences, vectors, ASKED)]


def test_of_two_documents_that_say_the_same_the_better_ranked_one_is_quoted() -> None:
    assert chosen(sentence(NEW, 0), sentence(SAME, 1)) == [f"{NEW} [0]"]


def test_what_contradicts_a_newer_document_is_left_out() -> None:
    guides = sentence(NEW, 0, date=20250000), sentence(OLD, 1, date=20230000)
    assert chosen(*guides, sentence(TEA, 2)) == [f"{NEW} [0]", f"{TEA} [2]"]


@pytest.mark.parametrize("dates", [(None, None), (20250000, None), (20230000, 20250000), (20250000, 20250000)])
def test_where_dates_do_not_settle_it_both_are_quoted_the_better_ranked_one_first(
    dates: tuple[int | None, int | None],
) -> None:
    guides = sentence(NEW, 0, date=dates[0]), sentence(OLD, 1, date=dates[1])
    assert chosen(*guides) == [f"{NEW} [0]", f"{OLD} [1]"]


def test_the_better_ranked_version_inherits_the_better_score() -> None:
    # Given a better ranked version that by itself would be passed over for the other and four more sentences
    others = [sentence(f"The reporting deadline of team {n} is on day {n}.", 2, place=(2, 0, n)) for n in range(5)]
    guides = sentence(NEW, 0), sentence(OLD, 1)
    vectors = np.array([[0.75, 0.661, 0], [0.9, 0.436, 0], *[[0.85, 0, 0.527]] * 5], dtype=np.float32)
    quoted = choose(QUESTION, (*guides, *others), vectors, ASKED)
    assert [quote.text for quote in quoted][:1] == [NEW]


@pytest.mark.parametrize(
    ("question", "title"),
    [("What was the reporting deadline in 2023?", "Reporting guide 2023"), ("Deadline for Macon?", "Macon")],
)
def test_what_the_question_names_is_quoted_although_a_newer_document_contradicts_it(question: str, title: str) -> None:
    guides = sentence(NEW, 0, date=20250000), sentence(OLD, 1, date=20230000, title=title)
    assert f"{OLD} [1]" in chosen(*guides, question=question)


OPENS = "Choose Tracker and press the green button."
LATER = "The clock runs on our servers."
STARTED = "A start that was late can be corrected."


@pytest.mark.parametrize(
    ("section", "first"),
    [("Starting a timer", OPENS), ("Using the app > Starting a timer", OPENS), ("Servers > Corrections", STARTED)],
)
def test_what_opens_a_section_is_about_its_heading(section: str, first: str) -> None:
    # Given a sentence that says a word of the question, and two that do not under a heading that says them all
    texts = (OPENS, LATER, STARTED)
    lines = [
        sentence(text, 0, section="Corrections" if text == STARTED else section, place=(text == STARTED, 0, n))
        for n, text in enumerate(texts)
    ]
    vectors = np.array([[0.3, 0.95, 0], [0.3, 0, 0.95], [0.4, 0.65, 0.65]], dtype=np.float32)
    quoted = choose("How do I start a timer?", lines, vectors, ASKED)
    assert quoted[0].text == first


@pytest.mark.parametrize(
    "other",
    [
        "The reporting deadline is not the 10th of the following month.",
        "The reporting deadline isn’t the 10th of the following month.",
        "The reporting deadline is the tenth of the following May.",
        "The reporting deadline is the 11th of the following month.",
        "The reporting deadline is the 1,0th of the following month.",
    ],
)
def test_one_document_means_both_when_numbers_names_or_negations_differ(other: str) -> None:
    both = sentence(NEW, 0), sentence(other, 0, place=(0, 0, 1))
    assert chosen(*both) == [f"{NEW} [0]", f"{other} [0]"]


def test_one_document_that_says_the_same_twice_is_quoted_once() -> None:
    assert chosen(sentence(NEW, 0), sentence(SAME, 0, place=(0, 0, 1))) == [f"{NEW} [0]"]


def test_number_words_are_numbers() -> None:
    one = "The reporting deadline is in three days."
    assert chosen(sentence(one, 0), sentence(one.replace("three", "3"), 1)) == [f"{one} [0]"]
    assert len(chosen(sentence(one, 0), sentence(one.replace("three", "four"), 1))) == 2


def test_the_order_of_the_passages_decides_between_sentences_that_are_alike() -> None:
    # Given two candidates that nothing but their passages' order tells apart, beside one that is better than both
    words = ("Ask the office of reporting first.", "Ask the bureau of reporting first.")
    best = sentence(NEW, 0)
    for first, second in (words, words[::-1]):
        pair = sentence(first, 1), sentence(second, 2)
        quoted = choose(
            QUESTION, (best, *pair), np.array([[0.9, 0.4359, 0], [0.3, 0, 0.954], [0.3, 0, -0.954]], np.float32), ASKED
        )
        assert [quote.text for quote in quoted] == [NEW, first]


def test_two_to_five_sentences_that_are_nearly_as_good_as_the_best_one() -> None:
    good = [sentence(f"Point {n} of the matter.", 0, place=(0, 0, n)) for n in range(8)]
    axes = np.eye(8, 9, 1, dtype=np.float32) * np.float32(np.sqrt(1 - 0.25))
    asked = np.eye(1, 9, dtype=np.float32)[0]
    assert len(choose("matter", good, axes + 0.5 * asked, asked)) == 5
    worse = axes + np.array([[0.5]] + [[0.05]] * 7, dtype=np.float32) * asked
    assert len(choose("point 0", good, worse, asked)) == 2


def test_what_is_worth_embedding_keeps_its_order() -> None:
    many = [sentence(f"Sentence {n} is about {'reports' if n % 2 else 'tea'}.", n) for n in range(20)]
    short = shortlist("reports", many, 5)
    assert [found.rank for found in short] == [1, 3, 5, 7, 9]
    assert shortlist("reports", many[:5], 5) == many[:5]


@pytest.mark.parametrize("question", ["CHR-1042", "CHR 1042", "chr 1042", "1042"])
def test_a_code_is_found_however_it_is_spelt(question: str) -> None:
    codes = [sentence(f"It ends with CHR-{code}.", n) for n, code in enumerate((4003, 1042, 1043))]
    assert [found.rank for found in shortlist(question, codes, 1)] == [1]


def test_a_sentence_costs_its_citation_too() -> None:
    assert sentence("x" * 10, 0, citation="[id_1]").chars == 18
    long = [sentence(f"{n} {'x' * 440}", n) for n in range(3)]
    quoted = choose("x", long, np.eye(3, dtype=np.float32), ASKED)
    assert sum(quote.chars for quote in quoted) <= MAX_CHARS
    assert len(quoted) == 2
