"""rag.stages.write.extractive: what of a passage can be quoted, and how it stands in the answer."""

from __future__ import annotations

import pytest
from fakes import FakeIndex, deadline, make_hit

from rag.stages.cite.by_title import TitleCiter
from rag.stages.pack.by_title import TitledPacker
from rag.stages.write.extractive import ExtractiveWriter
from rag.values.answer import Hit, Question


def write(question: str, *hits: Hit) -> str:
    context = TitledPacker(8000)(hits)
    return ExtractiveWriter(FakeIndex())(Question(text=question), context, deadline=deadline()).text


@pytest.mark.parametrize(
    "text", ["", "# Heading\n\n---", "Short.", "$ $ $ $ $", "Ask in {% x %} first", "The fees are:"]
)
def test_nothing_to_quote_is_nothing(text: str) -> None:
    assert write("Which permit?", make_hit(text)) == ""


def test_short_sentences_answer() -> None:
    text = "Permits cost $40. Renewals cost $25. Replacements cost $10. The fee is paid when the form is lodged."
    assert write("How much does a permit cost?", make_hit(text)).startswith("Permits cost $40. [Import permits]")


def test_code_that_begins_a_sentence() -> None:
    text = "Install it first. `quetzal push` uploads the nest."
    assert "quetzal push uploads the nest. [Import permits]" in write("What does quetzal push upload?", make_hit(text))


@pytest.mark.parametrize(
    ("text", "question", "quoted"),
    [
        (
            "| Zone | Fee |\n|---|---|\n| Zone A | 40 |\n| Zone B | 60 |",
            "fee zone B",
            "Zone: Zone B; Fee: 60 [Import permits]",
        ),
        ("- Rope and halter\n- Salt lick", "What to pack?", "Rope and halter; Salt lick [Import permits]"),
        ("To restart, run:\n```\nflux restart\n```", "restart flux", "To restart, run:\nflux restart [Import permits]"),
    ],
)
def test_a_passage_without_sentences_is_quoted_all_the_same(text: str, question: str, quoted: str) -> None:
    assert quoted in write(question, make_hit(text))
    # ... also where another passage has sentences
    other = make_hit("Tea is served at four.", number=2, title="Tea", doc_id="tea", cosine=0.1)
    assert quoted in write(question, make_hit(text, cosine=0.9), other)


def test_of_a_sentence_that_is_too_long_the_best_parts_are_quoted() -> None:
    part = "subject to the provisions of the schedule and to such conditions as the authority may impose, "
    text = f"The licence shall be granted, {12 * part} for one year."
    assert len(text) > 900
    answer = write("granted for one year", make_hit(text))
    assert len(answer) <= 900
    assert answer.startswith("The licence shall be granted, subject")
    assert ", … [Import permits] … " in answer
    assert answer.endswith("for one year. [Import permits]")


def test_a_chunk_may_begin_inside_a_sentence() -> None:
    text = "port to turn it into a monitor. The port is a new one."
    assert write("port", make_hit(text, chunk_index=1)) == "The port is a new one. [Import permits]"
    assert write("port", make_hit(text, chunk_index=0)).startswith("port to turn it into a monitor.")


def test_beside_a_huge_title_there_is_no_room() -> None:
    assert write("Which permit?", make_hit("Permits take five days.", title="T" * 870)) == ""


def test_brackets_of_a_quote_cite_nothing() -> None:
    hits = (
        make_hit("Press [Enter] to submit. See the [[FAR] rules] first.", number=1, title="Forms", doc_id="forms"),
        make_hit("The door opens at nine.", number=2, title="Enter the FAR rules", doc_id="door", cosine=0.1),
    )
    answer = write("How to submit? See the rules.", *hits)
    assert "Press ⁅Enter⁆ to submit. [Forms]" in answer
    assert "See the ⁅⁅FAR⁆ rules⁆ first. [Forms]" in answer
    cited = TitleCiter(min_dice=0.5, min_contained=3)(answer, hits)
    assert {citation.raw for citation in cited.citations} <= {"[Forms]", "[Enter the FAR rules]"}
