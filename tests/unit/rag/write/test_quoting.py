"""rag.write.extractive, extractive and newer: what is quoted, as the source has it."""

from dataclasses import replace

import numpy as np
import pytest
from fakes import make_hit
from fakes_evidence import make_asked, matched

from rag.find.refine import outdated_passages
from rag.values.answer import Passage
from rag.values.chat import Quote
from rag.write.extractive import MAX_BYTES, quote_beginning, quote_sections


def quoted(question: str, *texts: str) -> list[Quote]:
    """The excerpts of passages of ``texts``, each a document of its own, the best first."""
    passages = []
    for number, text in enumerate(texts):
        hit = make_hit(text, number=number, title="Guide", doc_id=str(number), cosine=0.6 - number / 100)
        passages.append(Passage(hit=matched(hit, question), citation=f"[{number}]", text=text))
    return list(quote_sections(passages, make_asked(question).weights, question))


def texts(question: str, *passages: str) -> list[str]:
    return [excerpt.text for excerpt in quoted(question, *passages)]


SAID = (
    "whatever anybody in the queue may have been told by a cousin, a neighbour or the man who sells umbrellas, and "
    "however loudly everybody else in front of the counter says otherwise"
)
"""Makes a sentence long enough to be quoted alone."""
TEA = "Tea is served in the hall at four."
PERMIT = f"A permit takes five working days, {SAID}."
WAITING = "Nobody at all waits longer than that."
DESK = "The desk for visitors closes at noon."
TIMES = f"{TEA} {PERMIT} {WAITING} {DESK}"
COST = "The permit costs forty dollars in fees."


FILLER = "\n\n".join(f"Of matter number {n} the people in the queue speak at length, {SAID}." for n in range(4))


def test_a_short_section_is_quoted_whole_and_what_answers_is_marked() -> None:
    (only,) = quoted("How many days does a permit take?", f"# Permits\n\n{TIMES}\n\n## Tea\n\n{TEA}")
    assert only == Quote(0, TIMES, marked=PERMIT)
    assert [one.marked for one in quoted("permit days waits", TIMES)] == [f"{PERMIT} {WAITING}"]


def test_a_long_section_is_quoted_from_its_beginning_or_to_its_end_where_these_are_near() -> None:
    question = "How many days does a permit take?"
    assert texts(question, f"{TEA}\n\n{PERMIT}\n\n{FILLER}") == [f"{TEA}\n\n{PERMIT}"]
    assert texts(question, f"{FILLER}\n\n{PERMIT}\n\n{DESK}") == [f"{PERMIT}\n\n{DESK}"]
    assert texts(question, f"{FILLER}\n\n{PERMIT}\n\n{FILLER}") == [PERMIT]


def test_a_second_section_is_quoted_if_it_adds_more_than_its_passage_is_behind() -> None:
    assert texts("permit takes days dollars", TIMES, f"{TEA} {COST}") == [TIMES, f"{TEA} {COST}"]
    assert texts("How many days does a permit take?", TIMES, TIMES) == [TIMES]


def test_a_step_comes_with_its_code() -> None:
    step = "A permit is a green paper.\n\n```\npermit --new\n```"
    assert texts("green paper", f"{FILLER}\n\n{step}\n\n{FILLER}") == [step]
    assert texts("green paper", "A permit is a green paper.\n\n## Fees\n\nForty.\n") == ["A permit is a green paper."]


def test_an_item_of_a_long_list_comes_with_what_introduces_the_list() -> None:
    items = "\n".join(f"- number {n}, {SAID}" for n in range(5))
    text = f"You need for a permit:\n\n{items}\n- a photo of the llama, {SAID}\n{items}\n"
    (only,) = quoted("photo llama", text)
    assert only.text == f"You need for a permit:\n- a photo of the llama, {SAID}"
    assert only.marked == f"- a photo of the llama, {SAID}"


def test_a_row_of_a_long_table_comes_with_its_header() -> None:
    rows = "".join(f"| Zone {n} | 40, {SAID} |\n" for n in range(5))
    row = f"| South | 60, {SAID} |"
    (only,) = quoted("fee South", f"| Zone | Fee |\n|---|---|\n{rows}{row}\n{rows}")
    assert only == Quote(0, f"| Zone | Fee |\n|---|---|\n{row}", marked=row)


def test_a_quote_cut_out_of_a_list_is_not_indented() -> None:
    others = f"  - wait, {SAID}\n  - pray, {SAID}\n" * 2
    nested = f"- To change the valve you either:\n{others}  - restart the flux\n    by force, {SAID}\n{others}"
    quote = f"- To change the valve you either:\n- restart the flux\n  by force, {SAID}"
    assert texts("restart flux force", nested) == [quote]


