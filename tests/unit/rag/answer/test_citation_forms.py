"""rag.answer.citation_forms: passages by id and number, by title, and by source address."""

import re

import pytest
from fakes import MEMO, PEOPLE, REPORT, make_hit
from hypothesis import given
from hypothesis import strategies as st

from knowledge.model.values import Hit
from rag.answer.citation_forms import CitationForm, IdForm, NumberForm, SourceForm, TitleForm, dice
from rag.answer.claims import split_claims
from rag.answer.parse import parse_markdown
from rag.answer.references import ReferenceResolver, cite_by_overlap, find_cites
from rag.answer.render import RenderedMarkdown, render_markdown
from rag.answer.streaming_parser import ParsedAnswer, parse_answer
from rag.answer.tree import Cite, Mark, cited_chunks, walk
from rag.find.pack import NumberPacker
from rag.text.sources import make_label, safe, source_name
from rag.values.answer import Context, Passage


def resolve(answer: str, form: CitationForm, hits: tuple[Hit, ...]) -> ParsedAnswer:
    resolver = ReferenceResolver(form, hits)
    tree = resolver(parse_markdown(answer, form))
    return ParsedAnswer(tree, resolver.valid, resolver.removed)


KNOWN = {1, 42, 87}
ID_HITS = tuple(make_hit(number=number) for number in sorted(KNOWN))
IDS, TITLE_FORM, SOURCE_FORM = IdForm(), TitleForm(min_dice=0.5, min_contained=3), SourceForm(min_overlap=0.5)


@pytest.mark.parametrize(
    ("answer", "text", "removed"),
    [
        ("Odd ([id_5]) marks [ID_6], here.", "Odd marks, here.", 2),
        ("Sources: [id_5], [id_42], [id_6].", "Sources: [id_42].", 2),
        ("It is so **[id_5]**.", "It is so.", 1),
        ("Read \u3010id_42\u2020L1-L3\u3011.", "Read \u3010id_42\u2020L1-L3\u3011.", 0),
        # What joins marks goes with them, and so does a sentence of nothing else.
        ("Also [id_5] and [id_42]. Or see [id_6]. Pay here.", "Also [id_42]. Pay here.", 2),
        ("[[id_5], [id_6], ] Pay here [id_5] / [id_6] (and [id_7]).", "Pay here.", 5),
        # The sentence stays as the model wrote it.
        ("As [id_5] says, click Start [id_42].", "As says, click Start [id_42].", 1),
        # Only a bracket of nothing but ids is a mark, and none in code.
        ("An aside, (id_5), id_5 and [see id_5] stay.", "An aside, (id_5), id_5 and \\[see id_5\\] stay.", 0),
        ("Use `for x in [id_1, id_5]:` here.", "Use `for x in [id_1, id_5]:` here.", 0),
    ],
)
def test_unknown_ids_go_as_marks(answer: str, text: str, removed: int) -> None:
    found = resolve(answer, IDS, ID_HITS)
    assert (render_markdown(found.tree).text, found.removed) == (text, removed)


JOINTS = st.sampled_from([" ", ", ", " and ", "; ", " / ", ". See ", ". And "])


@given(st.lists(st.tuples(JOINTS, st.booleans()), max_size=6))
def test_removed_marks_leave_nothing_of_what_joined_them(marks: list[tuple[str, bool]]) -> None:
    answer = "".join(f"{joint}[id_{42 if known else 5}]" for joint, known in marks)
    text = render_markdown(resolve(f"It is so [id_42]{answer}.", IDS, ID_HITS).tree).text
    assert re.fullmatch(r"It is so (\[id_42\]([ ,;/]| and |\. (See|And) )*)*(?<=\])\.", text)
    assert text.count("[") == 1 + sum(known for _, known in marks)


PIECES = ["[id_1]", "[id_42]", "[id_5]", "[id_42,id_99]", "(id_5)", "\u3010id_7\u3011", "```\n", "\n", "`", "a[]"]


@given(st.lists(st.sampled_from([*PIECES, *"[](){}<>*_|-:;59 .,"]), max_size=30).map("".join))
def test_no_mark_reaches_a_reader_as_text_and_what_is_cited_is_known(answer: str) -> None:
    tree = resolve(answer, IDS, ID_HITS).tree
    assert {node.chunk for node in walk(tree) if isinstance(node, Cite)} <= KNOWN
    assert not any(isinstance(node, Mark) for node in walk(tree))
    again = resolve(render_markdown(tree).text, IDS, ID_HITS)
    assert again.removed == 0


@pytest.mark.parametrize("run", ["[", "`", "[id_1] ", "[id_5], ", "`a``"])
def test_long_runs_are_read_once(run: str) -> None:
    assert resolve((run * 20_000)[:99_000] + " [id_87]", IDS, ID_HITS).valid >= 0


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
    assert (cited_chunks(read.tree), read.valid, read.removed) == (chunks, len(chunks), removed)


