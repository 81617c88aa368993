"""rag.answer.citation_forms: citations by source address, by a link, and by what a sentence draws on."""

import pytest
from fakes import make_hit
from hypothesis import given
from hypothesis import strategies as st

from knowledge.model.values import Hit
from rag.answer.citation_forms import SourceForm
from rag.answer.claims import split_claims
from rag.answer.markdown import RenderedMarkdown, render_markdown
from rag.answer.parse import parse_markdown
from rag.answer.references import ReferencedTree, ReferenceResolver, cite_by_overlap
from rag.text.addresses import source_name

FORM = SourceForm(min_overlap=0.5)
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


def referenced(answer: str, hits: tuple[Hit, ...] = HITS) -> ReferencedTree:
    return ReferenceResolver(FORM, hits)(parse_markdown(answer, FORM))


def written(answer: str, hits: tuple[Hit, ...] = HITS) -> RenderedMarkdown:
    """With what it draws on, where it cites nothing."""
    tree = referenced(answer, hits).tree
    return render_markdown(split_claims(tree, cite_by_overlap=cite_by_overlap(FORM, hits)).tree)


def cited(answer: str, hits: tuple[Hit, ...] = HITS) -> list[int]:
    return [cite.chunk for _, _, cite in written(answer, hits).marks]


def test_a_source_stands_in_for_a_missing_page() -> None:
    assert source_name(make_hit(url="", source_urls=("https://a.org/x",)).chunk) == "https://a.org/x"
    assert source_name(make_hit(url="", title="A [b]\nc").chunk) == "A (b) c"


@pytest.mark.parametrize(
    ("answer", "numbers"),
    [
        ("Submit it. (Source: https://ga.example.edu/reporting)", [1]),
        ("See [the guide](https://ga.example.edu/reporting).", [1]),
        ("See https://ga.example.edu/reporting/.", [1]),
        ("It says (source: https://ga.example.edu/people_(beta)/)", [2]),
        ("See [x](https://ga.example.edu/people_%28beta%29/)", [2]),
        ("By the memo (Source: travel memo).", [3]),
        ("So (Source: https://ga.example.edu/reporting, https://ga.example.edu/people_(beta))", [1, 2]),
    ],
)
def test_named_sources(answer: str, numbers: list[int]) -> None:
    assert cited(answer) == numbers


@pytest.mark.parametrize(
    "answer",
    [
        "(Source: https://evil.example/x)", "https://ga.example.edu/reporting/x", "(Source: )",
        "![x](https://ga.example.edu/reporting)", "`https://ga.example.edu/reporting`",
    ],
)  # fmt: skip
def test_what_was_not_in_the_context_is_no_citation(answer: str) -> None:
    assert cited(answer) == []


def test_a_made_up_source_is_taken_out() -> None:
    found = referenced("Submit it (Source: https://ga.example.edu/reporting). Free (Source: https://evil.example/x).")
    assert render_markdown(found.tree).text == "Submit it (Source: https://ga.example.edu/reporting). Free."
    assert (found.valid, found.removed) == (1, 1)


def test_what_a_citation_says() -> None:
    ((_, _, cite),) = written("Go (Source: https://ga.example.edu/reporting)").marks
    assert (cite.title, cite.section) == ("Reporting", "Steps")
    assert FORM.cited_urls(REPORT) == ("https://ga.example.edu/reporting",)
    assert FORM.cited_urls(MEMO) == ()


def test_without_marks_the_passages_that_each_sentence_draws_on() -> None:
    found = written("Sure! Open the form, choose your activity and submit. Travel over 500 dollars needs a signature.")
    assert [(found.text[start:end].strip(), cite.chunk) for start, end, cite in found.marks] == [
        ("Open the form, choose your activity and submit.", 1),
        ("Travel over 500 dollars needs a signature.", 3),
    ]
    assert cited("The capital of France is Paris. It lies on the river Seine.") == []


FEES, HELMETS = "https://velo.example.org/fees", "https://velo.example.org/helmets"


def fees(text: str, number: int, section: str) -> Hit:
    return make_hit(text, number=number, title="Rental fees", url=FEES, section=section)


CARGO = fees("A cargo bike costs 22 euros per day. A deposit of 150 euros is needed for a cargo bike.", 11, "Cargo")
CITY = fees("A city bike costs 9 euros per day and 45 euros per week.", 10, "City")
LATE = fees("A bike that comes back late costs 5 euros for every hour that has begun.", 12, "Late")
KIDS = make_hit("Children under 12 years must wear a helmet.", number=20, title="Helmets", url=HELMETS, section="Age")
RENTAL = (CARGO, CITY, LATE, KIDS)


@pytest.mark.parametrize(
    ("answer", "numbers"),
    [
        (f"{LATE.chunk.text} (Source: {FEES})", [12]),
        (f"See the [fees for a late return]({FEES}).", [12]),
        (f"Late bikes cost 5 euros for every hour begun. Mind the clock. (Source: {FEES})", [12]),
        ("The city bike costs 9 euros per day (Source: rental fees).", [10]),
        (f"{KIDS.chunk.text} (Source: {HELMETS}) {LATE.chunk.text} (Source: {FEES})", [20, 12]),
        # Where one sentence names its source, the others draw on none.
        (f"{LATE.chunk.text} (Source: {FEES}) {KIDS.chunk.text}", [12]),
        # Nothing to tell by: the best ranked.
        (f"(Source: {FEES})", [11]),
        # No marks at all.
        (f"{LATE.chunk.text} {CITY.chunk.text} {KIDS.chunk.text}", [12, 10, 20]),
    ],
)  # fmt: skip
def test_of_a_page_in_several_chunks_the_one_that_says_it(answer: str, numbers: list[int]) -> None:
    assert cited(answer, RENTAL) == numbers


@given(st.text("(Source: htps/[]x.org\n)!.", max_size=200))
def test_any_answer_survives(answer: str) -> None:
    found = written(answer)
    assert all(0 <= start < end <= len(found.text) for start, end, _ in found.marks)