def test_what_stands_under_a_heading_is_about_it() -> None:
    text = "## Starting a timer\n\nPress the green button.\n\n## Stopping\n\nPress the red button.\n"
    assert texts("starting timer", text) == ["Press the green button."]


def test_nothing_beyond_what_was_packed_is_quoted() -> None:
    hit = matched(make_hit(TIMES), "desk closes permit")
    packed = Passage(hit=hit, citation="[1]", text=TIMES[: TIMES.index(f" {DESK}")])
    (excerpt,) = quote_sections([packed], make_asked("desk closes permit").weights)
    assert excerpt.text == packed.text


def test_keywords_and_a_closing_aside_are_never_quoted() -> None:
    text = f"Keywords: permit, stamp\n\nA permit takes *five* days.\n\n*{DESK}*\n\n## Fees\n\n*A permit costs forty.*\n"
    assert texts("How many days does a permit take?", text) == ["A permit takes *five* days."]
    assert texts("permit costs", text) == ["*A permit costs forty.*"]


def test_brackets_and_markup_stay_as_they_are() -> None:
    text = "Run `pip install name[extra]==1.2.0` now. Then press [Enter] and wait for a minute."
    assert texts("pip install", f"{text}\n") == [text]


def test_passages_without_units_give_nothing() -> None:
    assert quoted("anything", "") == []
    assert quote_sections([Passage(hit=make_hit(), citation="[1]", text=TIMES)], np.ones(1, np.float32)) == ()


def test_nothing_is_quoted_of_what_is_outdated() -> None:
    question = "permit days"
    passages = [Passage(hit=matched(make_hit(TIMES), question), citation="[1]", text=TIMES)]
    assert quote_sections(passages, make_asked(question).weights, without={0}) == ()


def test_what_introduces_something_is_not_quoted_without_it() -> None:
    rows = "| Free | 60 |\n| Pro | 300 |"
    text = f"How many requests a key may send depends on the plan:\n\n| Plan | Requests |\n|---|---|\n{rows}\n"
    assert texts("how many requests may a key send", text) == [text.strip()]


def beginnings(*texts: str, without: frozenset[int] = frozenset()) -> list[str]:
    passages = [Passage(hit=make_hit(text), citation="[x]", text=text) for text in texts]
    return [quote.text for quote in quote_beginning(passages, without)]


def test_without_matches_the_best_passage_is_quoted_below_its_headings() -> None:
    assert beginnings("# Permits\n\n## Fees\n\nForty.\n\nAt noon.", "Tea.") == ["Forty.\n\nAt noon."]
    assert beginnings("# Permits\n\n![picture](a.png)", "Tea.") == beginnings("Old.", "Tea.", without=frozenset({0}))
    (text,) = beginnings("A permit takes five days. " * 99)
    assert text.endswith("days. ...")
    assert len(text) <= MAX_BYTES


QUESTION = "What is the reporting deadline?"


def guide(year: int, *, cosine: float = 1.0, doc_id: str = "") -> Passage:
    """A guide of a year (0: undated); ``cosine`` is what its vector has with that of the others."""
    hit = make_hit("The deadline is the 10th.", title=f"Reporting guide {year}", doc_id=doc_id or f"guide-{year}")
    vector = np.array([cosine, np.sqrt(1 - cosine**2)], dtype=np.float32)
    hit = replace(hit, vector=vector, chunk=replace(hit.chunk, dated=year * 10_000))
    return Passage(hit=hit, citation="[x]", text=hit.chunk.text)


def test_the_older_edition_gives_way_wherever_it_ranks() -> None:
    assert outdated_passages([guide(2025), guide(2023)], QUESTION) == {1}
    assert outdated_passages([guide(2023), guide(2025)], QUESTION) == {0}


@pytest.mark.parametrize(
    "other",
    [
        guide(2023, cosine=0.8),  # about something else
        guide(0),
        guide(2025, doc_id="another"),
        guide(2023, doc_id="guide-2025"),
    ],
)
def test_other_things_undated_ones_and_one_document_stand_beside_it(other: Passage) -> None:
    assert outdated_passages([guide(2025), other], QUESTION) == frozenset()


def test_what_the_question_names_is_quoted_although_there_is_a_newer_one() -> None:
    assert outdated_passages([guide(2025), guide(2023)], "What was the deadline in 2023?") == frozenset()


def test_without_vectors_nothing_is_known() -> None:
    bare = guide(2023)
    assert outdated_passages([guide(2025), replace(bare, hit=replace(bare.hit, vector=None))], QUESTION) == frozenset()