def test_a_reader_sees_the_numbers_of_the_references_in_their_order() -> None:
    tree = parse_answer("One [3]. Two [1, 3].\n\n- Three **[2]**", NUMBERS, CONTEXT).tree
    numbers = {chunk: n for n, chunk in enumerate(cited_chunks(tree), start=1)}
    assert render_markdown(NUMBERS.rewrite_marks(tree, numbers)).text == "One [1]. Two [2] [1].\n\n- Three **[3]**"


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
    tree = parse_answer(said, SOURCE_FORM, NumberPacker(1000, SOURCE_FORM)(hits)).tree
    assert render_markdown(SOURCE_FORM.rewrite_marks(tree, {})).text == shown
    assert len(cited_chunks(tree)) == cited


def test_with_the_seed_s_labels_a_number_is_none() -> None:
    read = parse_answer("Five days [1].", IdForm(numbered=False), CONTEXT)
    assert (cited_chunks(read.tree), read.removed) == ((), 0)


def hits_titled(*titles: str) -> tuple[Hit, ...]:
    return tuple(make_hit(number=n, title=title, doc_id=f"doc{n}") for n, title in enumerate(titles, start=1))


def cited_by_title(answer: str, hits: tuple[Hit, ...]) -> list[int]:
    return [cite.chunk for cite in find_cites(tuple(walk(resolve(answer, TITLE_FORM, hits).tree)))]


def test_equal_titles_win_over_contained_ones_and_those_over_similar_ones_whatever_the_order() -> None:
    see = "See [Import permits]."
    assert cited_by_title(see, hits_titled("Import permits for plants", "IMPORT PERMITS")) == [2]
    assert cited_by_title(see, hits_titled("Imports permit", "Guide: Import permits of Singapore")) == [2]


@pytest.mark.parametrize(
    ("label", "title", "is_named"),
    [
        ("[Import permits of Singapore, 2024]", "Import permits", True),  # either may hold the other
        ("[许可证]", "进口许可证指南与费用一览表", True),  # no spaces between words there
        ("[Import Permit]", "Singapore Import Permits and TradeNet", True),  # may end within a word
        ("[Enter]", "Data Center Access Rules for Visitors", False),  # not from the start of a word on
        ("[Warehouse > Rent]", "Rules for bonded warehouses in the free trade zone", True),
        ("[Circular 15]", "Circular 15 on the registration of warehouses", True),
        ("[Circular 15]", "Circular 150 on the registration of warehouses", False),  # a number counts as a whole
        ("[15]", "Circular 15", False),  # a number is a place in the context
        ("[a1]", "Import permits a1", False),  # under three characters
        ("[and]", "Import permits and fees", False),  # grammar alone
        ("[abce]", "abcd", True),  # 2 of 3 bigrams: .67
        ("[abd]", "abc", False),  # one half is not over one half
        ("Five days【Import permits > Times】.", "Import permits", True),
        ("\uff3bImport permits\uff3d", "Import permits", True),
    ],
)
def test_the_title_that_a_label_names(label: str, title: str, is_named: bool) -> None:
    assert cited_by_title(label, hits_titled(title)) == [1] * is_named


@pytest.mark.parametrize(
    ("label", "number"),
    [
        ("[Import permits > Times]", 3),
        ("[Import permits > Permits > Strategic goods]", 2),
        ("[Import permits > strategic goods]", 2),
        ("[Import permits > Unheard of]", 1),
        ("[Import permits > Duties]", 1),  # a section never leads to another title
    ],
)
def test_the_chunk_of_the_cited_section_is_preferred_within_the_title(label: str, number: int) -> None:
    sections = enumerate(("Fees", "Permits > Strategic goods", "Times"), start=1)
    hits = [make_hit(number=n, section=one) for n, one in sections]
    assert cited_by_title(label, (make_hit(number=4, title="Export", section="Duties"), *hits)) == [number]


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
    found = resolve(answer, TITLE_FORM, hits)
    assert (render_markdown(found.tree).text, found.removed, cited_by_title(answer, hits)) == (text, removed, numbers)


TITLES = st.text("ab >[]", min_size=1, max_size=12).map(lambda text: f"T{text}")
PATHS = st.lists(st.sampled_from(["Fees", "Over >30kg", "A>B", "[x]", "Times"]), max_size=2).map(" > ".join)


@given(st.lists(st.tuples(TITLES, PATHS), min_size=1, max_size=5, unique_by=lambda pair: safe(pair[0]).casefold()))
def test_a_packed_label_cites_its_own_chunk(pairs: list[tuple[str, str]]) -> None:
    hits = tuple(make_hit(number=n, title=title, section=section) for n, (title, section) in enumerate(pairs))
    for number, hit in enumerate(hits):
        assert cited_by_title(f"Text {make_label(hit.chunk.title, hit.chunk.section)}.", hits) == [number]


