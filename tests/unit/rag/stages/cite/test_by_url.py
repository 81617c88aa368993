"""rag.stages.cite.by_url: citations by source address."""

from __future__ import annotations

import pytest
from fakes import make_hit
from hypothesis import given
from hypothesis import strategies as st

from rag.stages.cite import by_url
from rag.text.addresses import source_name
from rag.stages.cite.by_url import UrlCiter
from rag.values.answer import Citation, Hit

REPORT = make_hit(
    "Open the reporting form, choose the activity and press submit. Reports are due on 15 January.",
    number=1, title="Reporting", url="https://ga.example.edu/reporting", section="Steps",
)  # fmt: skip
PEOPLE = make_hit(
    "Collaborators are added on the second page. Each collaborator gets an email with a link.",
    number=2, title="Collaborators (beta)", url="https://ga.example.edu/people_(beta)/",
)  # fmt: skip
MEMO = make_hit("Travel above 500 dollars needs the director's signature.", number=3, title="Travel memo", url="N/A")
HITS = (REPORT, PEOPLE, MEMO)


def cite(answer: str, hits: tuple[Hit, ...]) -> tuple[Citation, ...]:
    return UrlCiter(min_share=0.5)(answer, hits).citations


def test_a_source_stands_in_for_a_missing_page() -> None:
    assert source_name(make_hit(url="", source_urls=("https://a.org/x",)).chunk) == "https://a.org/x"
    assert source_name(make_hit(url="", title="A [b]\nc").chunk) == "A (b) c"


@pytest.mark.parametrize(
    ("answer", "raws"),
    [
        ("Submit it. (Source: https://ga.example.edu/reporting)", ["(Source: https://ga.example.edu/reporting)"]),
        ("See [the guide](https://ga.example.edu/reporting).", ["[the guide](https://ga.example.edu/reporting)"]),
        ("See https://ga.example.edu/reporting/.", ["https://ga.example.edu/reporting/"]),
        ("See **https://GA.example.edu/reporting**", ["https://GA.example.edu/reporting"]),
        ("(source: https://ga.example.edu/people_(beta)/)", ["(source: https://ga.example.edu/people_(beta)/)"]),
        ("[x](https://ga.example.edu/people_%28beta%29/)", ["[x](https://ga.example.edu/people_%28beta%29/)"]),
        ("By the memo (Source: travel memo).", ["(Source: travel memo)"]),
        ("[Source: Reporting] and again (Source: https://ga.example.edu/reporting)", ["[Source: Reporting]"]),
        ("(Source: https://ga.example.edu/reporting, https://ga.example.edu/people_(beta))",
         ["https://ga.example.edu/reporting", "https://ga.example.edu/people_(beta)"]),
    ],
)  # fmt: skip
def test_named_sources(answer: str, raws: list[str]) -> None:
    citations = cite(answer, HITS)
    assert [citation.raw for citation in citations] == raws
    assert all(answer[c.position :].startswith(c.raw) for c in citations)


@pytest.mark.parametrize(
    "answer",
    ["(Source: https://evil.example/x)", "https://ga.example.edu/reporting/x", "(Source: )", "(Source: no memo)", ""],
)  # fmt: skip
def test_what_was_not_in_the_context_is_no_citation(answer: str) -> None:
    assert cite(answer, HITS) == ()


def test_what_a_citation_says() -> None:
    (citation,) = cite("(Source: https://ga.example.edu/reporting)", HITS)
    assert (citation.title, citation.section, citation.hit) == ("Reporting", "Steps", REPORT)
    assert citation.source_urls == ("https://ga.example.edu/reporting",)
    (memo,) = cite("(Source: Travel memo)", HITS)
    assert memo.source_urls == ()


def test_without_marks_the_passages_that_the_answer_draws_on() -> None:
    answer = "Sure! Open the form, choose your activity and submit. Travel over 500 dollars needs a signature."
    citations = cite(answer, HITS)
    assert [citation.hit.chunk.number for citation in citations] == [1, 3]
    assert all(answer[c.position :].startswith(c.raw) for c in citations)
    assert citations[1].raw == "Travel over 500 dollars needs a signature."


def test_an_answer_from_elsewhere_draws_on_nothing() -> None:
    assert cite("The capital of France is Paris. It lies on the river Seine.", HITS) == ()


def test_two_chunks_of_one_page_are_one_citation() -> None:
    twin = make_hit("The form has four pages.", number=9, title="Reporting", url="https://ga.example.edu/reporting")
    answer = "Open the reporting form and choose the activity. The form has four pages."
    assert [citation.hit.chunk.number for citation in cite(answer, (REPORT, twin))] == [1]


FEES, HELMETS = "https://velo.example.org/fees", "https://velo.example.org/helmets"


def fees(text: str, number: int, section: str) -> Hit:
    return make_hit(text, number=number, title="Rental fees", url=FEES, section=section)


