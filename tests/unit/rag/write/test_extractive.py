"""rag.write.extractive: quotes with their citations, and what the documents do not mention."""

from dataclasses import replace

import pytest
from fakes import deadline, make_hit
from fakes_evidence import make_evidence, matched

from knowledge.model.values import Hit
from rag.answer.citation_forms import TitleForm
from rag.find.pack import TitledPacker
from rag.values.answer import Context
from rag.values.chat import Completion
from rag.values.question import Question
from rag.write.extractive import ExtractiveWriter
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
QUESTION = "How many days does an import permit take?"


def context_of(question: str, *hits: Hit, unknown: tuple[str, ...] = ()) -> Context:
    found = tuple(matched(hit, question) for hit in hits)
    return replace(
        TitledPacker(8000, TitleForm(0.5, 3))(found), evidence=make_evidence(question, unknown=unknown, ohio=0.5)
    )


def completed(question: str, context: Context) -> Completion:
    return ExtractiveWriter()(Question(text=question), context, deadline=deadline(0))


def test_what_answers_with_its_citation() -> None:
    context = context_of(QUESTION, PERMITS, TEA)
    completion = completed(QUESTION, context)
    assert completion.text.startswith("An import permit takes five working days. The fee is **12.50 dollars**")
    assert [context.passages[quote.passage].citation for quote in completion.quotes] == ["[Import permits > Fees]"]


def test_it_says_that_it_is_no_model() -> None:
    completion = completed(QUESTION, context_of(QUESTION, PERMITS))
    assert (completion.model, completion.calls, completion.usage, completion.finish_reason, completion.degraded) == (
        "extractive",
        0,
        None,
        "stop",
        False,
    )


def test_it_tells_which_passages_its_quotes_are_of() -> None:
    question = "permit days cakes Fridays"
    context = context_of(question, PERMITS, TEA)
    completion = completed(question, context)
    assert len(completion.quotes) == 2
    for quote in completion.quotes:
        assert quote.text in context.passages[quote.passage].text
    assert {quote.passage for quote in completion.quotes} == {0, 1}


CODE = make_hit("To restart the whole flux you run this:\n\n```sh\nflux restart --force\n```\n", title="Flux")


@pytest.mark.parametrize("question", ["how to restart flux"])
def test_code_comes_with_what_introduces_it(question: str) -> None:
    assert completed(question, context_of(question, CODE)).text == (
        "To restart the whole flux you run this:\n\n```sh\nflux restart --force\n```"
    )


OHIO = "What does an import permit cost in Ohio?"


def test_a_word_that_no_document_has_is_named_first() -> None:
    weak = replace(PERMITS, score=0.3, parts={"dense": 0.3})
    completion = completed(OHIO, context_of(OHIO, weak, unknown=("Ohio",)))
    assert completion.note == "The documents do not mention Ohio. What comes closest:"
    assert completion.text.startswith(f"{completion.note}\n\n")
    assert len(completion.quotes) == 1


@pytest.mark.parametrize("text", ["", "![picture](a.png)"])
def test_what_holds_nothing_to_quote_gives_nothing(text: str) -> None:
    hit = make_hit(text, title="")
    assert completed("picture", context_of("picture", hit)).text == ""
    assert completed("picture", TitledPacker(8000, TitleForm(0.5, 3))((hit,))).quotes == ()


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
    filler = "\n\n".join(
        f"Something else number {n} is said at length here, and then some more of it." for n in range(14)
    )
    entry = make_hit(f"### `--port=N`\n\n{opening}\n\n{filler}\n\n{far}", title="Ship")
    quotes = completed(
        "Can --port clash with another vessel?", context_of("Can --port clash with another vessel?", entry)
    )
    first, second = (quote.text for quote in quotes.quotes)
    assert (first, second) == (f"### `--port=N`\n\n{opening}", far)


def test_a_part_of_a_name_and_a_mere_word_name_nothing() -> None:
    word = make_hit("### `port`\n\nA harbour of some kind for ships.", title="Ship")
    question = "What does --port-range of the port listen to?"
    quotes = completed(question, context_of(question, HOST, PORT, word)).quotes
    assert quotes[0].passage == 0


def test_the_row_that_begins_with_the_name_is_quoted() -> None:
    table = (
        "| Field | What |\n| --- | --- |\n| `max_ships.tls` | What is max_ships here? |\n| `max_ships` | How many. |"
    )
    long = make_hit(
        f"{table}\n" + "".join(f"| `f_{n}` | {'Some words here. ' * 5} |\n" for n in range(9)), title="Ship"
    )
    question = "What is max_ships?"
    assert completed(question, context_of(question, long)).text.endswith("| `max_ships` | How many. |")


FOUND = "An import permit costs forty dollars. Policies of the county are kept."


def absent(question: str, *unknown: str, score: float = 0.7, near: dict[str, float] | None = None) -> tuple[str, ...]:
    weights = {"ohio": 0.5, "macon": 0.4, "rock": 0.4, "eagle": 0.4, "price": 0.1}
    evidence = make_evidence(question, score=score, bar=0.3, unknown=unknown, **weights)
    return not_mentioned(evidence, [matched(make_hit(FOUND), question, near=near)])


def test_the_word_that_no_document_has() -> None:
    assert absent("What does a permit cost in Ohio?", "Ohio") == ("Ohio",)


def test_a_word_that_a_document_has_which_was_not_found_is_not_named() -> None:
    assert absent("What does a permit cost in Ohio?") == ()


def test_neighbours_are_one_phrase_and_the_heaviest_are_named() -> None:
    assert absent("permit at Rock Eagle", "Rock", "Eagle") == ("Rock Eagle",)
    assert absent("permit in Ohio or Macon", "Ohio", "Macon") == ("Ohio", "Macon")


def test_a_word_is_named_once() -> None:
    question = "Ohio wrote of ohio"
    evidence = make_evidence(question, ohio=0.5)
    evidence = replace(evidence, asked=replace(evidence.asked, unknown=((0, 4), (14, 18))))
    assert not_mentioned(evidence, [matched(make_hit(FOUND), question)]) == ("ohio",)


def test_words_of_grammar_are_not_named() -> None:
    assert absent("What would it cost?", "would") == ()


def test_what_another_word_says_is_not_named() -> None:
    for near, named in ((0.75, ()), (0.65, ("price",))):
        assert absent("permit price", "price", near={"costs": near}) == named


def test_only_a_word_of_weight_is_named_and_only_where_the_evidence_is_weak() -> None:
    assert absent("What does a big permit cost in town?", "big") == ()
    assert absent("permit in Ohio", "Ohio", score=0.29 + WEAK) == ("Ohio",)
    assert absent("permit in Ohio", "Ohio", score=0.31 + WEAK) == ()


@pytest.mark.parametrize("code", ["GC-999", "ps3"])
def test_a_code_is_named_whatever_is_near_it(code: str) -> None:
    assert absent(f"fee {code}", code, score=9.0, near={"costs": 0.9}) == (code,)


def test_without_matches_nothing_is_said() -> None:
    assert not_mentioned(make_evidence("Ohio", unknown=("Ohio",)), [make_hit("Ohio")]) == ()


def test_of_documents_in_another_language_only_codes_are_named() -> None:
    question = "Wie viele permit GC-999"
    evidence = replace(make_evidence(question, unknown=("viele", "GC-999")), language="German")
    assert not_mentioned(evidence, [matched(make_hit(FOUND), question)]) == ("GC-999",)
