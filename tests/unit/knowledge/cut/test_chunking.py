"""Where texts are cut, what each piece is called, and that nothing gets lost."""

import json
import re
import unicodedata
from html import unescape
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from knowledge.cut.anchors import ALGORITHMS, heading_ids
from knowledge.cut.chunking import TextPiece, split_seed, split_text
from knowledge.read.documents import read

SHARED_DATA = Path(__file__).parents[5] / "shared" / "data"


def sentences(count: int, *, start: int = 1) -> str:
    """``count`` sentences of 30 characters or so, each with a number of its own."""
    return " ".join(f"This is the sentence number {n}." for n in range(start, start + count))


def sections(text: str, **options: int | str | bool) -> list[str]:
    return [piece.section for piece in split_text(text, **options)]  # type: ignore[arg-type]


def bare(text: str) -> str:
    return "".join(text.split())


# Sections


def test_second_level_headings_cut_even_a_short_text() -> None:
    text = "# Guide\n\nIntro.\n\n## Permits\n\nAsk first.\n\n### Strategic goods\n\nAsk twice.\n\n## Fees\n\nNone."
    assert split_text(text, title="Guide") == (
        TextPiece("", "# Guide\n\nIntro."),
        TextPiece("Permits", "## Permits\n\nAsk first.\n\n### Strategic goods\n\nAsk twice.", "permits"),
        TextPiece("Fees", "## Fees\n\nNone.", "fees"),
    )


def test_deeper_headings_cut_only_a_section_that_is_too_long() -> None:
    text = (
        f"## Permits\n\n{sentences(4)}\n\n### Strategic goods\n\n{sentences(4, start=5)}\n\n#### Arms\n\nNo.\n\n"
        f"### Food\n\n{sentences(12, start=9)}\n\n## Fees\n\nNone.\n\n### Late\n\nTwice."
    )

    pieces = split_text(text, max_chars=300, overlap=0)

    assert [(piece.section, piece.text.partition("\n")[0]) for piece in pieces] == [
        ("Permits", "## Permits"),
        ("Permits > Strategic goods", "### Strategic goods"),
        ("Permits > Food", "### Food"),
        ("Permits > Food", sentences(3, start=18)),
        ("Fees", "## Fees"),
    ]
    assert "#### Arms\n\nNo." in pieces[1].text


def test_an_entry_below_a_heading_of_code_is_a_piece_however_short() -> None:
    text = "## Settings\n\n### Notes\n\nRead.\n\n### `a_b`, `c`\n\nOne.\n\n### `d` and more\n\nTwo.\n\n#### `e()`\n\nA."
    assert sections(text) == ["Settings", "Settings > a_b, c", "Settings > d and more", "Settings > d and more > e()"]
    assert split_text(text)[1].text == "### `a_b`, `c`\n\nOne."
    assert split_text("## Settings\n\n### `a`\n\nOne.")[0].text == "## Settings\n\n### `a`\n\nOne."


def test_a_heading_without_text_goes_on_top_of_the_next_piece_below_it() -> None:
    assert split_text("# Guide\n\n## Permits\n\n### Food\n\nYes.", title="Guide", max_chars=40, overlap=0) == (
        TextPiece("Permits", "# Guide\n\n## Permits\n\n### Food\n\nYes.", "permits"),
    )
    long = "# Guide\n\n## Permits\n\n### Food\n\n" + sentences(60) + "\n\n## Fees\n\nNone."
    first, *_, last = split_text(long, title="Guide", overlap=0)
    assert first.text.startswith("# Guide\n\n## Permits\n\n### Food\n\nThis is the sentence number 1.")
    assert first.section == "Permits > Food"
    assert last == TextPiece("Fees", "## Fees\n\nNone.", "fees")


def test_a_heading_that_nothing_follows_is_left_out_but_not_a_text_of_headings() -> None:
    assert sections("## Soon\n\n## Later\n\n---\n\n## Now\n\nText.") == ["Now"]
    assert split_text("") == split_text(" \n\t\n") == split_text("", markdown=False) == ()
    assert split_text("# Title\n\n## Only\n\n## Headings") == (TextPiece("", "# Title\n\n## Only\n\n## Headings"),)


