"""rag.answer.finish and quoted: what a model wrote, or what an engine quotes, as an answer in all its forms."""

import json
from dataclasses import replace

import pytest
from fakes import FakeIndex, make_hit, make_ledger
from fakes_evidence import make_evidence

from rag.answer.check import CHECK_FAILED, SupportCheck
from rag.answer.citation_forms import CitationForm, IdForm, SourceForm, TitleForm
from rag.answer.finish import AnswerFinisher, FinishedAnswer
from rag.answer.streaming_parser import parse_answer
from rag.find.pack import IdPacker, TitledPacker, UrlPacker
from rag.ports import Index
from rag.values.answer import Context
from rag.values.chat import Completion, Quote

DECLINE = "I don't know based on the MD."
INSTALL = "pip install name[extra]==1.2.0"
KEYS = "Press [Enter], see [Extras] and [id_2] or (Source: https://b.example) and https://b.example/x."
HITS = (
    make_hit(INSTALL, number=1, title="Extra", doc_id="a", url="https://a.example"),
    make_hit(KEYS, number=2, title="Extras", doc_id="b", url="https://b.example"),
    make_hit("More of it.", number=3, title="Extra", doc_id="a", url="https://a.example"),
)
TITLES, SOURCES, IDS = TitleForm(0.5, 3), SourceForm(0.5), IdForm()
CONTEXT = IdPacker(6000)(HITS)
PROFILES: list[tuple[Context, CitationForm]] = [
    (TitledPacker(8000, TITLES)(HITS), TITLES), (UrlPacker(6000)(HITS), SOURCES), (CONTEXT, IDS)
]  # fmt: skip


def finish(form: CitationForm, index: Index | None = None) -> AnswerFinisher:
    check = SupportCheck(index=index, form=form) if index else None
    return AnswerFinisher(form=form, decline=DECLINE, check=check)


def quoting(context: Context, form: CitationForm, *quotes: tuple[int, str], note: str = "") -> FinishedAnswer:
    made = Completion(text="x", model="extractive", quotes=tuple(Quote(*one) for one in quotes), note=note)
    return finish(form).finish_quotes(made, context)


def finished(
    text: str, index: Index | None = None, context: Context = CONTEXT, *, left_s: float = 27.0
) -> FinishedAnswer:
    return finish(IDS, index)(parse_answer(text, IDS, context), context, make_ledger(left_s))


@pytest.mark.parametrize(("context", "form"), PROFILES)
@pytest.mark.parametrize("words", [INSTALL, KEYS, f"`{INSTALL}`", "[id_3] [Extras > None] 【id_9】"])
def test_a_quote_is_shown_as_it_stands_cites_its_own_passage_and_nothing_else(
    context: Context, form: CitationForm, words: str
) -> None:
    made = quoting(context, form, (1, words))
    assert [one.hit for one in made.references] == [HITS[1]] == [one.hit for one in made.citations]
    assert [one.support for one in made.claims] == ["supported"]
    assert made.references[0].quote == words.replace("`", "")
    assert json.dumps(made.nodes).count('"cite"') == 1
    assert [made.text[mark.start : mark.end] for mark in made.marks] == [made.citations[0].raw]


@pytest.mark.parametrize(("context", "form"), PROFILES[:2])
def test_two_quotes_of_one_source_are_two_references_and_one_citation(context: Context, form: CitationForm) -> None:
    made = quoting(context, form, (0, INSTALL), (2, "More of it."), note="The documents do not mention [Ohio].")
    assert [one.hit for one in made.references] == [HITS[0], HITS[2]]
    assert [one.hits for one in made.citations] == [(HITS[0], HITS[2])]
    assert made.text.startswith("The documents do not mention \\[Ohio\\].\n\n")


@pytest.mark.parametrize("block", ["```sh\nls\n```", "| a |\n| --- |\n| 1 |"])
def test_a_citation_stands_below_code_and_tables_and_what_is_html_is_none(block: str) -> None:
    assert quoting(CONTEXT, IDS, (0, block)).text == f"{block}\n\n[id_1]"
    assert quoting(CONTEXT, IDS, (0, "a <b>bold</b> word<script>x</script>")).text == "a **bold** word [id_1]"


def test_what_a_model_wrote_leads_nowhere_else_and_the_trail_says_so() -> None:
    made = finished("It <i>is</i> [so](https://evil.example) [id_2], see https://b.example/x. [id_9]")
    assert made.text == "It *is* so [id_2], see <https://b.example/x>."
    assert (made.cited, made.removed) == (1, 1)
    assert made.notes == ("removed 1 address that no cited passage holds",)


@pytest.mark.parametrize("text", ["[id_9]", "- **[id_1]**.\n", "<script>x</script>"])
def test_an_answer_of_which_nothing_is_left_is_a_refusal(text: str) -> None:
    made = finished(text)
    assert (made.text, made.refused, made.references, made.citations) == (DECLINE, True, (), ())


def test_a_refusal_stays_in_its_words_and_cites_nothing() -> None:
    made = finished(f"**{DECLINE}** It covers timers [id_1].")
    assert made.text.startswith("**I don't know based on the MD.** It covers timers")
    assert (made.refused, made.references, made.citations, made.marks) == (True, (), (), ())
    assert "cite" not in json.dumps(made.nodes)


def test_statements_are_checked_and_a_reference_has_the_words_that_bear_it_out() -> None:
    made = finished("More of it [id_3]. Officers never answer phone calls [id_1].", FakeIndex(HITS))
    assert [(one.n, one.support) for one in made.references] == [(1, "supported"), (2, "unsupported")]
    assert made.text.endswith("phone calls [id_1]. *(not found in the sources)*")
    assert (made.cited, made.removed, made.notes, len(made.claims)) == (2, 0, (), 2)


UNFOUNDED = "Officers never answer phone calls on Sundays [id_1]. Whales sing in the harbour."


@pytest.mark.parametrize(
    ("text", "is_unfounded"),
    [
        (UNFOUNDED, True),
        ("Officers never answer phone calls on Sundays [id_1]. More of it [id_3].", False),
        ("Officers never answer more of the calls of it.", False),
        ("Officers never answer more of the calls of it.\n\nWhales sing loudly.", True),
        ("More of it costs 9.", True),
    ],
    ids=["no support", "one statement has", "cites nothing, but a third of it is there", "a sixth", "but the number"],
)
def test_an_answer_is_unfounded_where_no_statement_has_support(text: str, is_unfounded: bool) -> None:
    assert finished(text, FakeIndex(HITS)).is_unfounded is is_unfounded


def test_an_answer_in_another_language_or_not_checked_as_a_whole_is_not_unfounded() -> None:
    assert not finished(UNFOUNDED, FakeIndex(HITS), left_s=0.0).is_unfounded
    foreign = replace(CONTEXT, evidence=replace(make_evidence("Wann?"), foreign=True))
    assert not finished(UNFOUNDED, FakeIndex(HITS), foreign).is_unfounded


def test_an_answer_that_could_not_be_checked_says_so() -> None:
    made = finished("More of it [id_3].", FakeIndex(HITS), left_s=0.0)
    assert (made.claims, made.unchecked, made.notes) == ((), None, (CHECK_FAILED,))
    assert [one.support for one in made.references] == [None]
