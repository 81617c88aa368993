"""Which section of a page a piece's link leads to."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge.cut.anchors import ALGORITHMS, ids_of
from knowledge.cut.chunking import split

TITLES = ["What's new in 2.0?", "Café & `go_build` -- now", "2 steps", "2 steps", "開始", ""]


@pytest.mark.parametrize(
    ("algorithm", "ids"),
    [
        ("github", ["whats-new-in-20", "café--go_build----now", "2-steps", "2-steps-1", "開始", ""]),
        ("nuxt", ["whats-new-in-20", "café-go_build-now", "_2-steps", "_2-steps-1", "開始", ""]),
        ("vitepress", ["what-s-new-in-2-0", "cafe-go-build-now", "_2-steps", "_2-steps-1", "開始", ""]),
        ("python-markdown", ["whats-new-in-20", "cafe-go_build-now", "2-steps", "2-steps_1", "_1", "_2"]),
        ("pymdownx", ["whats-new-in-20", "café--go_build----now", "2-steps", "2-steps_1", "開始", "_1"]),
        ("docutils", ["what-s-new-in-2-0", "cafe-go-build-now", "steps", "id1", "id2", "id3"]),
    ],
)
def test_each_tool_makes_ids_in_its_own_way(algorithm: str, ids: list[str]) -> None:
    assert list(ids_of(TITLES, [""] * len(TITLES), algorithm=algorithm)) == ids


@pytest.mark.parametrize(
    ("heading", "anchor"),
    [
        ("## Fees and taxes {#fees .wide}", "fees"),
        ("## Fees and taxes { #fees }", "fees"),
        ("## Fees and taxes {#fees} ##", "fees"),
        ("Fees and taxes {#fees}\n---", "fees"),
        ("## Fees and taxes\n{: #fees}", "fees"),
        ("## Fees and taxes {/* #fees */}", "fees"),
        ('## Fees and taxes<a name="fees"></a>', "fees"),
        ("## Fees and taxes {.wide}", "fees-and-taxes"),
    ],
)
def test_the_id_that_a_heading_states_is_its_anchor_and_no_text(heading: str, anchor: str) -> None:
    (piece,) = split(f"{heading}\n\nNone.")

    assert (piece.section, piece.anchor) == ("Fees and taxes", anchor)
    assert not any(sign in piece.text for sign in ("{", "name=", "#fees"))
    assert piece.text.endswith("None.")


def test_ids_in_code_and_inside_a_heading_are_text() -> None:
    text = "## The {#id} of a `{#heading}` tag\n\n```\n## Title {#id}\n```"

    assert [(piece.anchor, piece.text) for piece in split(text)] == [("the-id-of-a-heading-tag", text)]


def test_a_piece_has_the_anchor_of_the_nearest_heading_and_none_under_the_title() -> None:
    text = "# Guide\n\nIntro.\n\n## Permits\n\n### Food\n\n" + "Ask us first. " * 40 + "\n\n## Permits\n\nNone."

    pieces = split(text, title="Guide", max_chars=300, overlap=0)

    assert [piece.anchor for piece in pieces] == ["", "food", "food", "permits-1"]


def test_equal_headings_are_numbered_as_mkdocs_does_it_however_many() -> None:
    titles = ["a", "a_1", "a", "a_1", "!", "!", "a"]
    assert list(ids_of(titles, [""] * 7, algorithm="python-markdown")) == ["a", "a_1", "a_2", "a_3", "_1", "_2", "a_4"]
    assert list(ids_of(["a"] * 50_000, [""] * 50_000, algorithm="python-markdown"))[-1] == "a_49999"


@given(st.lists(st.text(max_size=20), max_size=6), st.sampled_from(sorted(ALGORITHMS)))
def test_no_two_headings_have_one_id(titles: list[str], algorithm: str) -> None:
    made = list(ids_of(titles, [""] * len(titles), algorithm=algorithm))

    assert len(set(made)) == len(titles)


@given(st.text(alphabet=st.sampled_from("#{}:.*/ab -=\n`<>"), max_size=80))
def test_whatever_headings_state_the_text_is_cut(text: str) -> None:
    split(text)