def test_the_title_is_no_part_of_the_path_but_other_top_headings_are() -> None:
    text = "# One\n\na\n\n## Sub\n\nb\n\n# Two\n\nc\n\n## Sub\n\nd"
    assert sections(text, title="one") == ["", "Sub", "Two", "Two > Sub"]
    assert sections(text, title="Something else") == ["One", "One > Sub", "Two", "Two > Sub"]
    assert sections(text) == ["", "Sub", "Two", "Two > Sub"]
    assert sections("# Only one\n\na\n\n## Sub\n\nb", title="Something else") == ["", "Sub"]
    assert sections("## Sub\n\nb\n\n# Appendix\n\nc", title="Something else") == ["Sub", "Appendix"]
    low = "## Installation\n\nGet it.\n\n### On Linux\n\n" + "Use curl. " * 200
    assert set(sections(low, title="Installation")) == {"", "On Linux"}


@pytest.mark.parametrize(
    ("heading", "section"),
    [
        ("## Closed ##", "Closed"),
        ("Underlined\n---", "Underlined"),
        ("## With `code`, *stress* and a [link](http://x.test)", "With code, stress and a link"),
        ("## Kept [brackets] > arrows", "Kept [brackets] > arrows"),
    ],
)
def test_section_names_are_the_headings_without_markup(heading: str, section: str) -> None:
    assert [(p.section, p.text) for p in split_text(f"{heading}\n\nText.")] == [(section, f"{heading}\n\nText.")]


@pytest.mark.parametrize(
    "text",
    [
        "```\n## no heading\n```\n\nText.",
        "- Item\n\n  ## no heading",
        "> ## no heading",
        "#hashtag\n\n####### seven",
        f"{sentences(8)}\n---\nA paragraph with a ruler under it is not a heading.",
        "{% alert %}\n##no heading\n{% endalert %}",
    ],
)
def test_what_only_looks_like_a_heading_cuts_nothing(text: str) -> None:
    assert split_text(text) == (TextPiece("", text),)


def test_hash_signs_in_plain_text_are_text_and_line_ends_of_any_kind_are_read() -> None:
    assert split_text("# one\n\n## two\n\nthree", markdown=False) == (TextPiece("", "# one\n\n## two\n\nthree"),)
    assert split_text("## A\r\n\r\none\rtwo") == (TextPiece("A", "## A\n\none\ntwo", "a"),)


# Long sections


def test_paragraphs_come_before_sentences_those_before_words_and_those_before_characters() -> None:
    first, second, third = sentences(5), sentences(5, start=6), sentences(12, start=11)
    pieces = [piece.text for piece in split_text(f"{first}\n\n{second}\n\n{third}", max_chars=330, overlap=0)]
    assert pieces == [f"{first}\n\n{second}", sentences(10, start=11), sentences(2, start=21)]
    words = [piece.text for piece in split_text("many words without end " * 20, max_chars=100, overlap=0)]
    assert all(re.fullmatch(r"(many|words|without|end| )+", text) for text in words)
    assert " ".join(words) == ("many words without end " * 20).strip()
    assert [len(piece.text) for piece in split_text("x" * 5000, overlap=0)] == [1600, 1600, 1600, 200]


def test_abbreviations_and_initials_do_not_end_a_sentence() -> None:
    text = "See e.g. Annex 4 of the rules. Ask Dr. J. Tan about it. " * 10
    for piece in split_text(text, max_chars=150, overlap=0):
        assert re.fullmatch(r"(See e\.g\. Annex 4 of the rules\. ?|Ask Dr\. J\. Tan about it\. ?)+", piece.text)


def test_the_overlap_is_the_end_of_the_piece_before_from_a_sentence_on() -> None:
    first, second, *_ = (piece.text for piece in split_text(sentences(100), max_chars=400, overlap=100))
    assert first == sentences(12)
    assert second.startswith(sentences(3, start=10) + " This is the sentence number 13.")


