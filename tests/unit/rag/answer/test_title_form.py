"""rag.answer.citation_forms: which passages does a label in the answer mean?"""

from collections import Counter
from itertools import pairwise

import pytest
from fakes import make_hit
from hypothesis import given
from hypothesis import strategies as st

from knowledge.model.values import Hit
from rag.answer.citation_forms import TitleForm, dice
from rag.answer.markdown import render_markdown
from rag.answer.parse import parse_markdown
from rag.answer.references import ReferencedTree, ReferenceResolver, find_cites
from rag.answer.tree import walk
from rag.text.labels import make_label, safe

FORM = TitleForm(min_dice=0.5, min_contained=3)


def hits_titled(*titles: str) -> tuple[Hit, ...]:
    return tuple(make_hit(number=n, title=title, doc_id=f"doc{n}") for n, title in enumerate(titles, start=1))


def referenced(answer: str, hits: tuple[Hit, ...]) -> ReferencedTree:
    return ReferenceResolver(FORM, hits)(parse_markdown(answer, FORM))


def cited(answer: str, hits: tuple[Hit, ...]) -> list[int]:
    return [cite.chunk for cite in find_cites(tuple(walk(referenced(answer, hits).tree)))]


def test_equal_titles_win_over_contained_ones_and_those_over_similar_ones_whatever_the_order() -> None:
    assert cited("See [Import permits].", hits_titled("Import permits for plants", "IMPORT PERMITS")) == [2]
    assert cited("See [Import permits].", hits_titled("Imports permit", "Guide: Import permits of Singapore")) == [2]


@pytest.mark.parametrize(
    ("label", "title"),
    [
        ("[Import permits of Singapore, 2024]", "Import permits"),  # either may hold the other
        ("[许可证]", "进口许可证指南与费用一览表"),  # no spaces between words there
        ("[Import Permit]", "Singapore Import Permits and TradeNet"),  # may end within a word
        ("[Warehouse > Rent]", "Rules for bonded warehouses in the free trade zone"),
        ("[Circular 15]", "Circular 15 on the registration of warehouses"),
        ("[abce]", "abcd"),  # 2 of 3 bigrams: .67
        ("Five days【Import permits > Times】.", "Import permits"),
        ("\uff3bImport permits\uff3d", "Import permits"),
    ],
)
def test_a_label_that_names_a_title(label: str, title: str) -> None:
    assert cited(label, hits_titled(title)) == [1]


@pytest.mark.parametrize(
    ("label", "title"),
    [
        ("[15]", "Circular 15"),  # a number is a place in the context
        ("[a1]", "Import permits a1"),  # under three characters
        ("[and]", "Import permits and fees"),  # grammar alone
        ("[Enter]", "Data Center Access Rules for Visitors"),  # not from the start of a word on
        ("[Circular 15]", "Circular 150 on the registration of warehouses"),  # a number counts as a whole
        ("[nacht]", "night"),  # .25
        ("[abd]", "abc"),  # one half is not over one half
    ],
)
def test_a_label_that_names_none(label: str, title: str) -> None:
    assert cited(label, hits_titled(title)) == []


SECTIONS = (
    make_hit(number=1, section="Fees"),
    make_hit(number=2, section="Permits > Strategic goods"),
    make_hit(number=3, section="Times"),
)


@pytest.mark.parametrize(
    ("label", "number"),
    [
        ("[Import permits > Times]", 3),
        ("[Import permits > Permits > Strategic goods]", 2),
        ("[Import permits > strategic goods]", 2),
        ("[Import permits > Unheard of]", 1),
    ],
)
def test_the_chunk_of_the_cited_section_is_preferred_within_the_title(label: str, number: int) -> None:
    assert cited(label, SECTIONS) == [number]


def test_a_section_never_leads_to_another_title() -> None:
    hits = (make_hit(number=1, title="Export", section="Fees"), make_hit(number=2, section="Times"))
    assert cited("[Import permits > Fees]", hits) == [2]


@pytest.mark.parametrize(
    ("answer", "text", "removed", "numbers"),
    [
        ("Five days [Import permits]. Noon [Nowhere].", "Five days [Import permits]. Noon.", 1, [2]),
        ("Noon ([Customs Act > Fees], [Nowhere]).", "Noon.", 2, []),
        # Several in one bracket, of which one was made up.
        ("So [Import permits > Fees; Carriers].", "So [Import permits > Fees; Carriers].", 0, [2, 3]),
        ("So [Import permits; Nowhere] it is.", "So [Import permits] it is.", 1, [2]),
        ("So \uff3bCarriers\uff3d and \u3010Nowhere\u3011.", "So \uff3bCarriers\uff3d.", 1, [3]),
        # An invented section is not shown.
        ("Free [Carriers > Unheard of].", "Free [Carriers].", 0, [3]),
        # What is no citation by its form stays, and so does what stands in code.
        ("- [ ] a list[str][^1]", "- \\[ \\] a list\\[str\\]\\[^1\\]", 0, []),
        ("Run `cp [OPTIONS]`:\n\n```\n[Nowhere]\n```", "Run `cp [OPTIONS]`:\n\n```\n[Nowhere]\n```", 0, []),
    ],
)
def test_invented_labels_go_as_marks(answer: str, text: str, removed: int, numbers: list[int]) -> None:
    hits = (
        make_hit(number=1, title="Import permits and fees", section="Fees"),
        make_hit(number=2, title="Import permits", section="Fees"),
        make_hit(number=3, title="Carriers", section="Times"),
    )
    found = referenced(answer, hits)
    assert (render_markdown(found.tree).text, found.removed, cited(answer, hits)) == (text, removed, numbers)


TITLES = st.text("ab >[]", min_size=1, max_size=12).map(lambda text: f"T{text}")
PATHS = st.lists(st.sampled_from(["Fees", "Over >30kg", "A>B", "[x]", "Times"]), max_size=2).map(" > ".join)


@given(st.lists(st.tuples(TITLES, PATHS), min_size=1, max_size=5, unique_by=lambda pair: safe(pair[0]).casefold()))
def test_a_packed_label_cites_its_own_chunk(pairs: list[tuple[str, str]]) -> None:
    hits = tuple(make_hit(number=n, title=title, section=section) for n, (title, section) in enumerate(pairs))
    for number, hit in enumerate(hits):
        assert cited(f"Text {make_label(hit.chunk.title, hit.chunk.section)}.", hits) == [number]


@pytest.mark.parametrize(
    ("a", "b", "value"),
    [
        ("night", "nacht", 0.25),  # the textbook example: ht is shared, 2 * 1 / (4 + 4)
        ("aaaa", "aa", 2 * 1 / (3 + 1)),  # bigrams count as often as they occur
        ("", "", 0.0),
        ("a", "b", 0.0),  # no bigrams at all: no division by zero
    ],
)
def test_dice(a: str, b: str, value: float) -> None:
    assert dice(a, b) == pytest.approx(value, abs=1e-12)


@given(st.text("abAB ", max_size=12), st.text("abAB ", max_size=12))
def test_dice_is_symmetric_and_1_exactly_when_nothing_tells_two_apart(a: str, b: str) -> None:
    left, right = a.lower().strip(), b.lower().strip()
    same = left == right or (len(left) > 1 and Counter(pairwise(left)) == Counter(pairwise(right)))
    assert dice(a, b) == dice(b, a)
    assert (dice(a, b) == 1.0) is (left != "" and same)
