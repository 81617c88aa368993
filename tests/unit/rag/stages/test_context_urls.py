"""rag.stages.context_urls: contexts and citations by source address."""

from __future__ import annotations

import pytest
from fakes import make_hit
from hypothesis import given
from hypothesis import strategies as st

from rag.stages.context_urls import UrlCiter, UrlPacker, source_name
from rag.text.tokens import RoughTokens

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
CITE = UrlCiter(min_share=0.5)


def test_the_seeds_format() -> None:
    context = UrlPacker(6000, RoughTokens())(HITS)
    assert context.text == "\n\n---\n\n".join(
        (
            f"Source: https://ga.example.edu/reporting\n{REPORT.chunk.text}",
            f"Source: https://ga.example.edu/people_(beta)/\n{PEOPLE.chunk.text}",
            f"Source: Travel memo\n{MEMO.chunk.text}",
        )
    )
    assert [passage.citation for passage in context.used] == [
        "(Source: https://ga.example.edu/reporting)",
        "(Source: https://ga.example.edu/people_(beta)/)",
        "(Source: Travel memo)",
    ]
    assert [passage.text for passage in context.used] == [hit.chunk.text for hit in HITS]


def test_packing_stops_before_the_first_chunk_that_does_not_fit() -> None:
    context = UrlPacker(40, RoughTokens())(HITS)
    assert [passage.hit.chunk.number for passage in context.used] == [1]


def test_a_first_chunk_that_is_too_long_is_cut() -> None:
    (passage,) = UrlPacker(26, RoughTokens())((REPORT, PEOPLE)).used
    assert REPORT.chunk.text.startswith(passage.text.removesuffix(" ..."))
    assert 0 < len(passage.text) < len(REPORT.chunk.text)


@given(st.lists(st.text("ab. \n", max_size=300), min_size=1, max_size=6), st.integers(20, 200))
def test_the_budget_holds(texts: list[str], budget: int) -> None:
    hits = tuple(make_hit(text, number=n, url=f"https://x.org/{n}") for n, text in enumerate(texts))
    context = UrlPacker(budget, RoughTokens())(hits)
    assert RoughTokens().count(context.text) <= budget
    assert [passage.hit for passage in context.used] == list(hits[: len(context.used)])
    assert context.used


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
    citations = CITE(answer, HITS)
    assert [citation.raw for citation in citations] == raws
    assert all(answer[c.position :].startswith(c.raw) for c in citations)


@pytest.mark.parametrize(
    "answer",
    ["(Source: https://evil.example/x)", "https://ga.example.edu/reporting/x", "(Source: )", "(Source: no memo)", ""],
)  # fmt: skip
def test_what_was_not_in_the_context_is_no_citation(answer: str) -> None:
    assert CITE(answer, HITS) == ()


def test_what_a_citation_says() -> None:
    (citation,) = CITE("(Source: https://ga.example.edu/reporting)", HITS)
    assert (citation.title, citation.section, citation.hit) == ("Reporting", "Steps", REPORT)
    assert citation.source_urls == ("https://ga.example.edu/reporting",)
    (memo,) = CITE("(Source: Travel memo)", HITS)
    assert memo.source_urls == ()


def test_without_marks_the_passages_that_the_answer_draws_on() -> None:
    answer = "Sure! Open the form, choose your activity and submit. Travel over 500 dollars needs a signature."
    citations = CITE(answer, HITS)
    assert [citation.hit.chunk.number for citation in citations] == [1, 3]
    assert all(answer[c.position :].startswith(c.raw) for c in citations)
    assert citations[1].raw == "Travel over 500 dollars needs a signature."


def test_an_answer_from_elsewhere_draws_on_nothing() -> None:
    assert CITE("The capital of France is Paris. It lies on the river Seine.", HITS) == ()


def test_two_chunks_of_one_page_are_one_citation() -> None:
    twin = make_hit("The form has four pages.", number=9, title="Reporting", url="https://ga.example.edu/reporting")
    answer = "Open the reporting form and choose the activity. The form has four pages."
    assert [citation.hit.chunk.number for citation in CITE(answer, (REPORT, twin))] == [1]


@given(st.text("(Source: htps/[]x.org\n)!.", max_size=200))
def test_any_answer_survives(answer: str) -> None:
    for citation in CITE(answer, HITS):
        assert answer[citation.position :].startswith(citation.raw)


def test_a_made_up_address_draws_on_nothing() -> None:
    assert CITE("https://b.example/reporting/form/choose/activity", HITS) == ()
    assert CITE("Choose the activity in the form: https://b.example/reporting", HITS) != ()