def test_the_overlap_of_an_endless_sentence_begins_at_a_word() -> None:
    first, second, *_ = (piece.text for piece in split_text("alpha beta gamma " * 60, max_chars=200, overlap=40))
    overlap = next(second[:n] for n in range(40, 0, -1) if first.endswith(second[:n].rstrip()))
    assert 30 <= len(overlap) <= 40
    assert set(overlap.split()) <= {"alpha", "beta", "gamma"}


@pytest.mark.parametrize("markdown", [True, False])
@pytest.mark.parametrize(
    "text",
    ["".join(f"第{n}条规定，" for n in range(1200)), "".join(f"กฎข้อที่{n}" for n in range(900))],
    ids=["commas only", "Thai"],
)
def test_the_overlap_of_an_endless_word_begins_at_a_character(text: str, markdown: bool) -> None:
    pieces = [piece.text for piece in split_text(text, markdown=markdown)]

    assert len(pieces) > 4
    assert all(len(piece) <= 1600 for piece in pieces)
    kept = pieces[0]
    for before, piece in pairwise(pieces):
        repeated = next(n for n in range(200, 0, -1) if before.endswith(piece[:n]))
        assert 190 <= repeated <= 200
        assert not unicodedata.combining(piece[0])
        kept += piece[repeated:]
    assert kept == text


VERY_LONG = f"You can use the {'very ' * 30}new Thunderbolt port."
ONE, TWO = "## One\n\nShort and sweet.", f"## Two\n\n{sentences(9, start=20)}"


@pytest.mark.parametrize(
    ("text", "max_chars", "overlap", "pieces"),
    [
        (f"{VERY_LONG} {VERY_LONG} {sentences(4)}", 240, 100, [VERY_LONG, f"{VERY_LONG} {sentences(1)}", sentences(4)]),
        (f"> {sentences(3)} This is\n> a new sentence. {sentences(3, start=4)}", 130, 40,
         [f"> {sentences(3)} This is\n> a new sentence.", f"> This is\n> a new sentence. {sentences(3, start=4)}"]),
        (f"{ONE}\n\n{sentences(9)}\n\n{TWO}", 300, 200, [ONE, f"Short and sweet.\n\n{sentences(9)}", TWO]),
    ],
    ids=["not inside a sentence", "of a quotation it is one too", "not over a section or with its heading"],
)  # fmt: skip
def test_the_overlap(text: str, max_chars: int, overlap: int, pieces: list[str]) -> None:
    assert [piece.text for piece in split_text(text, max_chars=max_chars, overlap=overlap)] == pieces


# Code and tables


def test_a_code_block_that_fits_a_piece_is_never_cut_and_no_overlap_begins_inside_it() -> None:
    block = "```python\n" + "\n".join(f"value_{n} = {n}" for n in range(105)) + "\n```"
    assert 1400 < len(block) < 1600
    for before in range(1, 60, 7):
        pieces = [piece.text for piece in split_text(f"{sentences(before)}\n\n{block}\n\n{sentences(40, start=60)}")]
        assert sum(block in text for text in pieces) == sum("```" in text for text in pieces) == 1
        assert all(text.startswith(("This is", "```")) for text in pieces)


@pytest.mark.parametrize(
    ("opening", "lines", "closing"),
    [
        ("```python\n", [f"    value_{n} = 'number {n}'" for n in range(200)], "\n```"),
        ("| Port | Code |\n| --- | --- |\n", [f"| Port number {n} | P{n} |" for n in range(100)], ""),
        ("", [f"- The number {n}. {sentences(1, start=n)}" for n in range(40)], ""),
    ],
    ids=["code", "a table", "a list"],
)
def test_what_is_longer_is_cut_between_lines_and_each_part_begins_and_ends_as_the_whole(
    opening: str, lines: list[str], closing: str
) -> None:
    text = f"Intro.\n\n{opening}" + "\n".join(lines) + closing
    pieces = [piece.text for piece in split_text(text, max_chars=500, overlap=0 if not opening else 200)]
    assert len(pieces) > 1
    assert pieces[0].startswith(f"Intro.\n\n{opening}{lines[0]}\n")
    assert all(piece.startswith(opening + lines[0][:5]) for piece in pieces[1:])
    assert all(piece.endswith(closing) and piece.count("```") in (0, 2) for piece in pieces)
    assert [line for piece in pieces for line in piece.split("\n") if "number" in line] == lines


