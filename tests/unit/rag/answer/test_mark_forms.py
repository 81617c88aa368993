"""rag.answer.citation_forms: passages by id and by number, and what is taken out."""

import re

import pytest
from fakes import make_hit
from hypothesis import given
from hypothesis import strategies as st

from rag.answer.citation_forms import IdForm, NumberForm, SourceForm
from rag.answer.markdown import render_markdown
from rag.answer.parse import parse_markdown
from rag.answer.references import ReferencedTree, ReferenceResolver
from rag.answer.streaming_parser import StreamingParser, parse_answer
from rag.answer.tree import Cite, Mark, cited_chunks, walk
from rag.find.pack import NumberPacker
from rag.values.answer import Context, Passage
from rag.values.request import Delta

KNOWN = {1, 42, 87}
HITS = tuple(make_hit(number=number) for number in sorted(KNOWN))
FORM = IdForm()


def referenced(answer: str) -> ReferencedTree:
    return ReferenceResolver(FORM, HITS)(parse_markdown(answer, FORM))


@pytest.mark.parametrize(
    ("answer", "text", "removed"),
    [
        ("All known [id_42].", "All known [id_42].", 0),
        ("Odd ([id_5]) marks [ID_6], here.", "Odd marks, here.", 2),
        ("Sources: [id_5], [id_42], [id_6].", "Sources: [id_42].", 2),
        ("It is so **[id_5]**.", "It is so.", 1),
        ("- one [id_5]\n- two [id_42]", "- one\n- two [id_42]", 1),
        ("Read \u3010id_42\u2020L1-L3\u3011.", "Read \u3010id_42\u2020L1-L3\u3011.", 0),
        # What joins marks goes with them, and so does a sentence of nothing else.
        ("Pay here. Also [id_42] and [id_5]. And [id_6].", "Pay here. Also [id_42].", 2),
        ("Also [id_5] and [id_42]. Or see [id_6]. Pay here.", "Also [id_42]. Pay here.", 2),
        ("[[id_5], [id_6], ] Pay here [id_5] / [id_6] (and [id_7]).", "Pay here.", 5),
        ("No [id_5]. Pay [id_6].", "No. Pay.", 2),
        # The sentence stays as the model wrote it.
        ("As [id_5] says, click Start [id_42].", "As says, click Start [id_42].", 1),
        # Only a bracket of nothing but ids is a mark, and none in code.
        ("An aside, (id_5), id_5 and [see id_5] stay.", "An aside, (id_5), id_5 and \\[see id_5\\] stay.", 0),
        ("Use `for x in [id_1, id_5]:` here.", "Use `for x in [id_1, id_5]:` here.", 0),
    ],
)
def test_unknown_ids_go_as_marks(answer: str, text: str, removed: int) -> None:
    found = referenced(answer)
    assert (render_markdown(found.tree).text, found.removed) == (text, removed)


@given(
    st.lists(
        st.tuples(st.sampled_from([" ", ", ", " and ", "; ", " / ", ". See ", ". And "]), st.booleans()), max_size=6
    )
)
def test_removed_marks_leave_nothing_of_what_joined_them(marks: list[tuple[str, bool]]) -> None:
    answer = "".join(f"{joint}[id_{42 if known else 5}]" for joint, known in marks)
    text = render_markdown(referenced(f"It is so [id_42]{answer}.").tree).text
    assert re.fullmatch(r"It is so (\[id_42\]([ ,;/]| and |\. (See|And) )*)*(?<=\])\.", text)
    assert text.count("[") == 1 + sum(known for _, known in marks)


def test_each_id_of_a_mark_is_a_citation_where_it_stands() -> None:
    found = referenced("First [id_87], then [id_42, id_87] and \u3010id_1\u3011; never [id_5]. `[id_1]`")
    written = render_markdown(found.tree)
    assert [(cite.chunk, written.text[start:end]) for start, end, cite in written.marks] == [
        (87, "[id_87]"),
        (42, "[id_42, id_87]"),
        (87, "[id_42, id_87]"),
        (1, "\u3010id_1\u3011"),
    ]
    assert (found.valid, found.removed) == (4, 1)


PIECES = ["[id_1]", "[id_42]", "[id_5]", "[id_42,id_99]", "(id_5)", "\u3010id_7\u3011", "```\n", "\n", "`", "a[]"]


