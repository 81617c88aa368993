"""rag.answer.streaming_parser: what is told of an answer while it is written stands in it in the end, and is safe at any time."""  # noqa: E501

from collections.abc import Iterable
from itertools import accumulate
from typing import Any

import pytest
from attacks.reading import leads, nodes_lead
from fakes import make_hit
from faults.drawing import by_night
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rag.answer.citation_forms import CitationForm, IdForm, NumberForm, SourceForm, TitleForm
from rag.answer.parse import parse_markdown
from rag.answer.render import json_nodes, render_markdown
from rag.answer.streaming_parser import ParsedAnswer, StreamingParser, parse_answer
from rag.answer.tree import Tree, cited_chunks
from rag.values.answer import Context, Passage
from rag.values.request import Delta, Event, Patch

PAGE, EVIL = "https://a.example/guide", "https://b.example/x"
HITS = tuple(make_hit(f"Fees are at [x]({PAGE}).", number=n, title="Fees", section="Time", url=PAGE) for n in (1, 2))
CONTEXT = Context("", tuple(Passage(hit=hit, citation="", text="") for hit in HITS))
DECLINE = "I don't have specific information about that in the knowledge base. Please rephrase your question."
FORMS: list[CitationForm] = [IdForm(), TitleForm(0.5, 3), SourceForm(0.5), NumberForm()]


def grown(pieces: Iterable[str], form: CitationForm = FORMS[0], **more: Any) -> tuple[list[Event], ParsedAnswer]:
    events: list[Event] = []
    growing = StreamingParser(form, CONTEXT, listen=events.append, **more)
    for piece in pieces:
        growing(piece)
    return events, growing.end()


def deltas(events: Iterable[Event]) -> list[str]:
    return [event.text for event in events if isinstance(event, Delta) and event.text]


def told(pieces: Iterable[str], form: CitationForm = FORMS[0], **more: Any) -> list[str]:
    return deltas(grown(pieces, form, **more)[0])


def shown(events: Iterable[Event]) -> list[Any]:
    """The blocks as a page has them."""
    blocks: dict[int, tuple[Any, ...]] = {}
    for event in events:
        if isinstance(event, Patch):
            assert event.block <= len(blocks)
            blocks[event.block] = event.nodes
    return [node for place in sorted(blocks) for node in blocks[place]]


def test_whole_words_are_told_as_they_come() -> None:
    heard = told(["It is", " free for ", "a day [id", "_1]. ", "And two ", "more [id_9] or ", "[id_2]."])
    assert heard == ["It", " is free for", " a day", " [id_1].", " And two", " more", " [id_2]."]


def test_a_block_is_finished_when_the_next_one_begins() -> None:
    events, _ = grown(["# Fees\n", "\nNinety ", "dollars.\n\n", "- one\n", "- two\n\n", "Done."])
    patches = [(event.block, event.nodes[0]["tag"]) for event in events if isinstance(event, Patch)]
    assert [block for block, _ in patches] == sorted(block for block, _ in patches)
    assert dict(patches) == {0: "h1", 1: "p", 2: "ul", 3: "p"}


@pytest.mark.parametrize(
    ("pieces", "form", "never"),
    [
        (["It is [id", "_1]."], IdForm(), ["[id"]),
        (["It is [", "1]."], IdForm(), ["[", "[1"]),
        (["It is [1", "] and [2]."], SourceForm(0.5), ["[1", "[1]", "and"]),
        (["It is [id", "_9]."], IdForm(), ["[id", "_9"]),
        (["It is [Fees ", "> Ti", "me]. So [No", "pe]."], TitleForm(0.5, 3), ["[Fees >", "[No"]),
        (["It is (Sou", "rce: https://a.", "example/guide). Yes"], SourceForm(0.5), ["(Sou"]),
        (["See [map", f"]({EVIL}", ") at https", "://b.example/x now."], IdForm(), ["[map", "https"]),
        (["It is **bo", "ld** with `co", "de`."], IdForm(), ["bo", "*", "co"]),
    ],
)
def test_half_of_what_pairs_is_never_told(pieces: list[str], form: CitationForm, never: list[str]) -> None:
    ends = list(accumulate(told(pieces, form)))
    assert not any(end.endswith(half) for end in ends for half in never)
    assert ends[-1] == render_markdown(parse_answer("".join(pieces), form, CONTEXT).tree).text


