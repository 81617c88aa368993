"""rag.write.extractive: what is quoted, as the source has it, with its citation, and what no document mentions."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from fakes import deadline, make_hit
from fakes_evidence import make_asked, make_evidence, matched

from knowledge.model.values import Hit
from rag.answer.citation_forms import TitleForm
from rag.find.pack import TitledPacker
from rag.values.answer import Context, Passage
from rag.values.chat import Completion, Quote
from rag.values.question import Question
from rag.write.extractive import MAX_BYTES, ExtractiveWriter, quote_beginning, quote_sections
from rag.write.not_mentioned import WEAK, not_mentioned

PERMITS = make_hit(
    "# Permits\n\nAn import permit takes five working days. The fee is **12.50 dollars** for each permit.\n\n"
    "Ask the desk in the hall for the form, e.g. Ms. Tan or Mr. Lim.",
    number=1,
    title="Import permits",
    section="Fees",
    doc_id="permits",
    cosine=0.8,
)
TEA = make_hit(
    "Tea is served in the hall at four. Cakes come on Fridays only.", number=2, title="Tea", doc_id="tea", cosine=0.2
)
PACK = TitledPacker(8000, TitleForm(0.5, 3))


def context_of(question: str, *hits: Hit, unknown: tuple[str, ...] = ()) -> Context:
    found = tuple(matched(hit, question) for hit in hits)
    return replace(PACK(found), evidence=make_evidence(question, unknown=unknown, ohio=0.5))


def completed(question: str, context: Context) -> Completion:
    return ExtractiveWriter()(Question(text=question), context, deadline=deadline(0))


def test_what_answers_with_its_citation_and_that_no_model_wrote_it() -> None:
    question = "How many days does an import permit take?"
    context = context_of(question, PERMITS, TEA)
    completion = completed(question, context)
    assert completion.text.startswith("An import permit takes five working days. The fee is **12.50 dollars**")
    assert [context.passages[quote.passage].citation for quote in completion.quotes] == ["[Import permits > Fees]"]
    assert replace(completion, text="", quotes=()) == Completion(
        text="", model="extractive", calls=0, usage=None, finish_reason="stop", degraded=False
    )


@pytest.mark.parametrize(
    ("names", "dated", "older", "closing"),
    [
        (("tea v1.md", "tea v2.md"), (0, 0), "tea v1.md", "From tea v2.md; another version is tea v1.md."),
        (("tea 2024.md", "tea 2025.md"), (20240000, 20250000), "", "From tea 2025.md; another version is tea 2024.md."),
        (("tea.md", "drinks.md"), (20240000, 20250000), "", ""),
    ],
)
def test_the_newer_of_two_versions_is_quoted_and_the_older_named(
    names: tuple[str, str], dated: tuple[int, int], older: str, closing: str
) -> None:
    extra = {"older_versions": older} if older else {}
    old, new = (
        make_hit(f"Tea is served at {hour}.", number=place, title="Tea", doc_id=name, path=name, dated=day, cosine=0.8)
        for place, (hour, name, day) in enumerate(zip(("four", "five"), names, dated, strict=True))
    )
    new = replace(new, chunk=replace(new.chunk, extra=extra))
    hits = [replace(one, vector=np.array([1.0, 0.0], dtype=np.float32)) for one in (old, new)]
    question = "When is tea served?"
    completion = completed(question, context_of(question, *hits))
    assert (completion.text, completion.closing) == (f"Tea is served at five.\n\n{closing}".strip(), closing)
    assert [quote.text for quote in completion.quotes] == ["Tea is served at five."]


MESSAGES = ("Thanks.", "It is Kay's, take the spare one.", "Whose is the pink tea pot?", "All pots are old.")
LATER = "The newest message of this thread is by Ola, 2026-05-14."


@pytest.mark.parametrize(
    ("found", "quoted", "closing"),
    [((0, 1, 2, 3), [2, 1, 0], ""), ((1, 2), [2, 1], LATER), ((2,), [2], LATER), ((0, 3), [3, 0], "")],
)
def test_a_message_is_quoted_with_the_best_later_one_and_the_newest(
    found: tuple[int, ...], quoted: list[int], closing: str
) -> None:
    question = "Whose is the pink tea pot, is it old?"
    thread: dict[str, Any] = {"doc_id": "pot", "title": "Pot", "extra": {"newest_message": "Ola, 2026-05-14"}}
    hits = [
        make_hit(text, number=n, chunk_index=n, section=f"Ola, 2026-05-{14 - n}", cosine=0.5, **thread)
        for n, text in enumerate(MESSAGES)
    ]
    context = context_of(question, *(hits[n] for n in found))
    completion = completed(question, context)
    assert [context.passages[quote.passage].hit.chunk.number for quote in completion.quotes] == quoted
    assert completion.closing == closing


def test_it_tells_which_passages_its_quotes_are_of() -> None:
    question = "permit days cakes Fridays"
    context = context_of(question, PERMITS, TEA)
    quotes = completed(question, context).quotes
    assert {quote.passage for quote in quotes} == {0, 1}
    assert [quote.text in context.passages[quote.passage].text for quote in quotes] == [True, True]


def test_a_word_that_no_document_has_is_named_first() -> None:
    question = "What does an import permit cost in Ohio?"
    weak = replace(PERMITS, score=0.3, parts={"dense": 0.3})
    completion = completed(question, context_of(question, weak, unknown=("Ohio",)))
    assert completion.note == "The documents do not mention Ohio. What comes closest:"
    assert completion.text.startswith(f"{completion.note}\n\n")
    assert len(completion.quotes) == 1


@pytest.mark.parametrize("text", ["", "![picture](a.png)"])
def test_what_holds_nothing_to_quote_gives_nothing(text: str) -> None:
    hit = make_hit(text, title="")
    assert completed("picture", context_of("picture", hit)).text == ""
    assert completed("picture", PACK((hit,))).quotes == ()


PORT = make_hit("### `--port=N`\n\nDefault: 80.\n\nThe ship listens here for others.", title="Ship")
HOST = make_hit(
    "### `--host`\n\nWhat the ship of others calls itself here, listens to, and may default to.", title="Ship"
)


def test_an_entry_that_is_named_is_quoted_alone_from_its_name_on() -> None:
    question = "What does --port of the ship listen to?"
    quotes = completed(question, context_of(question, HOST, PORT)).quotes
    assert [quote.text for quote in quotes] == [PORT.chunk.text]


def test_a_long_entry_is_quoted_by_its_beginning_and_what_answers() -> None:
    opening, far = "Sets where the ship listens.", "It may clash with the berth of another vessel."
    filler = "".join(f"Something number {n} is said at length here, and then some more of it.\n\n" for n in range(14))
    entry = make_hit(f"### `--port=N`\n\n{opening}\n\n{filler}{far}", title="Ship")
    question = "Can --port clash with another vessel?"
    quotes = completed(question, context_of(question, entry)).quotes
    assert [quote.text for quote in quotes] == [f"### `--port=N`\n\n{opening}", far]


def test_a_part_of_a_name_and_a_mere_word_name_nothing() -> None:
    word = make_hit("### `port`\n\nA harbour of some kind for ships.", title="Ship")
    question = "What does --port-range of the port listen to?"
    quotes = completed(question, context_of(question, HOST, PORT, word)).quotes
    assert quotes[0].passage == 0


def test_the_row_that_begins_with_the_name_is_quoted() -> None:
    rows = "".join(f"| `f_{n}` | {'Some words here. ' * 5} |\n" for n in range(9))
    named = "| `max_ships.tls` | What is max_ships here? |\n| `max_ships` | How many. |\n"
    long = make_hit(f"| Field | What |\n| --- | --- |\n{named}{rows}", title="Ship")
    question = "What is max_ships?"
    assert completed(question, context_of(question, long)).text.endswith("| `max_ships` | How many. |")


def test_the_clause_that_begins_with_the_number_is_quoted_first() -> None:
    clauses = make_hit("# 3. Conduct\n\n3.1 Music ends at 23:00.\n\n3.2 Dogs may come in.", title="Hire", number=1)
    breach = make_hit("# 2. Payment\n\nIf clause 3.2 is breached, what does clause 2 say?", title="Hire", number=2)
    question = "What does clause 3.2 say?"
    quotes = completed(question, context_of(question, breach, clauses)).quotes
    assert quotes[0].text == "3.1 Music ends at 23:00.\n\n3.2 Dogs may come in."


FOUND = "An import permit costs forty dollars. Policies of the county are kept."
WEIGHTS = {"ohio": 0.5, "macon": 0.4, "rock": 0.4, "eagle": 0.4, "price": 0.1}


@pytest.mark.parametrize(
    ("question", "unknown", "how", "named"),
    [
        ("What does a permit cost in Ohio?", ["Ohio"], {}, ("Ohio",)),
        ("What does a permit cost in Ohio?", [], {}, ()),
        ("permit at Rock Eagle", ["Rock", "Eagle"], {}, ("Rock Eagle",)),
        ("permit in Ohio or Macon", ["Ohio", "Macon"], {}, ("Ohio", "Macon")),
        ("What would it cost?", ["would"], {}, ()),
        ("permit price", ["price"], {"near": 0.75}, ()),
        ("permit price", ["price"], {"near": 0.65}, ("price",)),
        ("What does a big permit cost in town?", ["big"], {}, ()),
        ("permit in Ohio", ["Ohio"], {"score": 0.29 + WEAK}, ("Ohio",)),
        ("permit in Ohio", ["Ohio"], {"score": 0.31 + WEAK}, ()),
        ("fee GC-999", ["GC-999"], {"score": 9.0, "near": 0.9}, ("GC-999",)),
        ("fee ps3", ["ps3"], {"score": 9.0, "near": 0.9}, ("ps3",)),
        ("Wie viele permit GC-999", ["viele", "GC-999"], {"language": "German"}, ("GC-999",)),
        ("Wann endet permit GC-999", ["Wann", "GC-999"], {"asked_in": "German"}, ("GC-999",)),
        ("permit fee 2024", ["2024"], {}, ("2024",)),
        ("permit fee 2024", ["2024"], {"dated": 20240105}, ()),
    ],
    ids=[
        "no document has it", "one has it that was not found", "one phrase", "two words", "grammar", "said otherwise",
        "hardly said", "of no weight", "weak evidence", "strong evidence", "code", "short code", "other language",
        "asked in another one", "a year", "the year of a passage",
    ],
)  # fmt: skip
def test_what_the_documents_do_not_mention(
    question: str, unknown: list[str], how: dict[str, Any], named: tuple[str, ...]
) -> None:
    evidence = make_evidence(question, score=how.get("score", 0.7), bar=0.3, unknown=tuple(unknown), **WEIGHTS)
    found = matched(make_hit(FOUND, dated=how.get("dated", 0)), question, near={"costs": how.get("near", 0.2)})
    languages = {name: how.get(name, "English") for name in ("language", "asked_in")}
    assert not_mentioned(replace(evidence, **languages), [found]) == named


def test_a_word_is_named_once_and_nothing_without_matches() -> None:
    question = "Ohio wrote of ohio"
    evidence = make_evidence(question, ohio=0.5)
    evidence = replace(evidence, asked=replace(evidence.asked, unknown=((0, 4), (14, 18))))
    assert not_mentioned(evidence, [matched(make_hit(FOUND), question)]) == ("ohio",)
    assert not_mentioned(evidence, [make_hit(FOUND)]) == ()


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
HALL = "Tea is served in the hall at four."
PERMIT = f"A permit takes five working days, {SAID}."
WAITING = "Nobody at all waits longer than that."
DESK = "The desk for visitors closes at noon."
TIMES = f"{HALL} {PERMIT} {WAITING} {DESK}"
FILLER = "\n\n".join(f"Of matter number {n} the people in the queue speak at length, {SAID}." for n in range(4))


def test_a_short_section_is_quoted_whole_and_what_answers_is_marked() -> None:
    (only,) = quoted("How many days does a permit take?", f"# Permits\n\n{TIMES}\n\n## Tea\n\n{HALL}")
    assert only == Quote(0, TIMES, marked=PERMIT)
    assert [one.marked for one in quoted("permit days waits", TIMES)] == [f"{PERMIT} {WAITING}"]


def test_a_long_section_is_quoted_from_its_beginning_or_to_its_end_where_these_are_near() -> None:
    question = "How many days does a permit take?"
    assert texts(question, f"{HALL}\n\n{PERMIT}\n\n{FILLER}") == [f"{HALL}\n\n{PERMIT}"]
    assert texts(question, f"{FILLER}\n\n{PERMIT}\n\n{DESK}") == [f"{PERMIT}\n\n{DESK}"]
    assert texts(question, f"{FILLER}\n\n{PERMIT}\n\n{FILLER}") == [PERMIT]


def test_a_second_section_is_quoted_if_it_adds_more_than_its_passage_is_behind() -> None:
    cost = f"{HALL} The permit costs forty dollars in fees."
    assert texts("permit takes days dollars", TIMES, cost) == [TIMES, cost]
    assert texts("How many days does a permit take?", TIMES, TIMES) == [TIMES]


def test_a_step_comes_with_its_code() -> None:
    step = "A permit is a green paper.\n\n```\npermit --new\n```"
    assert texts("green paper", f"{FILLER}\n\n{step}\n\n{FILLER}") == [step]
    step = f"To get a green paper, run:\n\n```\n{'permit --new --of the-office\n' * 40}```"
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