@pytest.mark.parametrize(
    ("a", "b", "value"),
    [
        ("night", "nacht", 0.25),  # the textbook example: ht is shared, 2 * 1 / (4 + 4)
        ("aaaa", "aa", 2 * 1 / (3 + 1)),  # bigrams count as often as they occur
        ("A ", "a", 1.0),
        ("", "", 0.0),
        ("a", "b", 0.0),  # no bigrams at all: no division by zero
    ],
)
def test_dice(a: str, b: str, value: float) -> None:
    assert dice(a, b) == dice(b, a) == pytest.approx(value, abs=1e-12)


SOURCE_HITS = (REPORT, PEOPLE, MEMO)


def written(answer: str, hits: tuple[Hit, ...] = SOURCE_HITS) -> RenderedMarkdown:
    """With what it draws on, where it cites nothing."""
    tree = resolve(answer, SOURCE_FORM, hits).tree
    return render_markdown(split_claims(tree, cite_by_overlap=cite_by_overlap(SOURCE_FORM, hits))[0])


def cited_by_source(answer: str, hits: tuple[Hit, ...] = SOURCE_HITS) -> list[int]:
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
        # What was not in the context is no citation, and neither is an image or code.
        ("(Source: https://evil.example/x)", []),
        ("https://ga.example.edu/reporting/x", []),
        ("(Source: )", []),
        ("![x](https://ga.example.edu/reporting)", []),
        ("`https://ga.example.edu/reporting`", []),
    ],
)
def test_named_sources(answer: str, numbers: list[int]) -> None:
    assert cited_by_source(answer) == numbers


def test_a_made_up_source_is_taken_out() -> None:
    submit = "Submit it (Source: https://ga.example.edu/reporting)."
    found = resolve(f"{submit} Free (Source: https://evil.example/x).", SOURCE_FORM, SOURCE_HITS)
    assert render_markdown(found.tree).text == f"{submit} Free."
    assert (found.valid, found.removed) == (1, 1)


def test_what_a_citation_says() -> None:
    ((_, _, cite),) = written("Go (Source: https://ga.example.edu/reporting)").marks
    assert (cite.title, cite.section) == ("Reporting", "Steps")
    assert SOURCE_FORM.cited_urls(REPORT) == ("https://ga.example.edu/reporting",)
    assert SOURCE_FORM.cited_urls(MEMO) == ()


def test_without_marks_the_passages_that_each_sentence_draws_on() -> None:
    submit, travel = "Open the form, choose your activity and submit.", "Travel over 500 dollars needs a signature."
    found = written(f"Sure! {submit} {travel}")
    drawn = [(found.text[start:end].strip(), cite.chunk) for start, end, cite in found.marks]
    assert drawn == [(submit, 1), (travel, 3)]
    assert cited_by_source("The capital of France is Paris. It lies on the river Seine.") == []


FEES, HELMETS = "https://velo.example.org/fees", "https://velo.example.org/helmets"


def fees(text: str, number: int, section: str) -> Hit:
    return make_hit(text, number=number, title="Rental fees", url=FEES, section=section)


CARGO = fees("A cargo bike costs 22 euros per day. A deposit of 150 euros is needed for a cargo bike.", 11, "Cargo")
CITY = fees("A city bike costs 9 euros per day and 45 euros per week.", 10, "City")
LATE = fees("A bike that comes back late costs 5 euros for every hour that has begun.", 12, "Late")
KIDS = make_hit(
    "Children under 12 years must wear a helmet.", number=20, title="Helmets", url=f"{HELMETS}#age", section="Age"
)
RENTAL = (CARGO, CITY, LATE, KIDS)


@pytest.mark.parametrize(
    ("answer", "numbers"),
    [
        (f"See the [fees for a late return]({FEES}).", [12]),
        (f"Late bikes cost 5 euros for every hour begun. Mind the clock. (Source: {FEES})", [12]),
        ("The city bike costs 9 euros per day (Source: rental fees).", [10]),
        (f"{KIDS.chunk.text} (Source: {HELMETS}) {LATE.chunk.text} (Source: {FEES})", [20, 12]),
        # Where one sentence names its source, the others draw on none.
        (f"{LATE.chunk.text} (Source: {FEES}) {KIDS.chunk.text}", [12]),
        (f"So (Source: {HELMETS}#age).", [20]),
        # Nothing to tell by: the best ranked.
        (f"(Source: {FEES})", [11]),
        ("So (Source: rental fees).", [11]),
        # No marks at all.
        (f"{LATE.chunk.text} {CITY.chunk.text} {KIDS.chunk.text}", [12, 10, 20]),
    ],
)  # fmt: skip
def test_of_a_page_in_several_chunks_the_one_that_says_it(answer: str, numbers: list[int]) -> None:
    assert cited_by_source(answer, RENTAL) == numbers


@given(st.text("(Source: htps/[]x.org\n)!.", max_size=200))
def test_any_answer_survives(answer: str) -> None:
    found = written(answer)
    assert all(0 <= start < end <= len(found.text) for start, end, _ in found.marks)
