"""rag.stages.write.sentences: Markdown to whole, readable sentences."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.stages.write.markdown_blocks import split_blocks
from rag.stages.write.sentences import block_sentences
from rag.stages.write.words import count_words

WORD = st.sampled_from(["permits", "carriers", "take", "five", "days", "goods", "customs", "invoice", "weight"])
SENTENCE = st.lists(WORD, min_size=2, max_size=9).map(lambda words: " ".join(words).capitalize() + ".")

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
        "Short.",
        "- lower case items are fragments.",
        "[ref]: https://a.example/page 'This is no sentence at all.'",
        "<table><tr><td>It costs five dollars today.</td></tr></table>",
        "Note:",
    ]
).map(lambda text: (text, list[str]()))
BLOCKS = st.lists(PARAGRAPH | WRAPPED | QUOTED | ITEMS | SILENT, max_size=6)


def split_sentences(markdown: str, *, continued: bool = False) -> tuple[str, ...]:
    return tuple(sentence for _, sentence in block_sentences(split_blocks(markdown), continued=continued))


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
        assert count_words(sentence) >= 2
        assert sentence.rstrip("\"'”’)]」』）\\ ")[-1] in ".!?؟。！？।۔"


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


def test_a_pipe_in_code_does_not_make_a_table() -> None:
    assert split_sentences("Use `ls | wc -l` to count the files.") == ("Use ls | wc -l to count the files.",)


def test_code_on_one_line_opens_no_fence() -> None:
    assert split_sentences("```ls -l``` lists files.\n\nThe next paragraph stays here.") == (
        "ls -l lists files.",
        "The next paragraph stays here.",
    )


@pytest.mark.parametrize(
    ("markdown", "sentences"),
    [
        (
            "Permits cost $40. Renewals cost $25. No refunds. The fee is paid in cash.",
            ("Permits cost $40.", "Renewals cost $25.", "No refunds.", "The fee is paid in cash."),
        ),
        ("The limit is low. $500 is the maximum.", ("The limit is low.", "$500 is the maximum.")),
        ("Are pets allowed? Yes. They pay half.", ("Are pets allowed?", "Yes. They pay half.")),
        (
            "It is due (see the form. Ask for it.) at once. It is free.",
            ("It is due (see the form. Ask for it.) at once.", "It is free."),
        ),
        ("Look up fig. 5 and e.g. the fee. It is low.", ("Look up fig. 5 and e.g. the fee.", "It is low.")),
    ],
)
def test_short_sentences_are_sentences(markdown: str, sentences: tuple[str, ...]) -> None:
    assert split_sentences(markdown) == sentences


@pytest.mark.parametrize(
    ("markdown", "sentences"),
    [
        ("`quetzal push` uploads the nest.", ("quetzal push uploads the nest.",)),
        ("Run it. `git push` uploads it.", ("Run it.", "git push uploads it.")),
        ("iPhone users log in. macOS is supported.", ("iPhone users log in.", "macOS is supported.")),
        ("# Tool\n\nquetzal is a tool. It is free.", ("quetzal is a tool.", "It is free.")),
        ("It is free.\n\nquetzal is a tool.", ("It is free.", "quetzal is a tool.")),
        ("You may enter if:\n\nyou have a permit.", ()),
        ("Run this:\n\n```\nmake\n```\n\nand then wait a while.", ()),
        ("- you have a permit.\n- `make` has run.", ("make has run.",)),
        ("The fee is approx. five dollars.", ("The fee is approx. five dollars.",)),
        ("See file.txt. open it now.", ("See file.txt. open it now.",)),
        ("ეს არის აქ. ის არა არის.", ("ეს არის აქ.", "ის არა არის.")),  # Georgian has no capital letters in use
    ],
)
def test_a_sentence_may_begin_with_a_small_letter(markdown: str, sentences: tuple[str, ...]) -> None:
    assert split_sentences(markdown) == sentences


def test_a_text_that_begins_inside_a_sentence() -> None:
    text = "port to turn it into a monitor. It has two ports."
    assert split_sentences(text, continued=True) == ("It has two ports.",)
    assert split_sentences(f"# Ports\n\n{text}", continued=True)[0] == "port to turn it into a monitor."


@pytest.mark.parametrize(
    "markdown",
    [
        'Ask for it in {% slack_channel "x" %}.',
        "Ask in {{ site.channel }}, and they help.",
        "Choose the icon (![Settings](a.png)) first.",
        "Choose ![[Settings]](https://a.example/b.png) first.",
        '{% slack_channel "x" %} is the place to ask.',
        "Ask Tom<img src='a.png'> for it.",
        "Run get <name> on the host.",
    ],
)
def test_a_sentence_with_a_hole_is_not_quoted(markdown: str) -> None:
    assert split_sentences(f"It is free. {markdown} It is new.") == ("It is free.", "It is new.")


@pytest.mark.parametrize(
    "markdown",
    [
        "{% note %}It is free.{% endnote %}",
        "![logo](a.png) It is free.",
        "It is free. ![logo](a.png)",
        "<p>It is free.</p>",
        "<Tip>It is free.</Tip>",
        "It is <b>free</b>.",
        "It is[^1] free.",
        "It&nbsp;is free.",
    ],
)
def test_what_is_around_a_sentence_is_no_hole(markdown: str) -> None:
    assert split_sentences(markdown) == ("It is free.",)


def test_a_link_that_begins_an_item_is_a_label() -> None:
    items = "1. [Leave form](https://a.example). Your manager signs it.\n2. [Travel form](https://a.example)."
    assert split_sentences(items) == ("Leave form. Your manager signs it.",)


def test_html_blocks_end_sentences_and_cells_are_none() -> None:
    page = "<div>Open daily<p>It is free.</p><ul><li>Bring a form.<li>fees</ul>Closed on<br>Sundays are quiet.</div>"
    assert split_sentences(page) == ("It is free.", "Bring a form.", "Sundays are quiet.")
    assert split_sentences("<table><tr><th>Fee</th></tr>\n<tr><td>It is free.</td></tr></table> It is new.") == (
        "It is new.",
    )


def test_marks_that_are_escaped_stay() -> None:
    text = r'Name all resources \("\*"\) here\. Use \_snake\_ and \*stars\*\. An asterisk \(\*\) is a mark\.'
    assert split_sentences(text) == (
        'Name all resources ("*") here.',
        "Use _snake_ and *stars*.",
        "An asterisk (*) is a mark.",
    )


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