@pytest.mark.parametrize("said", [DECLINE, f"**{DECLINE}** [id_1]", "\u201cI don\u2019t have specific", f"> {DECLINE}"])
def test_a_refusal_and_what_may_become_one_is_withheld(said: str) -> None:
    events, _ = grown([*said[:30], said[30:], " And more."][:-1], decline=DECLINE)
    assert (deltas(events), shown(events)) == ([], [])


def test_an_answer_is_let_through_at_the_first_sign_that_it_is_one() -> None:
    assert told(["I don't ", "know the ", "fee ", "yet."], decline=DECLINE)[0] == "I don't know the"


ATOMS = [
    "Fees are due. ", "word ", "*", "**", "_", "~~", "`", "``", "```\n", "\n", "\n\n", "\n- ", "\n1. ", "\n> ", "\n# ",
    "\n    ", "[id_1]", " [id_2]", "[id_9]", "[1]", " [2]", ", [1, 2]", "[9]", "[Fees > Time]", "[Nope]", f"(Source: {PAGE})", "(Source: ", f"[x]({PAGE})",  # noqa: E501
    f"[x]({EVIL})", f"![y]({EVIL})", PAGE, EVIL, f"<{EVIL}>", "me@a.example", "you@b.example", "<b>", "</b>", "<a href=",  # noqa: E501
    "<!--", "-->", "<script>", "</script>", "<br>", "<hr>", "\\", "&amp;", "&colon;", "!", "[", "]", "(", ")", "](", " ", "a", "1",  # noqa: E501
    "And ", "also ", ", ", " and ", ". ", "---\n", "| a | b |\n|---|---|\n", "|", "| 1 | 2 |\n", "~~~\n", "\n===\n", "[g]", f"[g]: {EVIL}\n", "\r", "\r\n", ":",  # noqa: E501
]  # fmt: skip
TEXTS = st.lists(st.sampled_from(ATOMS), max_size=12).map("".join)
SIZES = st.lists(st.integers(1, 12), max_size=12)


def pieces_of(text: str, sizes: list[int]) -> list[str]:
    pieces = []
    for size in sizes:
        pieces.append(text[:size])
        text = text[size:]
    return [*pieces, *text]


@example("```\n*```\nFees are due. ", [], FORMS[0])
@example("---\n| a | b |\n|---|---|\n", [], FORMS[0])
@example("| a | b |\n|---|---|\n[g]", [], FORMS[1])
@settings(max_examples=by_night(200, 2000), deadline=None)
@given(TEXTS, SIZES, st.sampled_from(FORMS))
def test_what_is_told_is_what_is_written_in_the_end_and_leads_nowhere_else_at_any_time(
    text: str, sizes: list[int], form: CitationForm
) -> None:
    events, read = grown(pieces_of(text, sizes), form)
    ids = {chunk: n for n, chunk in enumerate(cited_chunks(read.tree), start=1)}
    told_so_far = list(accumulate(deltas(events)))
    assert (told_so_far or [""])[-1] == render_markdown(form.rewrite_marks(read.tree, ids)).text
    assert shown(events) == json_nodes(read.tree, lambda chunk: (ids[chunk], f"id_{chunk}"))
    for so_far in told_so_far:
        assert not [to for kind, to in leads(so_far) if "b.example" in to or kind.startswith("html")], so_far
    for event in events:
        if isinstance(event, Patch):
            assert not [to for to in nodes_lead(event.nodes) if "b.example" in to]


@pytest.mark.parametrize("part", ["word ", "[", "- <a\n", "a `b` <c>\n\n"])
def test_how_much_is_read_grows_with_the_text_alone(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each piece read anew would be 125 times the text, not at most 60 times."""
    lengths: list[int] = []

    def counted(text: str, **how: Any) -> Tree:
        lengths.append(len(text))
        return parse_markdown(text, **how)

    monkeypatch.setattr("rag.answer.streaming_parser.parse_markdown", counted)
    text = (part * 1_000)[:1_000]
    grown(text[at : at + 4] for at in range(0, len(text), 4))
    assert sum(lengths) <= 60 * len(text)
