"""rag.answer.check: statements held against what they cite, cited anew, marked or taken out."""

from typing import Any

import pytest
from fakes import FakeIndex, make_hit

from rag.answer.check import CHECK_BUDGET, CLAIM_OVERHEAD, CheckedAnswer, SupportCheck
from rag.answer.citation_forms import CitationForm, IdForm, SourceForm, TitleForm
from rag.answer.claims import split_claims
from rag.answer.render import json_nodes, render_markdown
from rag.answer.streaming_parser import parse_answer
from rag.answer.tree import cited_chunks
from rag.values.answer import Context, Passage

PAGE = "https://example.org"
DAYS = make_hit("The import permit takes five working days.", number=1, url=f"{PAGE}/1")
FEES = make_hit("Ninety dollars are charged for each application, in cash or by card.", number=2, url=f"{PAGE}/2")
HITS, IDS = (DAYS, FEES), IdForm()
TRUE, COSTS = "The permit takes five working days", "Ninety dollars are charged for each application"
FALSE, NOT_FOUND = "Officers never answer phone calls on Sundays", "*(not found in the sources)*"


def check(
    answer: str, form: CitationForm = IDS, *, unsupported: str = "mark", late: bool = True, language: str = ""
) -> CheckedAnswer:
    context = Context("", tuple(Passage(hit=hit, citation=f"[{hit.chunk.id}]", text=hit.chunk.text) for hit in HITS))
    index = FakeIndex(HITS, late=late, unlike=lambda text: language)
    slot = SupportCheck(index=index, form=form, unsupported=unsupported)  # type: ignore[arg-type]
    return slot(*split_claims(parse_answer(answer, form, context).tree), context)


def text(checked: CheckedAnswer) -> str:
    return render_markdown(checked.tree).text


def supports(checked: CheckedAnswer) -> list[str]:
    """The support of each statement that a page shows."""

    def of(nodes: list[Any]) -> list[str]:
        inner = [node for node in nodes if isinstance(node, dict)]
        return [one for node in inner for one in ([node["support"]] if "support" in node else of(node["children"]))]

    return of(json_nodes(checked.tree, lambda chunk: (chunk, "")))


MISCITED = "statement 1 is now cited to [id_2]: what it cited does not support it"
BOTH = f"{COSTS} [Import permits]. {TRUE} [Import permits]."


@pytest.mark.parametrize(
    ("answer", "form", "left", "chunks", "notes"),
    [
        (f"{TRUE} [id_1]. {COSTS} [id_2].", IDS, f"{TRUE} [id_1]. {COSTS} [id_2].", [1, 2], []),
        (f"{COSTS} [id_1].", IDS, f"{COSTS} [id_2].", [2], [MISCITED]),
        (f"{COSTS}. {TRUE} [id_1].", IDS, f"{COSTS}. [id_2] {TRUE} [id_1].", [2, 1], [MISCITED]),
        (
            f"{TRUE} [id_1].\n\n{COSTS}.", IDS, f"{TRUE} [id_1].\n\n{COSTS}. [id_2]", [1, 2],
            ["statement 2 is now cited to [id_2]: it cited nothing"],
        ),
        (BOTH, TitleForm(0.5, 3), BOTH, [2, 1], []),
    ],
    ids=["right", "wrong passage", "that of the next one", "no passage", "one label of two passages"],
)  # fmt: skip
def test_a_statement_is_cited_to_the_passage_that_says_it(
    answer: str, form: CitationForm, left: str, chunks: list[int], notes: list[str]
) -> None:
    checked = check(answer, form)
    assert text(checked) == left
    assert list(cited_chunks(checked.tree)) == chunks
    marks = [f"[id_{chunk}]" if form is IDS else "[Import permits]" for chunk in chunks]
    assert [(*one.chunks, *one.citations) for one in checked.claims] == list(zip(chunks, marks, strict=True))
    assert {one.support for one in checked.claims} == set(supports(checked)) == {"supported"}
    assert {number: one.verbatim for number, one in checked.supports.items()} == dict.fromkeys(chunks, True)
    assert list(checked.notes) == notes


@pytest.mark.parametrize("answer", [f"{TRUE} [id_1] [id_2].", f"# Days [id_2]\n\n{TRUE} [id_1]."])
@pytest.mark.parametrize(("unsupported", "removed"), [("mark", 1), ("keep", 0)])
def test_a_citation_that_supports_nothing_beside_one_that_does_goes(
    unsupported: str, removed: int, answer: str
) -> None:
    checked = check(answer, unsupported=unsupported)
    assert (text(checked), checked.removed) == (answer.replace(" [id_2]" * removed, ""), removed)
    assert checked.notes == ("removed a citation that supported no statement",) * removed


