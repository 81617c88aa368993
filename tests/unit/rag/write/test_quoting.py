"""rag.write.extractive: what is quoted, as the source has it."""

from fakes import make_hit
from fakes_evidence import make_asked, matched

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
    cost = f"{TEA} The permit costs forty dollars in fees."
    assert texts("permit takes days dollars", TIMES, cost) == [TIMES, cost]
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


def test_what_stands_under_a_heading_is_about_it_and_markup_stays() -> None:
    text = "## Starting a timer\n\nPress [Enter] or `name[extra]`.\n\n## Stopping\n\nPress the red button.\n"
    assert texts("starting timer", text) == ["Press [Enter] or `name[extra]`."]


def test_nothing_beyond_what_was_packed_is_quoted() -> None:
    hit = matched(make_hit(TIMES), "desk closes permit")
    packed = Passage(hit=hit, citation="[1]", text=TIMES[: TIMES.index(f" {DESK}")])
    (excerpt,) = quote_sections([packed], make_asked("desk closes permit").weights)
    assert excerpt.text == packed.text


def test_keywords_and_a_closing_aside_are_never_quoted() -> None:
    text = f"Keywords: permit, stamp\n\nA permit takes *five* days.\n\n*{DESK}*\n\n## Fees\n\n*A permit costs forty.*\n"
    assert texts("How many days does a permit take?", text) == ["A permit takes *five* days."]
    assert texts("permit costs", text) == ["*A permit costs forty.*"]


def test_passages_without_units_and_outdated_ones_give_nothing() -> None:
    assert quoted("anything", "") == []
    weights = make_asked("permit days").weights
    assert quote_sections([Passage(hit=make_hit(), citation="[1]", text=TIMES)], weights) == ()
    outdated = Passage(hit=matched(make_hit(TIMES), "permit days"), citation="[1]", text=TIMES)
    assert quote_sections([outdated], weights, without={0}) == ()


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
