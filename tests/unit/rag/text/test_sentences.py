"""rag.text.sentences: Markdown to whole, readable sentences."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.text.sentences import split_lines, split_sentences, strip_markup

WORD = st.sampled_from(["permits", "carriers", "take", "five", "days", "goods", "customs", "invoice", "weight"])
SENTENCE = st.lists(WORD, min_size=4, max_size=9).map(lambda words: " ".join(words).capitalize() + ".")

# Each strategy gives (Markdown, the sentences that it holds).
PARAGRAPH = st.lists(SENTENCE, min_size=1, max_size=4).map(lambda found: (" ".join(found), found))
WRAPPED = st.lists(SENTENCE, min_size=1, max_size=4).map(lambda found: ("\n".join(found), found))
QUOTED = st.lists(SENTENCE, min_size=1, max_size=3).map(lambda found: ("\n".join(f"> {s}" for s in found), found))
BULLETS = st.tuples(st.sampled_from(["- ", "* ", "+ ", "1. ", "2) ", "- [x] ", "  - "]), st.lists(SENTENCE, max_size=3))
ITEMS = BULLETS.map(lambda pair: ("\n".join(pair[0] + sentence for sentence in pair[1]), pair[1]))
SILENT = st.sampled_from(
    [
        "# Permits are needed for all goods.",
        "  ## Permits are needed for all goods. ##",
        "> ### Permits are needed for all goods.",
        "    # Permits are needed for all goods.",
        "| Fee | It costs five dollars today. |\n|---|---|\n| Time | It takes five whole days. |",
        "Item | Cost\n--- | ---\nPermit | It costs five dollars today.",
        "> | Fee | It costs five dollars today. |\n> |---|---|",
        "```python\nThis is no sentence at all.\n```",
        "~~~\nThis is no sentence at all.\n```\nNor is this one here.\n~~~",
        "> ```\n> This is no sentence at all.\n> ```",
        "***",
        "- - -",
        "A fragment without an end",
        "Too short.",
        "lower case start is a fragment.",
        "Note:",
    ]
).map(lambda text: (text, list[str]()))
BLOCKS = st.lists(PARAGRAPH | WRAPPED | QUOTED | ITEMS | SILENT, max_size=6)


@given(BLOCKS)
def test_exactly_the_sentences_of_the_prose_in_order(blocks: list[tuple[str, list[str]]]) -> None:
    markdown = "\n\n".join(text for text, _ in blocks)
    expected = [sentence for _, sentences in blocks for sentence in sentences]
    assert list(split_sentences(markdown)) == expected


@given(st.text("aB1 .!?#|>-*_`[]()\\\n", max_size=200))
def test_no_heading_marks_and_no_table_cells_from_any_text(text: str) -> None:
    for sentence in split_sentences(text.replace("`", "").replace("\\", "")):
        assert not sentence.startswith(("#", "|", ">"))
        assert " | " not in sentence
        assert "\n" not in sentence
        assert sentence == sentence.strip()


@given(st.text(max_size=300))
def test_any_text_gives_whole_sentences(text: str) -> None:
    for sentence in split_sentences(text):
        assert len(sentence.split()) >= 4
        assert sentence.rstrip("\"'”’)]")[-1] in ".!?。！？"


@pytest.mark.parametrize("before", ["Goods need a permit first.", ""])
@pytest.mark.parametrize("heading", ["## Fees and times", "> ## Fees and times", "   # Fees.", "    # Fees."])
def test_a_heading_is_never_glued_to_the_text_around_it(before: str, heading: str) -> None:
    found = split_sentences(f"{before}\n{heading}\nThe fee is five dollars.")
    assert [sentence for sentence in found if sentence != before] == ["The fee is five dollars."]


def test_a_quote_is_not_glued_to_the_paragraph_before_it() -> None:
    assert split_sentences("The following applies to all\n> Goods need a permit first.") == (
        "Goods need a permit first.",
    )


@pytest.mark.parametrize(
    "paragraph",
    [
        "The fee is 3.50 dollars. It is due at once.",
        "Ask Dr. Tan for the form. He has some left.",
        "Goods, e.g. Plants, need a permit. So do animals and seeds.",
        "Call the U.S. Office first. Then call us here.",
        'She said "Goods need permits." Then she left us.',
    ],
)
def test_two_sentences(paragraph: str) -> None:
    found = split_sentences(paragraph)
    assert len(found) == 2
    assert " ".join(found) == paragraph


@pytest.mark.parametrize(
    ("markdown", "plain"),
    [
        ("See [the form](https://a.example/x_(1)) now", "See the form now"),
        ("See [the form][1] now", "See the form now"),
        ("![logo](a.png) Text", "Text"),
        ("**bold** and *italic* and __both__ and ~~gone~~", "bold and italic and both and gone"),
        ("2 * 3 * 4 and snake_case_name", "2 * 3 * 4 and snake_case_name"),
        (r"5 \* 3 \| 4", "5 * 3 | 4"),
        ("a<br/>b <!-- no --> c", "a b c"),
        ("{% note %}Text{% endnote %} {{ site.x }}", "Text"),
        ("Run `kubectl get <name>` now", "Run kubectl get <name> now"),
        ("Call `__init__` and `a*b*c`", "Call __init__ and a*b*c"),
        (r"Match `\d+\.\d+` here", r"Match \d+\.\d+ here"),
        ("Use ``a ` b`` here", "Use a ` b here"),
        ("See [`form`](x.md) now", "See form now"),
        ("`one` and `two`", "one and two"),
    ],
)
def test_strip_markup(markdown: str, plain: str) -> None:
    assert strip_markup(markdown) == plain


def test_a_pipe_in_code_does_not_make_a_table() -> None:
    assert split_sentences("Use `ls | wc -l` to count the files.") == ("Use ls | wc -l to count the files.",)


def test_code_on_one_line_opens_no_fence() -> None:
    assert split_sentences("```ls -l``` lists files.\n\nThe next paragraph stays here.") == (
        "The next paragraph stays here.",
    )


def test_lines_of_a_text_without_sentences() -> None:
    table = "| Zone | Fee ; total | Days |\n|---|---|---|\n| North and East | 5 USD | 3 |"
    markdown = f"# Rates\n\n{table}\n\n- free for all members"
    assert split_lines(markdown) == ("Zone Fee ; total Days", "North and East 5 USD 3", "free for all members")


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("滞期费按天计算。免费期为七天！联系我们的客服。", ("滞期费按天计算。", "免费期为七天！", "联系我们的客服。")),
        (
            "彼は「明日行きます。」と言った。その後、戻りました。",
            ("彼は「明日行きます。」と言った。", "その後、戻りました。"),
        ),
        ("उसके बाद शुल्क लगता है।यह सात दिन है।", ("उसके बाद शुल्क लगता है।", "यह सात दिन है।")),
        (
            "무료 기간은 7일입니다. 그 후에는 요금이 부과됩니다.",
            ("무료 기간은 7일입니다.", "그 후에는 요금이 부과됩니다."),
        ),
        (
            "ما هي الرسوم التي تدفع؟ الرسوم تسعون دولارا لكل يوم.",
            ("ما هي الرسوم التي تدفع؟", "الرسوم تسعون دولارا لكل يوم."),
        ),
        ("是。", ()),
    ],
)
def test_other_scripts_have_sentences_too(text: str, sentences: tuple[str, ...]) -> None:
    assert split_sentences(text) == sentences


def test_a_script_without_full_stops_has_lines() -> None:
    assert split_lines("ค่าธรรมเนียมคิดเป็นรายวัน") == ("ค่าธรรมเนียมคิดเป็นรายวัน",)