CARGO = fees("A cargo bike costs 22 euros per day. A deposit of 150 euros is needed for a cargo bike.", 11, "Cargo")
CITY = fees("A city bike costs 9 euros per day and 45 euros per week.", 10, "City")
LATE = fees("A bike that comes back late costs 5 euros for every hour that has begun.", 12, "Late")
KIDS = make_hit("Children under 12 years must wear a helmet.", number=20, title="Helmets", url=HELMETS, section="Age")
RENTAL = (CARGO, CITY, LATE, KIDS)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (f"{LATE.chunk.text} (Source: {FEES})", [(12, [])]),
        (f"A bike that comes back late costs 5 euros every hour (Source: {FEES}).", [(12, [])]),
        (f"See the [fees for a late return]({FEES}).", [(12, [])]),
        (f"(Source: {FEES}) Late bikes cost 5 euros for every hour.", [(12, [])]),
        (f"According to {FEES}:\n- late bikes cost 5 euros for every hour begun", [(12, [])]),
        (f"Late bikes cost 5 euros for every hour begun. Mind the clock. (Source: {FEES})", [(12, [])]),
        ("The city bike costs 9 euros per day (Source: rental fees).", [(10, [])]),
        # What is said elsewhere with the same source goes with the first citation, and with no other source.
        (f"{CITY.chunk.text} (Source: {FEES}) {CARGO.chunk.text} (Source: {FEES}) {LATE.chunk.text} (Source: {FEES})",
         [(10, [11, 12])]),
        (f"- City bike: 9 euros per day, 45 euros per week\n- Late: every hour costs 5 euros\n\n(Source: {FEES})",
         [(12, [10])]),
        (f"{KIDS.chunk.text} (Source: {HELMETS}) {LATE.chunk.text} (Source: {FEES})", [(20, []), (12, [])]),
        (f"{KIDS.chunk.text} {LATE.chunk.text}\n\n- [Helmets]({HELMETS})\n- [Fees]({FEES})", [(20, []), (12, [])]),
        # A sentence that names its source draws on no other; one that names none may.
        (f"A cargo bike costs 22 euros per day (Source: {HELMETS}). See {FEES}.", [(20, []), (11, [])]),
        (f"{LATE.chunk.text} (Source: {FEES}) {KIDS.chunk.text}", [(12, [])]),
        (f"{LATE.chunk.text} (Source: {FEES}) {CITY.chunk.text}", [(12, [])]),
        # Nothing to tell by: the best ranked.
        (f"(Source: {FEES})", [(11, [])]),
        (f"You pay extra for tardiness (Source: {FEES}).", [(11, [])]),
        # No marks at all.
        (f"{LATE.chunk.text} {CITY.chunk.text} {KIDS.chunk.text}", [(12, [10]), (20, [])]),
    ],
)  # fmt: skip
def test_of_a_page_in_several_chunks_those_that_the_answer_draws_on(
    answer: str, expected: list[tuple[int, list[int]]]
) -> None:
    citations = cite(answer, RENTAL)
    found = [(c.hit.chunk.number, [hit.chunk.number for hit in c.also]) for c in citations]
    assert found == expected
    assert [c.section for c in citations] == [c.hit.chunk.section for c in citations]
    assert all(answer[c.position :].startswith(c.raw) for c in citations)


def test_two_documents_of_one_title_are_told_apart_by_what_is_said() -> None:
    old = make_hit("Helmets were optional for members.", number=1, title="Policy", url="https://x.org/2022")
    new = make_hit("Helmets are compulsory on night rides.", number=2, title="Policy", url="https://x.org/2024")
    (citation,) = cite("Helmets are compulsory on night rides (Source: Policy).", (old, new))
    assert citation.source_urls == ("https://x.org/2024",)


@given(st.text("(Source: htps/[]x.org\n)!.", max_size=200))
def test_any_answer_survives(answer: str) -> None:
    for citation in cite(answer, HITS):
        assert answer[citation.position :].startswith(citation.raw)


def test_a_made_up_source_is_taken_out() -> None:
    answer = "Submit it (Source: https://ga.example.edu/reporting). It is free (Source: https://evil.example/x)."
    cited = UrlCiter(min_share=0.5)(answer, HITS)
    assert cited.text == "Submit it (Source: https://ga.example.edu/reporting). It is free."
    assert (len(cited.citations), cited.valid, cited.removed) == (1, 1, 1)


def test_a_made_up_address_draws_on_nothing() -> None:
    assert cite("https://b.example/reporting/form/choose/activity", HITS) == ()
    assert cite("Choose the activity in the form: https://b.example/reporting", HITS) != ()


def test_the_whole_answer_is_read_once_however_many_marks_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """Marks behind which, and before which, nothing is said are about all of the answer."""
    read: list[int] = []
    stems = by_url._stems
    monkeypatch.setattr(by_url, "_stems", lambda text: read.append(len(text)) or stems(text))
    answer = "- Open it (Source: https://ga.example.edu/reporting)\n" * 300
    cited = UrlCiter(min_share=0.5)(answer, HITS)
    assert (len(cited.citations), cited.valid) == (1, 300)
    assert sum(read) < 6 * len(answer)
