"""rag.stages.links.led: what becomes of links, images, addresses and tags."""

from __future__ import annotations

import time

import pytest
from attacks.reading import leads
from fakes import make_hit
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import helpers

from rag.stages.check.support import Checked
from rag.text.addresses import address_key, shown
from rag.stages.cite.marks import Cited, Mark
from rag.stages.links.held import held_by
from rag.stages.links.led import hold, led
from rag.values.answer import Citation, Statement

PAGE = "https://a.example/guide"
HELD = held_by([make_hit(f"See [x]({PAGE}), ![y](y.png) and me@a.example.").chunk])

TAKEN = [
    ("See [the page](https://b.example).", "See the page."),
    ("![A map](https://b.example/x.png)", "A map"),
    ("[![A map](https://b.example/x.png)](https://b.example)", "A map"),
    ("<https://b.example>", "`https://b.example`"),
    ("Look at https://b.example/x, or www.b.example.", "Look at `https://b.example/x`, or `www.b.example`."),
    ("Write to me@a.example&#46;b.example.", "Write to <me@a.example>&#46;b.example."),
    ("Write to you@b.example.", "Write to `you@b.example`."),
    ("[x][1] and [x]\n\n[1]: https://b.example\n[x]: https://b.example 'x'", "x and x"),
    ("<b>x</b> of <your name>", "\\<b>x\\</b> of \\<your name>"),
    ("https\\://b.example and https&colon;//b.example", "``https://b.example`` and https:`//b.example`"),
    ("| a |\n|---|\n| [x \\| y](https://b.example) |", "| a |\n|---|\n| x \\| y |"),
    ("> [x\n> y](https://b.example)", "> x\n> y"),
    ("a ` b https://b.example ``` c", "a  b ``https://b.example``  c"),
    ("x\r\n[y](https://b.example)", "x\ny"),
    ("\\|[x](https://b.example) |", "\\|x |"),
    ("| a |\n|---|\n| x\\|[y](https://b.example) |", "| a |\n|---|\n| x\\|y |"),
    ("1https://b.example xhttps://b.example", "1`https://b.example` x`https://b.example`"),
    ("\\a@b.example a@_b.example", "\\ `a@b.example` `a@_b.example`"),
    ("a\\@b.example a&#64;b.example", "``a@b.example`` ``a@b.example``"),
    (
        "//b.example/x https\uff1a//b.example https://*b.example",
        "`//b.example/x` https\uff1a`//b.example` `https://`*b.example",
    ),
    ("\ufeff[x]: https://b.example\n\ny\x0bz", "\ny z"),
]
AMBIGUOUS = [
    (f"{PAGE}` ![x](https://b.example)`", f"<{PAGE}>` ![x](https://b.example)`"),
    (f"{PAGE}`<img src=x>`", f"<{PAGE}>`<img src=x>`"),
    (f"{PAGE}*x {PAGE}|/../y {PAGE}[T] {PAGE}\\<b>", f"<{PAGE}>*x <{PAGE}>|/../y <{PAGE}>[T] <{PAGE}>\\<b>"),
    ("me@a.example`<b>`", "<me@a.example>`<b>`"),
    ("``www.e`![](https://b.example)`", "``www.e``"),
    ("- |`\n-|-\n``![x](https://b.example)``", "- |\n-|-\nx"),
    ("x | a | `b |\n| - | - |\n| ![x](https://b.example) | ` |", "x | a | b |\n| - | - |\n| x |  |"),
    ("$ ` $ ![x](https://b.example) `", "$  $ x "),
    ("[a`](https://b.example)`", "a"),
]
STAYS = [
    f"See [the page]({PAGE}/ 'Title'), [it](<{PAGE}#part>), <{PAGE}>, {PAGE}. **{PAGE}** ({PAGE})",
    "![y](y.png) me@a.example [mail](mailto:ME@a.example) HTTP://A.example:80/%67uide",
    "`[x](https://b.example)` and\n\n```\n<b> https://b.example\n```\n\n    ![x](https://b.example)",
    "[ ] x, a[0](1, 2), [Title > Section], 1 < 2 & 3 > 2, C:\\dir, \\<b>, AT&T, a@b, @a/b, {{x}} \\[x]",
    "> `` `Rc<T>` is\n> no `Send` `` $5 `a|b` `<b>`\n\na | `<b>`\n--|--\n1 | `2`",
    f'- {PAGE}).\n- *{PAGE}*, "{PAGE}" `<b>` [{PAGE}] {PAGE}<br',
    "node\\@v2.5[^1]\n\n[^1]: A note.",
]
NO_KEY = [
    "javascript:alert(1)", "JAVASCRIPT:x", "data:text/html,x", "vbscript:x", "ftp://a.example", "https:a.example",
    "https:///a.example", "https://a.example\\@b.example", "https://a\u200b.example", "https://a.example/ x", "", "//",
    "https://[", "a:b",
]  # fmt: skip
OTHERS = [
    "https://a.example.b.example/guide", "https://b.example/guide", "https://a.example@b.example/guide",
    "https://a.example/guide/x", "https://a.example/guid", "https://a.example/guide?x=1", "https://a.example:8080/guide",
    "//b.example/guide", "/guide", "guide", "https://a.example/Guide", "https://xa.example/guide",
]  # fmt: skip


