"""rag.stages.check.support: statements held against what they cite, cited anew, marked or taken out."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fakes import FakeIndex, make_hit

from rag.stages.check.support import Checked, SupportCheck
from rag.stages.cite.by_id import cite_ids
from rag.stages.cite.by_url import UrlCiter
from rag.values.answer import Completion, Context, Hit, Passage, Quote

DAYS = make_hit("The import permit takes five working days.", number=1)
FEES = make_hit("Ninety dollars are charged for each application, in cash or by card.", number=2)
TRUE, COSTS = "The permit takes five working days", "Ninety dollars are charged for each application"
FALSE = "Officers never answer phone calls on Sundays"


def check(
    answer: str, *, unsupported: str = "mark", hits: tuple[Hit, ...] = (DAYS, FEES), late: bool = True
) -> Checked:
    context = Context("", tuple(Passage(hit=hit, citation=f"[{hit.chunk.id}]", text=hit.chunk.text) for hit in hits))
    slot = SupportCheck(index=FakeIndex(hits, late=late), cite=cite_ids, unsupported=unsupported)  # type: ignore[arg-type]
    return slot(Completion(text=answer, model="m"), cite_ids(answer, hits), context)


def said(checked: Checked) -> list[tuple[str, tuple[str, ...], str]]:
    return [(one.text, one.citations, one.support) for one in checked.statements]


def test_what_its_own_passage_says_stays_as_it_is() -> None:
    checked = check(f"{TRUE} [id_1]. {COSTS} [id_2].")
    assert checked.cited.text == f"{TRUE} [id_1]. {COSTS} [id_2]."
    assert said(checked) == [(f"{TRUE}.", ("[id_1]",), "supported"), (f"{COSTS}.", ("[id_2]",), "supported")]
    assert [one.support for one in checked.cited.citations] == ["supported", "supported"]
    assert (checked.doubt, checked.notes) == (0.0, ())


def test_what_another_passage_says_is_cited_to_that_one() -> None:
    checked = check(f"{COSTS} [id_1].")
    assert checked.cited.text == f"{COSTS} [id_2]."
    assert said(checked) == [(f"{COSTS}.", ("[id_2]",), "supported")]
    assert [(one.chunk_id, one.support) for one in checked.cited.citations] == [("id_2", "supported")]
    assert checked.notes == ("statement 1 is now cited to [id_2]: what it cited does not support it",)
    assert checked.doubt == 0.0


def test_a_link_to_the_wrong_page_stays_and_is_unsupported() -> None:
    pages = [(hit, f"https://example.org/{hit.chunk.number}") for hit in (DAYS, FEES)]
    hits = tuple(replace(hit, chunk=replace(hit.chunk, url=url, doc_id=url)) for hit, url in pages)
    cite = UrlCiter(0.5)
    passages = tuple(Passage(hit=hit, citation=f"(Source: {hit.chunk.url})", text=hit.chunk.text) for hit in hits)
    answer = f"{COSTS} ([page](https://example.org/1))."
    slot = SupportCheck(index=FakeIndex(hits), cite=cite)
    checked = slot(Completion(text=answer, model="m"), cite(answer, hits), Context("", passages))
    assert [(one.hit.chunk.number, one.support) for one in checked.cited.citations] == [
        (1, "unsupported"),
        (2, "supported"),
    ]


def test_what_cites_nothing_and_could_is_cited_and_counts_half() -> None:
    checked = check(f"{TRUE} [id_1].\n\n{COSTS}.")
    assert checked.cited.text == f"{TRUE} [id_1].\n\n{COSTS}. [id_2]"
    assert [one.support for one in checked.statements] == ["supported", "supported"]
    assert checked.doubt == 0.25
    assert checked.cited.valid == 1  # what the writer cited


@pytest.mark.parametrize(
    ("mode", "text"),
    [
        ("mark", f"{TRUE} [id_1]. {FALSE} [id_2]. *(not found in the sources)*"),
        ("remove", f"{TRUE} [id_1]."),
        ("keep", f"{TRUE} [id_1]. {FALSE} [id_2]."),
    ],
)
def test_what_nothing_supports_is_marked_taken_out_or_kept(mode: str, text: str) -> None:
    checked = check(f"{TRUE} [id_1]. {FALSE} [id_2].", unsupported=mode)
    assert checked.cited.text == text
    assert said(checked)[1] == (f"{FALSE}.", ("[id_2]",), "unsupported")
    assert [one.support for one in checked.cited.citations] == ["supported", "unsupported"][: 1 + (mode != "remove")]
    assert checked.doubt == 0.5


def test_a_citation_whose_statements_differ_is_partial() -> None:
    (citation,) = check(f"{TRUE} [id_1].\n\n{FALSE} [id_1].").cited.citations
    assert citation.support == "partial"


def test_a_mark_stands_inside_a_row_and_below_code() -> None:
    answer = (
        "| Permit | Fee |\n|---|---|\n| aardvark zoology quota | 12345 |\n\n```\nrm aardvark zoology quota tax\n```\n"
    )
    assert check(answer).cited.text == (
        "| Permit | Fee |\n|---|---|\n| aardvark zoology quota | 12345 *(not found in the sources)* |\n\n"
        "```\nrm aardvark zoology quota tax\n```\n\n*(not found in the sources)*\n"
    )


def test_a_mark_keeps_a_list_or_a_quotation_together() -> None:
    code = "```\n{0}rm aardvark zoology quota tax\n{0}```"
    for lead, deep in (("1. ", "   "), ("> ", "> ")):
        answer = f"{lead}{code.format(deep)}"
        assert check(answer).cited.text == f"{answer}\n{deep.rstrip()}\n{deep}*(not found in the sources)*"
    assert check(f"> {FALSE}.\n\n{TRUE} [id_1].", unsupported="remove").cited.text.strip() == f"{TRUE} [id_1]."


def test_a_list_without_any_item_left_loses_its_lead() -> None:
    rules = "Other aardvark rules:\n\n- Zoology quota applies yearly\n- Officers refuse calls"
    answer = f"{TRUE} [id_1].\n\n{rules}\n\n{COSTS} [id_2]."
    assert check(answer, unsupported="remove").cited.text.split() == f"{TRUE} [id_1]. {COSTS} [id_2].".split()


def test_quotes_are_supported_without_a_look() -> None:
    text = f"{TRUE}. [id_1]"
    made = Completion(text=text, model="extractive", quotes=(Quote(0, len(TRUE) + 1, len(text), 0),))
    context = Context("", (Passage(hit=DAYS, citation="[id_1]", text=DAYS.chunk.text),))
    checked = SupportCheck(index=FakeIndex(broken=RuntimeError()), cite=cite_ids)(
        made, cite_ids(text, (DAYS,)), context
    )
    assert said(checked) == [(f"{TRUE}.", ("[id_1]",), "supported")]
    assert [one.support for one in checked.cited.citations] == ["supported"]


def test_without_token_vectors_nothing_is_checked_and_the_trail_says_so() -> None:
    checked = check(f"{FALSE} [id_1].", late=False)
    assert (checked.cited.text, checked.statements) == (f"{FALSE} [id_1].", ())
    assert checked.notes == ("the statements were not checked: the index has no token vectors",)
    assert checked.cited.citations[0].support is None