def test_a_link_to_the_wrong_page_stays_and_the_right_passage_stands_beside_it() -> None:
    checked = check(f"{COSTS} ([page]({PAGE}/1)).", SourceForm(0.5))
    assert f"[page]({PAGE}/1)" in text(checked)
    assert checked.claims[0].chunks == (2,)


@pytest.mark.parametrize("mode", ["mark", "remove", "keep"])
@pytest.mark.parametrize(
    ("said", "cited", "note", "support"),
    [
        (f" {FALSE} [id_2].", ("[id_2]",), "not found in the sources", "unsupported"),
        ("\n\nNinety officers may answer in cash on Sundays.", (), "no source cited", "uncited"),
    ],
)
def test_what_has_no_support_or_no_source_is_marked_taken_out_or_kept(
    said: str, cited: tuple[str, ...], note: str, support: str, mode: str
) -> None:
    checked = check(f"{TRUE} [id_1].{said}", unsupported=mode)
    left = {"mark": f"{said} *({note})*", "remove": "", "keep": said}[mode]
    assert (text(checked), checked.removed) == (f"{TRUE} [id_1].{left}", 0)
    one = checked.claims[1]
    assert (one.text, one.citations) == (said.strip().replace(" [id_2]", ""), cited)
    assert one.support == ("unsupported" if cited else "partial")
    assert supports(checked) == ["supported", support][: 1 + (mode != "remove")]
    assert checked.notes == (f"statement 2 was removed: {note}",) * (mode == "remove")


def test_a_note_stands_inside_a_row_and_below_code() -> None:
    checked = check("| Permit | Fee |\n|---|---|\n| zoology quota | 12345 |\n\n1. ```\n   rm zoology\n   ```\n")
    assert f"| 12345 {NOT_FOUND} |" in text(checked)
    assert [line.strip() for line in text(checked).split("\n")[-3:]] == ["```", "", NOT_FOUND]
    assert supports(checked) == ["unsupported"] * 3


def test_a_paragraph_list_or_quotation_without_anything_left_goes_with_its_lead() -> None:
    rules = "Other aardvark rules:\n\n- Zoology quota applies yearly\n- Officers refuse calls\n\n> Officers never call"
    answer = f"{TRUE} [id_1].\n\n{FALSE}. {FALSE}.\n\n{rules}\n\n{COSTS} [id_2]."
    assert text(check(answer, unsupported="remove")) == f"{TRUE} [id_1].\n\n{COSTS} [id_2]."
    rest = f"The rules:\n\n- {TRUE} [id_1]."
    assert text(check(f"{rest}\n- {FALSE} [id_2].", unsupported="remove")) == rest


def test_without_token_vectors_nothing_is_checked_and_the_trail_says_so() -> None:
    checked = check(f"{FALSE} [id_1].", late=False)
    assert (text(checked), checked.claims) == (f"{FALSE} [id_1].", ())
    assert checked.notes == ("the statements were not checked: the index has no token vectors",)


def test_of_an_answer_in_another_language_only_a_number_can_be_missing() -> None:
    answer = "Beamte gehen sonntags nie ans Telefon [id_2]. Die Gebühr beträgt 417 Euro [id_2]."
    checked = check(answer, language="English")
    assert [one.support for one in checked.claims] == ["partial", "unsupported"]
    assert text(checked) == f"{answer} {NOT_FOUND}"
    assert checked.notes == ("the answer is in another language than the documents: only its numbers were looked for",)
    assert [one.support for one in check(answer).claims] == ["unsupported", "unsupported"]


FILLED = CHECK_BUDGET // (CLAIM_OVERHEAD + 6)
"""So many statements of six words there is room for; the double counts words as pieces."""


@pytest.mark.parametrize("unsupported", ["mark", "remove"])
@pytest.mark.parametrize(("more", "note"), [(0, ()), (1, ("1 statement not checked: the answer is too long",))])
def test_what_there_is_no_room_for_is_said_not_to_be_checked_and_keeps_its_citation(
    more: int, note: tuple[str, ...], unsupported: str
) -> None:
    checked = check(" ".join([f"{TRUE} [id_1]."] * FILLED + [f"{FALSE} [id_2]."] * more), unsupported=unsupported)
    assert (len(checked.claims), len(checked.unchecked), checked.notes) == (FILLED, more, note)
    assert text(checked).partition(FALSE)[2] == " [id_2]. *(not checked)*" * more
    assert (text(checked).count(TRUE), checked.removed) == (FILLED, 0)


def test_what_alone_is_more_than_is_checked_hides_nothing_behind_it() -> None:
    checked = check(f"{'and so on ' * CHECK_BUDGET}[id_1]. {FALSE} [id_2].")
    assert [(one.text, one.support) for one in checked.claims] == [(f"{FALSE}.", "unsupported")]