@given(st.lists(st.sampled_from([*PIECES, *"[](){}<>*_|-:;59 .,"]), max_size=30).map("".join))
def test_no_mark_reaches_a_reader_as_text_and_what_is_cited_is_known(answer: str) -> None:
    tree = referenced(answer).tree
    assert {node.chunk for node in walk(tree) if isinstance(node, Cite)} <= KNOWN
    assert not any(isinstance(node, Mark) for node in walk(tree))
    again = referenced(render_markdown(tree).text)
    assert again.removed == 0


@pytest.mark.parametrize("run", ["[", "`", "[id_1] ", "[id_5], ", "`a``"])
def test_long_runs_are_read_once(run: str) -> None:
    assert referenced((run * 20_000)[:99_000] + " [id_87]").valid >= 0


NUMBERS = NumberForm()
NUMBERED = tuple(make_hit(f"Text {number}.", number=number) for number in (40, 50, 60))
CONTEXT = Context("", tuple(Passage(hit=hit, citation=f"[{at}]", text="") for at, hit in enumerate(NUMBERED, start=1)))


@pytest.mark.parametrize(
    ("said", "chunks", "removed"),
    [
        ("Five days [1].", (40,), 0),
        ("Five days[3].", (60,), 0),
        ("Five days [1, 3].", (40, 60), 0),
        ("Five days [1][2].", (40, 50), 0),
        ("Five days \u30102\u2020L1-L3\u3011.", (50,), 0),
        ("Five days [2](https://evil.example).", (50,), 0),
        ("Five days [4].", (), 1),
        ("Five days [0].", (), 1),
        ("Five days [2, 9].", (50,), 1),
        ("The year [2026] and a note[^1] and `x[1]` stay.", (), 0),
    ],
)
def test_what_a_mark_means(said: str, chunks: tuple[int, ...], removed: int) -> None:
    read = parse_answer(said, NUMBERS, CONTEXT)
    assert (cited_chunks(read.tree), read.removed) == (chunks, removed)


def test_a_reader_sees_the_numbers_of_the_references_in_their_order() -> None:
    tree = parse_answer("One [3]. Two [1, 3].\n\n- Three **[2]**", NUMBERS, CONTEXT).tree
    numbers = {chunk: n for n, chunk in enumerate(cited_chunks(tree), start=1)}
    assert render_markdown(NUMBERS.rewrite_marks(tree, numbers)).text == "One [1]. Two [2] [1].\n\n- Three **[3]**"


def test_a_stream_shows_the_numbers_that_the_answer_has() -> None:
    told: list[str] = []
    growing = StreamingParser(
        NUMBERS, CONTEXT, listen=lambda event: told.append(event.text) if isinstance(event, Delta) else None
    )
    for piece in ("One thing [", "3]. ", "Another [1].\n\nAnd ", "one more [3, 2]."):
        growing(piece)
    growing.end()
    assert "".join(told) == "One thing [1]. Another [2].\n\nAnd one more [1] [3]."


@pytest.mark.parametrize(
    ("said", "shown", "cited"),
    [
        ("Two things [1][2].", "Two things (Source: https://a.example).", 2),
        ("Two **things** [1, 2] and [3], [3].", "Two **things** (Source: https://a.example) and (Source: Other).", 3),
        ("One [1], and more [2].", "One (Source: https://a.example), and more (Source: https://a.example).", 2),
        ("One (Source: https://a.example) [2].", "One (Source: https://a.example).", 2),
    ],
)
def test_the_same_mark_of_two_passages_is_shown_once_side_by_side(said: str, shown: str, cited: int) -> None:
    urls = ("https://a.example", "https://a.example", "")
    hits = tuple(make_hit("Text.", number=n, title="Other", url=url) for n, url in enumerate(urls, start=1))
    form = SourceForm(0.5)
    context = NumberPacker(1000, form)(hits)
    tree = parse_answer(said, form, context).tree
    assert render_markdown(form.rewrite_marks(tree, {})).text == shown
    assert len(cited_chunks(tree)) == cited


def test_with_the_seed_s_labels_a_number_is_none() -> None:
    read = parse_answer("Five days [1].", IdForm(numbered=False), CONTEXT)
    assert (cited_chunks(read.tree), read.removed) == ((), 0)