@pytest.mark.parametrize(("text", "left"), TAKEN)
def test_what_no_passage_holds_is_text(text: str, left: str) -> None:
    assert led(text, HELD).text == left


@pytest.mark.parametrize(("text", "left"), AMBIGUOUS)
def test_what_renderers_read_differently_leaves_them_no_choice(text: str, left: str) -> None:
    assert led(text, HELD).text == left


def test_the_longest_completion_takes_no_time_that_grows_with_its_square() -> None:
    began = time.process_time()
    assert led("<!--" * 4000, HELD).text == "\\<!--" * 4000
    assert time.process_time() - began < 5  # a twentieth of it is enough; it took ten


@pytest.mark.parametrize("text", STAYS)
def test_what_a_passage_holds_and_what_is_text_stays_to_the_letter(text: str) -> None:
    assert led(text, HELD).text == text


def test_a_reference_to_a_held_address_has_it_itself() -> None:
    assert led(f"See [it][1].\n\n[1]: {PAGE}", HELD).text == f"See [it](<{PAGE}>)."


@pytest.mark.parametrize("address", NO_KEY)
def test_no_link_leads_there(address: str) -> None:
    assert address_key(address) is None


@pytest.mark.parametrize("address", OTHERS)
def test_an_address_is_the_whole_of_it(address: str) -> None:
    assert address_key(PAGE) in HELD
    assert address_key(address) not in HELD


def test_a_passage_lends_no_script_and_no_part_of_an_address() -> None:
    chunk = make_hit("[x](javascript:alert(1)) [y](data:,x) <https://a.example/b?c=d&amp;e=f>").chunk
    assert held_by([chunk]) == {"//a.example/b?c=d&e=f"}


@pytest.mark.parametrize(
    ("url", "seen"),
    [
        ("https://me:secret@a.example/x@y", "https://a.example/x@y"),
        ("https://a@b@c.example", "https://c.example"),
        ('https://a.example/a b\t"<\\\u202e', "https://a.example/a%20b%09%22%3C%5C%E2%80%AE"),
        ("https://a.example/caf\u00e9_(1)?a=%20", "https://a.example/caf\u00e9_(1)?a=%20"),
    ],
)
def test_an_address_is_shown_without_user_and_password_and_escaped(url: str, seen: str) -> None:
    assert shown(url) == seen


def test_marks_and_citations_stand_where_their_words_stand_now() -> None:
    text = "See [x](https://b.example) [T]. <b>Y [id_1](https://b.example) [T]: https://b.example"
    hit = make_hit()
    spots = [(text.index("[T]"), 3), (text.index("[id_1]"), 6), (text.rindex("[T]"), 3)]
    cited = Cited(
        text,
        tuple(Citation(raw=text[at : at + size], title="", section="", position=at, hit=hit) for at, size in spots),
        3,
        marks=tuple(Mark(at, at + size, (hit,)) for at, size in spots),
    )
    said = Statement(text="See [x](https://b.example).", citations=("[T]",), support="supported", chance=1.0)
    held = hold(Checked(cited, (said,)))
    assert held.cited.text == "See x [T]. \\<b>Y [id_1] [T]: `https://b.example`"
    assert [held.cited.text[mark.start : mark.end] for mark in held.cited.marks] == ["[T]", "[id_1]", "[T]"]
    assert [held.cited.text[one.position :][: len(one.raw)] for one in held.cited.citations] == ["[T]", "[id_1]", "[T]"]
    assert held.statements[0].text == "See x."
    assert held.notes == ("removed 3 addresses that no cited passage holds",)


@given(st.text(st.sampled_from("[]()<>!`~*_\\|&:/.#\n -=@ahtpsw1^>\t"), max_size=60))
def test_nothing_leads_anywhere_whatever_is_said(text: str) -> None:
    evil = text.replace("h", "https://b.example/").replace("w", "![x](https://b.example)")
    made = led(evil, frozenset())
    assert leads(made.text) == []
    assert led(made.text, frozenset()).text == made.text


def test_an_exclamation_mark_that_opens_no_image_has_no_label(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each was looked for to the end of the text: 16,000 characters of "<!-- " took 8 s."""
    looked: list[object] = []
    monkeypatch.setattr(helpers, "parseLinkLabel", lambda *args: looked.append(args) or -1)
    assert led("x ! <b <!-- " * 50, HELD).text == "x ! <b <!-- " * 50
    assert looked == []