# Everything


@pytest.mark.parametrize(("max_chars", "overlap"), [(100, 100), (100, -1), (0, 0)])
def test_impossible_sizes_are_refused(max_chars: int, overlap: int) -> None:
    with pytest.raises(ValueError, match="overlap must be"):
        split_text("text", max_chars=max_chars, overlap=overlap)


TEXTS = st.text(alphabet=st.sampled_from("ab.! \n#-`|>*1é字。x{}:/=<~"), max_size=400) | st.text(max_size=300)


@given(text=TEXTS, max_chars=st.integers(1, 60), markdown=st.booleans())
@example(text="#\n .|*", max_chars=3, markdown=True)  # what a heading waits for is short, and has no room
@settings(max_examples=400)
def test_any_text_gives_pieces_of_allowed_size(text: str, max_chars: int, markdown: bool) -> None:
    pieces = split_text(text, max_chars=max_chars, overlap=max_chars // 3, markdown=markdown)
    assert all(1 <= len(piece.text) <= max_chars and piece.text.strip() for piece in pieces)
    assert pieces == split_text(text, max_chars=max_chars, overlap=max_chars // 3, markdown=markdown)
    assert bool(pieces) == bool(text.strip())


@given(text=TEXTS, max_chars=st.integers(1, 60), share=st.sampled_from([0, 3]))
@example(text=">00000000000000 0\n0", max_chars=9, share=3)
@settings(max_examples=600)
def test_plain_text_loses_nothing_and_repeats_only_the_overlap(text: str, max_chars: int, share: int) -> None:
    overlap = max_chars // share if share else 0
    pieces = split_text(text, max_chars=max_chars, overlap=overlap, markdown=False)

    wanted = bare(text)
    reached = {0}  # how much of the text the pieces so far may stand for
    for piece in pieces:
        body = bare(piece.text)
        reached = {
            done + len(body) - repeated
            for done in reached
            for repeated in range(min(len(body) - 1, overlap, done) + 1)
            if wanted[done - repeated : done - repeated + len(body)] == body
        }
    assert len(wanted) in reached


@st.composite
def markdown_texts(draw: st.DrawFn) -> str:
    """Markdown whose every word has a number of its own, in order."""
    number = iter(range(10_000))

    def words(most: int) -> str:
        return " ".join(f"w{next(number)}." for _ in range(draw(st.integers(1, most))))

    blocks = []
    for kind in draw(st.lists(st.sampled_from(["p", "#", "##", "###", "####", "list", "code", "table", "quote"]))):
        if kind.startswith("#"):
            blocks.append(f"{kind} Heading")
        elif kind == "list":
            blocks.append("\n".join(f"- {words(20)}" for _ in range(4)))
        elif kind == "quote":
            blocks.append("\n>\n".join(f"> {words(20)}" for _ in range(2)))
        elif kind == "code":
            blocks.append("```\n" + "\n".join(words(5) for _ in range(8)) + "\n```")
        elif kind == "table":
            blocks.append("| a | b |\n|---|---|\n" + "\n".join(f"| {words(4)} | {words(4)} |" for _ in range(6)))
        else:
            blocks.append(words(60))
    return "\n\n".join(blocks)


@given(text=markdown_texts(), max_chars=st.integers(40, 400), overlap=st.sampled_from([0, 39]))
@settings(max_examples=300)
def test_every_word_of_a_markdown_text_is_kept_in_order_and_only_the_words_just_before_are_repeated(
    text: str, max_chars: int, overlap: int
) -> None:
    seen = 0
    for piece in split_text(text, max_chars=max_chars, overlap=overlap):
        numbers = [int(word) for word in re.findall(r"w(\d+)", piece.text)]
        assert len(piece.text) <= max_chars
        if numbers:
            assert numbers == list(range(numbers[0], numbers[-1] + 1))
            assert seen - overlap <= numbers[0] <= seen <= numbers[-1]
            seen = numbers[-1] + 1
    assert seen == len(re.findall(r"w\d+", text))


@pytest.mark.slow
def test_real_pages_are_read_with_their_titles_and_keep_their_words_and_their_fences() -> None:
    folder = SHARED_DATA / "docs_handbook"
    if not folder.is_dir():
        pytest.skip("needs ../shared/data/docs_handbook")
    lines = (folder / "manifest.jsonl").read_text().splitlines()
    pages = list(map(json.loads, lines))
    titles = {page["path"]: " ".join(re.sub("</?em>", "", unescape(page["title"])).split()) for page in pages}

    reading = read([folder / "pages"])

    assert (len(reading.documents), reading.failed, reading.warnings) == (236, (), ())
    for document in reading.documents:
        assert document.title == titles[document.path] or document.title.startswith(("Play", "18F"))
        pieces = split_text(document.text, title=document.title)
        assert all(0 < len(piece.text) <= 1600 for piece in pieces)
        kept = split_text(document.text, title=document.title, overlap=0)
        assert len(re.findall(r"\w+", document.text)) - len(re.findall(r"\w+", " ".join(p.text for p in kept))) < 30
        assert all(len(re.findall(r"^\s*```", piece.text, re.MULTILINE)) % 2 == 0 for piece in pieces)


# Chapters and runs of characters


def test_it_cuts_at_chapters_and_nowhere_else_what_fits() -> None:
    text = "# Timer\n\nAbout it.\n\n## Start ##\n\nPress.\n\n### On a phone\n\nTap.\n\n## Stop\n\nPress again.\n"
    assert split_seed(text, max_chars=100, overlap=10) == (
        TextPiece("", "# Timer\n\nAbout it."),
        TextPiece("Start", "## Start ##\n\nPress.\n\n### On a phone\n\nTap."),
        TextPiece("Stop", "## Stop\n\nPress again."),
    )


def test_what_is_longer_goes_on_with_the_end_of_the_piece_before() -> None:
    body = "".join(chr(ord("a") + i % 26) for i in range(100))
    pieces = [piece.text for piece in split_seed(body, max_chars=40, overlap=10)]
    assert pieces == [body[0:40], body[30:70], body[60:100]]
    assert [piece.text for piece in split_seed(body[:41], max_chars=40, overlap=10)] == [body[:40], body[30:41]]
    assert split_seed(" \r\n", max_chars=40, overlap=10) == ()


# Anchors


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
    assert list(heading_ids(TITLES, [""] * len(TITLES), algorithm=algorithm)) == ids


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
    (piece,) = split_text(f"{heading}\n\nNone.")
    assert (piece.section, piece.anchor) == ("Fees and taxes", anchor)
    assert not any(sign in piece.text for sign in ("{", "name=", "#fees"))
    assert piece.text.endswith("None.")


def test_ids_in_code_and_inside_a_heading_are_text() -> None:
    text = "## The {#id} of a `{#heading}` tag\n\n```\n## Title {#id}\n```"
    assert [(piece.anchor, piece.text) for piece in split_text(text)] == [("the-id-of-a-heading-tag", text)]


def test_a_piece_has_the_anchor_of_the_nearest_heading_and_none_under_the_title() -> None:
    text = "# Guide\n\nIntro.\n\n## Permits\n\n### Food\n\n" + "Ask us first. " * 40 + "\n\n## Permits\n\nNone."
    pieces = split_text(text, title="Guide", max_chars=300, overlap=0)
    assert [piece.anchor for piece in pieces] == ["", "food", "food", "permits-1"]


def test_equal_headings_are_numbered_as_mkdocs_does_it_however_many() -> None:
    titles = ["a", "a_1", "a", "a_1", "!", "!", "a"]
    numbered = ["a", "a_1", "a_2", "a_3", "_1", "_2", "a_4"]
    assert list(heading_ids(titles, [""] * 7, algorithm="python-markdown")) == numbered
    assert list(heading_ids(["a"] * 50_000, [""] * 50_000, algorithm="python-markdown"))[-1] == "a_49999"


@given(st.lists(st.text(max_size=20), max_size=6), st.sampled_from(sorted(ALGORITHMS)))
def test_no_two_headings_have_one_id(titles: list[str], algorithm: str) -> None:
    made = list(heading_ids(titles, [""] * len(titles), algorithm=algorithm))
    assert len(set(made)) == len(titles)
