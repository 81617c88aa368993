"""rag.stages.write.inline: inline Markdown and HTML as plain text, code and escapes to the letter."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.stages.write.inline import HOLE, flatten, hide, is_code, reveal, without_holes


def plain(markdown: str) -> str:
    return reveal(flatten(hide(markdown)))


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("See [the form](https://a.example/x_(1)) now", "See the form now"),
        ("See [the form][1] now", "See the form now"),
        ("See [the form] (https://a.example/x) now", "See the form now"),
        ("See [[MAKE A COPY] List](https://a.example) now", "See [MAKE A COPY] List now"),
        ("See [[The list](https://a.example)—all of it](b.md) now", "See The list—all of it now"),
        ("See the [FAR] rules and a [link](", "See the [FAR] rules and a [link]("),
        ("It is free[^1] of charge", "It is free of charge"),
        ("Write <a@b.example> or <https://a.example/b>", "Write a@b.example or https://a.example/b"),
        ("**bold** and *italic* and __both__ and ~~gone~~", "bold and italic and both and gone"),
        ("2 * 3 * 4 and snake_case_name", "2 * 3 * 4 and snake_case_name"),
        (r"5 \* 3 \| 4", "5 * 3 | 4"),
        (r"Use \_snake\_ and \*stars\* and \[x\](y) and \<b\>", "Use _snake_ and *stars* and [x](y) and <b>"),
        (r'specify all \("\*"\), an asterisk \(\*\)', 'specify all ("*"), an asterisk (*)'),
        (r"under \$10,000 \= little", "under $10,000 = little"),
        (r"C:\temp\new", r"C:\temp\new"),
        (r"a tick \` and `code\`", "a tick ` and code\\"),
        ("a<br/>b <!-- no --> c<b>d</b>,", "a b cd,"),
        ("GSA&rsquo;s R&amp;D &#38; &lt;b&gt;", "GSA’s R&D & <b>"),
        ("https://a.example/?x=1&region=2&copy=3", "https://a.example/?x=1&region=2&copy=3"),
        ("Run `kubectl get <name>` now", "Run kubectl get <name> now"),
        ("Call `__init__` and `a*b*c` and `&amp;`", "Call __init__ and a*b*c and &amp;"),
        (r"Match `\d+\.\d+` here", r"Match \d+\.\d+ here"),
        ("Use ``a ` b`` here", "Use a ` b here"),
        ("See [`form`](x.md) now", "See form now"),
        ("`one` and `two`", "one and two"),
    ],
)
def test_plain_text(markdown: str, expected: str) -> None:
    assert plain(markdown) == expected


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("![logo](a.png) Text", f"{HOLE} Text"),
        ("Text ![[logo]](a.png)", f"Text {HOLE}"),
        ("[![logo](a.png)](b.md)", HOLE),
        ("{% note %}Text {{ site.x }} here", f"{HOLE}Text {HOLE} here"),
        ('[words]({% page "/x/" %})', "words"),
        ("Text <img src='a'> and <name> here", f"Text {HOLE} and {HOLE} here"),
        ("An icon \U00100041 here", f"An icon {HOLE} here"),
    ],
)
def test_what_the_source_does_not_say_leaves_a_hole(markdown: str, expected: str) -> None:
    assert plain(markdown) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Text", "Text"),
        (f"{HOLE} Text {HOLE}{HOLE}", "Text"),
        (f"In {HOLE} or so", ""),
        (f"{HOLE} is the place", ""),
        (f"{HOLE} — our home base", ""),
        (f"{HOLE}(for all)", ""),
        (f"{HOLE}“Yes” is fine", "“Yes” is fine"),
        (f"{HOLE} 5 days", "5 days"),
        (f"{HOLE}\U00100061 runs", "\U00100061 runs"),
        (HOLE, ""),
        ("", ""),
    ],
)
def test_without_holes(text: str, expected: str) -> None:
    assert without_holes(text) == expected


def test_code_is_known_until_it_is_revealed() -> None:
    flat = flatten(hide("`a.b` c"))
    assert [is_code(char) for char in flat] == [True, True, True, False, False]
    assert "." not in flat
    assert reveal(flat) == "a.b c"


@given(st.text("aB .*_`[]()<>{}%!\\&;|#", max_size=80))
def test_code_and_escapes_are_kept_to_the_letter(text: str) -> None:
    code = " ".join(text.replace("`", "").split())
    assert plain(f"Run `` {code} `` now" if code else "Run now") == f"Run {code} now".replace("  ", " ")
    escaped = "".join(f"\\{char}" if char in "!-/:;<=>?@[]^_`{|}~.*()#%&\\" else char for char in code)
    assert plain(f"See {escaped} now") == " ".join(f"See {code} now".split())


@given(st.text(max_size=200))
def test_any_text_becomes_one_line(text: str) -> None:
    assert plain(text) == " ".join(plain(text).split())
