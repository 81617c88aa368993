"""rag.find.pack.by_url: contexts by source address."""

from __future__ import annotations

from fakes import make_hit
from hypothesis import given
from hypothesis import strategies as st

from rag.find.pack.by_url import UrlPacker
from rag.find.pack.tokens import budget_bytes, size

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


def test_the_seeds_format() -> None:
    context = UrlPacker(6000)(HITS)
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
    context = UrlPacker(64)(HITS)
    assert [passage.hit.chunk.number for passage in context.used] == [1]


def test_a_first_chunk_that_is_too_long_is_cut() -> None:
    (passage,) = UrlPacker(42)((REPORT, PEOPLE)).used
    assert REPORT.chunk.text.startswith(passage.text.removesuffix(" ..."))
    assert 0 < len(passage.text) < len(REPORT.chunk.text)


@given(st.lists(st.text("ab. \n", max_size=300), min_size=1, max_size=6), st.integers(20, 200))
def test_the_budget_holds(texts: list[str], budget: int) -> None:
    hits = tuple(make_hit(text, number=n, url=f"https://x.org/{n}") for n, text in enumerate(texts))
    context = UrlPacker(budget)(hits)
    assert size(context.text) <= budget_bytes(budget)
    assert [passage.hit for passage in context.used] == list(hits[: len(context.used)])
    assert context.used
